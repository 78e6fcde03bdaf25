/* golden.c - what every check needs: reading a golden file, members of a case, reporting.
 *
 * The kind of a file is found in the file: the "stage" it names, the comment a text opens with, or
 * the members its cases have. Names and folders only break ties, so a list under another name, or
 * in another folder, is still checked.
 */
#include "verify/verify.h"

#include "base/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_CAPACITY 4096
#define MAX_LINES 5u /* mismatches told per file */

static const s2_golden_kind kinds[] = {
    { "partition", "algo", s2_check_partition },
    { "map", "algo", s2_check_map },
    { "alloc", "algo", s2_check_alloc },
    { "cells", "algo", s2_check_cells },
    { "pipeline", "algo", s2_check_pipeline },
    { "resize", "algo", s2_check_resize },
    { "smart_resize", "algo", s2_check_smart_resize },
    { "anyres", "algo", s2_check_anyres },
    { "mrope", "algo", s2_check_mrope },
    { "prng_check", "algo", s2_check_prng },
    { "cases", "s2prune", s2_check_s2prune },
    { "allocator_cases", "s2prune", s2_check_allocator },
    { "cell_cases", "s2prune", s2_check_cell },
    { "region_cases", "s2prune", s2_check_region },
    { "cases", "ablation_ref", s2_check_ablation },
    { "golden", "tiny", s2_check_tiny },
    { "cases", "fastv", s2_check_fastv },
    { "cases", "feather", s2_check_feather },
    { "cases", "dart", s2_check_dart },
    { "cases", "gprune", s2_check_gprune },
    { "cases", "visionzip_clip", s2_check_visionzip_clip },
    { "cases", "visionzip_qwen", s2_check_visionzip_qwen },
    { "cases", "vispruner", s2_check_vispruner },
    { "cases", "holov", s2_check_holov },
    { "cases", "cdpruner", s2_check_cdpruner },
    { "cases", "divprune", s2_check_divprune },
    { "cases", "euti", s2_check_euti },
    { "cases", "sparsevlm", s2_check_sparsevlm },
    { "cases", "prumerge", s2_check_prumerge },
};

static const s2_golden_kind *find_kind(const char *family, const char *name)
{
    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].family, family) == 0 && strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* Members only the cases of one method have. */
static const struct {
    const char *family, *member[2];
} marks[] = {
    { "fastv", { "input", "image_start" } },
    { "feather", { "q_last", "k_img" } },
    { "dart", { "per_pivot", "pivot_image" } },
    { "gprune", { "sim_threshold", "feat" } },
    { "visionzip_clip", { "cls_hidden", "keys" } },
    { "visionzip_qwen", { "dominant", "keys" } },
    { "vispruner", { "n_important", "feat" } },
    { "holov", { "num_crops", "attn" } },
    { "cdpruner", { "img_embed", "txt_embed" } },
    { "divprune", { "order", "feat" } },
    { "euti", { "q", "selected" } },
    { "sparsevlm", { "raters", "vis" } },
    { "prumerge", { "outlier_ratio", "q" } },
};

/* Lists of a method have no header: tell them by what their first case holds. */
static const s2_golden_kind *kind_of_list(const json_t *list)
{
    const json_t *first = json_array_get(list, 0);
    const char *name = NULL;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (json_object_get(first, marks[i].member[0]) &&
            json_object_get(first, marks[i].member[1]))
            return find_kind(marks[i].family, "cases");
    if (json_object_get(first, "erc") && json_object_get(first, "K"))
        name = "cases";
    else if (json_object_get(first, "scores") && json_object_get(first, "caps"))
        name = "allocator_cases";
    else if (json_object_get(first, "region") && json_object_get(first, "B"))
        name = "cell_cases";
    else if (json_object_get(first, "grid") && json_object_get(first, "K") &&
             !json_object_get(first, "feat"))
        name = "region_cases";
    if (json_object_get(first, "erank") && json_object_get(first, "fft_ac"))
        return find_kind("ablation_ref", "cases");
    if (json_object_get(first, "budgets") && json_object_get(first, "correct"))
        return find_kind("tiny", "golden");
    return find_kind("s2prune", name);
}

