/* json_record.c - each member of a record goes through the JSON parser on its own, except pictures:
 * they stay where they are, and the value is their place.
 */
#include "eval/readers/json_scan.h"

#include "base/json_limit.h"
#include "eval/readers/picture_cell.h"

#include <stdlib.h>
#include <string.h>

#define MAX_VALUES ((size_t)1 << 20)
#define MAX_MEMBERS 4096

static s2p_status no_memory(const s2e_json_record *r, s2p_error *error)
{
    return s2e_arena_fail(r->arena, "the record", error);
}

/* A parsed tree into the arena. Depth: the parser's limit. */
static s2p_status convert(const s2e_json_record *r, const json_t *json, s2e_value *out,
                          s2p_error *error)
{
    *out = (s2e_value){ .type = S2E_NONE };
    switch (json_typeof(json)) {
    case JSON_NULL:
        return S2P_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        *out = (s2e_value){ .type = S2E_BOOL, .truth = json_is_true(json) };
        return S2P_OK;
    case JSON_INTEGER:
        *out = (s2e_value){ .type = S2E_INT, .whole = json_integer_value(json) };
        return S2P_OK;
    case JSON_REAL:
        *out = (s2e_value){ .type = S2E_REAL, .real = json_real_value(json) };
        return S2P_OK;
    case JSON_STRING: {
        const size_t n = json_string_length(json);
        if (n > r->options->max_text)
            return s2_fail(error, S2P_ELIMIT, "a text has %zu bytes; the limit is %zu", n,
                           r->options->max_text);
        if (r->options->nan_is_none && s2e_text_is_nan(json_string_value(json), n)) return S2P_OK;
        const char *text = s2e_arena_text(r->arena, json_string_value(json), n);
        if (!text) return no_memory(r, error);
        *out = (s2e_value){ .type = S2E_TEXT, .n = n, .text = text };
        return S2P_OK;
    }
    case JSON_ARRAY: {
        const size_t n = json_array_size(json);
        s2e_value *item = s2e_arena_take(r->arena, (n + 1) * sizeof *item);
        if (!item) return no_memory(r, error);
        for (size_t i = 0; i < n; i++) TRY(convert(r, json_array_get(json, i), &item[i], error));
        *out = (s2e_value){ .type = S2E_LIST, .n = n, .item = item };
        return S2P_OK;
    }
    case JSON_OBJECT:
        break;
    }
    const size_t n = json_object_size(json);
    s2e_value *item = s2e_arena_take(r->arena, (n + 1) * sizeof *item);
    const char **name = s2e_arena_take(r->arena, (n + 1) * sizeof *name);
    if (!item || !name) return no_memory(r, error);
    size_t i = 0;
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)json, key, member)
    {
        name[i] = s2e_arena_text(r->arena, key, strlen(key));
        if (!name[i]) return no_memory(r, error);
        TRY(convert(r, member, &item[i++], error));
    }
    *out = (s2e_value){ .type = S2E_STRUCT, .n = n, .item = item, .name = name };
    return S2P_OK;
}

/* Any value, as written at text[at], through the parser. */
static s2p_status parse_plain(const s2e_json_record *r, size_t at, size_t n, s2e_value *out,
                              s2p_error *error)
{
    s2_buffer text; /* the parser wants an array or an object */
    s2_buffer_init(&text, SIZE_MAX);
    s2_buffer_append(&text, "[", 1);
    s2_buffer_append(&text, r->text + at, n);
    s2_buffer_append(&text, "]", 1);
    json_t *json = NULL;
    s2p_status st = text.status == S2P_OK ? S2P_OK : s2_fail_memory(error, n, "a value");
    if (st == S2P_OK)
        st = s2_json_parse_few(text.data, text.size, "its value", MAX_VALUES, &json, error);
    if (st == S2P_EFORMAT || (st == S2P_OK && json_array_size(json) != 1))
        st = s2_fail(error, S2P_EFORMAT, "it is not valid JSON");
    if (st == S2P_OK) st = convert(r, json_array_get(json, 0), out, error);
    json_decref(json);
    s2_buffer_free(&text);
    return st;
}

typedef struct member {
    size_t key, n_key, value, n_value; /* where in the text; the key with its quotes */
} member;

/* The next member of the object, or item of the list (no key), that is open before text[*at].
 * 1: there is one; 0: the bracket closes; -1: neither. */
static int next_member(const s2e_json_record *r, bool is_object, bool first, size_t *at, member *m)
{
    size_t i = s2e_json_skip_space(r->text, *at, r->n);
    if (i < r->n && r->text[i] == (is_object ? '}' : ']')) {
        *at = i + 1;
        return 0;
    }
    if (!first) {
        if (i >= r->n || r->text[i] != ',') return -1;
        i = s2e_json_skip_space(r->text, i + 1, r->n);
    }
    if (is_object) {
        m->key = i;
        m->n_key = i < r->n && r->text[i] == '"' ? s2e_json_value_size(r->text, i, r->n) : 0;
        if (m->n_key == 0) return -1;
        i = s2e_json_skip_space(r->text, i + m->n_key, r->n);
        if (i >= r->n || r->text[i] != ':') return -1;
        i = s2e_json_skip_space(r->text, i + 1, r->n);
    }
    m->value = i;
    m->n_value = i < r->n ? s2e_json_value_size(r->text, i, r->n) : 0;
    *at = i + m->n_value;
    return m->n_value > 0 ? 1 : -1;
}

