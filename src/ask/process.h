/* process.h - a program that answers lines, one after the other, for as long as a run lasts.
 *
 * It is started by `/bin/sh -c COMMAND` as a process group of its own, so that Ctrl-C reaches this
 * program alone, which then ends it in order; it is killed when this program dies. Requests go to its
 * standard input, answers come from its standard output, a line each; what it writes to its standard
 * error is passed on, up to a limit. After a failure it is ended: nothing that it writes later can be
 * taken for an answer to another question.
 */
#ifndef S2_ASK_PROCESS_H
#define S2_ASK_PROCESS_H

#include "ask/exec_messages.h"

typedef struct s2a_process s2a_process;

typedef struct s2a_process_options {
    const char *command;
    double timeout_ms; /* of a line */
    /* NULL, or a line of its standard error, without its end; then one sentence when there are too
     * many. */
    void (*note)(const char *text, void *user);
    bool (*cancelled)(void *user); /* NULL, or asked while it is waited for; true: S2P_ECANCELLED */
    void *user;
} s2a_process_options;

/* S2P_EIO: it cannot be started. */
s2p_status s2a_process_start(const s2a_process_options *options, s2a_process **out,
                             s2p_error *error);

/* Send all pieces, and read a line of at most `max` bytes into an initialised buffer, without its
 * end. S2P_EIO: it ended, was too slow, or wrote too much; the sentence begins with "it". */
s2p_status s2a_process_ask(s2a_process *process, const s2a_piece *pieces, size_t n_pieces,
                           size_t max, s2_buffer *line, s2p_error *error);

/* Its input ends; it has a second to end as well, then it and all it started are killed. NULL is fine. */
void s2a_process_end(s2a_process *process);

#endif /* S2_ASK_PROCESS_H */
