/* store.h - the answers of a run, in one SQLite file.
 *
 * This is the schema, whole; analysis and other people's scripts read it too:
 *
 *     PRAGMA application_id   0x53325052, "S2PR"
 *     PRAGMA user_version     3; 2 has no logprobs, and 1 no flops, tower_flops and stages either; both
 *                             are read and continued as they are
 *     run(key, value)         what the run is: see fingerprint.h
 *     answer                  one row for each task, sample, method, budget and seed
 *       task, sample            names; the sample's is unique in its task
 *       method, budget, seed    label of the setting: "s2prune", "s2prune[uniform,centre]" (the bare
 *                               method in runs of older programs); "64" or "10%" or "-" (every token);
 *                               0 and up
 *       text                    the answer
 *       failure                 NULL, or why there is none: such a row counts as wrong
 *       tokens_before, _after   visual tokens of all pictures of the sample; after: of all attempts,
 *                               where the budget is like "64..192"
 *       sequence_full, _pruned  tokens of the prompt before and after pruning
 *       generated               tokens of the answer, including the end token
 *       cached                  prompt tokens found computed already: they cost no time here
 *       grids                   JSON: [rows, cols] of each grid of tokens, picture by picture
 *       kept                    JSON: for each grid the indices kept, ascending; NULL: all
 *       regions                 JSON: for each grid {"side","share","raw","score"}; share is the
 *                               budget of each region; NULL: the method has no regions
 *       image_ms, vision_ms, prompt_ms, generate_ms
 *       kv_bytes                of the visual tokens
 *       flops                   of the prefill, decoder alone, by the paper's formula; NULL: unknown
 *       tower_flops             of the tower for all pictures, by formula; NULL: unknown
 *       stages                  JSON: [layer, tokens, own] of each prune point: the decoder layer it
 *                               follows (-1: before the first), the visual tokens it leaves, and the
 *                               layer the setting asks for, which differs where the model has too few
 *       logprobs                JSON: for each token of the answer [logarithm of its probability, its
 *                               logit less that of the likeliest other token]; NULL: not requested
 *
 * A run is one writer and any number of readers. Rows are added, never changed; the writer may take
 * failed ones, or all, out again before it goes on. The journal is a
 * rollback journal, flushed before and after: it works on the network file systems of clusters,
 * where a write-ahead log does not, and what s2e_store_commit reported survives a power cut.
 */
#ifndef S2_EVAL_RUN_STORE_H
#define S2_EVAL_RUN_STORE_H

#include "base/error.h"

#include <stdbool.h>

typedef struct s2e_store s2e_store;

typedef struct s2e_record { /* a row of `answer`; strings borrowed */
    const char *task, *sample, *method, *budget;
    int32_t seed;
    const char *text, *failure;
    int32_t tokens_before, tokens_after, sequence_full, sequence_pruned, generated, cached;
    const char *grids, *kept, *regions;
    double image_ms, vision_ms, prompt_ms, generate_ms;
    int64_t kv_bytes;
    double flops, tower_flops; /* 0: unknown */
    const char *stages;        /* NULL: unknown */
    const char *logprobs;      /* NULL: not requested */
} s2e_record;

typedef enum s2e_store_use { S2E_STORE_READ, S2E_STORE_WRITE } s2e_store_use;

/* For writing, a missing file is created; if another process is writing it, S2P_EIO names the
 * process. path NULL: in memory. S2P_EFORMAT: not a store, a damaged one, or one of
 * another version. On failure *out is NULL. */
s2p_status s2e_store_open(const char *path, s2e_store_use use, s2e_store **out, s2p_error *error);
void s2e_store_close(s2e_store *store); /* what was not committed is gone; NULL is fine */

/* What the run is. visit: not S2P_OK ends the walk; in the order of the keys. */
typedef s2p_status (*s2e_value_visit)(const char *key, const char *value, void *user,
                                      s2p_error *error);
s2p_status s2e_store_values(s2e_store *store, s2e_value_visit visit, void *user, s2p_error *error);
s2p_status s2e_store_set(s2e_store *store, const char *key, const char *value, s2p_error *error);

/* A row for later, and all rows so far for good: S2P_OK of commit is the promise. S2P_EINVAL: the
 * row is there already. After a failure the rows since the last commit are gone. */
s2p_status s2e_store_add(s2e_store *store, const s2e_record *record, s2p_error *error);
s2p_status s2e_store_commit(s2e_store *store, s2p_error *error);

/* Take answers out for good: those that failed, or all and what the run is with them. *n: how many
 * answers. */
s2p_status s2e_store_forget(s2e_store *store, bool only_failures, int64_t *n, s2p_error *error);

/* Only the five names and the seed of *key count. */
s2p_status s2e_store_has(s2e_store *store, const s2e_record *key, bool *out, s2p_error *error);
/* Rows in all; those of one task, or with failure alone. task NULL: every one. */
s2p_status s2e_store_count(s2e_store *store, const char *task, bool only_failures, int64_t *out,
                           s2p_error *error);

/* Rows by task, method, budget, seed and sample. NULL names and a seed below 0 in *which: all. */
typedef s2p_status (*s2e_record_visit)(const s2e_record *record, void *user, s2p_error *error);
s2p_status s2e_store_walk(s2e_store *store, const s2e_record *which, s2e_record_visit visit,
                          void *user, s2p_error *error);

/* lock.c: one writer for a file. The lock goes with the process, however it ends. */
typedef struct s2e_lock s2e_lock;

/* Through a file "PATH.lock" that is kept. S2P_EIO: another process has it, named by process and
 * machine, or the folder cannot be written. */
/* Who keeps others from writing the file (or, with is_writer false, from reading it): "process 123" of
 * this machine, as the system knows it. */
void s2e_lock_holder(int fd, bool is_writer, char *out, size_t capacity);

s2p_status s2e_lock_take(const char *path, s2e_lock **out, s2p_error *error);
void s2e_lock_sign(const s2e_lock *lock); /* write into the file who holds it */
void s2e_lock_release(s2e_lock *lock);    /* NULL is fine */

#endif /* S2_EVAL_RUN_STORE_H */
