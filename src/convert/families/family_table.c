/* family_table.c - every family, in the order sentences name them. */
#include "convert/family.h"

#include <stdio.h>
#include <string.h>

extern const s2v_family family_qwen2_5_vl;
extern const s2v_family family_qwen2_vl;
extern const s2v_family family_qwen3_vl, family_qwen3_vl_moe;
extern const s2v_family family_qwen3_5, family_qwen3_5_moe;
extern const s2v_family family_llava_onevision;
extern const s2v_family family_llava_1_5;
extern const s2v_family family_internvl3, family_internvl3_5, family_internvl3_5_moe;
extern const s2v_family family_internvl3_chat, family_internvl3_5_chat, family_internvl3_5_moe_chat;
extern const s2v_family family_smolvlm, family_idefics3;
extern const s2v_family family_gemma_3;

static const s2v_family *const families[] = {
    &family_qwen2_5_vl,     &family_qwen2_vl,         &family_qwen3_vl,
    &family_qwen3_vl_moe,   &family_llava_onevision,  &family_llava_1_5,
    &family_internvl3,      &family_internvl3_5,      &family_internvl3_5_moe,
    &family_internvl3_chat, &family_internvl3_5_chat, &family_internvl3_5_moe_chat,
    &family_smolvlm,        &family_idefics3,         &family_gemma_3,
    &family_qwen3_5,        &family_qwen3_5_moe,
};

#define N_FAMILIES (sizeof families / sizeof *families)

/* Families of one model_type are together. */
static bool is_first(size_t i)
{
    return i == 0 || strcmp(families[i - 1]->model_type, families[i]->model_type) != 0;
}

const s2v_family *s2v_family_find(const char *model_type, const char *text_type, s2p_error *error)
{
    const s2v_family *first = NULL;
    size_t last = 0;
    for (size_t i = 0; i < N_FAMILIES; i++) {
        const s2v_family *f = families[i];
        if (is_first(i)) last = i;
        if (strcmp(f->model_type, model_type) != 0) continue;
        if (text_type && f->text_type && strcmp(f->text_type, text_type) == 0) return f;
        if (!first) first = f;
    }
    if (first) return first;
    char list[240];
    size_t n = 0;
    for (size_t i = 0; i < N_FAMILIES; i++) {
        if (!is_first(i)) continue;
        const char *before = i == 0 ? "" : i == last ? " and " : ", ";
        const int length =
            snprintf(list + n, sizeof list - n, "%s%s", before, families[i]->model_type);
        if (length > 0 && (size_t)length < sizeof list - n) n += (size_t)length;
    }
    (void)s2_fail(error, S2P_EUNSUPPORTED, "config.json: model_type '%.40s' is not one of %s",
                  model_type, list);
    return NULL;
}
