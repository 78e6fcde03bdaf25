/* recode.h - tensors from one number format to another, in slabs, on several threads.
 *
 * A source provides raw rows; the result goes to a sink in order. One slab of output is
 * written while the next is computed, so memory is a few slabs whatever the tensor's size.
 */
#ifndef S2_CONVERT_RECODE_H
#define S2_CONVERT_RECODE_H

#include "base/error.h"
#include "gguf/codec.h"
#include "gguf/gguf_types.h"

#include <stdbool.h>

typedef struct s2v_recoder s2v_recoder;

typedef struct s2v_recoding {
    const char *name;          /* of the tensor, for sentences */
    s2v_tensor_type from, to;  /* from: F32, F16 or BF16, or the same as `to` */
    int64_t n_per_row, n_rows; /* a row is whole blocks of both types */
    float
        added; /* to each value, in F16 if that is its type, otherwise in F32; `from` has no blocks */
    const uint8_t *rows; /* the source when it is memory, else NULL */
    s2p_status (*fetch)(void *user, int64_t row, int64_t n, void *out, s2p_error *error);
    s2p_status (*sink)(void *user, const void *data, size_t n, s2p_error *error);
    void *user;
} s2v_recoding;

/* codec: borrowed; NULL refuses blocks. n_threads: 0 is one per core. */
s2p_status s2v_recoder_create(s2v_recoder **out, const s2v_codec *codec, int32_t n_threads,
                              s2p_error *error);
void s2v_recoder_free(s2v_recoder *recoder); /* NULL is fine */

/* S2P_EINVAL: blocks without a codec. S2P_EFORMAT when a value is not finite or too large for the new type. */
s2p_status s2v_recode(s2v_recoder *recoder, const s2v_recoding *recoding, s2p_error *error);

#endif /* S2_CONVERT_RECODE_H */
