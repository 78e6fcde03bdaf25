/* sparsevlm.h - the parts of SparseVLM that tests call. */
#ifndef S2_PRUNE_SPARSEVLM_H
#define S2_PRUNE_SPARSEVLM_H

#include "prune/method.h"

/* Question tokens that refer to the picture, ascending. rater: [n_text] out. n_tokens: of the
 * grid. */
s2p_status s2p_sparsevlm_raters(const s2p_view *view, int32_t n_tokens, int32_t *rater,
                                int32_t *n_raters, s2p_error *error);

/* score: [n_rows] out, the raters' mean attention to the rows alive. */
s2p_status s2p_sparsevlm_score(const s2p_view *view, int32_t n_tokens, int32_t n_rows,
                               double *score, s2p_error *error);

#endif /* S2_PRUNE_SPARSEVLM_H */
