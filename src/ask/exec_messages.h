/* exec_messages.h - the messages between this program and a method `exec:COMMAND`.
 *
 *     hello     process -> program, once, one line:
 *               {"schema": "s2prune.exec/1", "name": "norm", "needs": ["feature"]}
 *     request   program -> process, one line, followed by the bytes of its arrays:
 *               {"schema": "s2prune.exec/1", "request": 1, "task": "pope", "id": "12", "picture": 0,
 *                "part": 0, "grid": [24, 24], "budget": 64, "mode": "default", "seed": 0,
 *                "arrays": [{"name": "feature", "type": "<f4", "shape": [576, 896],
 *                            "bytes": 2064384}]}
 *     answer    process -> program, one line: {"keep": [...]}, {"scores": [...]} or {"error": "why"}
 *
 * docs/METHODS.md has the protocol for people who write such a process.
 */
#ifndef S2_ASK_EXEC_MESSAGES_H
#define S2_ASK_EXEC_MESSAGES_H

#include "base/buffer.h"

#include <stdbool.h>

#define S2A_EXEC_SCHEMA "s2prune.exec/1"
#define S2A_EXEC_NAME 41u /* bytes of a name, with its NUL */

typedef struct s2a_hello {
    char name[S2A_EXEC_NAME];
    uint32_t needs; /* S2P_NEED_... */
    int32_t after;
    bool draws, sees_question, prunes_cache;
} s2a_hello;

/* S2P_EFORMAT: not a hello of this version. */
s2p_status s2a_hello_parse(const void *line, size_t n, s2a_hello *out, s2p_error *error);

/* The contents of a hello, including defaults, as one line for fingerprints. */
void s2a_hello_write(const s2a_hello *hello, s2_buffer *out);

typedef struct s2a_exec_request {
    const char *task, *id;
    int64_t number;
    const s2p_view *view;
    s2p_grid grid;
    int32_t n_keep;
    uint32_t needs;
} s2a_exec_request;

typedef struct s2a_piece { /* bytes to send; borrowed */
    const void *data;
    size_t n;
} s2a_piece;

#define S2A_MAX_PIECES (S2P_MAX_SIGNALS + 1)

/* The line with its newline, followed by the arrays in the order of the line. A picture whose rows
 * are not contiguous is copied to `pixels`. */
s2p_status s2a_request_write(const s2a_exec_request *request, s2_buffer *line, s2_buffer *pixels,
                             s2a_piece pieces[S2A_MAX_PIECES], size_t *n_pieces, s2p_error *error);

/* The maximum length of a valid answer. */
size_t s2a_reply_limit(s2p_grid grid);

/* The tokens of an answer into keep, which has room for those of the grid, *n_keep the budget: indices
 * as they are, or the tokens of the *n_keep highest scores, lower tokens first if equal. The caller of
 * the method checks indices. S2P_EFORMAT: not an answer; S2P_EINVAL: the process refuses. */
s2p_status s2a_reply_parse(const void *line, size_t n, s2p_grid grid, int64_t number, int32_t *keep,
                           int32_t *n_keep, s2p_error *error);

#endif /* S2_ASK_EXEC_MESSAGES_H */
