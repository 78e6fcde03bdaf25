/* convert_internal.h - what the files of the converter share and nobody else sees. */
#ifndef S2_CONVERT_CONVERT_INTERNAL_H
#define S2_CONVERT_CONVERT_INTERNAL_H

#include "convert/checkpoint.h"
#include "convert/convert.h"
#include "gguf/gguf_write.h"
#include "base/json_limit.h"

/* --- numbers of a model (convert_config.c) ----------------------------------------------- */

typedef enum s2v_family { S2V_QWEN2_5_VL, S2V_QWEN2_VL, S2V_LLAVA_ONEVISION } s2v_family;

typedef struct s2v_numbers {
    s2v_family family;
    /* text */
    int32_t n_layers, n_ctx, n_embd, n_ff, n_head, n_head_kv, n_vocab;
    float rope_theta, rms_eps;
    int32_t sections[4]; /* Qwen */
    bool may_be_tied;    /* the output matrix may be missing */
    /* vision */
    int32_t v_layers, v_embd, v_ff, v_head, v_patch, v_image;
    int32_t v_full;    /* Qwen2.5: every how many blocks attention is full */
    int32_t v_feature; /* LLaVA: number of the layer whose output is used */
    float v_eps, mean[3], std[3];
} s2v_numbers;

/* Read config.json and preprocessor_config.json. *config is for the special tokens; the caller
 * drops it. */
s2p_status s2v_numbers_read(const char *folder, s2v_numbers *out, json_t **config,
                            s2p_error *error);

const char *s2v_family_name(s2v_family family);

/* --- vocabulary (convert_vocab.c) --------------------------------------------------------- */

/* The tokenizer.* keys. */
s2p_status s2v_vocabulary_put(const char *folder, const s2v_numbers *numbers, const json_t *config,
                              s2v_gguf_writer *writer, s2p_error *error);

/* --- tensors (convert_map.c) --------------------------------------------------------------- */

#define S2V_NAME_ROOM 64

typedef struct s2v_planned { /* one tensor of the result */
    char name[S2V_NAME_ROOM];
    bool is_vision;
    s2v_tensor_type type;
    int32_t n_dims;
    int64_t ne[4];
    const s2v_safetensors *file;
    const s2v_st_tensor *source;
    int64_t n_per_row, n_rows; /* of the work: rows of n_per_row values, */
    int64_t first, stride;     /* the first at value `first` of the source, one every `stride` */
} s2v_planned;

typedef struct s2v_conversion_plan {
    s2v_planned *tensors; /* in the order of the checkpoint */
    size_t n_tensors, n_ignored;
} s2v_conversion_plan;

/* Every tensor of the checkpoint must be known and have its shape, and none may be missing. */
s2p_status s2v_conversion_plan_make(s2v_conversion_plan *out, const s2v_checkpoint *checkpoint,
                                    const s2v_numbers *numbers, s2v_tensor_type type,
                                    s2p_error *error);
void s2v_conversion_plan_free(s2v_conversion_plan *plan);

/* --- keys (convert_keys.c) ---------------------------------------------------------------- */

typedef struct s2v_key_facts {
    const char *name;   /* general.name */
    uint64_t n_values;  /* of this file */
    uint32_t file_type; /* general.file_type */
} s2v_key_facts;

void s2v_text_keys_put(const s2v_numbers *numbers, const s2v_key_facts *facts,
                       s2v_gguf_writer *writer);
void s2v_vision_keys_put(const s2v_numbers *numbers, const s2v_key_facts *facts,
                         s2v_gguf_writer *writer);

#endif /* S2_CONVERT_CONVERT_INTERNAL_H */
