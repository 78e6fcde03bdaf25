/* threads.h - how many threads compute, and the pool they wait in.
 *
 * A pool belongs to one backend of one session. Between graphs its threads sleep; inside a graph
 * they wait for each other at every node, as cmake/wait_fix.h says: a short while awake, then
 * asleep, so that a core they share goes to whoever has work.
 */
#ifndef S2_ENGINE_THREADS_H
#define S2_ENGINE_THREADS_H

#include <ggml-backend.h>
#include <ggml.h>

typedef struct s2v_pool {
    ggml_threadpool_t threads; /* NULL: the backend has none of ours */
    void (*free)(ggml_threadpool_t);
} s2v_pool;

/* Threads for the CPU backend; one that has no such function keeps its own. */
s2v_pool s2v_pool_open(ggml_backend_t backend, int32_t n_threads);
void s2v_pool_close(s2v_pool *pool); /* after the backend */

#endif /* S2_ENGINE_THREADS_H */
