/* verify.c - what every check needs: reporting, members of a case, comparisons. */
#include "verify/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_CAPACITY 4096
#define MAX_LINES 5u /* mismatches told per file */

/* --- the verdict ---------------------------------------------------------- */

static void add_line(s2_verdict *verdict, const char *text)
{
    verdict->case_failed = true;
    if (verdict->n_lines++ >= MAX_LINES) return;
    const size_t start = verdict->lines.size;
    s2_buffer_printf(&verdict->lines, "%s, %s", verdict->label, text);
    for (size_t i = start; i < verdict->lines.size; i++)
        if (verdict->lines.data[i] < 0x20 || verdict->lines.data[i] == 0x7f)
            verdict->lines.data[i] = '?'; /* names from the file may hold anything */
    s2_buffer_append(&verdict->lines, "\n", 1);
}

void s2_differs(s2_verdict *verdict, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    verdict->has_difference = true;
    add_line(verdict, text);
}

void s2_malformed(s2_verdict *verdict, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    verdict->is_malformed = true;
    add_line(verdict, text);
}

void s2_verdict_free(s2_verdict *verdict) { s2_buffer_free(&verdict->lines); }

/* --- members -------------------------------------------------------------- */

bool s2_expects_error(const json_t *c, const char *result)
{
    const json_t *error = json_object_get(c, "error"), *ok = json_object_get(c, "ok");
    if (error && !json_is_false(error) && !json_is_null(error)) return true;
    if (ok && (json_is_false(ok) || (json_is_integer(ok) && json_integer_value(ok) == 0)))
        return true;
    return json_is_null(json_object_get(c, result));
}

bool s2_take_wide(const json_t *c, const char *key, int64_t *out, s2_verdict *verdict)
{
    const json_t *value = json_object_get(c, key);
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
        return true;
    }
    s2_malformed(verdict, "'%s' is missing or not a whole number", key);
    return false;
}

bool s2_take_int(const json_t *c, const char *key, int32_t *out, s2_verdict *verdict)
{
    int64_t wide;
    if (!s2_take_wide(c, key, &wide, verdict)) return false;
    if (wide >= INT32_MIN && wide <= INT32_MAX) {
        *out = (int32_t)wide;
        return true;
    }
    s2_malformed(verdict, "'%s' is %lld, beyond 32 bits", key, (long long)wide);
    return false;
}

/* Whole numbers below `value`, depth first; with out NULL they are only counted. False on anything
 * else. */
static bool flatten_ints(const json_t *value, int64_t *out, size_t *n)
{
    if (json_is_integer(value)) {
        if (out) out[*n] = json_integer_value(value);
        ++*n;
        return true;
    }
    if (!json_is_array(value)) return false;
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!flatten_ints(json_array_get(value, i), out, n)) return false;
    return true;
}

bool s2_take_ints(const json_t *c, const char *key, s2_ints *out, s2_verdict *verdict)
{
    *out = (s2_ints){ NULL, 0 };
    const json_t *value = json_object_get(c, key);
    if (!json_is_array(value) || !flatten_ints(value, NULL, &out->n) || out->n == 0) {
        s2_malformed(verdict, "'%s' is missing or not a list of whole numbers", key);
        *out = (s2_ints){ NULL, 0 };
        return false;
    }
    out->data = malloc(out->n * sizeof *out->data);
    out->n = 0;
    if (out->data) return flatten_ints(value, out->data, &out->n);
    s2_malformed(verdict, "no memory for '%s'", key);
    return false;
}

bool s2_take_reals(const json_t *c, const char *key, s2_reals *out, s2_verdict *verdict)
{
    out->data = s2_json_doubles(json_object_get(c, key), &out->n);
    if (out->data) return true;
    s2_malformed(verdict, "'%s' is missing or not a list of numbers", key);
    return false;
}

bool s2_take_array(const json_t *c, const char *key, s2_array *out, s2_verdict *verdict)
{
    const json_t *member = json_object_get(c, key);
    if (!member || json_is_null(member)) return true;
    const char *name = json_string_value(member);
    char path[PATH_CAPACITY];
    s2p_error error = { S2P_OK, "" };
    /* A name in a golden file is data: it may not climb out of the folder. */
    if (!name || name[0] == '/' || strstr(name, "..")) {
        s2_malformed(verdict, "'%s' is not a path below the folder of arrays", key);
        return false;
    }
    for (size_t i = 0; i < 2 && verdict->arrays[i]; i++) {
        const int n = snprintf(path, sizeof path, "%s/%s", verdict->arrays[i], name);
        if (n < 0 || (size_t)n >= sizeof path) continue;
        if (s2_npy_read(path, S2_GOLDEN_MAX_BYTES, out, &error) == S2P_OK) return true;
        if (error.status != S2P_EIO) break; /* it is there, and broken */
    }
    s2_malformed(verdict, "'%s': %.200s", key, error.message);
    return false;
}

/* --- comparisons ---------------------------------------------------------- */

bool s2_same_number(s2_verdict *verdict, const char *step, int64_t expected, int64_t got)
{
    if (expected == got) return true;
    s2_differs(verdict, "%s: expected %lld, got %lld", step, (long long)expected, (long long)got);
    return false;
}

static bool same_length(s2_verdict *verdict, const char *step, size_t expected, size_t got)
{
    if (expected == got) return true;
    s2_differs(verdict, "%s: expected %zu values, got %zu", step, expected, got);
    return false;
}

bool s2_same_ints(s2_verdict *verdict, const char *step, const s2_ints *expected,
                  const int32_t *got, size_t n)
{
    if (!same_length(verdict, step, expected->n, n)) return false;
    for (size_t i = 0; i < n; i++)
        if (expected->data[i] != got[i]) {
            s2_differs(verdict, "%s: expected %lld at %zu, got %d", step,
                       (long long)expected->data[i], i, got[i]);
            return false;
        }
    return true;
}

bool s2_same_rects(s2_verdict *verdict, const char *step, const s2_ints *expected,
                   const s2p_rect *got, size_t n)
{
    if (!same_length(verdict, step, expected->n, 4 * n)) return false;
    for (size_t i = 0; i < n; i++) {
        const int64_t *e = expected->data + 4 * i;
        const s2p_rect g = got[i];
        if (e[0] == g.row0 && e[1] == g.row1 && e[2] == g.col0 && e[3] == g.col1) continue;
        s2_differs(verdict, "%s: expected %lld %lld %lld %lld at %zu, got %d %d %d %d", step,
                   (long long)e[0], (long long)e[1], (long long)e[2], (long long)e[3], i, g.row0,
                   g.row1, g.col0, g.col1);
        return false;
    }
    return true;
}
