/* tools.h - calls of functions as Qwen's models write them, with arguments that follow their schemas. */
#ifndef S2_CONSTRAIN_TOOLS_H
#define S2_CONSTRAIN_TOOLS_H

#include "constrain/schema.h"

enum { S2C_MAX_TOOLS = 128, S2C_MAX_TOOL_NAME = 64 };

#define S2C_TOOL_CALL "<tool_call>"
#define S2C_TOOL_CALL_END "</tool_call>"

/* text: {"tools":[{"name":"f","parameters":SCHEMA}],"required":true,"parallel":true}. Fills and finishes
 * an initialized grammar:
 *
 *     <tool_call>\n{"name": "f", "arguments": ARGUMENTS}\n</tool_call>
 *
 * and, if parallel, more of them after a line end each. *is_lazy: not required, so that an answer may be
 * any text; the grammar is then what follows the first <tool_call>. Refusals name the tool. */
s2p_status s2c_tools(s2c_grammar *g, const char *text, size_t n, s2c_whitespace whitespace,
                     bool *is_lazy, s2p_error *error);

#endif /* S2_CONSTRAIN_TOOLS_H */
