/* door.h - other APIs for the same question: their request becomes a chat request, and the answer of the
 * engine becomes theirs.
 *
 * A door is one file with an s2_door, and its rows in route_table.c.
 */
#ifndef S2_SERVE_DOOR_H
#define S2_SERVE_DOOR_H

#include "serve/front/routes.h"

typedef struct s2_door {
    const char *id;             /* what ids of answers begin with */
    bool is_lines;              /* a stream is lines of JSON, not server-sent events */
    bool takes_base64;          /* pictures are base64 without "data:" */
    bool has_choices;           /* several answers, each with its index x->chat.at */
    const char *const *repeats; /* fields of the request that x->chat.repeated keeps, up to NULL */
    /* Fills `chat`, the request as a client of OpenAI would send it; false: refused. */
    bool (*read)(const json_t *own, json_t *chat, s2_http_error *error);
    /* The parts of a stream: before the first text, a piece of text, a complete call of a tool (as
     * tool_text.h has it), after the last. */
    void (*begin)(s2_exchange *x);
    void (*text)(s2_exchange *x, const char *text, size_t n);
    void (*call)(s2_exchange *x, const json_t *call); /* NULL: it takes no tools */
    void (*done)(s2_exchange *x, const json_t *result);
    /* The whole answer, whose text and calls are in x->chat.choice; a new reference. */
    json_t *(*whole)(s2_exchange *x, const json_t *result);
    /* An error; NULL: as OpenAI's. */
    json_t *(*error)(const s2_http_error *error);
} s2_door;

extern const s2_door s2_door_completions, s2_door_completion, s2_door_ollama_chat,
    s2_door_ollama_generate, s2_door_responses, s2_door_messages, s2_door_messages_count;

/* --- door.c: what the doors share ------------------------------------------------------------- */

/* Copies own[name] to chat[as], if it is there and not null. */
void s2_door_take(const json_t *own, const char *name, json_t *chat, const char *as);
void s2_door_take_all(const json_t *own, const char *const *names, json_t *chat); /* up to NULL */

/* Refuses what asks for something that is not there; null, false and empty values ask for nothing. */
bool s2_door_refuse(const json_t *own, const char *const *names, const char *why,
                    s2_http_error *error);

/* Names the field of an error as the client wrote it: "max_tokens must be" may be of "num_predict". */
void s2_door_rename(const json_t *own, s2_http_error *error);

/* Appends {"role":, "content":} to the messages of the chat; takes over the content. */
void s2_door_add(json_t *chat, const char *role, json_t *content);

/* Appends a result of a tool; takes over the content. */
void s2_door_add_result(json_t *chat, json_t *content);

/* Appends a call to the last message, which becomes one of the assistant if it is not; arguments: an object,
 * or its text. Borrowed. */
void s2_door_add_call(json_t *chat, json_t *name, json_t *arguments);

/* Appends a function to the tools of the chat; description and parameters may be NULL. Borrowed. */
void s2_door_add_tool(json_t *chat, json_t *name, json_t *description, json_t *parameters);

/* The tool_choice of a chat that names a function. */
void s2_door_choose_tool(json_t *chat, json_t *name);

/* Parts of a message; a picture as base64 or as a URL. New references. */
json_t *s2_door_text_part(const json_t *text);
json_t *s2_door_picture_part(const json_t *data, bool is_base64, const char *detail);

/* The answer in parts: texts as strings, calls as objects. Calls follow the text; only what was cut in the
 * middle of a call is a text after them. Without any call there is one text. New reference. */
json_t *s2_door_parts(const s2_exchange *x);

/* The arguments of a call as an object, which they are whatever the schema. New reference. */
json_t *s2_door_arguments(const json_t *call);

/* The answer so far, as a string; whether it was cut by max_tokens; a count of its usage. */
json_t *s2_door_answer(const s2_exchange *x);
bool s2_door_is_cut(const json_t *result);
bool s2_door_has_calls(const s2_exchange *x);
json_int_t s2_door_count(const json_t *result, const char *name);
json_int_t s2_door_cached(const json_t *result);

/* "event: NAME" and its data. */
void s2_door_event(s2_exchange *x, const char *name, json_t *data);

#endif /* S2_SERVE_DOOR_H */
