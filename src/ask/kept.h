/* kept.h - where the kept tokens of a picture are, and how two selections overlap. */
#ifndef S2_ASK_KEPT_H
#define S2_ASK_KEPT_H

#include "base/json.h"
#include "s2prune.h"

/* The outer two rows and columns; the middle half of rows and columns. In grids below 8 tokens a side
 * the two overlap. */
bool s2a_is_edge(s2p_grid grid, int32_t token);
bool s2a_is_center(s2p_grid grid, int32_t token);

/* How many tokens are in both lists, which must be ascending. */
int64_t s2a_count_common(const int32_t *a, int32_t n_a, const int32_t *b, int32_t n_b);

/* Region g: its tokens, its pixels, structure, score and share. A new reference. */
json_t *s2a_region_json(const s2p_layout *layout, int32_t g);

/* Tokens of the grid that never entered the tower, ascending. entered: NULL: all did. A new reference. */
json_t *s2a_skipped_json(s2p_grid grid, const int32_t *entered, int32_t n_entered);

/* Tokens that would enter a tower which sees `unit` pixels a side for each token of the grid: *out is
 * [*n], ascending, to be freed. */
s2p_status s2a_tower_tokens(const s2p_image *picture, s2p_grid grid, int32_t unit,
                            const s2p_pixelprune *before, int32_t **out, int32_t *n,
                            s2p_error *error);

/* Schema s2prune.plan/1, one line, of a picture of that size. n_keep 0: no tokens were selected.
 * entered NULL: the tower is left out. */
void s2a_plan_json(const s2p_layout *layout, int32_t width, int32_t height, const int32_t *keep,
                   int32_t n_keep, const int32_t *entered, int32_t n_entered, s2_buffer *out);

#endif /* S2_ASK_KEPT_H */
