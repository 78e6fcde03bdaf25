/* tiny_experts.h - the decoder of tiny_qwen3.h with six experts in each layer, of which a row uses two. */
#ifndef TESTS_TINY_EXPERTS_H
#define TESTS_TINY_EXPERTS_H

#include "tiny_qwen3.h"

enum { EXPERTS_N = 6, EXPERTS_USED = 2, EXPERTS_FF = 32 };

/* ffn_gate, ffn_up and ffn_down become those of experts; a router comes besides. */
static inline void experts_text(tiny_file *f, int n_layers)
{
    static const char *const parts[] = { "gate", "up", "down" };
    qwen3_text(f, n_layers);
    tiny_find_key(f, "general.architecture")->text = "qwen3vlmoe";
    for (size_t i = 0; i < f->n_keys; i++) {
        char rest[64];
        if (strncmp(f->key[i].name, "qwen3vl.", 8) != 0) continue;
        (void)snprintf(rest, sizeof rest, "%s", f->key[i].name + 8);
        (void)snprintf(f->key[i].name, sizeof f->key[i].name, "qwen3vlmoe.%.50s", rest);
    }
    tiny_number(f, "qwen3vlmoe.expert_count", U32, EXPERTS_N);
    tiny_number(f, "qwen3vlmoe.expert_used_count", U32, EXPERTS_USED);
    tiny_number(f, "qwen3vlmoe.expert_feed_forward_length", U32, EXPERTS_FF);
    for (int i = 0; i < n_layers; i++) {
        char name[64];
        for (int k = 0; k < 3; k++) {
            (void)snprintf(name, sizeof name, "blk.%d.ffn_%s.weight", i, parts[k]);
            tiny_tensor *t = tiny_find_tensor(f, name);
            (void)snprintf(t->name, sizeof t->name, "blk.%d.ffn_%s_exps.weight", i, parts[k]);
            t->ne[k == 2 ? 0 : 1] = EXPERTS_FF;
            t->ne[2] = EXPERTS_N;
            t->n_dims = 3;
        }
        tiny_add_tensor(f, "blk.%d.ffn_gate_inp.weight", i, TINY_WIDTH, EXPERTS_N);
    }
}

#endif /* TESTS_TINY_EXPERTS_H */
