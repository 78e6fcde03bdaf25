/* convert_steps.h - the steps of a conversion, in order: checkpoint, numbers, tensors, keys, vocabulary. */
#ifndef S2_CONVERT_CONVERT_STEPS_H
#define S2_CONVERT_CONVERT_STEPS_H

#include "base/json.h"
#include "convert/numbers.h"
#include "convert/safetensors.h"
#include "gguf/gguf_types.h"
#include "gguf/gguf_write.h"

/* checkpoint.c: the weights of a folder as Hugging Face publishes it: one safetensors file, or
 * several with an index that says which tensor is where. */

#define S2V_MAX_SHARDS 256

typedef struct s2v_checkpoint {
    s2v_safetensors *files[S2V_MAX_SHARDS]; /* by name */
    size_t n_files;
} s2v_checkpoint;

/* On success the caller closes it; on failure nothing is left open. */
s2p_status s2v_checkpoint_open(s2v_checkpoint *out, const char *folder, s2p_error *error);
void s2v_checkpoint_close(s2v_checkpoint *checkpoint);

/* convert_config.c: read the numbers of a model. */

/* Read config.json and preprocessor_config.json. *config is for the special tokens; the caller
 * drops it. */
s2p_status s2v_numbers_read(const char *folder, s2v_numbers *out, json_t **config,
                            s2p_error *error);

/* convert_map.c: every tensor of the result, and where its values are in the checkpoint. */
#define S2V_NAME_ROOM 64

typedef struct s2v_expert_source { /* one expert's matrix */
    const s2v_safetensors *file;
    const s2v_st_tensor *tensor; /* NULL: not met yet */
} s2v_expert_source;

typedef struct s2v_planned { /* one tensor of the result */
    char name[S2V_NAME_ROOM];
    bool is_vision;
    s2v_tensor_type type;
    int32_t n_dims;
    int64_t ne[4];
    const s2v_safetensors *file;
    const s2v_st_tensor *source;
    int64_t n_per_row, n_rows; /* of the work: rows of n_per_row values, */
    int32_t head_rows;         /* > 0: rows of a head, to be taken from its halves in turn */
    float added;               /* to each value */
    int64_t first, stride;     /* the first at value `first` of the source, one every `stride` */
    /* Matrices of experts: rows in groups of group_rows, 0: no groups. Each group is a tensor of its own,
     * or begins group_stride values after the one before; is_turned: there it is a matrix of n_per_row
     * rows of `stride` values, and the work's rows are columns of it. */
    int64_t group_rows, group_stride;
    bool is_turned;
    /* Blocks of rows or of values of a row that change places (s2v_planned_block): those behind first_block
     * stand in n_groups groups in the source, and the groups in turn in the result. */
    int64_t row_block, column_block; /* rows, or values, of a block; 0: they stay where they are */
    int64_t first_block;
    int32_t n_groups, per_group;
    bool adds_one, is_rate;    /* every value plus one; minus its exponential: of F32 results */
    s2v_expert_source *expert; /* [n_experts], owned by the plan; NULL: one tensor has them all */
} s2v_planned;

/* Which block of the source is block i of the result. */
static inline int64_t s2v_planned_block(const s2v_planned *t, int64_t i)
{
    if (i < t->first_block) return i;
    const int64_t j = i - t->first_block;
    return t->first_block + j % t->n_groups * t->per_group + j / t->n_groups;
}

typedef struct s2v_conversion_plan {
    s2v_planned *tensors; /* in the order of the checkpoint */
    size_t n_tensors, n_ignored;
} s2v_conversion_plan;

/* Every tensor of the checkpoint must be known and have its shape, and none may be missing. */
s2p_status s2v_conversion_plan_make(s2v_conversion_plan *out, const s2v_checkpoint *checkpoint,
                                    const s2v_numbers *numbers, s2v_tensor_type type,
                                    s2p_error *error);
void s2v_conversion_plan_free(s2v_conversion_plan *plan);

/* convert_keys.c: the keys of the two files. */
typedef struct s2v_key_facts {
    const char *name;   /* general.name */
    uint64_t n_values;  /* of this file */
    uint32_t file_type; /* general.file_type */
} s2v_key_facts;

void s2v_text_keys_put(const s2v_numbers *numbers, const s2v_key_facts *facts,
                       s2v_gguf_writer *writer);
void s2v_vision_keys_put(const s2v_numbers *numbers, const s2v_key_facts *facts,
                         s2v_gguf_writer *writer);

/* convert_vocab.c: the tokenizer.* keys, from tokenizer.json and its neighbors. */

/* n_vocab: rows of the embedding. config: the parsed config.json, for ids of special tokens. */
s2p_status s2v_vocabulary_put(const char *folder, int32_t n_vocab, const json_t *config,
                              s2v_gguf_writer *writer, s2p_error *error);

#endif /* S2_CONVERT_CONVERT_STEPS_H */
