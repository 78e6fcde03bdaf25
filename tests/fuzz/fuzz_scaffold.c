/* fuzz_scaffold.c - any scores, grid and budget: refused, or every promise of the scaffold holds.
 *
 * sum = B, 1 <= B_g <= n_g, cells disjoint and covering, kept strictly ascending, one per cell.
 */
#include "fuzz.h"

#include "s2prune.h"

#include <string.h>

#define MAX_GRID 48

typedef struct reader {
    const uint8_t *at;
    size_t left;
} reader;

static void take(reader *r, void *out, size_t n)
{
    memset(out, 0, n);
    const size_t have = n < r->left ? n : r->left;
    if (have) memcpy(out, r->at, have);
    r->at += have;
    r->left -= have;
}

static int32_t take_byte(reader *r)
{
    uint8_t byte;
    take(r, &byte, 1);
    return byte;
}

static void check_layout(const s2p_rect *region, const int32_t *share, int32_t n_regions,
                         s2p_grid grid, const s2p_rect *cell, int32_t budget)
{
    static uint8_t owner[MAX_GRID * MAX_GRID];
    memset(owner, 0, sizeof owner);
    int32_t sum = 0, covered = 0, at = 0;
    for (int32_t g = 0; g < n_regions; g++) {
        const s2p_rect r = region[g];
        const int32_t capacity = (r.row1 - r.row0) * (r.col1 - r.col0);
        PROMISE(share[g] >= 1 && share[g] <= capacity);
        sum += share[g];
        for (int32_t i = 0; i < share[g]; i++, at++) {
            const s2p_rect c = cell[at];
            PROMISE(r.row0 <= c.row0 && c.row0 < c.row1 && c.row1 <= r.row1);
            PROMISE(r.col0 <= c.col0 && c.col0 < c.col1 && c.col1 <= r.col1);
            for (int32_t row = c.row0; row < c.row1; row++)
                for (int32_t col = c.col0; col < c.col1; col++, covered++)
                    PROMISE(owner[row * grid.cols + col]++ == 0);
        }
    }
    PROMISE(sum == budget && at == budget && covered == grid.rows * grid.cols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static s2p_rect region[MAX_GRID * MAX_GRID], cell[MAX_GRID * MAX_GRID];
    static int32_t capacity[MAX_GRID * MAX_GRID], share[MAX_GRID * MAX_GRID],
        pick[MAX_GRID * MAX_GRID];
    static double score[MAX_GRID * MAX_GRID];
    static float rating[MAX_GRID * MAX_GRID];
    reader r = { data, size };
    const s2p_grid grid = { take_byte(&r) % (MAX_GRID + 1), take_byte(&r) % (MAX_GRID + 1) };
    const int32_t side = take_byte(&r) % (MAX_GRID + 2),
                  budget = take_byte(&r) + 256 * take_byte(&r);
    if (s2p_partition(grid, side, region) != S2P_OK) return 0;

    const int32_t n_regions = side * side, n_tokens = grid.rows * grid.cols;
    for (int32_t g = 0; g < n_regions; g++) {
        take(&r, &score[g], sizeof *score); /* any bits: NaN, infinities, subnormals */
        capacity[g] = (region[g].row1 - region[g].row0) * (region[g].col1 - region[g].col0);
    }
    if (s2p_budget(score, capacity, n_regions, budget, share) != S2P_OK) return 0;

    int32_t n = 0;
    for (int32_t g = 0; g < n_regions; n += share[g++])
        PROMISE(s2p_cells(region[g], share[g], cell + n) == S2P_OK);
    check_layout(region, share, n_regions, grid, cell, budget);

    for (int32_t i = 0; i < n_tokens; i++) take(&r, &rating[i], sizeof *rating);
    if (s2p_select(grid, cell, budget, rating, pick) != S2P_OK) return 0;
    ACCEPTED();
    s2p_sort(pick, budget);
    for (int32_t i = 0; i < budget; i++)
        PROMISE(pick[i] >= (i ? pick[i - 1] + 1 : 0) && pick[i] < n_tokens);
    return 0;
}
