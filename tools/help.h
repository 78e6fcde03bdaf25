/* help.h - texts generated from the option tables. */
#ifndef S2_TOOLS_HELP_H
#define S2_TOOLS_HELP_H

#include "base/buffer.h"
#include "options.h"

/* commands: NULL-terminated. */
void s2_help_program(const s2_command *const *commands, s2_buffer *out);
void s2_help_command(const s2_command *command, s2_buffer *out);
void s2_help_option(const s2_option *option,
                    s2_buffer *out); /* what it does, its words, its default */

/* Rows by group, although a group may have rows in several places of a table: the row after `last`,
 * the first of the next group, or NULL. */
const s2_option *s2_help_next(const s2_option *options, const s2_option *last);

/* A page for man: of one command, or of the program where command is NULL. */
void s2_manual(const s2_command *const *commands, const s2_command *command, s2_buffer *out);

const char *s2_shell_name(size_t index); /* bash, zsh, fish; NULL past the end */
void s2_completion(const s2_command *const *commands, const char *shell, s2_buffer *out);

#endif /* S2_TOOLS_HELP_H */
