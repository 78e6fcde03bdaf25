/* selections.c - lines of JSON to a sorted table. */
#include "ask/selections.h"

#include "base/json_fields.h"
#include "base/json_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES (1 << 24)
#define MAX_ID 1024
#define MAX_PICTURES 1024

struct s2a_selections {
    s2a_selection *line; /* [n] sorted by key */
    size_t n, capacity;
    int32_t first_count; /* tokens of the first line */
};

static const s2_json_field fields[] = {
    { "id", S2_JSON_TEXT, 1, MAX_ID },
    { "kept", S2_JSON_LIST, 1, S2P_MAX_TOKENS },
    { "budget", S2_JSON_INT, 1, S2P_MAX_TOKENS },
    { "task", S2_JSON_TEXT, 1, MAX_ID },
    { "picture", S2_JSON_INT, 0, MAX_PICTURES },
    { "part", S2_JSON_INT, 0, 1 },
    { NULL, S2_JSON_OTHER, 0, 0 },
};

static int order(int32_t a, int32_t b) { return (a > b) - (a < b); }

static int compare(const void *x, const void *y)
{
    const s2a_selection *a = x, *b = y;
    int by = strcmp(a->id, b->id);
    if (by == 0) by = strcmp(a->task, b->task);
    if (by == 0) by = order(a->picture, b->picture);
    if (by == 0) by = order(a->part, b->part);
    return by == 0 ? order(a->budget, b->budget) : by;
}

static s2p_status check_kept(const char *where, const int32_t *kept, size_t n, s2p_error *error)
{
    if (!kept)
        return s2_fail(error, S2P_EFORMAT, "%s: kept must be a list of whole numbers", where);
    for (size_t i = 0; i < n; i++) {
        if (kept[i] < 0 || kept[i] >= S2P_MAX_TOKENS)
            return s2_fail(error, S2P_EFORMAT, "%s: there is no token %d", where, kept[i]);
        if (i > 0 && kept[i] <= kept[i - 1])
            return s2_fail(error, S2P_EFORMAT, "%s: kept must ascend, and %d follows %d", where,
                           kept[i], kept[i - 1]);
    }
    return S2P_OK;
}

/* One allocation a line: the tokens, then the two strings. */
static s2p_status take_line(s2a_selections *s, const json_t *object, int32_t line,
                            const char *where, s2p_error *error)
{
    char param[S2_JSON_PARAM];
    s2p_error why = { S2P_OK, "" };
    if (!json_is_object(object))
        return s2_fail(error, S2P_EFORMAT, "%s: it is not a JSON object", where);
    if (s2_json_check_fields(object, fields, "", true, 0, param, &why) != S2P_OK)
        return s2_fail(error, S2P_EFORMAT, "%s: %s", where, why.message);
    const char *id = s2_json_string(object, "id"), *task = s2_json_string(object, "task");
    const json_t *list = json_object_get(object, "kept");
    if (!id || !json_is_array(list))
        return s2_fail(error, S2P_EFORMAT, "%s: it needs both id and kept", where);
    if (!task) task = "";
    size_t n_kept;
    int32_t *kept = s2_json_ints(list, &n_kept);
    s2p_status st = check_kept(where, kept, n_kept, error);
    const size_t n_bytes = n_kept * sizeof *kept, n_id = strlen(id) + 1, n_task = strlen(task) + 1;
    char *block = st == S2P_OK ? malloc(n_bytes + n_id + n_task) : NULL;
    if (st == S2P_OK && !block) st = s2_fail_memory(error, n_bytes, where);
    if (st == S2P_OK) {
        memcpy(block, kept, n_bytes);
        memcpy(block + n_bytes, id, n_id);
        memcpy(block + n_bytes + n_id, task, n_task);
        s2a_selection one = { .id = block + n_bytes,
                              .task = block + n_bytes + n_id,
                              .n_kept = (int32_t)n_kept,
                              .kept = (const int32_t *)(const void *)block,
                              .line = line };
        (void)s2_json_int(object, "picture", &one.picture); /* 0 where it is not there */
        (void)s2_json_int(object, "part", &one.part);
        (void)s2_json_int(object, "budget", &one.budget);
        if (s->n == 0) s->first_count = one.n_kept;
        s->line[s->n++] = one;
    }
    free(kept);
    return st;
}

