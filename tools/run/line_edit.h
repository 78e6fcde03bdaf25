/* line_edit.h - one line from a person: editing and history on a terminal, plain reading elsewhere. */
#ifndef S2_TOOLS_LINE_EDIT_H
#define S2_TOOLS_LINE_EDIT_H

#include "run/complete.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum s2_line_end {
    S2_LINE_READ,
    S2_LINE_OVER,       /* end of input */
    S2_LINE_INTERRUPTED /* Ctrl-C at the prompt */
} s2_line_end;

typedef struct s2_line_edit s2_line_edit;

/* NULL: no memory. command: what Tab completes at the start of a line. */
s2_line_edit *s2_line_edit_open(s2_word_at command);
void s2_line_edit_close(s2_line_edit *edit);

bool s2_line_edit_is_terminal(const s2_line_edit *edit);

/* Without its line end; valid until the next call. What is pasted is one line, whatever line ends are in
 * it. The prompt goes to standard error. */
s2_line_end s2_line_edit_read(s2_line_edit *edit, const char *prompt, char **line);

#endif /* S2_TOOLS_LINE_EDIT_H */
