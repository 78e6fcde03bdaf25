/* verify_vit.c - the order of Qwen2.5-VL's windows, and the attention its last block hands out.
 *
 * The folder holds arrays only. window_index_RxC.npy belongs to a grid of R x C patches: merged
 * tokens (2x2 patches) window by window (4x4 tokens, clipped at the border), windows and tokens in
 * raster order. keymean_X.npy and score_X.npy belong to q_X.npy and k_X.npy, which are in the order
 * of the windows: attention received, summed over queries, mean over heads and over the patches of
 * a token; keys likewise; both back in raster order.
 */
#include "verify/trial.h"
#include "verify/checks.h"

#include "prune/ranking.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_CAPACITY 4096
enum { MERGE = 2, PATCHES = MERGE * MERGE, WINDOW = 4, MAX_PATCH_SIDE = 1024 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* "window_index_48x48.npy" -> 24 x 24 merged tokens. */
static bool read_name(const char *name, s2p_grid *tokens)
{
    static const char prefix[] = "window_index_";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) return false;
    char *end;
    const long rows = strtol(name + sizeof prefix - 1, &end, 10);
    if (*end != 'x') return false;
    const long cols = strtol(end + 1, &end, 10);
    if (strcmp(end, ".npy") != 0 || rows < MERGE || cols < MERGE || rows > MAX_PATCH_SIDE ||
        cols > MAX_PATCH_SIDE)
        return false;
    *tokens = (s2p_grid){ (int32_t)rows / MERGE, (int32_t)cols / MERGE };
    return true;
}

static bool is_key_mean(const char *name) { return strncmp(name, "keymean_", 8) == 0; }

bool s2_golden_is_vit(const char *path)
{
    s2p_grid tokens;
    const char *name = base_name(path), *dot = strrchr(name, '.');
    return read_name(name, &tokens) || (is_key_mean(name) && dot && strcmp(dot, ".npy") == 0);
}

/* The file `name` + `rest` beside `path`; false when it is not there or broken. */
static bool read_beside(const char *path, const char *name, const char *rest, s2_array *out,
                        s2_verdict *verdict)
{
    char beside[PATH_CAPACITY];
    s2p_error error = { S2P_OK, "" };
    const int n = snprintf(beside, sizeof beside, "%.*s%s%s", (int)(base_name(path) - path), path,
                           name, rest);
    if (n > 0 && (size_t)n < sizeof beside &&
        s2_npy_read(beside, S2_GOLDEN_MAX_BYTES, out, &error) == S2P_OK)
        return true;
    s2_malformed(verdict, "%s%s: %.200s", name, rest, error.message);
    return false;
}

/* --- windows --------------------------------------------------------------------------- */

/* index: [rows * cols] raster ids in the order of the windows. ends: how many patches there are up
 * to and with each window, a 0 first; returns how many entries. */
static int32_t list_windows(s2p_grid g, int32_t *index, int32_t *ends)
{
    int32_t n = 0, n_ends = 0;
    ends[n_ends++] = 0;
    for (int32_t y = 0; y < g.rows; y += WINDOW)
        for (int32_t x = 0; x < g.cols; x += WINDOW) {
            for (int32_t r = y; r < g.rows && r < y + WINDOW; r++)
                for (int32_t c = x; c < g.cols && c < x + WINDOW; c++) index[n++] = r * g.cols + c;
            ends[n_ends++] = PATCHES * n;
        }
    return n_ends;
}

static void expect_file(const char *path, const char *name, const char *rest, bool must,
                        const int32_t *got, size_t n, s2_verdict *verdict)
{
    char beside[PATH_CAPACITY];
    s2_array array = { .data = NULL };
    (void)snprintf(beside, sizeof beside, "%.*s%s%s", (int)(base_name(path) - path), path, name,
                   rest);
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2_npy_read(beside, S2_GOLDEN_MAX_BYTES, &array, &error);
    if (st != S2P_OK) {
        if (must || st != S2P_EIO) s2_malformed(verdict, "%.200s", error.message);
        return;
    }
    s2_ints expected = { malloc(array.count * sizeof(int64_t)), array.count };
    if ((array.type != S2_I32 && array.type != S2_I64) || !expected.data) {
        s2_malformed(verdict, "%s%s: not whole numbers", name, rest);
    } else {
        const int32_t *narrow = array.data;
        const int64_t *wide = array.data;
        for (size_t i = 0; i < array.count; i++)
            expected.data[i] = array.type == S2_I32 ? narrow[i] : wide[i];
        s2_same_ints(verdict, name, &expected, got, n);
    }
    free(expected.data);
    s2_array_free(&array);
}

static void check_windows(const char *path, s2p_grid g, s2_verdict *verdict)
{
    const size_t n = (size_t)g.rows * (size_t)g.cols;
    const char *rest = base_name(path) + strlen("window_index");
    int32_t *index = malloc((3 * n + 1) * sizeof *index);
    if (!index) {
        s2_differs(verdict, "no memory for %zu tokens", n);
        return;
    }
    int32_t *reverse = index + n, *ends = index + 2 * n;
    const int32_t n_ends = list_windows(g, index, ends);
    for (size_t i = 0; i < n; i++) reverse[index[i]] = (int32_t)i;
    expect_file(path, "window_index", rest, true, index, n, verdict);
    expect_file(path, "reverse_index", rest, false, reverse, n, verdict);
    expect_file(path, "cu_window_seqlens", rest, false, ends, (size_t)n_ends, verdict);
    free(index);
}

