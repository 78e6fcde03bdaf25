/* verify_hf_tower.c - what the tower's last blocks attend to, and the keys they do it with.
 *
 * Stored as one tensor per block over the patches of all pictures; the engine shows them
 * picture by picture. Attention received is a sum over queries: it is 1 in the mean,
 * whatever the number of patches, so its tolerance is a share of 1.
 */
#include "verify/hf_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOLERANCE 1e-4      /* of the largest value, at least of 1 */
#define ATTN_TOLERANCE 2e-5 /* of 1 */

/* "vis.attn_received", "vis.attn_nq", "vis.key_mean", "vis.key_rope_mean"; also with a block. */
static bool is_tower_name(const char *name, size_t n)
{
    return (n > 9 && memcmp(name, "vis.attn_", 9) == 0) ||
           (n > 8 && memcmp(name, "vis.key_", 8) == 0);
}

/* Patches of one token: Qwen's merger takes 2x2 of them. */
static size_t patches_per_token(const hf_case *c)
{
    return s2v_gguf_find_tensor(c->golden, "image_grid_thw") ? 4 : 1;
}

/* What the class row attends to, mean over heads: stored as [heads][1 + rows] for each picture. */
static void compare_class(hf_case *c, int32_t block, const float *data, size_t rows)
{
    char tensor[48];
    size_t n_stored;
    (void)snprintf(tensor, sizeof tensor, "vis.cls_attn.%d", block);
    if (c->n_views_seen > 0)
        (void)snprintf(tensor, sizeof tensor, "img%zu.vis.cls_attn.%d", c->n_views_seen, block);
    const float *expected = s2_hf_floats(c->golden, tensor, &n_stored);
    if (!expected || n_stored % (rows + 1) != 0) return;
    const size_t n_heads = n_stored / (rows + 1);
    double worst = 0.0;
    for (size_t i = 0; i < rows; i++) {
        double mean = 0.0;
        for (size_t h = 0; h < n_heads; h++) mean += (double)expected[h * (rows + 1) + 1 + i];
        const double d = fabs(mean / (double)n_heads - (double)data[i]);
        if (!(d <= worst)) worst = d; /* NaN sticks */
    }
    if (!(worst <= c->verdict->where->slack * ATTN_TOLERANCE))
        s2_differs(c->verdict, "%s: off by %.3g", tensor, worst);
}

bool s2_hf_check_tower(hf_case *c, const char *name, int32_t block, const float *data, size_t rows,
                       size_t width)
{
    if (!is_tower_name(name, strlen(name))) return false;
    char tensor[48];
    if (strcmp(name, "vis.attn_received") == 0) compare_class(c, block, data, rows);
    (void)snprintf(tensor, sizeof tensor, "%s.%d", name, block);
    size_t n_stored;
    const float *expected = s2_hf_floats(c->golden, tensor, &n_stored);
    const size_t first = c->n_seen * patches_per_token(c) * width, n = rows * width;
    if (!expected) return true;
    if (n_stored < n || first > n_stored - n) {
        s2_differs(c->verdict, "%s: expected %zu values, got more", tensor, n_stored);
        return true;
    }
    double worst = 0.0, largest = 1.0;
    for (size_t i = 0; i < n; i++) {
        const double e = (double)expected[first + i], d = fabs(e - (double)data[i]);
        if (fabs(e) > largest) largest = fabs(e);
        if (!(d <= worst)) worst = d; /* NaN sticks */
    }
    const bool is_sum = strcmp(name, "vis.attn_received") == 0;
    const double allowed =
        c->verdict->where->slack * (is_sum ? ATTN_TOLERANCE : TOLERANCE * largest);
    if (!(worst <= allowed))
        s2_differs(c->verdict, "%s: off by %.3g, allowed %.3g", tensor, worst, allowed);
    c->n_tower_seen += n;
    return true;
}

void s2_hf_check_tower_whole(hf_case *c)
{
    size_t n_stored = 0;
    for (size_t i = 0; i < s2v_gguf_n_tensors(c->golden); i++) {
        const s2v_gguf_tensor *t = s2v_gguf_tensor_at(c->golden, i);
        if (is_tower_name(t->name.data, t->name.size)) n_stored += t->n_bytes / sizeof(float);
    }
    if (c->n_tower_seen != n_stored)
        s2_differs(c->verdict, "attention of the tower: expected %zu values, got %zu", n_stored,
                   c->n_tower_seen);
}
