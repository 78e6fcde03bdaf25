/* verify_algo.c - the steps of the method against golden lists: partition, map, alloc, cells, and
 * the same three as the method's own lists write them.
 *
 * A case that is marked as an error must be refused; everything else must be equal, integer by
 * integer.
 */
#include "verify/checks.h"

#include <stdlib.h>
#include <string.h>

/* The case expects a refusal: say so when there was none. */
static void expect_refusal(s2_verdict *verdict, const char *step, s2p_status st)
{
    if (st == S2P_OK) s2_differs(verdict, "%s: expected an error, got a result", step);
}

static bool accepted(s2_verdict *verdict, const char *step, s2p_status st)
{
    if (st == S2P_OK) return true;
    s2_differs(verdict, "%s: refused: %s", step, s2p_status_text(st));
    return false;
}

/* --- partition ------------------------------------------------------------ */

/* Room for side * side regions where that is sane; one otherwise, for a call that must refuse. */
static s2p_rect *room_for_regions(s2p_grid grid, int32_t side)
{
    const bool is_sane =
        side >= 1 && side <= grid.rows && side <= grid.cols && side <= S2P_MAX_SIDE;
    return calloc(is_sane ? (size_t)side * (size_t)side : 1, sizeof(s2p_rect));
}

void s2_check_partition(const json_t *c, s2_verdict *verdict)
{
    s2p_grid grid;
    int32_t side;
    if (!s2_take_int(c, "H", &grid.rows, verdict) || !s2_take_int(c, "W", &grid.cols, verdict) ||
        !s2_take_int(c, "K", &side, verdict))
        return;
    s2p_rect *region = room_for_regions(grid, side);
    const s2p_status st = region ? s2p_partition(grid, side, region) : S2P_ENOMEM;
    if (s2_expects_error(c, "rows"))
        expect_refusal(verdict, "partition", st);
    else if (accepted(verdict, "partition", st)) {
        /* Edges of both axes as the regions of s2p_partition have them. */
        s2_ints rows, cols = { NULL, 0 };
        const size_t n = (size_t)side + 1;
        int32_t *edge = malloc(n * sizeof *edge);
        if (edge && s2_take_ints(c, "rows", &rows, verdict)) {
            if (s2_take_ints(c, "cols", &cols, verdict)) {
                if (accepted(verdict, "row edges", s2p_edges(grid.rows, side, edge)))
                    s2_same_ints(verdict, "row edges", &rows, edge, n);
                if (accepted(verdict, "column edges", s2p_edges(grid.cols, side, edge)))
                    s2_same_ints(verdict, "column edges", &cols, edge, n);
                for (int32_t g = 0; g < side * side && !verdict->case_failed; g++) {
                    const s2p_rect r = region[g];
                    const int64_t *top = rows.data + g / side, *left = cols.data + g % side;
                    if (r.row0 != top[0] || r.row1 != top[1] || r.col0 != left[0] ||
                        r.col1 != left[1])
                        s2_differs(verdict, "region %d does not lie between its edges", g);
                }
            }
            free(rows.data);
            free(cols.data);
        }
        free(edge);
    }
    free(region);
}

void s2_check_region(const json_t *c, s2_verdict *verdict)
{
    int32_t size, side;
    if (!s2_take_int(c, "grid", &size, verdict) || !s2_take_int(c, "K", &side, verdict)) return;
    const s2p_grid grid = { size, size };
    s2p_rect *region = room_for_regions(grid, side);
    const s2p_status st = region ? s2p_partition(grid, side, region) : S2P_ENOMEM;
    s2_ints expected;
    if (s2_expects_error(c, "regions")) {
        expect_refusal(verdict, "regions", st);
    } else if (s2_take_ints(c, "regions", &expected, verdict)) {
        if (accepted(verdict, "regions", st))
            s2_same_rects(verdict, "regions", &expected, region, (size_t)side * (size_t)side);
        free(expected.data);
    }
    free(region);
}

/* --- map ------------------------------------------------------------------ */

void s2_check_map(const json_t *c, s2_verdict *verdict)
{
    int32_t n_tokens, n_pixels, side;
    s2_ints tokens, pixels;
    if (!s2_take_int(c, "n_tok", &n_tokens, verdict) ||
        !s2_take_int(c, "n_pix", &n_pixels, verdict) || !s2_take_int(c, "K", &side, verdict) ||
        !s2_take_ints(c, "tok", &tokens, verdict))
        return;
    if (!s2_take_ints(c, "pix", &pixels, verdict)) {
        free(tokens.data);
        return;
    }
    int32_t *edge = malloc(tokens.n * sizeof *edge), *pixel = malloc(tokens.n * sizeof *pixel);
    if (n_tokens < 1 || n_pixels < 1 || side < 1 || tokens.n != (size_t)side + 1) {
        s2_malformed(verdict, "sizes do not fit 'K'");
    } else if (edge && pixel && accepted(verdict, "token edges", s2p_edges(n_tokens, side, edge)) &&
               s2_same_ints(verdict, "token edges", &tokens, edge, tokens.n)) {
        const s2p_grid grid = { n_tokens, n_tokens };
        for (size_t i = 0; i < tokens.n; i++) { /* both axes follow the same rule */
            const s2p_rect point = { edge[i], edge[i], n_tokens, n_tokens };
            const s2p_rect under = s2p_support(point, grid, n_pixels, n_pixels);
            pixel[i] = under.row0 == under.col0 ? under.row0 : -1;
        }
        s2_same_ints(verdict, "pixel edges", &pixels, pixel, tokens.n);
    }
    free(edge);
    free(pixel);
    free(tokens.data);
    free(pixels.data);
}

