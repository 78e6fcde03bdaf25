/* plans.c - plans of a prompt have one owner: the session that shows them, or a prefill. */
#include "engine/session/plans.h"

#include <stdlib.h>

void s2v_plans_free(s2v_plans *plans)
{
    for (int32_t i = 0; i < plans->n; i++) {
        for (int p = 0; p < S2V_MAX_PARTS; p++) s2p_plan_free(plans->picture[i].part[p]);
        free(plans->picture[i].token);
    }
    free(plans->picture);
    *plans = (s2v_plans){ .n = 0 };
}

void s2v_plans_move(s2v_plans *to, s2v_plans *from)
{
    s2v_plans_free(to);
    *to = *from;
    *from = (s2v_plans){ .n = 0 };
}
