/* threads.h - how many threads compute, and their thread pool.
 *
 * A pool belongs to one backend of one session. Between graphs its threads sleep; inside a graph
 * they wait for each other at every node, as described in cmake/wait_fix.h: they spin for a short
 * time, then sleep, so that other threads can use the core.
 */
#ifndef S2_ENGINE_THREADS_H
#define S2_ENGINE_THREADS_H

#include <ggml-backend.h>
#include <ggml.h>

typedef struct s2v_pool {
    ggml_threadpool_t threads; /* NULL: the backend uses its own */
    void (*free)(ggml_threadpool_t);
} s2v_pool;

/* Threads for the CPU backend; a backend without such a function keeps its own. */
s2v_pool s2v_pool_open(ggml_backend_t backend, int32_t n_threads);
void s2v_pool_close(s2v_pool *pool); /* after the backend */

#endif /* S2_ENGINE_THREADS_H */
