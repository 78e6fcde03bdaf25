/* tower_size.h - the sizes of a vision tower that its FLOPs follow from. */
#ifndef S2_TOWER_SIZE_H
#define S2_TOWER_SIZE_H

#include "ask/tower_cost.h"
#include "asking/asker.h"

/* From the header of the mmproj; the model is open. false: it does not say. */
bool s2_asker_tower_size(const s2_asker *asker, s2_tower_size *out);

#endif /* S2_TOWER_SIZE_H */
