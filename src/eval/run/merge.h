/* merge.h - the parts of a run become the whole.
 *
 * Nothing is believed: all parts must have one fingerprint, no answer may be in two of them, and
 * none may be missing. The result is written beside and renamed: there, whole, or not at all.
 */
#ifndef S2_EVAL_RUN_MERGE_H
#define S2_EVAL_RUN_MERGE_H

#include "eval/run/run_folder.h"
#include "eval/run/store.h"

typedef struct s2e_merged {
    int64_t n_answers, n_failures;
    int32_t n_parts;
} s2e_merged;

/* Parts of all folders into results.sqlite of `out`. S2P_EINVAL: they are not the parts of one
 * run. S2P_EFORMAT: they are, but answers are missing; the sentence says whose. */
s2p_status s2e_merge(const char *const *folder, size_t n_folders, const char *out,
                     s2e_merged *merged, s2p_error *error);

#endif /* S2_EVAL_RUN_MERGE_H */
