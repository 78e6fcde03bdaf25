/* tower.h - what every vision tower is told by its file. */
#ifndef S2_ENGINE_TOWER_H
#define S2_ENGINE_TOWER_H

#include "engine/vision/arch.h"

#include <stdbool.h>

/* The keys all mmproj files have: blocks, widths, heads, patch, epsilon, mean and deviation; and
 * what follows from them. */
s2p_status s2v_tower_keys(s2v_vision *v, const s2v_gguf *file, s2p_error *error);

/* A key of "clip.vision" a file may leave out. */
s2p_status s2v_tower_option(const s2v_gguf *file, const char *key, int32_t low, int32_t high,
                            int32_t fallback, int32_t *out, s2p_error *error);

/* Old files have ffn_up and ffn_down exchanged; the shape tells. */
bool s2v_tower_has_swapped_ffn(const s2v_gguf *file, int32_t n_embd);

/* The decoder takes the rows this tower makes. */
s2p_status s2v_tower_fits(const s2v_model *model, s2p_error *error);

static inline int32_t s2v_round_up(int32_t n, int32_t unit) { return (n + unit - 1) / unit * unit; }

/* What every tower has in block i: norms, attention with biases, up and down padded to a multiple
 * of
 * 32. is_swapped: s2v_tower_has_swapped_ffn(). */
void s2v_tower_load_block(s2v_block *block, s2v_loader *loader, const s2v_vision *vision, int32_t i,
                          bool is_swapped);

/* Hand out what block i attends with, if it was asked for. None of the tensors may be a view:
 * memory of outputs is kept, memory behind views is not. */
void s2v_tower_show(s2v_peeks *peeks, int32_t i, bool is_full, struct ggml_tensor *q,
                    struct ggml_tensor *k, struct ggml_tensor *plain_k);

#endif /* S2_ENGINE_TOWER_H */
