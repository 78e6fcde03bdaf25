/* report.h - how the program ends: exit codes, error lines, the result on standard output. */
#ifndef S2_TOOLS_REPORT_H
#define S2_TOOLS_REPORT_H

#include "base/buffer.h"

#include <stdbool.h>

enum s2_exit { /* pinned: scripts rely on them */
               S2_EXIT_OK = 0,
               S2_EXIT_FAILURE = 1,
               S2_EXIT_USAGE = 2,
               S2_EXIT_INPUT = 3,
               S2_EXIT_RESOURCES = 4,  /* memory or disk */
               S2_EXIT_INCOMPLETE = 5, /* finished, but not all of it worked */
               S2_EXIT_INTERRUPTED = 130
};

enum s2_output { S2_OUTPUT_TEXT, S2_OUTPUT_JSON }; /* of -o */
const char *s2_output_name(size_t index);          /* NULL past the end */

#define S2_OUTPUT_MAX ((size_t)1 << 30) /* no result of ours comes near */

/* Of a call that read something. Writes go through s2_report_save. */
int s2_exit_code(s2p_status status);

/* "error: <sentence>" on standard error, one line whatever the sentence holds; the exit code. */
int s2_report_error(s2p_status status, const s2p_error *error);

/* "<prefix>: <text>" on standard error, one line a terminal cannot mistake for orders. */
void s2_report_line(const char *prefix, const char *text);

/* Any other line for the user on standard error, as safe; without its line end. */
void s2_report_tell(const char *format, ...) S2_PRINTF(1, 2);

/* Text of a model as it comes, to standard output; false: it cannot be written, errno says why. */
bool s2_report_say(const char *text, size_t n);

/* "note: <line>" on standard error for each line. */
void s2_report_notes(const char *lines);

/* Of a write that failed with this errno: 4 for want of room, else 1, a closed pipe too. */
int s2_exit_of_write(int code);

/* Of a folder that cannot be made: the sentence, and 4 whatever the reason. */
int s2_report_no_folder(const s2p_error *error);

/* "wrote FILE" on standard error, unless --quiet was given. */
void s2_report_be_quiet(void);
void s2_report_wrote(const char *path);

/* Write a result to standard output, or a whole file. Prints what went wrong. An interrupt waits
 * until a file is complete. */
int s2_report_print(const s2_buffer *out);
int s2_report_save(const char *path, const s2_buffer *out);

/* The same for a result that was made, or `error` that says why not; frees the buffer, and says
 * which file was written. */
int s2_report_print_made(s2p_status status, s2_buffer *out, const s2p_error *error);
int s2_report_save_made(const char *path, s2p_status status, s2_buffer *out,
                        const s2p_error *error);
int s2_report_save_png(const char *path, const s2p_image *picture);

/* "3.9 MiB"; out. */
#define S2_SIZE_TEXT 32
const char *s2_report_size(double bytes, char out[S2_SIZE_TEXT]);

/* Ctrl-C: one line and 130. A closed pipe and a limit of the file size become errors that are
 * reported, not a silent death. */
void s2_report_signals(void);

#endif /* S2_TOOLS_REPORT_H */
