/* family_table.c - every family, in the order sentences name them. */
#include "convert/family.h"

#include <stdio.h>
#include <string.h>

extern const s2v_family family_qwen2_5_vl;
extern const s2v_family family_qwen2_vl;
extern const s2v_family family_qwen3_vl;
extern const s2v_family family_llava_onevision;
extern const s2v_family family_llava_1_5;

static const s2v_family *const families[] = {
    &family_qwen2_5_vl,      &family_qwen2_vl,  &family_qwen3_vl,
    &family_llava_onevision, &family_llava_1_5,
};

#define N_FAMILIES (sizeof families / sizeof *families)

const s2v_family *s2v_family_find(const char *model_type, s2p_error *error)
{
    char list[160];
    size_t n = 0;
    for (size_t i = 0; i < N_FAMILIES; i++) {
        const char *name = families[i]->model_type;
        if (strcmp(name, model_type) == 0) return families[i];
        const char *before = i == 0 ? "" : i + 1 == N_FAMILIES ? " and " : ", ";
        const int length = snprintf(list + n, sizeof list - n, "%s%s", before, name);
        if (length > 0 && (size_t)length < sizeof list - n) n += (size_t)length;
    }
    (void)s2_fail(error, S2P_EUNSUPPORTED, "config.json: model_type '%.40s' is not one of %s",
                  model_type, list);
    return NULL;
}
