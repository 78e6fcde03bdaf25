/* tool_text.c - hold back what may be a call, and parse it when it is complete.
 *
 * The closing tag may also be inside a string of the arguments: the text up to a tag is a call only when it
 * parses, otherwise the next tag is tried.
 */
#include "serve/structured/tool_text.h"

#include "serve/structured/json_cut.h"

#include <stdio.h>
#include <string.h>

#define START "<tool_call>"
#define END "</tool_call>"
#define MAX_HELD ((size_t)4 << 20)

void s2_tool_text_init(s2_tool_text *t)
{
    *t = (s2_tool_text){ .is_inside = false };
    s2_buffer_init(&t->held, MAX_HELD);
}

void s2_tool_text_free(s2_tool_text *t) { s2_buffer_free(&t->held); }

static size_t find(const s2_buffer *in, size_t from, const char *what)
{
    const size_t n = strlen(what);
    for (size_t i = from; i + n <= in->size; i++)
        if (memcmp(in->data + i, what, n) == 0) return i;
    return in->size;
}

static void drop(s2_buffer *from, size_t n)
{
    if (n == 0) return;
    memmove(from->data, from->data + n, from->size - n);
    from->size -= n;
}

/* Spaces around calls belong to the notation. */
static void give(s2_tool_text *t, size_t n, bool is_before_call, s2_buffer *content)
{
    size_t first = 0, end = n;
    while (t->n_calls > 0 && first < end && strchr(" \n\r\t", t->held.data[first]) &&
           t->held.data[first])
        first++;
    while (is_before_call && end > first && strchr(" \n\r\t", t->held.data[end - 1]) &&
           t->held.data[end - 1])
        end--;
    if (end > first) s2_buffer_append(content, t->held.data + first, end - first);
    drop(&t->held, n);
}

/* Bytes at the end that may be the beginning of the tag, and spaces before them. */
static size_t undecided(const s2_buffer *held)
{
    size_t n = strlen(START) - 1;
    if (n > held->size) n = held->size;
    while (n > 0 && memcmp(held->data + held->size - n, START, n) != 0) n--;
    while (n < held->size && strchr(" \n\r\t", held->data[held->size - n - 1]) &&
           held->data[held->size - n - 1])
        n++;
    return n;
}

/* held[0..n): between the tags. */
static bool take_call(s2_tool_text *t, size_t n, const char *id, json_t *calls)
{
    json_t *json = NULL;
    const char *text, *arguments;
    size_t n_arguments;
    char call_id[80];
    if (s2_json_parse(t->held.data, n, "a tool call", &json, NULL) != S2P_OK) return false;
    const char *name = s2_json_string(json, "name");
    text = (const char *)t->held.data;
    const bool is_call = name && s2_json_cut(text, n, (const char *const[]){ "arguments", NULL },
                                             &arguments, &n_arguments);
    if (is_call) {
        (void)snprintf(call_id, sizeof call_id, "call_%.50s_%zu", id, t->n_calls++);
        json_array_append_new(calls, json_pack("{s:s,s:s,s:{s:s,s:s%}}", "id", call_id, "type",
                                               "function", "function", "name", name, "arguments",
                                               arguments, n_arguments));
    }
    json_decref(json);
    return is_call;
}

void s2_tool_text_feed(s2_tool_text *t, const void *text, size_t n, const char *id,
                       s2_buffer *content, json_t *calls)
{
    s2_buffer *held = &t->held;
    s2_buffer_append(held, text, n);
    for (;;) {
        if (!t->is_inside) {
            const size_t at = find(held, 0, START);
            if (at == held->size) {
                give(t, held->size - undecided(held), false, content);
                return;
            }
            give(t, at, true, content);
            drop(held, strlen(START));
            t->is_inside = true;
        }
        size_t end = find(held, 0, END);
        while (end < held->size && !take_call(t, end, id, calls)) end = find(held, end + 1, END);
        if (end == held->size) return;
        drop(held, end + strlen(END));
        t->is_inside = false;
    }
}

void s2_tool_text_end(s2_tool_text *t, s2_buffer *content)
{
    if (t->is_inside) s2_buffer_append(content, START, strlen(START));
    if (t->is_inside) s2_buffer_append(content, t->held.data, t->held.size);
    if (!t->is_inside) give(t, t->held.size, t->n_calls > 0, content);
    t->held.size = 0;
    t->is_inside = false;
}
