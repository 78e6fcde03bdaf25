/* watch.h - what a block of the tower attends to, and the keys it attends with.
 *
 * The tower runs on fused attention and hands out the queries and keys of the block
 * (s2v_peeks); the attention itself is computed here, beside it, on the CPU. A token is the
 * mean of its patches.
 *
 * A picture seen in tiles: the tokens of part 0 are those of view 0; a token of part 1 is
 * blended from the tokens of the tiles with the weights its features are blended with.
 * Attention stays inside a view. All views have the same number of patches, so the values of
 * different tiles are of one scale, and they are put side by side as they are.
 *
 * With a tap, the last two blocks are shown whenever the tower runs, view by view, before
 * "vis.merged". index: the block; tokens in raster order, the patches of one side by side.
 *   "vis.attn_received"  [patches] mean over heads, summed over queries
 *   "vis.attn_nq"        [patches] queries that see the patch
 *   "vis.key_mean"       [patches][head_dim] mean over heads, before any rotation
 *   "vis.key_rope_mean"  [patches][head_dim] rotated; not in a tower without rotation
 */
#ifndef S2_ENGINE_WATCH_H
#define S2_ENGINE_WATCH_H

#include "engine/run/session.h"

typedef struct s2v_glance { /* one block on one view; owned; patches in the tower's order */
    int32_t n_patches, head_dim;
    float *received;  /* [n_patches] mean over heads, summed over queries */
    float *n_queries; /* [n_patches] that see the patch */
    float *key;       /* [n_patches][head_dim] mean over heads, as rotated */
    float *plain_key; /* before the rotation; NULL when it was not handed out */
} s2v_glance;

/* What the session's watchers want: nothing (n is 0), the last block, or with a tap the last two.
 */
s2v_peeks s2v_watch_peeks(const s2v_session *session, bool is_watched);

/* Once the tower's graph has run. Its time is added to session->probe_ms. */
s2p_status s2v_watch_block(s2v_session *session, const s2v_frame *frame, const s2v_peek *peek,
                           s2v_glance *out, s2p_error *error);
void s2v_glance_free(s2v_glance *glance);

/* Show a block to the tap. */
s2p_status s2v_watch_tap(const s2v_session *session, const s2v_frame *frame, int32_t block,
                         const s2v_glance *glance, s2p_error *error);

/* Zeros for all tokens of a picture. */
s2p_status s2v_watched_init(s2v_watched *out, const s2v_frame *frame, int32_t head_dim,
                            s2p_error *error);

/* Add the tokens of one view to those of the picture. */
void s2v_watched_add(s2v_watched *watched, const s2v_frame *frame, int32_t view,
                     const s2v_glance *glance);

#endif /* S2_ENGINE_WATCH_H */
