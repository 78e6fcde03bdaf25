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

typedef enum s2p_mode {
    S2P_MODE_DEFAULT,  /* exactly `budget` rows at the end, whatever the authors' code does */
    S2P_MODE_PUBLISHED /* what the authors' code does, its counts and defects included */
} s2p_mode;

typedef struct s2p_taps { /* what published methods look at beyond s2p_signals; NULL: not at hand */
    /* Of the vision tower, for every token of the grid. */
    const float *vision_attn; /* [vision_heads][n] attention received in the last block: mean over
                                 queries, or the class token's row; one head if averaged already */
    int32_t vision_heads;
    const float *vision_key; /* [n][vision_key_dim] keys of the last block, mean over heads */
    int32_t vision_key_dim;
    const float *text; /* [n_text][text_dim] question tokens as they enter the decoder */
    int32_t n_text, text_dim;
    const float *aligned; /* [n][text_dim] visual rows in the space of text; NULL: the features */

    /* Of decoder layer `after` (`ahead` of it: the next one), for the rows alive; no rotation. */
    const float *last_query; /* [n_heads][head_dim] of the last prompt token */
    const float *mean_query; /* [n_heads][head_dim] mean over rows 0 to the last visual one */
    const float *plain_key;  /* [n_kv_heads][rows][head_dim] */
    int32_t n_heads, n_kv_heads, head_dim;

    /* Of the same layer, for the whole prompt; visual rows are [first_row, first_row + n). */
    const float *rotated_key; /* [n_kv_heads][n_prompt][head_dim] */
    const float *normed;      /* [n_prompt][normed_dim] the layer's output through the final norm */
    int32_t n_prompt, first_row, normed_dim;
} s2p_taps;

struct s2p_view {         /* borrowed; rows are the visual tokens of one picture */
    int32_t budget;       /* rows to leave after the last stage */
    int32_t stage;        /* which entry of method.after this is */
    const int32_t *alive; /* [n_alive] tokens still there, ascending; NULL: all of the grid. Signals
                             of the decoder have a row for each; those of the tower, and `feature`,
                             for every token of the grid */
    int32_t n_alive;
    s2p_mode mode;
    s2p_signals signals; /* filled as far as `needs` asks; erc, hidden and query_attn are those of
                            decoder layer `after` */
    s2p_taps taps;       /* likewise */
    s2p_choice choice;   /* side, allocator, selector: the S2Prune family; seed: who draws */
    const s2p_parameters *parameters; /* NULL: the method's own values */
};

struct s2p_method {
    const char *name;      /* as typed on the command line and in JSON */
    const char *source;    /* paper and venue */
    const char *published; /* what S2P_MODE_PUBLISHED changes; NULL: nothing */
    uint32_t needs;        /* S2P_NEED_* */
    uint32_t (*choice_needs)(const s2p_choice *choice); /* NULL, or what a choice adds to them */
    bool sees_question;                             /* then the pruned prefix cannot be reused */
    bool keeps_all;                                 /* nothing is dropped, whatever the budget */
    bool draws;                                     /* what it keeps depends on the seed */
    bool (*choice_draws)(const s2p_choice *choice); /* NULL, or whether it does with this choice */
    bool merges;                     /* rows of the plan may take others in: s2p_plan_merges */
    bool prunes_cache;               /* layers already run forget the dropped rows too; else their
                                      cache stays whole, as the authors of most methods leave it */
    bool as_picked;                  /* published: rows stand in the order picked, not ascending */
    bool ahead;                      /* queries and keys are those of the layer that comes next */
    int32_t n_stages;                /* 1 for nearly all */
    int32_t after[S2P_MAX_STAGES];   /* decoder layer each stage follows */
    const s2p_parameter *parameters; /* [n_parameters]; by index in view->parameters */
    int32_t n_parameters;
    s2p_status (*select)(const s2p_view *view, s2p_plan *plan, s2p_error *error);
};

/* NULL when the name is unknown. */
const s2p_method *s2p_method_find(const char *name);

/* Walk the table: index 0, 1, ... until NULL. */
const s2p_method *s2p_method_at(size_t index);

/* Refuse what no method can do; then method->select. A budget of all tokens or more keeps all. On
 * failure the plan keeps nothing. */
s2p_status s2p_method_run(const s2p_method *method, const s2p_view *view, s2p_plan *plan,
                          s2p_error *error);

/* The signals a choice makes a method need: S2Prune's depend on its allocator and selector. */
uint32_t s2p_method_needs(const s2p_method *method, const s2p_choice *choice);

/* Whether the choice of tokens can depend on the question: then a pruned prefix belongs to one
 * question only. */
bool s2p_method_sees_question(const s2p_method *method, const s2p_choice *choice);

/* Whether what it keeps can depend on choice->seed. */
int s2p_method_draws(const s2p_method *method, const s2p_choice *choice);

/* The needs that neither the signals nor the taps of the view satisfy. */
uint32_t s2p_view_missing(const s2p_view *view, uint32_t needs);

/* --- for methods ------------------------------------------------------------ */

/* A parameter of the method, by its own index. */
static inline double s2p_view_value(const s2p_view *view, int32_t parameter)
{
    return view->parameters->value[parameter];
}

static inline int32_t s2p_view_count(const s2p_view *view, int32_t parameter)
{
    return (int32_t)view->parameters->value[parameter];
}

/* Rows the view has: tokens alive. */
int32_t s2p_view_rows(const s2p_view *view, const s2p_plan *plan);

/* The token of a row. */
static inline int32_t s2p_view_token(const s2p_view *view, int32_t row)
{
    return view->alive ? view->alive[row] : row;
}

/* Rows to leave after stage view->stage of n_stages when each stage keeps the same share, so that
 * the last leaves the budget: rint(n (budget / n)^((stage + 1) / n_stages)), n all tokens. */
int32_t s2p_stage_budget(const s2p_view *view, const s2p_plan *plan, int32_t n_stages);

/* Make rows of the view the plan's result, in this order. */
s2p_status s2p_keep_rows(const s2p_view *view, s2p_plan *plan, const int32_t *row, int32_t n);

/* The k rows of the highest score, ties to the lower row; S2P_EINVAL when one is not finite. */
s2p_status s2p_keep_best(const s2p_view *view, s2p_plan *plan, const double *score, int32_t k);

#endif /* S2_PRUNE_METHOD_H */
