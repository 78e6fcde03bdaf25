/* recorded.h - arrays by the names the golden cases give them, and the view a method gets of them.
 *
 * `select` reads them from files, `verify` from cases; both show them to the method the same way.
 */
#ifndef S2_TOOLS_RECORDED_H
#define S2_TOOLS_RECORDED_H

#include "inputs.h"
#include "prune/method.h"

typedef enum s2_field {
    S2_FIELD_ERC,
    S2_FIELD_FEAT,
    S2_FIELD_H0,
    S2_FIELD_H1,
    S2_FIELD_ATTN,
    S2_FIELD_INPUT,
    S2_FIELD_HIDDEN,
    S2_FIELD_CLS_HIDDEN,
    S2_FIELD_K,
    S2_FIELD_Q,
    S2_FIELD_Q_LAST,
    S2_FIELD_K_IMG,
    S2_FIELD_KEYS,
    S2_FIELD_SCORE,
    S2_FIELD_ATTN_HEADS,
    S2_FIELD_CLS_ATTN_HEADS,
    S2_FIELD_IMG_EMBED,
    S2_FIELD_TXT_EMBED,
    S2_FIELD_VIS,
    S2_FIELD_TEXT,
    S2_N_FIELDS
} s2_field;

typedef enum s2_made { /* arrays computed from those */
                       S2_MADE_ERC,
                       S2_MADE_QUERY_ATTN,
                       S2_MADE_MEAN_QUERY,
                       S2_MADE_CLASS_ATTN,
                       S2_N_MADE
} s2_made;

typedef struct s2_recorded { /* all zero to begin with */
    const s2p_method *method;
    s2p_grid grid;
    int32_t image_start; /* row of the prompt the picture begins at */
    int32_t n_after;     /* rows behind it; 0: not known */
    int32_t *alive;      /* [n_alive] tokens a later stage still has; NULL: all. Owned */
    int32_t n_alive;
    s2_tensor field[S2_N_FIELDS];
    float *made[S2_N_MADE];
} s2_recorded;

const char *s2_field_name(size_t index); /* NULL past the end */

/* The tokens still there, int32 or int64, ascending: before the arrays, whose decoder signals have
 * a row for each then. */
s2p_status s2_recorded_read_alive(s2_recorded *recorded, const char *path, s2p_error *error);
s2p_status s2_recorded_take_alive(s2_recorded *recorded, const s2_array *array, const char *path,
                                  s2p_error *error);

/* From a file, or from an array at hand (`path` is for the sentence). What shape a field has
 * depends on the method. */
s2p_status s2_recorded_read(s2_recorded *recorded, s2_field field, const char *path,
                            s2p_error *error);
s2p_status s2_recorded_take(s2_recorded *recorded, s2_field field, const s2_array *array,
                            const char *path, s2p_error *error);

/* Fill view->signals (the picture aside), view->taps and view->alive; borrowed from `recorded`.
 * S2P_EFORMAT when two arrays do not go together. */
s2p_status s2_recorded_view(s2_recorded *recorded, s2p_view *view, s2p_error *error);

void s2_recorded_free(s2_recorded *recorded);

typedef struct s2_shown { /* one array of a view under the name `select` takes it by; borrowed */
    s2_field field;
    const float *data;
    int32_t n_dims, shape[3];
} s2_shown;

/* The inverse: what the method needs of a view, as fields that show it the same again; the picture
 * and view->alive aside. Returns how many, S2_N_FIELDS at most. */
int32_t s2_recorded_fields(const s2p_method *method, const s2p_view *view, s2p_grid grid,
                           s2_shown out[S2_N_FIELDS]);

/* --- later stages (restricted.c) --- */

/* The view a later stage would have if the decoder had not moved on: signals of the decoder only
 * for the tokens still there. Free with s2_restricted_free. */
typedef struct s2_restricted {
    s2p_view view;
    float *erc, *hidden, *query_attn, *plain_key;
} s2_restricted;

s2p_status s2_restrict(const s2p_view *all, int32_t n_tokens, const int32_t *alive, int32_t n_alive,
                       s2_restricted *out);
void s2_restricted_free(s2_restricted *restricted);

#endif /* S2_TOOLS_RECORDED_H */