static s2p_status make_room(s2a_selections *s, const char *name, s2p_error *error)
{
    if (s->n < s->capacity) return S2P_OK;
    if (s->n == MAX_LINES)
        return s2_fail(error, S2P_ELIMIT, "%s has more than %d lines", name, MAX_LINES);
    const size_t capacity = s->capacity > 0 ? 2 * s->capacity : 64;
    s2a_selection *grown = realloc(s->line, capacity * sizeof *grown);
    if (!grown) return s2_fail_memory(error, capacity * sizeof *grown, name);
    s->line = grown;
    s->capacity = capacity;
    return S2P_OK;
}

static s2p_status parse_line(s2a_selections *s, const char *text, size_t n, int32_t line,
                             const char *name, s2p_error *error)
{
    char where[160];
    json_t *object;
    (void)snprintf(where, sizeof where, "%.100s, line %d", name, line);
    TRY(make_room(s, name, error));
    TRY(s2_json_parse_few(text, n, where, S2P_MAX_TOKENS + 64, &object, error));
    const s2p_status st = take_line(s, object, line, where, error);
    json_decref(object);
    return st;
}

static bool is_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r') return false;
    return true;
}

s2p_status s2a_selections_parse(const void *bytes, size_t n, const char *name, s2a_selections **out,
                                s2p_error *error)
{
    const char *text = bytes;
    s2p_status st = S2P_OK;
    *out = NULL;
    s2a_selections *s = calloc(1, sizeof *s);
    if (!s) return s2_fail_memory(error, sizeof *s, name);
    int32_t line = 1;
    for (size_t at = 0; at < n && st == S2P_OK; line++) {
        const char *end = memchr(text + at, '\n', n - at);
        const size_t length = end ? (size_t)(end - (text + at)) : n - at;
        if (!is_blank(text + at, length)) st = parse_line(s, text + at, length, line, name, error);
        at += length + 1;
        if (line == INT32_MAX) st = s2_fail(error, S2P_ELIMIT, "%s has too many lines", name);
    }
    if (st == S2P_OK && s->n == 0)
        st = s2_fail(error, S2P_EFORMAT,
                     "%s is empty; a line looks like {\"id\": \"SAMPLE\", \"kept\": [0, 1, 2]}",
                     name);
    if (st == S2P_OK) qsort(s->line, s->n, sizeof *s->line, compare);
    for (size_t i = 1; i < s->n && st == S2P_OK; i++)
        if (compare(&s->line[i - 1], &s->line[i]) == 0) {
            const int32_t a = s->line[i - 1].line, b = s->line[i].line;
            st = s2_fail(error, S2P_EFORMAT, "%s: lines %d and %d are for the same sample '%.60s'",
                         name, a < b ? a : b, a < b ? b : a, s->line[i].id);
        }
    if (st == S2P_OK)
        *out = s;
    else
        s2a_selections_free(s);
    return st;
}

void s2a_selections_free(s2a_selections *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->n; i++) free((void *)(uintptr_t)s->line[i].kept);
    free(s->line);
    free(s);
}

const s2a_selection *s2a_selections_find(const s2a_selections *s, const char *task, const char *id,
                                         int32_t picture, int32_t part, int32_t budget)
{
    for (int choice = 0; choice < 8; choice++) { /* the most specific first */
        const s2a_selection key = { .id = choice & 4 ? "*" : id,
                                    .task = choice & 2 ? "" : task,
                                    .budget = choice & 1 ? 0 : budget,
                                    .picture = picture,
                                    .part = part };
        const s2a_selection *found = bsearch(&key, s->line, s->n, sizeof *s->line, compare);
        if (found) return found;
    }
    return NULL;
}

bool s2a_selections_have(const s2a_selections *s, int32_t n_kept, int32_t *other)
{
    *other = s->first_count;
    for (size_t i = 0; i < s->n; i++)
        if (s->line[i].n_kept == n_kept) return true;
    return false;
}
