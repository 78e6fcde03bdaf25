/* dialog.h - a conversation whose answers had thoughts: later questions come without these, as the chat format
 * has it. A session cannot take back what it read, so the whole conversation is its next prompt. */
#ifndef S2_TOOLS_DIALOG_H
#define S2_TOOLS_DIALOG_H

#include "s2vlm.h"

#include <stdbool.h>

typedef struct s2_dialog { /* all zero: no turn yet */
    s2v_message *message;  /* [n_room] of which the first n are turns; their texts are owned */
    size_t n, n_room;
    int32_t n_pictures; /* of these */
} s2_dialog;

/* Remembers a question and its answer. S2P_ENOMEM: nothing changed. */
s2p_status s2_dialog_add(s2_dialog *dialog, const char *question, int32_t n_pictures,
                         const char *answer, s2p_error *error);
void s2_dialog_clear(s2_dialog *dialog);

/* The next message after the turns, and a system message (NULL: none) before them. Borrowed until the next call;
 * NULL: no memory. */
const s2v_message *s2_dialog_with(s2_dialog *dialog, const char *system, const s2v_message *last,
                                  size_t *n_all);

#endif /* S2_TOOLS_DIALOG_H */
