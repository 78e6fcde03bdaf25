/* tiny_qwen2.h - the tiny pair with Qwen2-VL's tower instead of Qwen2.5-VL's.
 *
 * The decoder is the one of tiny_model.h. The tower has LayerNorm with biases, no gate and no windows.
 */
#ifndef TESTS_TINY_QWEN2_H
#define TESTS_TINY_QWEN2_H

#include "tiny_run.h"

static inline void qwen2_mmproj(tiny_file *f, int n_blocks)
{
    const uint64_t n = TINY_VISION;
    tiny_mmproj(f, n_blocks);
    tiny_find_key(f, "clip.projector_type")->text = "qwen2vl_merger";
    tiny_drop_key(f, (size_t)(tiny_find_key(f, "clip.vision.n_wa_pattern") - f->key));
    for (int i = 0; i < n_blocks; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "v.blk.%d.ffn_gate.weight", i);
        tiny_drop_tensor(f, (size_t)(tiny_find_tensor(f, name) - f->tensor));
        (void)snprintf(name, sizeof name, "v.blk.%d.ffn_gate.bias", i);
        tiny_drop_tensor(f, (size_t)(tiny_find_tensor(f, name) - f->tensor));
        (void)snprintf(name, sizeof name, "v.blk.%d.ffn_up.weight", i);
        tiny_find_tensor(f, name)->spread = 0.5f; /* GELU bends */
        tiny_add_tensor(f, "v.blk.%d.ln1.bias", i, n, 0)->centre = 0.0f;
        tiny_add_tensor(f, "v.blk.%d.ln2.bias", i, n, 0)->centre = 0.0f;
    }
    tiny_add_tensor(f, "v.post_ln.bias", 0, n, 0)->centre = 0.0f;
}

/* As files of llama.cpp's first converter have it: fc1 is called ffn_down and fc2 ffn_up. */
static inline void qwen2_swap_names(tiny_file *f)
{
    for (size_t i = 0; i < f->n_tensors; i++) {
        char *up = strstr(f->tensor[i].name, "ffn_up"),
             *down = strstr(f->tensor[i].name, "ffn_down");
        char rest[16];
        if (!up && !down) continue;
        (void)snprintf(rest, sizeof rest, "%s", up ? up + 6 : down + 8);
        (void)snprintf(up ? up : down, 24, "%s%s", up ? "ffn_down" : "ffn_up", rest);
    }
}

#endif /* TESTS_TINY_QWEN2_H */
