/* reserve.c - malloc answers under a limit of the address space (`ulimit -v`, a container), which is where
 * memory runs out with a sentence; where the system promises more than it has, nothing answers. */
#include "engine/backend/reserve.h"

#include <stdlib.h>

#define SMALL_THINGS ((size_t)1 << 20)

bool s2v_can_take(size_t n_bytes)
{
    if (n_bytes > SIZE_MAX - SMALL_THINGS) return false;
    void *volatile place = malloc(n_bytes + SMALL_THINGS); /* volatile: not to be optimized away */
    const bool can = place != NULL;
    free(place);
    return can;
}

struct ggml_context *s2v_context_open(struct ggml_init_params params)
{
    return s2v_can_take(params.mem_buffer ? 0 : params.mem_size) ? ggml_init(params) : NULL;
}

struct ggml_context *s2v_question_open(char place[S2V_QUESTION_BYTES])
{
    return ggml_init((struct ggml_init_params){ S2V_QUESTION_BYTES, place, true });
}
