/* process.h - a child process that answers requests, one line each, for the duration of a run.
 *
 * It is started by `/bin/sh -c COMMAND` in its own process group, so that Ctrl-C reaches only this
 * program, which then ends the child; the child is killed if this program dies. Requests go to its
 * standard input, answers come from its standard output, a line each; its standard error is passed
 * on, up to a limit. After a failure the child is ended, so that its later output cannot be taken
 * for an answer to another request.
 */
#ifndef S2_ASK_PROCESS_H
#define S2_ASK_PROCESS_H

#include "ask/exec_messages.h"

typedef struct s2a_process s2a_process;

typedef struct s2a_process_options {
    const char *command;
    double timeout_ms; /* of a line */
    /* NULL, or called for each line of its standard error, without the newline, and once more if there
     * are too many. */
    void (*note)(const char *text, void *user);
    bool (*cancelled)(void *user); /* NULL, or called while waiting; true: S2P_ECANCELLED */
    void *user;
} s2a_process_options;

/* S2P_EIO: the child cannot be started. */
s2p_status s2a_process_start(const s2a_process_options *options, s2a_process **out,
                             s2p_error *error);

/* Send all pieces, and read a line of at most `max` bytes into an initialized buffer, without the
 * newline. S2P_EIO: the child ended, was too slow, or wrote too much; the message begins with "it". */
s2p_status s2a_process_ask(s2a_process *process, const s2a_piece *pieces, size_t n_pieces,
                           size_t max, s2_buffer *line, s2p_error *error);

/* Closes its input; after one second the child and all its descendants are killed. NULL is fine. */
void s2a_process_end(s2a_process *process);

#endif /* S2_ASK_PROCESS_H */
