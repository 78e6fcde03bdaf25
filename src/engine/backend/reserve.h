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

#endif /* S2_ENGINE_RESERVE_H */
