/* golden.c - read a golden file, find its kind, check every case.
 *
 * The kind of a file is found in the file: the "stage" it names, the comment a text opens with, or
 * the members its cases have. Names and folders only break ties, so a list under another name, or
 * in another folder, is still checked.
 */
#include "verify/golden.h"

#include "base/file.h"
#include "verify/checks.h"

#include <stdio.h>
#include <string.h>

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
    { "tiny", "authors", s2_check_authors },
    { "efficiency", "bench", s2_check_efficiency },
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
    { "cases", "pixelprune", s2_check_pixelprune },
    { "cases", "bench", s2_check_bench },
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
    { "pixelprune", { "picture", "metric" } },
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
    if (json_is_object(json_object_get(first, "kept")) && json_object_get(first, "image"))
        return find_kind("authors", "tiny");
    return find_kind("s2prune", name);
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
        json_t *root = NULL, *cases = NULL;
        st = s2_json_parse(bytes, text.size, path, &root, error);
        if (st == S2P_OK && json_is_array(root)) {
            out->kind = kind_of_list(root);
            cases = json_incref(root);
        } else if (json_object_get(root, "hash32") && json_object_get(root, "crc")) {
            out->kind = find_kind("algo", "prng_check");
            cases = json_pack("[O]", root);
        } else if (root && (cases = s2_efficiency_cases(root))) {
            out->kind = find_kind("bench", "efficiency");
        } else if (root && (cases = s2_bench_cases(root))) {
            out->kind = find_kind("bench", "cases");
        } else if (json_is_object(root)) {
            out->kind = find_kind("algo", s2_json_string(root, "stage"));
            cases = json_incref(json_object_get(root, "cases"));
        }
        if (out->kind && json_array_size(cases) == 0)
            st = s2_fail(error, S2P_EFORMAT, "%s: no cases", path);
        else if (out->kind)
            out->cases = json_incref(cases);
        json_decref(cases);
        json_decref(root);
    }
    s2_buffer_free(&text);
    return st;
}

void s2_golden_free(s2_golden *golden)
{
    json_decref(golden->cases);
    *golden = (s2_golden){ NULL, NULL };
}

void s2_golden_check(const s2_golden *golden, const char *const arrays[2], s2_verdict *verdict)
{
    *verdict = (s2_verdict){ .arrays = { arrays[0], arrays[1] }, .where = verdict->where };
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
