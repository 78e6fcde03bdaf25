/* look.h - how a method looks in every figure, and how the literature cites it.
 *
 *     const s2_look look = s2_look_of("FastV");       by name or by title: the same look
 *
 * A method has one color, one mark and one dash whatever else a figure shows, so that two figures of
 * one paper can be read together. No two methods share all three, and methods of one family share a
 * hue. Colors are numbers of a palette with a shade for light and one for dark paper.
 */
#ifndef S2_EVAL_FIGURE_LOOK_H
#define S2_EVAL_FIGURE_LOOK_H

#include "base/buffer.h"

#include <stdbool.h>

#define S2_LOOK_COLOURS 12
#define S2_LOOK_MARKS 8
#define S2_LOOK_DASHES 5

typedef enum s2_mark {
    S2_MARK_CIRCLE,
    S2_MARK_SQUARE,
    S2_MARK_UP,
    S2_MARK_DIAMOND,
    S2_MARK_DOWN,
    S2_MARK_CROSS,
    S2_MARK_PLUS,
    S2_MARK_RING
} s2_mark;

typedef struct s2_look {
    int32_t colour; /* 0 to S2_LOOK_COLOURS - 1; 0 is the method of the paper, 1 the controls */
    s2_mark mark;
    int32_t dash; /* 0: a solid line */
    bool is_ours; /* the method of the paper: drawn last and thicker */
} s2_look;

/* "#rrggbb" of a color. */
const char *s2_look_hex(int32_t colour, bool is_dark);

/* "none", or lengths for stroke-dasharray. */
const char *s2_look_dash(int32_t dash);

/* Rules of CSS for a page: class c0, c1, ... have the colors as background, in both schemes. */
void s2_look_css(s2_buffer *out);

/* The look of a method by its name or its title. Anything else that is a setting (a variant such as
 * "S2Prune [K=10]", a method of the user's own such as "file:kept.jsonl") has a look that follows from
 * its text alone. *is_known (NULL: not wanted) is false for other words, which get look 2 on. */
s2_look s2_look_of(const char *label, bool *is_known);

/* The look of series `index` of things that are no methods: budgets, allocators. */
s2_look s2_look_at(int32_t index);

/* The BibTeX key of a method by its name or title, or of the method a variant is made of, as in the
 * paper; NULL: a control, or unknown. */
const char *s2_look_cite(const char *label);

/* The label of a setting with the title of its method: "fastv[published]" is "FastV [published]". What
 * names no method stays as it is. */
#define S2_TITLE_SIZE 1280 /* for every label */
const char *s2_title_of(const char *label, char out[S2_TITLE_SIZE]);

#endif /* S2_EVAL_FIGURE_LOOK_H */
