/* gguf_parse.h - accept or refuse a header, and the limits it must keep. */
#ifndef S2_GGUF_PARSE_H
#define S2_GGUF_PARSE_H

#include "gguf/gguf_file.h"

#define S2V_GGUF_MAX_TENSORS 65536u
#define S2V_GGUF_MAX_KEYS 65536u
#define S2V_GGUF_MAX_KEY_NAME ((size_t)64 << 10)
#define S2V_GGUF_MAX_TENSOR_NAME 63u /* other readers have 64, with the final NUL */
#define S2V_GGUF_MAX_STRING ((size_t)16 << 20)
#define S2V_GGUF_MAX_ITEMS ((uint64_t)16 << 20)
#define S2V_GGUF_MIN_ALIGNMENT 8u
#define S2V_GGUF_MAX_ALIGNMENT 65536u
#define S2V_GGUF_DEFAULT_ALIGNMENT 32u

/* Check and index the whole header of file->bytes. On failure the file holds what was read so far
 * and no tensor has data. `name` starts the sentence; NULL: nothing does. */
s2p_status s2v_gguf_check(s2v_gguf *file, const char *name, s2p_error *error);

#endif /* S2_GGUF_PARSE_H */
