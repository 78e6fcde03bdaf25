/* views.h - what a method sees of one unit, and its choice. */
#ifndef S2_ENGINE_VIEWS_H
#define S2_ENGINE_VIEWS_H

#include "engine/prompt/readings.h"
#include "engine/prompt/units.h"

/* Let the method choose among the tokens of a unit: fills its plan. */
s2p_status s2v_select_unit(s2v_job *job, s2v_unit *unit, int32_t stage,
                           const s2v_readings *readings);

#endif /* S2_ENGINE_VIEWS_H */
