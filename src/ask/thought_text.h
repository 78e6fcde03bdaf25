/* thought_text.h - splits the text of an answer that began with thoughts into thoughts and answer.
 *
 *     s2v_thought_text t;
 *     s2v_thought_text_init(&t, s2v_session_thinks(session));
 *     s2v_thought_text_feed(&t, piece, n, &thoughts, &answer);   for each piece
 *     s2v_thought_text_end(&t, &thoughts);
 *
 * White space is removed at the start of both and at the end of the thoughts.
 */
#ifndef S2_ASK_THOUGHT_TEXT_H
#define S2_ASK_THOUGHT_TEXT_H

#include "base/buffer.h"

#include <stdbool.h>

typedef struct s2v_thought_text { /* all zero: everything is the answer */
    bool has_thoughts, is_open;   /* it began with them; </think> has not come yet */
    bool has_begun;               /* the current part has at least one character */
    s2_buffer held;               /* white space, and what may become </think> */
} s2v_thought_text;

void s2v_thought_text_init(s2v_thought_text *t, bool has_thoughts);
void s2v_thought_text_free(s2v_thought_text *t);

/* Appends the text whose part is known to one or both. */
void s2v_thought_text_feed(s2v_thought_text *t, const char *text, size_t n, s2_buffer *thoughts,
                           s2_buffer *answer);

/* There is no more text: appends the held text that belongs to the thoughts. */
void s2v_thought_text_end(s2v_thought_text *t, s2_buffer *thoughts);

#endif /* S2_ASK_THOUGHT_TEXT_H */