/* --- attention ------------------------------------------------------------------------- */

/* The grid of this many patches that a window index in the folder belongs to. */
static bool find_grid(const char *path, int64_t n_patches, s2p_grid *out)
{
    char folder[PATH_CAPACITY];
    (void)snprintf(folder, sizeof folder, "%.*s.", (int)(base_name(path) - path), path);
    DIR *dir = opendir(folder);
    bool found = false;
    for (struct dirent *e = dir ? readdir(dir) : NULL; e && !found; e = readdir(dir))
        found = read_name(e->d_name, out) && (int64_t)out->rows * out->cols * PATCHES == n_patches;
    if (dir) closedir(dir);
    return found;
}

static void expect_values(const char *name, const s2_array *expected, const double *got, size_t n,
                          s2_verdict *verdict)
{
    size_t worst = 0;
    if (expected->type != S2_F32 || expected->count != n)
        s2_malformed(verdict, "%s: not %zu values of float32", name, n);
    else if (s2_count_unlike(expected->data, got, n, S2_SCORE_TOLERANCE, &worst) > 0)
        s2_differs(verdict, "%s: expected %.9g at %zu, got %.9g", name,
                   (double)((const float *)expected->data)[worst], worst, got[worst]);
}

static void compare_block(const char *path, const s2_array *q, const s2_array *k,
                          const s2_array *score, const s2_array *key, s2_verdict *verdict)
{
    s2p_grid g;
    const bool is_block = q->type == S2_F32 && k->type == S2_F32 && q->n_dims == 3 &&
                          k->n_dims == 3 && memcmp(q->shape, k->shape, sizeof q->shape) == 0 &&
                          q->shape[0] <= INT32_MAX && q->shape[1] <= INT32_MAX &&
                          q->shape[2] <= INT32_MAX && q->count > 0;
    if (!is_block || !find_grid(path, q->shape[1], &g)) {
        s2_malformed(verdict, "q and k are not float32 [heads][patches][d] of a grid at hand");
        return;
    }
    const size_t n = (size_t)q->shape[1], n_tokens = n / PATCHES, dim = (size_t)q->shape[2];
    int32_t *index = malloc((2 * n_tokens + 1) * sizeof *index);
    double *values = calloc(n + n_tokens * (dim + 1), sizeof *values);
    if (index && values) {
        /* The last block of the tower, patches in window order: what a token receives, and its mean
         * key, in raster order. */
        const int32_t n_heads = (int32_t)q->shape[0];
        double *row = values, *got = values + n, *got_key = values + n + n_tokens;
        list_windows(g, index, index + n_tokens);
        for (int32_t h = 0; h < n_heads; h++) {
            const float *queries = (const float *)q->data + (size_t)h * n * dim;
            const float *keys = (const float *)k->data + (size_t)h * n * dim;
            for (size_t i = 0; i < n; i++) {
                for (size_t j = 0; j < n; j++)
                    row[j] = s2p_dot(queries + i * dim, keys + j * dim, (int32_t)dim) /
                             sqrt((double)dim);
                s2p_softmax(row, (int32_t)n);
                for (size_t j = 0; j < n; j++)
                    got[index[j / PATCHES]] += row[j] / (PATCHES * n_heads);
                double *mean = got_key + (size_t)index[i / PATCHES] * dim;
                for (size_t d = 0; d < dim; d++)
                    mean[d] += (double)keys[i * dim + d] / (PATCHES * n_heads);
            }
        }
        expect_values("score", score, got, n_tokens, verdict);
        expect_values("keymean", key, got_key, n_tokens * dim, verdict);
    } else {
        s2_differs(verdict, "no memory for %zu patches", n);
    }
    free(values);
    free(index);
}

static void check_block(const char *path, s2_verdict *verdict)
{
    const char *rest = base_name(path) + strlen("keymean");
    s2_array q = { .data = NULL }, k = q, score = q, key = q;
    if (read_beside(path, "q", rest, &q, verdict) && read_beside(path, "k", rest, &k, verdict) &&
        read_beside(path, "score", rest, &score, verdict) &&
        read_beside(path, "keymean", rest, &key, verdict))
        compare_block(path, &q, &k, &score, &key, verdict);
    s2_array_free(&q);
    s2_array_free(&k);
    s2_array_free(&score);
    s2_array_free(&key);
}

void s2_golden_check_vit(const char *path, s2_verdict *verdict)
{
    s2p_grid tokens;
    *verdict = (s2_verdict){ .n_cases = 1 };
    s2_buffer_init(&verdict->lines, (size_t)64 * 1024);
    (void)snprintf(verdict->label, sizeof verdict->label, "the array");
    if (read_name(base_name(path), &tokens))
        check_windows(path, tokens, verdict);
    else
        check_block(path, verdict);
    verdict->n_failed = verdict->case_failed;
}
