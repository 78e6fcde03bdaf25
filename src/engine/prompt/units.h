/* units.h - a unit is a grid of visual tokens pruned for itself: a part of a picture. */
#ifndef S2_ENGINE_UNITS_H
#define S2_ENGINE_UNITS_H

#include "engine/prompt/job.h"

struct s2v_unit {
    int32_t picture, part;
    int32_t budget, n_tokens; /* n_tokens is 0 where a picture has fewer parts */
    int32_t n_alive;
    int32_t *alive; /* [n_alive] tokens still there, ascending; room for n_tokens, owned */
    int32_t *row;   /* [n_alive] where they stand among the rows */
    float *feature; /* [n_tokens][n_embd] as they entered the decoder, or NULL; owned */
    s2p_plan *plan; /* the session's */
};

/* Tokens the options let picture i keep of its n_tokens; may be more than it has. */
int32_t s2v_picture_budget(const s2v_job *job, int32_t i, int32_t n_tokens);

/* After the frames are known: units, their budgets and plans; and what the method needs. */
s2p_status s2v_units_make(s2v_job *job);

/* Where the tokens of each unit stand now. */
void s2v_units_find(s2v_job *job);

/* Rows that are only there before layer 0: features and the question, as far as needed. */
s2p_status s2v_units_read(s2v_job *job);

/* Where a token stands in an ascending list that has it. */
int32_t s2v_place_of(const int32_t *alive, int32_t n, int32_t token);

void s2v_units_free(s2v_job *job);

#endif /* S2_ENGINE_UNITS_H */
