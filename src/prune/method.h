/* method.h - what a pruning method is: a name, what it needs, one function.
 *
 * A method reads a view and fills a plan. It never touches a tensor, a model or
 * the KV cache; the engine applies every plan, for every method, in one place.
 */
#ifndef S2_PRUNE_METHOD_H
#define S2_PRUNE_METHOD_H

#include "prune/scaffold.h"

#include <stdbool.h>

#define S2P_BEFORE_DECODER (-1)
#define S2P_MAX_STAGES 4

typedef struct s2p_view { /* borrowed; rows are the visual tokens of one picture */
    int32_t budget;       /* rows to leave */
    int32_t stage;        /* which entry of method.after this is */
    s2p_signals signals;  /* filled as far as `needs` asks */
    s2p_choice choice;    /* side, allocator, selector: the S2Prune family; seed: who draws */
} s2p_view;

typedef struct s2p_method {
    const char *name;              /* as typed on the command line and in JSON */
    const char *source;            /* paper and venue */
    uint32_t needs;                /* S2P_NEED_* */
    bool sees_question;            /* then the pruned prefix cannot be reused */
    int32_t n_stages;              /* 1 for nearly all */
    int32_t after[S2P_MAX_STAGES]; /* decoder layer each stage follows */
    s2p_status (*select)(const s2p_view *view, s2p_plan *plan, s2p_error *error);
} s2p_method;

/* NULL when the name is unknown. */
const s2p_method *s2p_method_find(const char *name);

/* Walk the table: index 0, 1, ... until NULL. */
const s2p_method *s2p_method_at(size_t index);

/* Refuse what no method can do; then method->select. A budget of all tokens or more keeps all. */
s2p_status s2p_method_run(const s2p_method *method, const s2p_view *view, s2p_plan *plan,
                          s2p_error *error);

/* The signals this view makes a method need: S2Prune's depend on its allocator and selector. */
uint32_t s2p_method_needs(const s2p_method *method, const s2p_choice *choice);

#endif /* S2_PRUNE_METHOD_H */
