/* golden_fields.h - arrays by the names the golden cases give them, and the signals they are.
 *
 * `verify` reads them from cases; `select` takes them beside the names of the signals.
 */
#ifndef S2_TOOLS_GOLDEN_FIELDS_H
#define S2_TOOLS_GOLDEN_FIELDS_H

#include "plan/recorded.h"

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

typedef struct s2_golden_fields { /* all zero to begin with, but `of` */
    const s2_recorded *of;        /* the method, the grid, the prompt, the tokens alive */
    s2_tensor field[S2_N_FIELDS];
    float *made[S2_N_MADE];
} s2_golden_fields;

const char *s2_field_name(size_t index);   /* NULL past the end */
s2_field s2_field_named(const char *name); /* S2_N_FIELDS: there is none */

/* From a file, or from an array at hand (`path` is for the sentence). What shape a field has
 * depends on the method. */
s2p_status s2_golden_fields_read(s2_golden_fields *fields, s2_field field, const char *path,
                                 s2p_error *error);
s2p_status s2_golden_fields_take(s2_golden_fields *fields, s2_field field, const s2_array *array,
                                 const char *path, s2p_error *error);

/* Fill the signals of the view that it does not have yet; borrowed from `fields`. S2P_EFORMAT when
 * two arrays do not go together. */
s2p_status s2_golden_fields_show(s2_golden_fields *fields, s2p_view *view, s2p_error *error);

void s2_golden_fields_free(s2_golden_fields *fields);

#endif /* S2_TOOLS_GOLDEN_FIELDS_H */
