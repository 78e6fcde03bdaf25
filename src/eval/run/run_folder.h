/* run_folder.h - the files of a run directory.
 *
 *     results.sqlite           the whole run: written by one process, or by a merge
 *     shard-I-of-N.sqlite      one shard of it
 *     *.lock                   who writes that file
 *     report.*, ...            what `eval` and `eval export` made of it
 */
#ifndef S2_EVAL_RUN_RUN_FOLDER_H
#define S2_EVAL_RUN_RUN_FOLDER_H

#include "base/error.h"
#include "eval/run/store.h"

#include <stdbool.h>

/* shard.c: which shard of a run one process computes, and how schedulers name it.
 *
 * Shard i of n takes every n-th group of samples that share a picture, from group i. The
 * assignment depends only on the data, so no shard waits for another.
 */

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

#define S2E_PATH 4096

typedef struct s2e_run_file {
    char path[S2E_PATH];
    int32_t index, n; /* of the shard; n 1: the whole run */
} s2e_run_file;

/* Create the folder, and those above it, when they do not exist. */
s2p_status s2e_run_folder_make(const char *folder, s2p_error *error);

/* Where a shard keeps its answers. */
s2p_status s2e_run_file_of(const char *folder, s2e_shard shard, s2e_run_file *out,
                           s2p_error *error);

/* Stores in a folder, by shard; results.sqlite is the last. *out: new memory. S2P_EIO: no folder.
 * S2P_ELIMIT: absurdly many. */
s2p_status s2e_run_folder_list(const char *folder, s2e_run_file **out, size_t *n, s2p_error *error);

/* merge.c: the shards of a run become the whole.
 *
 * Everything is checked: all shards must have one fingerprint, no answer may be in two of them, and
 * none may be missing. The result is written to a temporary file and renamed: complete or not at all.
 */

typedef struct s2e_merged {
    int64_t n_answers, n_failures;
    int32_t n_shards;
} s2e_merged;

/* Shards of all folders into results.sqlite of `out`. S2P_EINVAL: they are not the shards of one
 * run. S2P_EFORMAT: they are, but answers are missing; the sentence says whose. */
s2p_status s2e_merge(const char *const *folder, size_t n_folders, const char *out,
                     s2e_merged *merged, s2p_error *error);

#endif /* S2_EVAL_RUN_RUN_FOLDER_H */