/* Take `root` over: its cases go to *out, the rest is dropped. */
static s2p_status from_json(json_t *root, const char *path, s2_golden *out, s2p_error *error)
{
    json_t *cases = NULL;
    if (json_is_array(root)) {
        out->kind = kind_of_list(root);
        cases = json_incref(root);
    } else if (json_object_get(root, "hash32") && json_object_get(root, "crc")) {
        out->kind = find_kind("algo", "prng_check");
        cases = json_pack("[O]", root);
    } else if (json_is_object(root)) {
        out->kind = find_kind("algo", s2_json_string(root, "stage"));
        cases = json_incref(json_object_get(root, "cases"));
    }
    json_decref(root);
    if (!out->kind) {
        json_decref(cases);
        return S2P_OK;
    }
    if (json_array_size(cases) == 0) {
        json_decref(cases);
        return s2_fail(error, S2P_EFORMAT, "%s: no cases", path);
    }
    out->cases = cases;
    return S2P_OK;
}

s2p_status s2_golden_read(const char *path, s2_golden *out, s2p_error *error)
{
    *out = (s2_golden){ NULL, NULL };
    s2_buffer text;
    s2_buffer_init(&text, S2_GOLDEN_MAX_BYTES);
    s2p_status st = s2_file_read(path, &text, error);
    const char *bytes = text.data ? (const char *)text.data : "";
    const char *dot = strrchr(path, '.');
    if (st == S2P_OK && dot && strcmp(dot, ".txt") == 0) {
        const char *stage = NULL;
        st = s2_golden_text(bytes, text.size, path, &stage, &out->cases, error);
        if (st == S2P_OK) out->kind = find_kind("algo", stage);
    } else if (st == S2P_OK) {
        json_t *root = NULL;
        st = s2_json_parse(bytes, text.size, path, &root, error);
        if (st == S2P_OK) st = from_json(root, path, out, error);
    }
    s2_buffer_free(&text);
    return st;
}

void s2_golden_free(s2_golden *golden)
{
    json_decref(golden->cases);
    *golden = (s2_golden){ NULL, NULL };
}

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

void s2_golden_check(const s2_golden *golden, const char *const arrays[2], s2_verdict *verdict)
{
    *verdict = (s2_verdict){ .arrays = { arrays[0], arrays[1] } };
    s2_buffer_init(&verdict->lines, (size_t)64 * 1024);
    verdict->n_cases = json_array_size(golden->cases);
    for (size_t i = 0; i < verdict->n_cases; i++) {
        const json_t *c = json_array_get(golden->cases, i);
        const char *name = s2_json_string(c, "name");
        (void)snprintf(verdict->label, sizeof verdict->label,
                       name ? "case %zu (%.40s)" : "case %zu", i, name);
        verdict->case_failed = false;
        if (json_is_object(c))
            golden->kind->check(c, verdict);
        else
            s2_malformed(verdict, "not an object");
        if (verdict->case_failed) verdict->n_failed++;
    }
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
static bool flatten(const json_t *value, int64_t *out, size_t *n)
{
    if (json_is_integer(value)) {
        if (out) out[*n] = json_integer_value(value);
        ++*n;
        return true;
    }
    if (!json_is_array(value)) return false;
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!flatten(json_array_get(value, i), out, n)) return false;
    return true;
}

bool s2_take_ints(const json_t *c, const char *key, s2_ints *out, s2_verdict *verdict)
{
    *out = (s2_ints){ NULL, 0 };
    const json_t *value = json_object_get(c, key);
    if (!json_is_array(value) || !flatten(value, NULL, &out->n) || out->n == 0) {
        s2_malformed(verdict, "'%s' is missing or not a list of whole numbers", key);
        *out = (s2_ints){ NULL, 0 };
        return false;
    }
    out->data = malloc(out->n * sizeof *out->data);
    out->n = 0;
    if (out->data) return flatten(value, out->data, &out->n);
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
