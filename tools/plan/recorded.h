/* recorded.h - signals as files: what `run --record` wrote, and the view `select` makes of it.
 *
 * A file holds the signal of its name, in the shape the table of signals gives it.
 */
#ifndef S2_TOOLS_RECORDED_H
#define S2_TOOLS_RECORDED_H

#include "inputs.h"
#include "prune/method.h"

typedef struct s2_recorded { /* all zero to begin with */
    const s2p_method *method;
    s2p_grid grid;
    int32_t image_start; /* row of the prompt the picture begins at */
    int32_t n_after;     /* rows behind it; 0: not known */
    int32_t *alive;      /* [n_alive] tokens a later stage still has; NULL: all. Owned */
    int32_t n_alive;
    s2_tensor signal[S2P_N_SIGNALS]; /* owned */
} s2_recorded;

/* The signal of that name, the picture aside; S2P_N_SIGNALS: there is none. */
s2p_signal_id s2_signal_named(const char *name);

/* The tokens still there, int32 or int64, ascending: before the arrays, whose decoder signals have
 * a row for each then. */
s2p_status s2_recorded_read_alive(s2_recorded *recorded, const char *path, s2p_error *error);
s2p_status s2_recorded_take_alive(s2_recorded *recorded, const s2_array *array, const char *path,
                                  s2p_error *error);

/* From a file, or from an array at hand (`path` is for the sentence). */
s2p_status s2_recorded_read(s2_recorded *recorded, s2p_signal_id signal, const char *path,
                            s2p_error *error);
s2p_status s2_recorded_take(s2_recorded *recorded, s2p_signal_id signal, const s2_array *array,
                            const char *path, s2p_error *error);

/* What the letters of a shape stand for here. */
s2_sizes s2_recorded_sizes(const s2_recorded *recorded);

/* Fill the signals that were read, view->alive and view->first_row; borrowed from `recorded`. */
void s2_recorded_view(const s2_recorded *recorded, s2p_view *view);

void s2_recorded_free(s2_recorded *recorded);

/* --- later stages (restricted.c) --- */

/* The view a later stage would have if the decoder had not moved on: signals of the decoder only
 * for the tokens still there. Free with s2_restricted_free. */
typedef struct s2_restricted {
    s2p_view view;
    float *made[S2P_N_SIGNALS];
} s2_restricted;

s2p_status s2_restrict(const s2p_view *all, int32_t n_tokens, const int32_t *alive, int32_t n_alive,
                       s2_restricted *out);
void s2_restricted_free(s2_restricted *restricted);

#endif /* S2_TOOLS_RECORDED_H */
