/* capabilities.h - MM-Vet's capabilities and their combinations, "rec,know". */
#ifndef S2_EVAL_SCORING_CAPABILITIES_H
#define S2_EVAL_SCORING_CAPABILITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

const char *s2e_capability_name(size_t index); /* NULL past the end */

/* How often a question of these capabilities counts for `name`, a capability or a combination joined
 * by '_'. In VLMEvalKit one table holds both, so a question of a single capability counts twice. */
int32_t s2e_capability_weight(const char *capabilities, const char *name, bool one_table);

#endif /* S2_EVAL_SCORING_CAPABILITIES_H */
