/* tiny_families.h - a good pair of each family that runs, by name. */
#ifndef TESTS_TINY_FAMILIES_H
#define TESTS_TINY_FAMILIES_H

#include "tiny_experts.h"
#include "tiny_gemma.h"
#include "tiny_qwen35.h"

typedef enum tiny_family {
    TINY_QWEN2_5_VL,
    TINY_ONEVISION,
    TINY_QWEN2_VL,
    TINY_QWEN3_VL,
    TINY_LLAVA_1_5,
    TINY_INTERNVL3,
    TINY_INTERNVL3_5,
    TINY_SMOLVLM,
    TINY_GEMMA_3,
    TINY_QWEN3_VL_MOE,
    TINY_INTERNVL3_5_MOE,
    TINY_QWEN3_5,
    TINY_QWEN3_5_MOE,
    N_TINY_FAMILIES
} tiny_family;

static const char *const tiny_family_name[] = { "Qwen2.5-VL",   "LLaVA-OneVision", "Qwen2-VL",
                                                "Qwen3-VL",     "LLaVA-1.5",       "InternVL3",
                                                "InternVL3.5",  "SmolVLM",         "Gemma-3",
                                                "Qwen3-VL-MoE", "InternVL3.5-MoE", "Qwen3.5",
                                                "Qwen3.5-MoE" };

/* Takes a picture in the size that is asked for. */
static inline bool tiny_family_has_size(tiny_family family)
{
    return family == TINY_QWEN2_5_VL || family == TINY_QWEN2_VL || family == TINY_QWEN3_VL ||
           family == TINY_QWEN3_VL_MOE || family == TINY_QWEN3_5 || family == TINY_QWEN3_5_MOE;
}

static inline void tiny_family_files(tiny_family family, tiny_file *text, tiny_file *mmproj)
{
    const int n = 2, n_qwen3 = 3; /* layers: every kind of tensor, in files written quickly */
    tiles_words(&tiny_words);
    switch (family) {
    case TINY_QWEN2_5_VL:
    case TINY_QWEN2_VL:
        tiny_text(text, &tiny_words, n);
        (family == TINY_QWEN2_VL ? qwen2_mmproj : tiny_mmproj)(mmproj, n);
        break;
    case TINY_QWEN3_VL:
    case TINY_QWEN3_VL_MOE:
        (family == TINY_QWEN3_VL ? qwen3_text : experts_text)(text, n_qwen3);
        qwen3_mmproj(mmproj, n_qwen3);
        break;
    case TINY_QWEN3_5:
    case TINY_QWEN3_5_MOE:
        qwen35_text(text, QWEN35_LAYERS);
        if (family == TINY_QWEN3_5_MOE) {
            experts_replace(text, QWEN35_LAYERS);
            experts_share(text, QWEN35_LAYERS);
        }
        qwen35_mmproj(mmproj, n_qwen3);
        break;
    case TINY_ONEVISION:
        llava_text_of(text, n);
        llava_mmproj(mmproj);
        break;
    case TINY_LLAVA_1_5:
        tiles_text(text, n, "llama");
        llava15_mmproj(mmproj);
        break;
    case TINY_SMOLVLM:
        smolvlm_text(text, n);
        smolvlm_mmproj(mmproj);
        break;
    case TINY_GEMMA_3:
        gemma_text(text);
        gemma_mmproj(mmproj);
        break;
    default:
        if (family == TINY_INTERNVL3)
            llava_text_of(text, n);
        else
            internvl3_5_text(text, n);
        if (family == TINY_INTERNVL3_5_MOE) experts_replace(text, n);
        internvl_mmproj(mmproj);
        tiny_number(mmproj, "clip.vision.preproc_min_tiles", U32, 1);
        tiny_number(mmproj, "clip.vision.preproc_max_tiles", U32, 4);
    }
}

#endif /* TESTS_TINY_FAMILIES_H */
