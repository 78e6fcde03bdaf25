/* tools.c - one rule for the parameters of each tool, and one for a call of any of them.
 *
 * Every schema is compiled as a document of its own, so that its references mean what they mean there.
 */
#include "constrain/tools.h"

#include "constrain/document.h"
#include "constrain/gbnf.h"

#include <stdio.h>
#include <string.h>

static void write_literal(s2c_grammar *g, int32_t from, int32_t to, const char *text)
{
    s2c_text(g, from, to, text, strlen(text));
}

static bool is_name(const s2c_node *node)
{
    if (node->type != S2C_STRING || node->size < 1 || node->size > S2C_MAX_TOOL_NAME) return false;
    for (size_t i = 0; i < node->size; i++) {
        const char c = node->text[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '_' && c != '-' && c != '.') return false;
    }
    return true;
}

/* From the line end after <tool_call> to the tag that closes the call. */
static s2p_status write_tool(s2c_grammar *g, const s2c_document *d, int32_t tool, int32_t index,
                             s2c_whitespace whitespace, int32_t from, int32_t to, s2p_error *error)
{
    static const char no_parameters[] = "{\"type\":\"object\",\"maxProperties\":0}";
    const int32_t name = s2c_member(d, tool, "name"),
                  parameters = s2c_member(d, tool, "parameters");
    if (name < 0 || !is_name(&d->node[name]))
        return s2_fail(error, S2P_EINVAL,
                       "tools[%d].function.name must have 1 to %d of the characters a-z, A-Z, 0-9, "
                       "_, - and .",
                       index, S2C_MAX_TOOL_NAME);
    const bool has_schema = parameters >= 0 && d->node[parameters].type != S2C_NULL;
    const char *schema = has_schema ? d->node[parameters].raw : no_parameters;
    const size_t n = has_schema ? d->node[parameters].raw_size : sizeof no_parameters - 1;
    int32_t rule = 0;
    s2p_error why = { S2P_OK, "" };
    const s2p_status st = s2c_schema_rule(g, schema, n, whitespace, &rule, &why);
    if (st != S2P_OK)
        return s2_fail(error, st, "tools[%d].function.parameters: %s", index,
                       why.message[0] ? why.message : "it is too large");
    char start[S2C_MAX_TOOL_NAME + 64];
    (void)snprintf(start, sizeof start,
                   "\n{\"name\": \"%.*s\", \"arguments\": ", (int)d->node[name].size,
                   d->node[name].text);
    const int32_t before = s2c_new_state(g), after = s2c_new_state(g);
    write_literal(g, from, before, start);
    s2c_call(g, before, after, rule);
    write_literal(g, after, to, "}\n" S2C_TOOL_CALL_END);
    return S2P_OK;
}

static bool is_true(const s2c_document *d, const char *key)
{
    const int32_t node = s2c_member(d, 0, key);
    return node >= 0 && d->node[node].type == S2C_TRUE;
}

static s2p_status write_all(s2c_grammar *g, const s2c_document *d, s2c_whitespace whitespace,
                            bool is_lazy, s2p_error *error)
{
    const int32_t tools = s2c_member(d, 0, "tools");
    const int32_t n_tools =
        tools >= 0 && d->node[tools].type == S2C_ARRAY ? d->node[tools].n_children : 0;
    if (n_tools < 1 || n_tools > S2C_MAX_TOOLS)
        return s2_fail(error, S2P_EINVAL, "tools must be a list of 1 to %d functions",
                       S2C_MAX_TOOLS);
    const int32_t call = s2c_new_rule(g);
    int32_t index = 0;
    for (int32_t tool = d->node[tools].child; tool >= 0; tool = d->node[tool].next)
        TRY(write_tool(g, d, tool, index++, whitespace, g->rule[call].start, g->rule[call].end,
                       error));
    const int32_t root = s2c_new_rule(g), start = s2c_new_state(g), end = s2c_new_state(g);
    if (is_lazy)
        s2c_empty(g, g->rule[root].start, start);
    else
        write_literal(g, g->rule[root].start, start, S2C_TOOL_CALL);
    s2c_call(g, start, end, call);
    s2c_empty(g, end, g->rule[root].end);
    if (is_true(d, "parallel")) write_literal(g, end, start, "\n" S2C_TOOL_CALL);
    bool is_empty = false;
    const s2p_status st = s2c_grammar_finish(g, root, NULL, NULL, &is_empty, error);
    return is_empty ? s2_fail(error, S2P_EINVAL, "tools: nothing can satisfy their parameters")
                    : st;
}

s2p_status s2c_tools(s2c_grammar *g, const char *text, size_t n, s2c_whitespace whitespace,
                     bool *is_lazy, s2p_error *error)
{
    s2c_document d;
    if (n > S2C_MAX_TEXT)
        return s2_fail(error, S2P_ELIMIT, "the tools have %zu bytes (limit %d)", n, S2C_MAX_TEXT);
    TRY(s2c_document_read(&d, text, n, error));
    *is_lazy = !is_true(&d, "required");
    const s2p_status st = write_all(g, &d, whitespace, *is_lazy, error);
    s2c_document_free(&d);
    return st;
}
