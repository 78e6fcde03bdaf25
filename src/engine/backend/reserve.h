/* reserve.h - is there memory for what ggml is about to take? Where it gets none, it ends the process. */
#ifndef S2_ENGINE_RESERVE_H
#define S2_ENGINE_RESERVE_H

#include <ggml.h>
#include <stdbool.h>

/* Whether this many bytes, and some for small things, can be taken now. Takes and returns them, without
 * touching a page. */
bool s2v_can_take(size_t n_bytes);

/* ggml_init; NULL without memory. */
struct ggml_context *s2v_context_open(struct ggml_init_params params);

/* A context for tensors that only ask a device something, in the caller's memory: the answer must not
 * depend on how much memory is left. */
#define S2V_QUESTION_BYTES 4096
struct ggml_context *s2v_question_open(char place[S2V_QUESTION_BYTES]);

#endif /* S2_ENGINE_RESERVE_H */
