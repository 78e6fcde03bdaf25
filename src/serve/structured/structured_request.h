/* structured_request.h - what an answer has to follow: schemas, grammars and tools of a request.
 *
 * Every front end that reads a request calls s2_structured_read: the fields of OpenAI (response_format,
 * tools), llama-server (json_schema, grammar), vLLM (structured_outputs, guided_*) and Ollama (format) have
 * the same names in all of them.
 */
#ifndef S2_SERVE_STRUCTURED_REQUEST_H
#define S2_SERVE_STRUCTURED_REQUEST_H

#include "serve/front/body.h"

/* Fills in the job: "constraint": {"kind":, "text":, "param":} and, with tools that may be called,
 * "tools": what the model reads of them. At most one of the fields may be there; *has_tools: the answer may
 * have calls. */
bool s2_structured_read(const s2_body *body, bool is_compare, json_t *job, bool *has_tools,
                        s2_http_error *error);

/* Moves "tools" of the job to its messages, after the system message. */
void s2_tools_show(json_t *job, json_t *messages);

/* tool_calls of messages[index], a message of the assistant: they follow it, one message each, as the model
 * writes them. *n_text grows by their bytes. */
bool s2_tool_calls_read(const json_t *message, size_t index, json_t *messages, size_t *n_text,
                        s2_http_error *error);

#endif /* S2_SERVE_STRUCTURED_REQUEST_H */