/* --- alloc ---------------------------------------------------------------- */

/* Capacities as the library takes them; false when one does not fit. */
static bool narrow_ints(const s2_ints *wide, int32_t *out)
{
    for (size_t i = 0; i < wide->n; i++) {
        if (wide->data[i] < INT32_MIN || wide->data[i] > INT32_MAX) return false;
        out[i] = (int32_t)wide->data[i];
    }
    return true;
}

static void check_budgets(const json_t *c, const char *scores, const char *capacities,
                          const char *result, s2_verdict *verdict)
{
    int32_t budget;
    s2_reals score = { NULL, 0 };
    s2_ints wide = { NULL, 0 }, expected;
    int32_t *capacity = NULL, *share = NULL;
    if (!s2_take_int(c, "B", &budget, verdict) || !s2_take_reals(c, scores, &score, verdict) ||
        !s2_take_ints(c, capacities, &wide, verdict))
        goto done;
    capacity = malloc(wide.n * sizeof *capacity);
    share = calloc(wide.n, sizeof *share);
    if (!capacity || !share) {
        s2_malformed(verdict, "no memory for %zu regions", wide.n);
        goto done;
    }
    if (score.n != wide.n || wide.n > S2P_MAX_TOKENS || !narrow_ints(&wide, capacity)) {
        s2_malformed(verdict, "%zu scores, %zu capacities", score.n, wide.n);
        goto done;
    }
    const json_t *count = json_object_get(c, "G");
    if (count && json_integer_value(count) != (json_int_t)wide.n)
        s2_malformed(verdict, "%zu capacities instead of the announced number", wide.n);

    const s2p_status st = s2p_budget(score.data, capacity, (int32_t)wide.n, budget, share);
    if (s2_expects_error(c, result)) {
        expect_refusal(verdict, "budgets", st);
    } else if (s2_take_ints(c, result, &expected, verdict)) {
        if (accepted(verdict, "budgets", st))
            s2_same_ints(verdict, "budgets", &expected, share, wide.n);
        free(expected.data);
    }
done:
    free(score.data);
    free(wide.data);
    free(capacity);
    free(share);
}

void s2_check_alloc(const json_t *c, s2_verdict *verdict)
{
    check_budgets(c, "c", "n", "out", verdict);
}

void s2_check_allocator(const json_t *c, s2_verdict *verdict)
{
    check_budgets(c, "scores", "caps", "alloc", verdict);
}

/* --- cells ---------------------------------------------------------------- */

static void check_cells(const json_t *c, s2p_rect region, int32_t n_cells, s2_verdict *verdict)
{
    const bool is_sane = n_cells >= 1 && n_cells <= S2P_MAX_SIDE * S2P_MAX_SIDE;
    s2p_rect *cell = calloc(is_sane ? (size_t)n_cells : 1, sizeof *cell);
    const s2p_status st = cell ? s2p_cells(region, n_cells, cell) : S2P_ENOMEM;
    s2_ints expected;
    if (s2_expects_error(c, "cells")) {
        expect_refusal(verdict, "cells", st);
    } else if (s2_take_ints(c, "cells", &expected, verdict)) {
        if (accepted(verdict, "cells", st))
            s2_same_rects(verdict, "cells", &expected, cell, (size_t)n_cells);
        free(expected.data);
    }
    free(cell);
}

void s2_check_cells(const json_t *c, s2_verdict *verdict)
{
    int32_t height, width, n_cells;
    if (s2_take_int(c, "h", &height, verdict) && s2_take_int(c, "w", &width, verdict) &&
        s2_take_int(c, "b", &n_cells, verdict))
        check_cells(c, (s2p_rect){ 0, 0, height, width }, n_cells, verdict);
}

void s2_check_cell(const json_t *c, s2_verdict *verdict)
{
    int32_t n_cells, edge[4];
    s2_ints region;
    if (!s2_take_int(c, "B", &n_cells, verdict) || !s2_take_ints(c, "region", &region, verdict))
        return;
    if (region.n == 4 && narrow_ints(&region, edge))
        check_cells(c, (s2p_rect){ edge[0], edge[2], edge[1], edge[3] }, n_cells, verdict);
    else
        s2_malformed(verdict, "'region' is not four numbers");
    free(region.data);
}
