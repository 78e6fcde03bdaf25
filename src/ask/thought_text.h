/* thought_text.h - the text of an answer that began inside thoughts, as thoughts and answer.
 *
 *     s2v_thought_text t;
 *     s2v_thought_text_init(&t, s2v_session_thinks(session));
 *     s2v_thought_text_feed(&t, piece, n, &thoughts, &answer);   for each piece
 *     s2v_thought_text_end(&t, &thoughts);
 *
 * Neither has white space at its start, nor the thoughts at their end.
 */
#ifndef S2_ASK_THOUGHT_TEXT_H
#define S2_ASK_THOUGHT_TEXT_H

#include "base/buffer.h"

#include <stdbool.h>

typedef struct s2v_thought_text { /* all zero: everything is the answer */
    bool has_thoughts, is_open;   /* it began with them; </think> has not come yet */
    bool has_begun;               /* the part that is being written has had a character */
    s2_buffer held;               /* white space, and what may become </think> */
} s2v_thought_text;

void s2v_thought_text_init(s2v_thought_text *t, bool has_thoughts);
void s2v_thought_text_free(s2v_thought_text *t);

/* Appends what is certain to one or both. */
void s2v_thought_text_feed(s2v_thought_text *t, const char *text, size_t n, s2_buffer *thoughts,
                           s2_buffer *answer);

/* No more text comes: of what is held, that which belongs to the thoughts. */
void s2v_thought_text_end(s2v_thought_text *t, s2_buffer *thoughts);

#endif /* S2_ASK_THOUGHT_TEXT_H */
