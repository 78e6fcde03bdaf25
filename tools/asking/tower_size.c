/* tower_size.c - what the formula wants, from the header of the mmproj. */
#include "asking/tower_size.h"

#include "gguf/gguf.h"

bool s2_asker_tower_size(const s2_asker *asker, s2_tower_size *out)
{
    s2v_gguf *file;
    int64_t embd = 0, ff = 0, width = 0, pattern = 0;
    if (s2v_gguf_open(&file, asker->mmproj, NULL) != S2P_OK) return false;
    const bool is_known = s2v_gguf_int(file, "clip.vision.embedding_length", &embd) &&
                          s2v_gguf_int(file, "clip.vision.feed_forward_length", &ff) &&
                          s2v_gguf_int(file, "clip.vision.projection_dim", &width);
    const bool has_windows =
        s2v_gguf_int(file, "clip.vision.n_wa_pattern", &pattern) && pattern > 0;
    s2v_text projector;
    const bool is_pooled = s2v_gguf_string(file, "clip.projector_type", &projector) &&
                           s2v_text_is(projector, "gemma3");
    s2v_gguf_close(file);
    const int32_t merge = asker->info.merge_size > 1 ? asker->info.merge_size : 1;
    const int32_t n_blocks = asker->info.n_vision_blocks;
    *out = (s2_tower_size){
        .n_blocks = n_blocks,
        .n_embd = (int32_t)embd,
        .n_ff = (int32_t)ff,
        .n_mlp = has_windows ? 3 : 2,
        .n_whole = has_windows ? n_blocks / (int32_t)pattern : n_blocks,
        .window = 64,
        .merge = merge * merge,
        .n_out = (int32_t)width,
        .projector_embd = (int32_t)(merge > 1 ? embd * merge * merge : width),
    };
    if (is_pooled) { /* one matrix behind the mean of a token's patches */
        out->projector_embd = out->n_out;
        out->n_out = 0;
        out->is_pooled = 1;
    }
    return is_known;
}
