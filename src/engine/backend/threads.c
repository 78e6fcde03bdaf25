/* threads.c - a pool through ggml's registry: its functions have no other address in every build. */
#include "engine/backend/threads.h"

#include <string.h>

/* ISO C keeps functions and objects apart, so the pointer is copied. */
static void find_function(ggml_backend_t backend, const char *name, void *out, size_t n)
{
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(ggml_backend_get_device(backend));
    void *address = ggml_backend_reg_get_proc_address(reg, name);
    memcpy(out, &address, n);
}

s2v_pool s2v_pool_open(ggml_backend_t backend, int32_t n_threads)
{
    ggml_threadpool_t (*create)(struct ggml_threadpool_params *);
    void (*set)(ggml_backend_t, ggml_threadpool_t);
    s2v_pool pool = { .threads = NULL };
    find_function(backend, "ggml_threadpool_new", &create, sizeof create);
    find_function(backend, "ggml_threadpool_free", &pool.free, sizeof pool.free);
    find_function(backend, "ggml_backend_cpu_set_threadpool", &set, sizeof set);
    if (!create || !pool.free || !set) return pool;
    struct ggml_threadpool_params params = ggml_threadpool_params_default(n_threads);
    params.poll = 0; /* between graphs threads sleep at once */
    pool.threads = create(&params);
    if (pool.threads) set(backend, pool.threads);
    return pool;
}

void s2v_pool_close(s2v_pool *pool)
{
    if (pool->threads) pool->free(pool->threads);
    pool->threads = NULL;
}
