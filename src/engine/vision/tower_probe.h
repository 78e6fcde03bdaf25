/* tower_probe.h - the attention of the tower, and its keys.
 *
 * The tower runs with fused attention and outputs the queries and keys of a block
 * (s2v_tower_request); the attention itself is computed here, separately, on the CPU. A token is
 * the mean of its patches.
 *
 * A picture seen in tiles: the tokens of part 0 are those of view 0; a token of part 1 is
 * blended from the tokens of the tiles with the weights its features are blended with.
 * Attention is within a view. All views have the same number of patches, so the values of
 * different tiles have the same scale, and they are concatenated unchanged.
 */
#ifndef S2_ENGINE_TOWER_PROBE_H
#define S2_ENGINE_TOWER_PROBE_H

#include "engine/vision/arch.h"

typedef struct s2v_tower_reading { /* one block on one view; owned; patches in the tower's order */
    int32_t n_patches, head_dim;
    float *received;  /* [n_patches] mean over heads, summed over queries */
    float *n_queries; /* [n_patches] that see the patch */
    float *key;       /* [n_patches][head_dim] mean over heads, as rotated */
    float *plain_key; /* before RoPE; NULL if the tower did not output it */
} s2v_tower_reading;

typedef struct s2v_tower_probe { /* attention and keys of the last block for one picture; owned */
    float *attn; /* [tokens of all parts] attention received: mean over heads, queries and the
                      patches of a token; raster order, part after part */
    float *key;  /* [tokens of all parts][key_dim] as rotated, mean over heads and the patches of a
                      token */
    int32_t key_dim;
} s2v_tower_probe;

/* What to request from a tower: nothing (n is 0), its last block, or for a trace the last two. */
s2v_tower_request s2v_tower_ask(int32_t n_blocks, bool is_probed, bool is_traced);

/* Call after the tower's graph has run. The last of `backends` is the CPU. */
s2p_status s2v_tower_read(const s2v_tower *tower, const s2v_backends *backends, int32_t n_threads,
                          const s2v_tower_qk *qk, s2v_tower_reading *out, s2p_error *error);
void s2v_tower_reading_free(s2v_tower_reading *reading);

/* Values of patches, [n_patches][width], in the order of their tokens. */
void s2v_tower_in_raster(const s2v_frame *frame, const int32_t *raster, const float *patches,
                         int32_t width, float *out);

/* Zeros for all tokens of a picture. */
s2p_status s2v_tower_probe_init(s2v_tower_probe *out, const s2v_frame *frame, int32_t head_dim,
                                s2p_error *error);
void s2v_tower_probe_free(s2v_tower_probe *probe);

/* Add the tokens of one view to those of the picture. raster: as in s2v_tower_request. */
void s2v_tower_probe_add(s2v_tower_probe *probe, const s2v_frame *frame, const int32_t *raster,
                         int32_t view, const s2v_tower_reading *reading);

#endif /* S2_ENGINE_TOWER_PROBE_H */
