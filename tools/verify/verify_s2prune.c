/* verify_s2prune.c - whole selections recorded from the released code, on recorded arrays.
 *
 * Everything is compared for equality: the gray plane, float32 variances and scores, budgets,
 * cells, kept tokens, and where the case has one the SHA-256 of the kept indices as int64
 * little-endian, the form in which the method's authors published them.
 */
#include "base/sha256.h"
#include "inputs.h"
#include "verify/checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct recording {
    s2p_grid grid;
    int32_t side, budget;
    s2_array image, gray, erc; /* image and gray: at least one */
    s2_image picture;
    s2p_plan *plan;
} recording;

static bool is_shaped(const s2_array *array, s2_dtype type, int32_t n_dims)
{
    return array->data && array->type == type && array->n_dims == n_dims &&
           array->shape[0] <= INT32_MAX && array->shape[1] <= INT32_MAX;
}

/* The RGB array, or the gray plane on all three channels (their gray is the same). */
static bool make_picture(recording *r, s2_verdict *verdict)
{
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2p_error error = { S2P_OK, "" };
    const bool has_image = r->image.data != NULL;
    if (s2_picture_of_array(has_image ? &r->image : &r->gray, has_image ? "image" : "gray", &limits,
                            &r->picture, &error) == S2P_OK)
        return true;
    s2_malformed(verdict, "%s", error.message);
    return false;
}

/* "grid": g for g x g tokens, or [rows, cols]. */
static bool read_grid(const json_t *c, s2p_grid *grid, s2_verdict *verdict)
{
    const json_t *member = json_object_get(c, "grid");
    size_t n = 0;
    int32_t *sides = json_is_array(member) ? s2_json_ints(member, &n) : NULL;
    if (sides && n == 2) *grid = (s2p_grid){ sides[0], sides[1] };
    free(sides);
    if (n == 2) return true;
    if (!s2_take_int(c, "grid", &grid->rows, verdict)) return false;
    grid->cols = grid->rows;
    return true;
}

static bool read_case(const json_t *c, recording *r, s2_verdict *verdict)
{
    if (!read_grid(c, &r->grid, verdict) || !s2_take_int(c, "K", &r->side, verdict) ||
        !s2_take_int(c, "B", &r->budget, verdict) ||
        !s2_take_array(c, "image", &r->image, verdict) ||
        !s2_take_array(c, "gray", &r->gray, verdict) ||
        !s2_take_array(c, "erc", &r->erc, verdict) || !make_picture(r, verdict))
        return false;
    const int64_t n_tokens = (int64_t)r->grid.rows * r->grid.cols;
    if (is_shaped(&r->erc, S2_F32, 1) && r->erc.shape[0] == n_tokens) return true;
    s2_malformed(verdict, "'erc' is not float32 [%lld]", (long long)n_tokens);
    return false;
}

static bool check_gray(const recording *r, s2_verdict *verdict)
{
    if (!r->gray.data) return true;
    const s2p_image p = r->picture.view;
    if (!is_shaped(&r->gray, S2_U8, 2) || r->gray.shape[0] != p.height ||
        r->gray.shape[1] != p.width) {
        s2_malformed(verdict, "'gray' does not have the picture's size");
        return false;
    }
    uint8_t *gray = malloc(r->gray.count);
    bool same = gray != NULL;
    if (gray) s2_image_gray(&p, gray);
    const uint8_t *expected = r->gray.data;
    for (size_t i = 0; same && i < r->gray.count; i++) {
        same = gray[i] == expected[i];
        if (!same) s2_differs(verdict, "gray: expected %d at %zu, got %d", expected[i], i, gray[i]);
    }
    free(gray);
    return same;
}

static bool check_floats(const json_t *c, const char *key, const float *got, size_t n,
                         s2_verdict *verdict)
{
    s2_reals expected;
    if (!s2_take_reals(c, key, &expected, verdict)) return false;
    bool same = s2_same_number(verdict, key, (int64_t)expected.n, (int64_t)n);
    for (size_t i = 0; same && i < n; i++) {
        same = (float)expected.data[i] == got[i];
        if (!same)
            s2_differs(verdict, "%s: expected %.9g at %zu, got %.9g", key, expected.data[i], i,
                       (double)got[i]);
    }
    free(expected.data);
    return same;
}

static bool check_hash(const json_t *c, const int32_t *keep, int32_t n_keep, s2_verdict *verdict)
{
    const json_t *member = json_object_get(c, "authors_sha256_int64le");
    if (!member || json_is_null(member)) return true;
    const char *expected = json_string_value(member);
    uint8_t *bytes = calloc((size_t)n_keep + 1, 8), digest[32];
    char hex[65];
    if (!expected || !bytes) {
        s2_malformed(verdict, "the hash is not a string");
        free(bytes);
        return false;
    }
    for (int32_t i = 0; i < n_keep; i++)
        for (int b = 0; b < 4; b++) bytes[8 * i + b] = (uint8_t)((uint32_t)keep[i] >> (8 * b));
    s2_sha256(bytes, (size_t)n_keep * 8, digest);
    free(bytes);
    for (int i = 0; i < 32; i++) (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    if (strcmp(hex, expected) == 0) return true;
    s2_differs(verdict, "published hash: expected %.64s, got %s", expected, hex);
    return false;
}

void s2_check_s2prune(const json_t *c, s2_verdict *verdict)
{
    recording r = { .plan = NULL };
    if (read_case(c, &r, verdict)) {
        s2p_status st = s2p_plan_create(&r.plan, r.grid);
        if (st == S2P_OK)
            st = r.side < 1 ? S2P_EINVAL /* 0 would mean "by the rule" */
                            : s2p_s2prune(&r.picture.view, r.budget, r.side, r.erc.data, r.plan);
        if (s2_expects_error(c, "selected")) {
            if (st == S2P_OK) s2_differs(verdict, "expected an error, got a result");
        } else if (st != S2P_OK) {
            s2_differs(verdict, "refused: %s", s2p_status_text(st));
        } else {
            const s2p_layout layout = s2p_plan_layout(r.plan);
            const size_t n_regions = (size_t)r.side * (size_t)r.side;
            int32_t n_keep;
            const int32_t *keep = s2p_plan_keep(r.plan, &n_keep);
            s2_ints budgets = { NULL, 0 }, cells = { NULL, 0 }, selected = { NULL, 0 };
            (void)(check_gray(&r, verdict) &&
                   check_floats(c, "raw", layout.raw, n_regions, verdict) &&
                   check_floats(c, "norm", layout.score, n_regions, verdict) &&
                   s2_take_ints(c, "budgets", &budgets, verdict) &&
                   s2_take_ints(c, "cells", &cells, verdict) &&
                   s2_take_ints(c, "selected", &selected, verdict) &&
                   s2_same_ints(verdict, "budgets", &budgets, layout.share, n_regions) &&
                   s2_same_rects(verdict, "cells", &cells, layout.cell, (size_t)layout.budget) &&
                   s2_same_ints(verdict, "kept tokens", &selected, keep, (size_t)n_keep) &&
                   check_hash(c, keep, n_keep, verdict));
            free(budgets.data);
            free(cells.data);
            free(selected.data);
        }
    }
    s2p_plan_free(r.plan);
    s2_array_free(&r.image);
    s2_array_free(&r.gray);
    s2_array_free(&r.erc);
    s2_image_free(&r.picture);
}
