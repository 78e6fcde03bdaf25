/* verify_structured.c - schemas and grammars with texts they must allow or reject: goldens/structured.
 *
 * A file is a list of cases. Each has a schema, a grammar or a recipe for a large text; whether it must
 * compile or be refused; and texts with what to expect. The order of keys and the spelling of numbers
 * matter, so the file is read with the reader of schemas.
 */
#include "verify/checks.h"

#include "base/file.h"
#include "constrain/constraint.h"
#include "constrain/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MADE_BYTES (4u << 20) /* of a text that a recipe makes */

bool s2_golden_is_structured(const char *path)
{
    const size_t n = strlen(path);
    char head[4096];
    if (n < 5 || strcmp(path + n - 5, ".json") != 0) return false;
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    const size_t size = fread(head, 1, sizeof head - 1, file);
    fclose(file);
    head[size] = '\0';
    const char *at = head + strspn(head, " \r\n\t");
    if (*at != '[') return false;
    at++;
    at += strspn(at, " \r\n\t");
    return strncmp(at, "{\"name\"", 7) == 0 &&
           (strstr(head, "\"schema\"") || strstr(head, "\"grammar\"") ||
            (strstr(head, "\"kind\"") && strstr(head, "\"compile\"")));
}

static const char *text_of(const s2c_document *d, int32_t c, const char *key, size_t *size)
{
    const int32_t node = s2c_member(d, c, key);
    *size = 0;
    if (node < 0 || d->node[node].type != S2C_STRING) return NULL;
    *size = d->node[node].size;
    return d->node[node].text;
}

static bool is_member(const s2c_document *d, int32_t c, const char *key, const char *value)
{
    const int32_t node = s2c_member(d, c, key);
    return node >= 0 && s2c_is_text(&d->node[node], value);
}

/* The large texts of limits.json. */
static void make_text(const s2c_document *d, int32_t c, s2_buffer *out)
{
    size_t size;
    const int32_t count = s2c_member(d, c, "n");
    const long n =
        count >= 0 && d->node[count].type == S2C_NUMBER ? strtol(d->node[count].text, NULL, 10) : 0;
    if (is_member(d, c, "make", "enum")) {
        s2_buffer_printf(out, "{\"enum\": [");
        for (long i = 0; i < n; i++) s2_buffer_printf(out, "%s\"value-%ld\"", i ? ", " : "", i);
        s2_buffer_printf(out, "]}");
    } else if (is_member(d, c, "make", "doubling")) {
        s2_buffer_printf(out, "{\"$defs\": {");
        for (long i = 0; i + 1 < n; i++)
            s2_buffer_printf(
                out,
                "\"d%ld\": {\"type\": \"object\", \"properties\": {\"a\": {\"$ref\": "
                "\"#/$defs/d%ld\"}, "
                "\"b\": {\"$ref\": \"#/$defs/d%ld\"}}, \"required\": [\"a\", \"b\"]}, ",
                i, i + 1, i + 1);
        s2_buffer_printf(out, "\"d%ld\": {\"type\": \"null\"}}, \"$ref\": \"#/$defs/d0\"}", n - 1);
    } else if (is_member(d, c, "make", "cross")) {
        s2_buffer_printf(out, "{\"allOf\": [");
        for (long i = 0; i < n; i++)
            s2_buffer_printf(
                out,
                "%s{\"anyOf\": [{\"properties\": {\"k%ld\": {\"type\": \"integer\"}}}, "
                "{\"properties\": {\"k%ld\": {\"type\": \"string\"}}}]}",
                i ? ", " : "", i, i);
        s2_buffer_printf(out, "]}");
    } else if (is_member(d, c, "make", "optional")) {
        s2_buffer_printf(out, "{\"type\": \"object\", \"properties\": {");
        for (long i = 0; i < n; i++)
            s2_buffer_printf(out, "%s\"key-%ld\": {\"type\": \"integer\"}", i ? ", " : "", i);
        s2_buffer_printf(out, "}, \"additionalProperties\": false}");
    } else if (is_member(d, c, "make", "chain")) {
        s2_buffer_printf(out, "root ::= r0\n");
        for (long i = 0; i + 1 < n; i++) s2_buffer_printf(out, "r%ld ::= r%ld\n", i, i + 1);
        s2_buffer_printf(out, "r%ld ::= \"a\"\n", n - 1);
    } else {
        const char *part = text_of(d, c, "head", &size);
        s2_buffer_append(out, part, size);
        part = text_of(d, c, "open", &size);
        for (long i = 0; i < n; i++) s2_buffer_append(out, part, size);
        part = text_of(d, c, "middle", &size);
        s2_buffer_append(out, part, size);
        part = text_of(d, c, "close", &size);
        for (long i = 0; i < n; i++) s2_buffer_append(out, part, size);
        part = text_of(d, c, "tail", &size);
        s2_buffer_append(out, part, size);
    }
}

static size_t read_hex(const char *text, size_t n, char *out)
{
    for (size_t i = 0; i + 1 < n; i += 2) {
        const char pair[3] = { text[i], text[i + 1], '\0' };
        out[i / 2] = (char)strtoul(pair, NULL, 16);
    }
    return n / 2;
}

