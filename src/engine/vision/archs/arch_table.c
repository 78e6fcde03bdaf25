/* arch_table.c - every architecture the engine runs. */
#include "engine/vision/arch.h"

#include <string.h>

extern const s2v_arch s2v_arch_qwen2_5_vl, s2v_arch_llava_onevision, s2v_arch_qwen2_vl,
    s2v_arch_qwen3_vl, s2v_arch_llava_1_5, s2v_arch_internvl3, s2v_arch_internvl3_5,
    s2v_arch_smolvlm, s2v_arch_qwen3_vl_moe, s2v_arch_internvl3_5_moe, s2v_arch_gemma_3,
    s2v_arch_qwen3_5, s2v_arch_qwen3_5_moe;

static const s2v_arch *const archs[] = {
    &s2v_arch_qwen2_5_vl,   &s2v_arch_llava_onevision, &s2v_arch_qwen2_vl,    &s2v_arch_qwen3_vl,
    &s2v_arch_llava_1_5,    &s2v_arch_internvl3,       &s2v_arch_internvl3_5, &s2v_arch_smolvlm,
    &s2v_arch_qwen3_vl_moe, &s2v_arch_internvl3_5_moe, &s2v_arch_gemma_3,     &s2v_arch_qwen3_5,
    &s2v_arch_qwen3_5_moe,
};
#define N_ARCHS (sizeof archs / sizeof *archs)

static bool is_text(s2v_text text, const char *expected)
{
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

const s2v_arch *s2v_arch_find(s2v_text name, s2v_text projector)
{
    for (size_t i = 0; i < N_ARCHS; i++)
        if (is_text(name, archs[i]->name) && is_text(projector, archs[i]->projector))
            return archs[i];
    return NULL;
}

const s2v_arch *s2v_arch_of_tower(s2v_text projector, const s2v_gguf *mmproj)
{
    const bool has_class_row = s2v_gguf_find_tensor(mmproj, "v.class_embd") != NULL;
    const s2v_arch *first = NULL;
    for (size_t i = 0; i < N_ARCHS; i++) {
        if (!is_text(projector, archs[i]->projector)) continue;
        if (archs[i]->has_class_row == has_class_row) return archs[i];
        if (!first) first = archs[i];
    }
    return first;
}

int s2v_architecture_get(size_t index, s2v_architecture *out)
{
    if (index >= N_ARCHS) return 0;
    *out = (s2v_architecture){ archs[index]->title, archs[index]->name, archs[index]->projector };
    return 1;
}
