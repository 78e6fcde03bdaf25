/* trace.h - shows the intermediate arrays of a prefill, layer by layer; and masks rows
 * instead of removing them. For tests and `s2prune verify`; without a trace it costs nothing.
 *
 * What is shown, [rows][cols] floats valid during the call:
 *
 *   name                 index
 *   "vis.patch_embed"    0        [patches][width] before learned positions; towers with RoPE only
 *   "vis.embed"          0        [rows][width] with learned positions, a class row first
 *   "vis.pre_ln"         0        [rows][width] instead, where a norm comes before the blocks
 *   "vis.block"          block    [rows][width] output of the block
 *   "vis.post_layernorm" 0        [patches][width] after the blocks, if patches are normed separately
 *   "vis.attn_received"  block    [patches] of the last two blocks, whenever the tower runs, view by
 *                                 view: mean over heads, summed over queries
 *   "vis.attn_nq"        block    [patches] queries that see the patch
 *   "vis.key_mean"       block    [patches][head_dim] mean over heads, before any rotation
 *   "vis.key_rope_mean"  block    [patches][head_dim] rotated; not in a tower without rotation
 *   "vis.merged"         picture  [tokens][n_embd] once for each of its views
 *   "vis.deepstack"      layer    [tokens][n_embd] what is added after that decoder layer
 *   "h"                  layers done   [rows][n_embd] output of the last of them
 *   "h_ds"               layers done   the same with what is added to them, if anything
 *   "erc"                picture  [tokens] of its first part
 *   "erc_tiles"          picture  [tokens] of its second part, where it has one
 *   "k_rope"             layer    [rows][n_kv_heads * head_dim] as rotated; with `attention`
 *   "attn"               layer    [rows][rows] mean over heads; with `attention`
 *
 * Patches come in the raster order of their tokens, those of one token side by side.
 */
#ifndef S2_ENGINE_TRACE_H
#define S2_ENGINE_TRACE_H

#include "engine/session/session.h"
#include "engine/vision/tower_probe.h"

/* Trace the next prefills; NULL stops. */
void s2v_session_set_trace(s2v_session *session, s2v_trace_callback show, void *user);

/* Show what one block of the tower did to one view. */
s2p_status s2v_trace_tower(const s2v_trace *trace, const s2v_frame *frame, const int32_t *raster,
                           int32_t block, const s2v_tower_reading *reading, s2p_error *error);

/* One stage of it. */
s2p_status s2v_trace_stage(const s2v_trace *trace, const s2v_frame *frame, const int32_t *raster,
                           const s2v_tower_stage *stage, s2p_error *error);

/* Show rows [first, first + n) of the session, in their current state. */
void s2v_trace_rows(const s2v_session *session, const char *name, int32_t index, int32_t first,
                    int32_t n);

/* What layer `index` of the decoder adds to them. */
void s2v_trace_deepstack(const s2v_session *session, const char *name, int32_t index, int32_t first,
                         int32_t n);

/* s2v_run_layers, but with a trace one layer at a time, showing each. */
s2p_status s2v_trace_layers(s2v_session *session, int32_t first, int32_t last, float *erc,
                            s2p_error *error);

/* Instead of removing all rows but these: mask the others from now on. */
s2p_status s2v_trace_mask(s2v_session *session, const int32_t *keep, int32_t n_keep,
                          s2p_error *error);

/* After the prefill: unmask all rows. */
void s2v_trace_unmask(s2v_session *session);

#endif /* S2_ENGINE_TRACE_H */
