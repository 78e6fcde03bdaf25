/* golden_text.c - golden files written as lines of text, turned into the same cases as the JSON.
 *
 * The first line is a comment that names the stage: "# alloc: ...". A case opens with its own
 * letter and its scalars; the lines after it are lists, each with a tag. One table says which tag
 * fills which member; numbers become JSON integers, everything else (hex floats, names) stays a
 * string.
 */
#include "verify/golden.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS 12
#define MAX_WORD 64

static const struct form {
    const char *stage, *tag;
    const char *scalar[MAX_FIELDS]; /* members on the opening line */
    struct {
        const char *tag, *member;
    } list[MAX_FIELDS];
} forms[] = {
    { "partition", "P", { "H", "W", "K", "ok" }, { { "r", "rows" }, { "c", "cols" } } },
    { "map", "M", { "n_tok", "n_pix", "K" }, { { "b", "tok" }, { "p", "pix" } } },
    { "alloc", "A", { "name", "G", "B", "ok" }, { { "c", "c" }, { "n", "n" }, { "o", "out" } } },
    { "cells", "C", { "h", "w", "b" }, { { "x", "cells" } } },
    { "pipeline",
      "X",
      { "id", "kind", "seed", "img_w", "img_h", "H", "W", "K", "B", "erc_seed", "erc_levels" },
      { { "r", "rows" },
        { "c", "cols" },
        { "pr", "prow" },
        { "pc", "pcol" },
        { "st", "stat" },
        { "v", "raw" },
        { "m", "norm" },
        { "o", "budget" },
        { "s", "sel" } } },
};
#define N_FORMS (sizeof forms / sizeof *forms)

typedef struct cursor {
    const char *at, *end; /* of the line */
} cursor;

/* The next word of the line, NUL-terminated in `word`; false at the end or when it is too long. */
static bool next_word(cursor *c, char word[MAX_WORD])
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\r')) c->at++;
    const char *start = c->at;
    while (c->at < c->end && *c->at != ' ' && *c->at != '\r') c->at++;
    const size_t n = (size_t)(c->at - start);
    if (n == 0 || n >= MAX_WORD || memchr(start, '\0', n)) {
        c->at = start; /* not the end: the caller can tell */
        return false;
    }
    memcpy(word, start, n);
    word[n] = '\0';
    return true;
}

static bool at_end(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\r')) c->at++;
    return c->at == c->end;
}

/* NULL for text that is not UTF-8. */
static json_t *value_of(const char *word)
{
    char *end;
    errno = 0;
    const long long number = strtoll(word, &end, 10);
    return *end == '\0' && errno == 0 ? json_integer(number) : json_string(word);
}

/* "# alloc: ..." or "# alloc ..." */
static const struct form *form_of(const char *text, size_t n)
{
    char word[MAX_WORD];
    const char *line_end = memchr(text, '\n', n);
    cursor c = { text, line_end ? line_end : text + n };
    if (n == 0 || *text != '#') return NULL;
    c.at++;
    if (!next_word(&c, word)) return NULL;
    word[strcspn(word, ":")] = '\0';
    for (size_t i = 0; i < N_FORMS; i++)
        if (strcmp(forms[i].stage, word) == 0) return &forms[i];
    return NULL;
}

/* A new case from the rest of its opening line. */
static json_t *open_case(const struct form *form, cursor *c)
{
    char word[MAX_WORD];
    json_t *object = json_object();
    for (int i = 0; i < MAX_FIELDS && form->scalar[i]; i++)
        if (!next_word(c, word) ||
            json_object_set_new(object, form->scalar[i], value_of(word)) != 0) {
            json_decref(object);
            return NULL;
        }
    if (at_end(c)) return object;
    json_decref(object);
    return NULL;
}

/* The list behind `tag`, added to the case; false when the tag is unknown, twice there, or
 * malformed. */
static bool add_list(const struct form *form, const char *tag, cursor *c, json_t *object)
{
    const char *member = NULL;
    for (int i = 0; i < MAX_FIELDS && form->list[i].tag; i++)
        if (strcmp(form->list[i].tag, tag) == 0) member = form->list[i].member;
    if (!member || !object || json_object_get(object, member)) return false;
    char word[MAX_WORD];
    json_t *list = json_array();
    bool ok = list != NULL;
    while (ok && next_word(c, word)) ok = json_array_append_new(list, value_of(word)) == 0;
    if (ok && at_end(c)) return json_object_set_new(object, member, list) == 0;
    json_decref(list);
    return false;
}

s2p_status s2_golden_text(const char *text, size_t n, const char *name, const char **stage,
                          json_t **cases, s2p_error *error)
{
    *stage = NULL;
    *cases = NULL;
    const struct form *form = form_of(text, n);
    if (!form) return S2P_OK;

    json_t *list = json_array(), *object = NULL; /* object: borrowed from list */
    const char *end = text + n;
    size_t line = 1;
    for (const char *at = text; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        cursor c = { at, stop ? stop : end };
        at = stop ? stop + 1 : end;
        char tag[MAX_WORD];
        if (*c.at == '#' || at_end(&c)) continue;
        bool ok = next_word(&c, tag);
        if (ok && strcmp(tag, form->tag) == 0) {
            object = open_case(form, &c);
            ok = object && json_array_append_new(list, object) == 0;
        } else if (ok) {
            ok = add_list(form, tag, &c, object);
        }
        if (ok) continue;
        json_decref(list);
        return s2_fail(error, S2P_EFORMAT, "%s: line %zu is not one of a list of %s cases", name,
                       line, form->stage);
    }
    if (json_array_size(list) == 0) {
        json_decref(list);
        return s2_fail(error, S2P_EFORMAT, "%s: no cases", name);
    }
    *stage = form->stage;
    *cases = list;
    return S2P_OK;
}
