/* reserve.h - checks that memory is available before ggml allocates it: if ggml gets none, it ends the process. */
#ifndef S2_ENGINE_RESERVE_H
#define S2_ENGINE_RESERVE_H

#include <ggml.h>
#include <stdbool.h>

/* Whether this many bytes, and some for small allocations, are available now. Allocates and frees them,
 * without touching a page. */
bool s2v_can_take(size_t n_bytes);

/* ggml_init; NULL without memory. */
struct ggml_context *s2v_context_open(struct ggml_init_params params);

/* A context for tensors used only to query a device, in the caller's memory: the result must not
 * depend on how much memory is free. */
#define S2V_QUESTION_BYTES 4096
struct ggml_context *s2v_question_open(char place[S2V_QUESTION_BYTES]);

#endif /* S2_ENGINE_RESERVE_H */
