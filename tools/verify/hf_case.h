/* hf_case.h - a case recorded by Hugging Face: what belongs to it, for the files that check it. */
#ifndef S2_TOOLS_HF_CASE_H
#define S2_TOOLS_HF_CASE_H

#include "engine/session/session.h"
#include "image/image.h"
#include "verify/verify.h"

#define HF_PATH_CAPACITY 4096
#define HF_MAX_PICTURES 16

typedef struct hf_case {
    s2_verdict *verdict;
    char folder[HF_PATH_CAPACITY]; /* model and pictures */
    s2v_gguf *golden, *full;       /* the case, and the unpruned one that has its prompt */
    s2_image picture[HF_MAX_PICTURES];
    s2p_image view[HF_MAX_PICTURES];
    int32_t n_pictures;
    int32_t patch;                           /* pixels per patch side of the model */
    s2v_image_options size[HF_MAX_PICTURES]; /* as the tower saw them */
    int32_t budget[HF_MAX_PICTURES], side[HF_MAX_PICTURES];
    bool is_pruned;
    const char *pair;            /* "f32" or "f16" */
    size_t n_seen, n_views_seen; /* tokens and views of the pictures before */
    size_t n_tower_seen;         /* values compared by s2_hf_check_tower */
} hf_case;

#endif /* S2_TOOLS_HF_CASE_H */
