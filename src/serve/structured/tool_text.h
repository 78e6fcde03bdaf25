/* tool_text.h - calls of tools in the text of an answer, as Qwen's models write them.
 *
 *     text <tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>
 */
#ifndef S2_SERVE_TOOL_TEXT_H
#define S2_SERVE_TOOL_TEXT_H

#include "base/json.h"

typedef struct s2_tool_text { /* initialize with s2_tool_text_init */
    s2_buffer held;           /* what may be or become a call */
    bool is_inside;           /* of a call, whose text is held */
    size_t n_calls;
} s2_tool_text;

void s2_tool_text_init(s2_tool_text *t);
void s2_tool_text_free(s2_tool_text *t);

/* More of the answer: what is plain text is appended to `content`, and each call that is complete to `calls`:
 * {"id":, "type": "function", "function": {"name":, "arguments": TEXT}}. id: of the answer. */
void s2_tool_text_feed(s2_tool_text *t, const void *text, size_t n, const char *id,
                       s2_buffer *content, json_t *calls);

/* The answer ended: what is held is plain text. */
void s2_tool_text_end(s2_tool_text *t, s2_buffer *content);

#endif /* S2_SERVE_TOOL_TEXT_H */
