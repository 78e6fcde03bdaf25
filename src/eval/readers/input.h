/* input.h - a file as a stream of windows, and bytes of it from anywhere. */
#ifndef S2_EVAL_INPUT_H
#define S2_EVAL_INPUT_H

#include "base/error.h"

#include <stdbool.h>

typedef struct s2e_input {
    const char *path; /* the caller's */
    const char *name; /* without folders */
    int fd;
    uint64_t size;  /* when it was opened */
    uint64_t start; /* of the window in the file */
    uint8_t *window;
    size_t n, at; /* bytes in the window, next one to be read */
} s2e_input;

/* A regular file. The path must outlive the input. On failure nothing is owned. */
s2p_status s2e_input_open(s2e_input *input, const char *path, s2p_error *error);
void s2e_input_close(s2e_input *input); /* all-zero is fine */

/* Have at least one byte at window[at]; *end: the file has no more. */
s2p_status s2e_input_fill(s2e_input *input, bool *end, s2p_error *error);
void s2e_input_seek(s2e_input *input, uint64_t at);
uint64_t s2e_input_tell(const s2e_input *input);

/* Exactly n bytes at `at`; S2P_EFORMAT when the file has fewer. Leaves the stream alone. */
s2p_status s2e_input_read(const s2e_input *input, uint64_t at, void *out, size_t n,
                          s2p_error *error);

#endif /* S2_EVAL_INPUT_H */
