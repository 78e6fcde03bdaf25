/* tiny_experts.h - the decoder of tiny_qwen3.h with six experts in each layer, of which a row uses two. */
#ifndef TESTS_TINY_EXPERTS_H
#define TESTS_TINY_EXPERTS_H

#include "tiny_qwen3.h"

enum { EXPERTS_N = 6, EXPERTS_USED = 2, EXPERTS_FF = 32, EXPERTS_SHARED_FF = 64 };

/* ffn_gate, ffn_up and ffn_down become those of experts; a router comes besides. The architecture
 * "NAME" becomes "NAMEmoe". */
static inline void experts_replace(tiny_file *f, int n_layers)
{
    static const char *const parts[] = { "gate", "up", "down" };
    static char names[3][32]; /* the file points to its architecture's */
    const char *from = tiny_find_key(f, "general.architecture")->text;
    const size_t n_from = strlen(from);
    char *name_of_moe = names[strcmp(from, "qwen3") == 0 ? 1 : strcmp(from, "qwen35") == 0 ? 2 : 0];
    (void)snprintf(name_of_moe, sizeof names[0], "%.20smoe", from);
    for (size_t i = 0; i < f->n_keys; i++) {
        char rest[64];
        if (strncmp(f->key[i].name, from, n_from) != 0 || f->key[i].name[n_from] != '.') continue;
        (void)snprintf(rest, sizeof rest, "%s", f->key[i].name + n_from);
        (void)snprintf(f->key[i].name, sizeof f->key[i].name, "%s%.40s", name_of_moe, rest);
    }
    tiny_find_key(f, "general.architecture")->text = name_of_moe;
    static const struct {
        const char *key;
        double value;
    } numbers[] = { { "expert_count", EXPERTS_N },
                    { "expert_used_count", EXPERTS_USED },
                    { "expert_feed_forward_length", EXPERTS_FF } };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%s.%s", name_of_moe, numbers[i].key);
        tiny_number(f, key, U32, numbers[i].value);
    }
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

/* A further one that every row uses, by a gate of its own. */
static inline void experts_share(tiny_file *f, int n_layers)
{
    char key[64];
    (void)snprintf(key, sizeof key, "%s.expert_shared_feed_forward_length",
                   tiny_find_key(f, "general.architecture")->text);
    tiny_number(f, key, U32, EXPERTS_SHARED_FF);
    for (int i = 0; i < n_layers; i++) {
        tiny_add_tensor(f, "blk.%d.ffn_gate_inp_shexp.weight", i, TINY_WIDTH, 0);
        tiny_add_tensor(f, "blk.%d.ffn_gate_shexp.weight", i, TINY_WIDTH, EXPERTS_SHARED_FF);
        tiny_add_tensor(f, "blk.%d.ffn_up_shexp.weight", i, TINY_WIDTH, EXPERTS_SHARED_FF);
        tiny_add_tensor(f, "blk.%d.ffn_down_shexp.weight", i, EXPERTS_SHARED_FF, TINY_WIDTH);
    }
}

static inline void experts_text(tiny_file *f, int n_layers)
{
    qwen3_text(f, n_layers);
    experts_replace(f, n_layers);
}

#endif /* TESTS_TINY_EXPERTS_H */
