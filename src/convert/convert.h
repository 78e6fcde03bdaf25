/* convert.h - a published checkpoint becomes the pair of GGUF files the engine runs.
 *
 * Qwen2.5-VL, Qwen2-VL and LLaVA-OneVision, safetensors only. Names, keys and types are those of
 * llama.cpp's converter, so its programs run the pair too. Memory is a few slabs whatever the size
 * of the model; both files appear under their names only when both are complete.
 */
#ifndef S2_CONVERT_H
#define S2_CONVERT_H

#include "base/error.h"
#include "gguf/codec.h"
#include "s2vlm.h"

#include <stdbool.h>

/* f32, f16, bf16, q8_0; NULL past the end. */
const char *s2v_convert_type_name(size_t index);

typedef struct s2v_convert_options {
    const char *folder;
    const char *outfile, *mmproj_out; /* language model, vision tower with projector */
    const char *name;                 /* general.name; NULL: the folder's */
    size_t type;                      /* index of s2v_convert_type_name */
    bool verify;                      /* read both files again and compare before they appear */
    const s2v_codec *codec;           /* s2v_block_codec(); NULL: no blocks */
    int32_t n_threads;                /* 0: one per core */
    s2v_progress_callback progress;
    void *user;
} s2v_convert_options;

typedef struct s2v_convert_file {
    uint64_t n_bytes, n_values;
    size_t n_tensors;
    uint8_t sha256[32];
} s2v_convert_file;

typedef struct s2v_convert_result {
    const char *architecture; /* "Qwen2.5-VL", ... */
    size_t n_files;           /* of the checkpoint */
    uint64_t n_bytes;         /* of them */
    size_t n_ignored;         /* tensors of the checkpoint no engine reads */
    s2v_convert_file text, vision;
    int write_errno; /* why writing failed, 0: it did not */
} s2v_convert_result;

s2p_status s2v_convert(const s2v_convert_options *options, s2v_convert_result *result,
                       s2p_error *error);

#endif /* S2_CONVERT_H */