static void check_text(const s2c_constraint *constraint, const s2c_document *d, int32_t test,
                       s2_verdict *verdict)
{
    size_t size, n_expect;
    char *bytes = NULL;
    const char *text = text_of(d, test, "text", &size),
               *expect = text_of(d, test, "expect", &n_expect);
    if (!text) {
        text = text_of(d, test, "hex", &size);
        bytes = malloc(size + 1);
        if (text && bytes) {
            size = read_hex(text, size, bytes);
            text = bytes;
        }
    }
    bool is_allowed, is_complete;
    if (!text || !expect) {
        s2_malformed(verdict, "a test has no text or no 'expect'");
    } else if (s2c_constraint_check(constraint, text, size, &is_allowed, &is_complete) != S2P_OK) {
        s2_differs(verdict, "'%.*s' could not be followed", (int)(size < 80 ? size : 80), text);
    } else if (!s2c_same_text(expect, n_expect, "either", 6)) {
        const char *got = !is_allowed ? "reject" : is_complete ? "accept" : "prefix";
        const bool is_same = s2c_same_text(expect, n_expect, got, strlen(got)) ||
                             (s2c_same_text(expect, n_expect, "reject", 6) && !is_complete);
        if (!is_same)
            s2_differs(verdict, "'%.*s': expected %.*s, got %s", (int)(size < 80 ? size : 80), text,
                       (int)n_expect, expect, got);
    }
    free(bytes);
}

/* A refusal names one of the places that are a reason. */
static bool names_reason(const s2c_document *d, int32_t c, const char *sentence)
{
    const int32_t reasons = s2c_member(d, c, "refuse");
    if (reasons < 0 || d->node[reasons].type != S2C_ARRAY || d->node[reasons].n_children == 0)
        return true;
    for (int32_t r = d->node[reasons].child; r >= 0; r = d->node[r].next)
        for (int32_t part = d->node[r].type == S2C_STRING ? r : d->node[r].child; part >= 0;
             part = d->node[r].type == S2C_STRING ? S2C_NO_NODE : d->node[part].next) {
            const s2c_node *text = &d->node[part];
            char pointer[256];
            if (text->type != S2C_STRING || text->size >= sizeof pointer) continue;
            if (text->size == 0) return true; /* the schema as a whole */
            memcpy(pointer, text->text, text->size);
            pointer[text->size] = '\0';
            if (pointer[0] == '/' && strncmp(sentence, pointer, text->size) == 0) return true;
        }
    return false;
}

static void check_case(const s2c_document *d, int32_t c, s2_verdict *verdict)
{
    const int32_t schema = s2c_member(d, c, "schema");
    s2c_kind kind = S2C_GBNF;
    s2_buffer made;
    size_t size;
    s2_buffer_init(&made, MAX_MADE_BYTES);
    const char *text = text_of(d, c, "grammar", &size);
    if (schema >= 0) {
        kind = S2C_JSON_SCHEMA;
        text = d->node[schema].raw;
        size = d->node[schema].raw_size;
    } else if (!text) {
        if (is_member(d, c, "kind", "schema")) kind = S2C_JSON_SCHEMA;
        make_text(d, c, &made);
        text = (const char *)made.data;
        size = made.size;
    }
    s2c_constraint *constraint = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st =
        s2c_constraint_create(&constraint, kind, text ? text : "", size, S2C_LINE, &error);
    if (st != S2P_OK && is_member(d, c, "compile", "compile"))
        s2_differs(verdict, "refused: %s", error.message);
    if (st == S2P_OK && is_member(d, c, "compile", "refuse"))
        s2_differs(verdict, "compiled, expected a refusal");
    if (st != S2P_OK && is_member(d, c, "compile", "refuse") && !names_reason(d, c, error.message))
        s2_differs(verdict, "refused for another reason: %s", error.message);
    const int32_t tests = s2c_member(d, c, "tests");
    for (int32_t t = st == S2P_OK && tests >= 0 ? d->node[tests].child : S2C_NO_NODE; t >= 0;
         t = d->node[t].next)
        check_text(constraint, d, t, verdict);
    s2c_constraint_free(constraint);
    s2_buffer_free(&made);
}

void s2_golden_check_structured(const char *path, s2_verdict *verdict)
{
    s2_buffer text;
    s2c_document d = { 0 };
    s2p_error error = { S2P_OK, "" };
    s2_buffer_init(&text, S2_GOLDEN_MAX_BYTES);
    s2_buffer_init(&verdict->lines, 1 << 16);
    (void)snprintf(verdict->label, sizeof verdict->label, "the file");
    if (s2_file_read(path, &text, &error) != S2P_OK ||
        s2c_document_read(&d, (const char *)text.data, text.size, &error) != S2P_OK)
        s2_malformed(verdict, "%s", error.message);
    for (int32_t c = d.n > 0 ? d.node[0].child : S2C_NO_NODE; c >= 0; c = d.node[c].next) {
        size_t size;
        const char *name = text_of(&d, c, "name", &size);
        (void)snprintf(verdict->label, sizeof verdict->label, "%.*s", (int)(size < 60 ? size : 60),
                       name ? name : "");
        verdict->case_failed = false;
        check_case(&d, c, verdict);
        verdict->n_cases++;
        verdict->n_failed += verdict->case_failed;
    }
    s2c_document_free(&d);
    s2_buffer_free(&text);
}
