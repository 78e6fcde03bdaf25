/* run_folder.h - the files of a run directory.
 *
 *     results.sqlite           the whole run: written by one process, or by a merge
 *     shard-I-of-N.sqlite      one part of it
 *     *.lock                   who writes that file
 *     report.*, ...            what `eval` and `eval export` made of it
 */
#ifndef S2_EVAL_RUN_RUN_FOLDER_H
#define S2_EVAL_RUN_RUN_FOLDER_H

#include "eval/run/shard.h"

#define S2E_PATH 4096

typedef struct s2e_run_file {
    char path[S2E_PATH];
    int32_t index, n; /* of the part; n 1: the whole run */
} s2e_run_file;

/* Make the folder when it is not there; those above it must be. */
s2p_status s2e_run_folder_make(const char *folder, s2p_error *error);

/* Where a part keeps its answers. */
s2p_status s2e_run_file_of(const char *folder, s2e_shard shard, s2e_run_file *out,
                           s2p_error *error);

/* Stores in a folder, by part; results.sqlite is the last. *out: new memory. S2P_EIO: no folder.
 * S2P_ELIMIT: absurdly many. */
s2p_status s2e_run_folder_list(const char *folder, s2e_run_file **out, size_t *n, s2p_error *error);

#endif /* S2_EVAL_RUN_RUN_FOLDER_H */
