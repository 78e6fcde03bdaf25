/* answer_constraint.h - a compiled schema or grammar, and the vocabulary of its engine as bytes. */
#ifndef S2_ENGINE_ANSWER_CONSTRAINT_H
#define S2_ENGINE_ANSWER_CONSTRAINT_H

#include "engine/engine.h"

enum { S2V_MAX_ENDS = 16 }; /* tokens that end an answer */

struct s2v_constraint {
    atomic_int n_references;
    s2v_engine *engine;
    s2c_constraint *compiled;
    const s2c_vocabulary *vocabulary; /* the engine's */
    int32_t end[S2V_MAX_ENDS];
    int32_t n_ends;
    int32_t think, think_end; /* tokens around thoughts, before which it does not hold; -1: none */
};

#endif /* S2_ENGINE_ANSWER_CONSTRAINT_H */
