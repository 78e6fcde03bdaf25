/* convert_map.h - every tensor of the result, and where its values are in the checkpoint. */
#ifndef S2_CONVERT_CONVERT_MAP_H
#define S2_CONVERT_CONVERT_MAP_H

#include "convert/checkpoint.h"
#include "convert/numbers.h"
#include "gguf/gguf_types.h"

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

#endif /* S2_CONVERT_CONVERT_MAP_H */
