/* gridprune.c - zones by relevance, tokens by relevance and attention. GridPrune, our reading.
 *
 * No code of arXiv 2511.10081 is public. From its summaries: a zone's budget follows the softmax of
 * the mean relevance to the question, inside a zone the score is (1 - a)(r + 1) / 2 + a * saliency.
 * Ours: zones of 2x2 tokens, a = 1/2, saliency scaled to [0, 1], shares rounded by Algorithm S2
 * without its minimum of one, r the mean cosine with the question's embeddings. Where tokens never
 * entered the tower, a zone is those that did; one without any takes no part.
 */
#include "prune/ranking.h"

#include <stdlib.h>

enum { ZONE, ALPHA, N_PARAMETERS };
static const s2p_parameter parameters[N_PARAMETERS] = {
    [ZONE] = { "zone", "tokens per side of a zone", 1, 1, S2P_MAX_SIDE, 2 },
    [ALPHA] = { "alpha", "weight of the attention against the relevance", 0, 1e-9, 1e6, 0.5 },
};

typedef struct zones {
    const s2p_holes *holes;
    int32_t rows, cols;              /* of zones */
    int32_t *row_edge, *col_edge;    /* [rows + 1], [cols + 1] */
    int32_t *capacity, *share;       /* [rows * cols] */
    int32_t *member, *rank, *order;  /* [n] */
    double *relevance, *score, *own; /* [n], [n], and the scores of one zone [n] */
} zones;

static s2p_rect zone_at(const zones *z, int32_t i)
{
    const int32_t r = i / z->cols, c = i % z->cols;
    return (s2p_rect){ z->row_edge[r], z->col_edge[c], z->row_edge[r + 1], z->col_edge[c + 1] };
}

/* Rows of the view that are the tokens of a zone, in raster order. */
static int32_t list_members(const zones *z, int32_t i, s2p_grid grid)
{
    const s2p_rect a = zone_at(z, i);
    int32_t n = 0;
    for (int32_t r = a.row0; r < a.row1; r++)
        for (int32_t c = a.col0; c < a.col1; c++) {
            const int32_t token = r * grid.cols + c;
            if (s2p_is_there(z->holes, token))
                z->member[n++] = z->holes ? z->holes->row[token] : token;
        }
    return n;
}

/* Algorithm S2 starts every share at one: give each zone one more of room, and take it back. */
static s2p_status share_budget(const zones *z, s2p_grid grid, int32_t budget)
{
    const int32_t n_zones = z->rows * z->cols;
    int32_t n_open = 0; /* zones that have tokens */
    for (int32_t i = 0; i < n_zones; i++) {
        const int32_t n = list_members(z, i, grid);
        double sum = 0.0;
        if (n == 0) continue;
        for (int32_t m = 0; m < n; m++) sum += z->relevance[z->member[m]];
        z->own[n_open] = sum / n;
        z->capacity[n_open++] = n + 1;
    }
    s2p_softmax(z->own, n_open);
    const s2p_status st = s2p_budget(z->own, z->capacity, n_open, budget + n_open, z->share);
    for (int32_t i = n_zones - 1; st == S2P_OK && i >= 0; i--)
        z->share[i] = s2p_count_there(z->holes, zone_at(z, i)) > 0 ? z->share[--n_open] - 1 : 0;
    return st;
}

static void rate_tokens(const s2p_view *view, int32_t n, zones *z)
{
    const double alpha = s2p_view_value(view, ALPHA);
    const s2p_signal *attn = &view->signal[S2P_VISION_ATTN];
    s2p_column_means(attn->data, attn->shape[0], n, z->score);
    double low = z->score[0], high = z->score[0];
    for (int32_t i = 1; i < n; i++) {
        if (z->score[i] < low) low = z->score[i];
        if (z->score[i] > high) high = z->score[i];
    }
    for (int32_t i = 0; i < n; i++) {
        const double saliency = high > low ? (z->score[i] - low) / (high - low) : 0.0;
        z->score[i] = (1.0 - alpha) * (z->relevance[i] + 1.0) / 2.0 + alpha * saliency;
    }
}

static s2p_status fill_zones(const zones *z, s2p_grid grid, int32_t *n_kept)
{
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < z->rows * z->cols; i++) {
        const int32_t n = list_members(z, i, grid);
        for (int32_t m = 0; m < n; m++) z->own[m] = z->score[z->member[m]];
        st = s2p_rank(z->own, n, z->share[i], z->rank);
        for (int32_t k = 0; st == S2P_OK && k < z->share[i]; k++)
            z->order[(*n_kept)++] = z->member[z->rank[k]];
    }
    return st;
}

static s2p_status gridprune_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    const s2p_grid grid = plan->grid;
    const size_t n = (size_t)s2p_tokens(grid);
    const int32_t side = s2p_view_count(view, ZONE);
    const int32_t n_rows = s2p_view_rows(view, plan);
    zones z = { .rows = grid.rows / side, .cols = grid.cols / side };
    if (z.rows < 1) z.rows = 1;
    if (z.cols < 1) z.cols = 1;

    s2p_holes *holes;
    s2p_status st = s2p_holes_make(&holes, view, grid);
    if (st != S2P_OK) return st;
    z.holes = holes;
    int32_t *lists = malloc((6 * n + 4) * sizeof *lists);
    double *values = malloc(3 * n * sizeof *values);
    st = lists && values ? S2P_OK : S2P_ENOMEM;
    if (st == S2P_OK) {
        z.capacity = lists;
        z.share = lists + n;
        z.member = lists + 2 * n;
        z.rank = lists + 3 * n;
        z.order = lists + 4 * n;
        z.row_edge = lists + 5 * n;
        z.col_edge = z.row_edge + z.rows + 1; /* rows + cols <= n + 1 */
        z.relevance = values;
        z.score = values + n;
        z.own = values + 2 * n;
        st = s2p_edges(grid.rows, z.rows, z.row_edge);
    }
    int32_t n_kept = 0;
    if (st == S2P_OK) st = s2p_edges(grid.cols, z.cols, z.col_edge);
    if (st == S2P_OK) st = s2p_relevance(view, n_rows, z.relevance, error);
    if (st == S2P_OK) st = share_budget(&z, grid, view->budget);
    if (st == S2P_OK) {
        rate_tokens(view, n_rows, &z);
        st = fill_zones(&z, grid, &n_kept);
    }
    if (st == S2P_OK) st = s2p_keep_rows(view, plan, z.order, n_kept);
    free(values);
    free(lists);
    s2p_holes_free(holes);
    return st;
}

const s2p_method s2p_method_gridprune = {
    .about.name = "gridprune",
    .about.title = "GridPrune",
    .about.source = "GridPrune (our reading), arXiv 2511.10081",
    .about.needs = S2P_NEED_VISION_ATTN | S2P_NEED_FEATURE | S2P_NEED_TEXT,
    .about.takes = S2P_NEED_ALIGNED,
    .about.sees_question = true,
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .about.parameters = parameters,
    .about.n_parameters = N_PARAMETERS,
    .select = gridprune_select,
};