static s2p_status read_picture(const s2e_json_record *r, size_t at, size_t n, int depth,
                               s2e_value *out, s2p_error *error);

/* A list of pictures, or a struct whose `bytes` is one. */
static s2p_status read_picture_tree(const s2e_json_record *r, size_t at, int depth, s2e_value *out,
                                    s2p_error *error)
{
    const bool is_object = r->text[at++] == '{';
    size_t n = 0, again = at;
    member m;
    int more;
    while ((more = next_member(r, is_object, n == 0, &again, &m)) == 1) n++;
    if (more < 0 || n > MAX_MEMBERS)
        return s2_fail(error, S2P_EFORMAT, "it is not JSON, or lists more than %d pictures",
                       MAX_MEMBERS);
    s2e_value *item = s2e_arena_take(r->arena, (n + 1) * sizeof *item);
    const char **name = s2e_arena_take(r->arena, (n + 1) * sizeof *name);
    if (!item || !name) return no_memory(r, error);
    for (size_t i = 0; i < n; i++) {
        (void)next_member(r, is_object, i == 0, &at, &m);
        bool is_picture = true;
        if (is_object) {
            s2e_value key;
            TRY(parse_plain(r, m.key, m.n_key, &key, error));
            name[i] = key.type == S2E_TEXT ? key.text : "";
            is_picture = strcmp(name[i], "bytes") == 0;
        }
        TRY(is_picture ? read_picture(r, m.value, m.n_value, depth + 1, &item[i], error)
                       : parse_plain(r, m.value, m.n_value, &item[i], error));
    }
    *out = (s2e_value){ .type = is_object ? S2E_STRUCT : S2E_LIST, .n = n, .item = item };
    if (is_object) out->name = name;
    return S2P_OK;
}

/* A value of a picture column; a struct in a list is as deep as pictures are. */
static s2p_status read_picture(const s2e_json_record *r, size_t at, size_t n, int depth,
                               s2e_value *out, s2p_error *error)
{
    const char c = r->text[at];
    if (depth < 2 && (c == '[' || c == '{')) return read_picture_tree(r, at, depth, out, error);
    if (c != '"' || n <= S2E_REFERENCE_MAX + 2 || s2e_is_file_name(r->text + at + 1, n - 2))
        return parse_plain(r, at, n, out, error);
    s2e_picture_text text;
    s2e_picture_text_start(&text, r->options, true);
    s2e_picture_text_add(&text, (const uint8_t *)r->text + at + 1, n - 2, r->at + at + 1);
    return s2e_picture_text_finish(&text, r->path, r->arena, out, error);
}

/* A member of the record joins the row if it was requested. */
static s2p_status read_member(const s2e_json_record *r, const member *m, s2e_row *row,
                              const char **name, s2e_value *value, s2p_error *error)
{
    s2e_value key;
    TRY(parse_plain(r, m->key, m->n_key, &key, error));
    const char *text = key.type == S2E_TEXT ? key.text : "";
    bool wanted = r->options->n_columns == 0;
    for (size_t i = 0; i < r->options->n_columns; i++)
        wanted = wanted || strcmp(r->options->column[i], text) == 0;
    for (size_t i = 0; i < row->n; i++)
        if (strcmp(name[i], text) == 0)
            return s2_fail(error, S2P_EFORMAT, "it has '%.64s' twice", text);
    if (!wanted) return S2P_OK;
    s2p_error why;
    const s2p_status st = s2e_is_picture_column(r->options, text)
                              ? read_picture(r, m->value, m->n_value, 0, &value[row->n], &why)
                              : parse_plain(r, m->value, m->n_value, &value[row->n], &why);
    if (st != S2P_OK) return s2_fail(error, st, "'%.64s': %s", text, why.message);
    name[row->n++] = text;
    return S2P_OK;
}

s2p_status s2e_json_record_read(const s2e_json_record *record, const char *key, size_t key_n,
                                s2e_row *row, s2p_error *error)
{
    const bool is_object = record->n > 0 && record->text[0] == '{';
    size_t at = 1, n = 0;
    member m;
    int more = 0;
    while (is_object && n <= MAX_MEMBERS &&
           (more = next_member(record, true, n == 0, &at, &m)) == 1)
        n++;
    if (n > MAX_MEMBERS)
        return s2_fail(error, S2P_ELIMIT, "it has more than %d fields, the limit", MAX_MEMBERS);
    if (more < 0 || (is_object && s2e_json_skip_space(record->text, at, record->n) < record->n))
        return s2_fail(error, S2P_EFORMAT, "it is not a JSON object near its byte %zu", at);

    const char **name = s2e_arena_take(record->arena, (n + 2) * sizeof *name);
    s2e_value *value = s2e_arena_take(record->arena, (n + 2) * sizeof *value);
    if (!name || !value) return no_memory(record, error);
    row->name = name;
    row->value = value;
    row->n = 0;
    if (key) {
        const s2e_json_record own = { record->options, record->path, record->arena, key, key_n, 0 };
        name[0] = record->options->key;
        TRY(parse_plain(&own, 0, key_n, &value[0], error));
        row->n = 1;
    }
    if (!is_object) {
        name[row->n] = "value";
        TRY(parse_plain(record, 0, record->n, &value[row->n], error));
        row->n++;
        return S2P_OK;
    }
    at = 1;
    for (size_t i = 0; i < n; i++) {
        (void)next_member(record, true, i == 0, &at, &m);
        TRY(read_member(record, &m, row, name, value, error));
    }
    return S2P_OK;
}
