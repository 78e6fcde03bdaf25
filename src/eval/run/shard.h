/* shard.h - which part of a run one process computes, and what schedulers call it.
 *
 * Part i of n takes every n-th group of samples that share a picture, from group i on. Who is part
 * of which is then known to everybody with the same data, and no part waits for another.
 */
#ifndef S2_EVAL_RUN_SHARD_H
#define S2_EVAL_RUN_SHARD_H

#include "base/error.h"

#include <stdbool.h>

#define S2E_MAX_SHARDS 10000

typedef struct s2e_shard {
    int32_t index, n;   /* 0 <= index < n; 0 of 1: everything */
    const char *source; /* the variable that said so, or NULL */
} s2e_shard;

typedef const char *(*s2e_env)(const char *name); /* getenv, or a test's own */

/* "2/4"; "auto/4" takes the index from the scheduler, NULL or "auto" both; without a scheduler
 * that is everything. Slurm's arrays come before its tasks, then Open MPI; GNU parallel and
 * Kubernetes say the index only. `source` opens the sentence of a refusal. S2P_EINVAL. */
s2p_status s2e_shard_read(const char *source, const char *text, s2e_env env, s2e_shard *out,
                          s2p_error *error);

static inline bool s2e_shard_has(s2e_shard shard, int64_t group)
{
    return group % shard.n == shard.index;
}

#endif /* S2_EVAL_RUN_SHARD_H */
