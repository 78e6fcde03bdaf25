/* plans.h - the plans of the pictures of a prompt. */
#ifndef S2_ENGINE_PLANS_H
#define S2_ENGINE_PLANS_H

#include "engine/vision/frame.h"

typedef struct s2v_picture_plan { /* owned plans, NULL where a picture has fewer parts */
    s2p_plan *part[S2V_MAX_PARTS];
    s2v_framing framing;
    int32_t *token; /* [n_tokens] that entered the tower, owned; NULL: all */
    int32_t n_tokens;
} s2v_picture_plan;

typedef struct s2v_plans {
    s2v_picture_plan *picture; /* [n], owned */
    int32_t n;
} s2v_plans;

void s2v_plans_free(s2v_plans *plans);

/* Move the plans of `from` to `to`, freeing those it had. */
void s2v_plans_move(s2v_plans *to, s2v_plans *from);

#endif /* S2_ENGINE_PLANS_H */
