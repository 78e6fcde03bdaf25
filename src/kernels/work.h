/* work.h - the counter from which the threads of a graph node take pieces of its work.
 *
 * A thread whose core is lent to another process takes fewer pieces. Every thread overshoots once;
 * the last one resets the counter, so that one counter serves all nodes that run one after the other.
 */
#ifndef S2_KERNELS_WORK_H
#define S2_KERNELS_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct s2k_work {
    atomic_int next;
} s2k_work;

static inline void s2k_work_init(s2k_work *work) { atomic_init(&work->next, 0); }

/* The next of n_pieces that no thread has taken; false: there are no more. Each of n_threads calls
 * this until it is false. Nodes are separated by barriers, so no order beyond the count is needed. */
static inline bool s2k_work_take(s2k_work *work, int32_t n_pieces, int n_threads, int32_t *piece)
{
    *piece = (int32_t)atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed);
    if (*piece < n_pieces) return true;
    if (*piece == n_pieces + n_threads - 1)
        atomic_store_explicit(&work->next, 0, memory_order_relaxed);
    return false;
}

#endif /* S2_KERNELS_WORK_H */
