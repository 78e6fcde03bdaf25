/* record.h - `run --record`: what a method saw, written so that `select` can choose again.
 *
 *   DIR/erc.npy              the first picture, its first part, the first stage: signals by name
 *   DIR/stage-1/erc.npy      every number that is not 0 is a folder:
 *   DIR/picture-1/part-1/stage-2/...
 *   DIR/record.json          written last: every selection, what it kept, the command to repeat it
 */
#ifndef S2_TOOLS_RECORD_H
#define S2_TOOLS_RECORD_H

#include "base/json.h"
#include "prune/method.h"
#include "s2vlm.h"

typedef struct s2_record {
    const char *folder;
    json_t *selections;
    int code;         /* of the first failure, which has been printed; nothing more is done then */
    bool is_finished; /* record.json is there: what was written stays */
    char **made;      /* files, and folders that were not there, in the order they came */
    size_t n_made, made_capacity;
} s2_record;

/* Make the folder, or take one that is empty. S2P_EINVAL: it holds something, S2P_EIO: it cannot be
 * made. On failure there is nothing to close. */
s2p_status s2_record_open(s2_record *record, const char *folder, s2p_error *error);

/* Half a record is none: unless it was finished, everything written is removed. */
void s2_record_close(s2_record *record);

/* Write one view and remember what the method kept of it; nothing of a selection that was refused,
 * which the engine reports. `user` is the s2_record: this is an s2v_recorder. */
void s2_record_view(const s2v_selection *made, void *user);

/* Write record.json. after: the decoder layer each stage followed. Returns the exit code. */
int s2_record_finish(s2_record *record, const int32_t *after, int32_t n_stages);

#endif /* S2_TOOLS_RECORD_H */
