/* stages.c - from embedded rows to logits: layers, look, select, compact, and on.
 *
 * For S2Prune: layer 0 on everything, ERC computed there, then B rows per picture.
 * Other methods prune before the decoder, after another layer, or several times. A
 * budget of all tokens or more prunes nothing and looks at nothing. A model with
 * fewer layers than a method's prune points gets them moved down in proportion.
 */
#include "engine/run/prefill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BEFORE_LAYER                                                                         \
    (S2P_NEED_LAST_QUERY | S2P_NEED_MEAN_QUERY | S2P_NEED_PLAIN_KEY | S2P_NEED_ROTATED_KEY | \
     S2P_NEED_LAST_ATTN | S2P_NEED_QUERY_ATTN)
#define ATTENTION (S2P_NEED_LAST_ATTN | S2P_NEED_QUERY_ATTN)

/* --- where ----------------------------------------------------------------------- */

s2p_status s2v_stage_layers(const s2p_method *method, int32_t n_layers, int32_t *after,
                            s2p_error *error)
{
    const int32_t n = method->n_stages, deepest = method->after[n - 1];
    const bool fits = deepest + 1 < n_layers;
    if (!fits && n_layers - 1 < n)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "method '%s' prunes after layer %d; the model has %d layer%s", method->name,
                       deepest, n_layers, n_layers == 1 ? "" : "s");
    for (int32_t i = 0; i < n; i++) {
        after[i] = method->after[i];
        if (fits) continue;
        const int32_t lowest = i > 0 ? after[i - 1] + 1 : 0, highest = n_layers - 1 - (n - i);
        after[i] = after[i] * (n_layers - 2) / deepest;
        if (after[i] < lowest) after[i] = lowest;
        if (after[i] > highest) after[i] = highest;
    }
    return S2P_OK;
}

/* --- looking --------------------------------------------------------------------- */

static void looks_free(s2v_looks *looks)
{
    s2v_probe_free(&looks->probe);
    free(looks->erc);
    free(looks->attention);
    free(looks->normed);
}

static s2p_status make_floats(s2v_job *j, size_t rows, size_t cols, float **out)
{
    *out = malloc(rows * cols * sizeof **out);
    if (!*out)
        return s2_fail_memory(j->error, rows * cols * sizeof **out, "what a method looks at");
    return S2P_OK;
}

/* Queries and keys of a layer; and the rows whose attention will be asked for. */
static s2p_status probe_layer(s2v_job *j, int32_t layer, s2v_looks *looks)
{
    const double start = s2v_now_ms();
    const int32_t n = j->s->rows.n;
    looks->n_queries = j->needs & S2P_NEED_QUERY_ATTN ? j->n_text : 1;
    int32_t *ends = malloc((size_t)j->n_units * sizeof *ends);
    if (!ends) return s2_fail(j->error, S2P_ENOMEM, "out of memory");
    for (int32_t u = 0; u < j->n_units; u++) {
        const s2v_unit *unit = &j->unit[u];
        ends[u] = unit->n_alive > 0 ? unit->row[unit->n_alive - 1] + 1 : 1;
    }
    const s2v_probe_request request = { .needs = j->needs,
                                        .first_query = n - looks->n_queries,
                                        .mean_rows = ends,
                                        .n_means = j->n_units };
    const s2p_status st = s2v_probe_layer(j->s, layer, &request, &looks->probe, j->error);
    free(ends);
    j->s->probe_ms += s2v_now_ms() - start;
    return st;
}

static s2p_status probe_attention(s2v_job *j, int32_t layer, s2v_looks *looks)
{
    const double start = s2v_now_ms();
    const int32_t n = j->s->rows.n;
    s2p_status st = make_floats(j, (size_t)looks->n_queries, (size_t)n, &looks->attention);
    if (st == S2P_OK)
        st = s2v_probe_attention(j->s, layer, looks->probe.query, n - looks->n_queries,
                                 looks->attention, j->error);
    j->s->probe_ms += s2v_now_ms() - start;
    return st;
}

static s2p_status probe_normed(s2v_job *j, s2v_looks *looks)
{
    const double start = s2v_now_ms();
    s2p_status st =
        make_floats(j, (size_t)j->s->rows.n, (size_t)j->s->rows.hidden->ne[0], &looks->normed);
    if (st == S2P_OK) st = s2v_probe_normed(j->s, looks->normed, j->error);
    j->s->probe_ms += s2v_now_ms() - start;
    return st;
}

/* Of all tokens: later stages have rows of their own. */
static void tap_erc(const s2v_job *j, const float *erc)
{
    s2v_session *s = j->s;
    if (j->stats.n_stages > 0) return;
    for (int32_t i = 0; s->tap && erc && i < j->prompt->n_images; i++)
        s->tap("erc", i, erc + j->first_row[i], s2v_part_tokens(&j->frames[i].part[0]), 1,
               s->tap_user);
}

/* Layers [*at, layer], and what the method wants to know of the last of them. */
static s2p_status run_and_look(s2v_job *j, int32_t *at, int32_t layer, s2v_looks *looks)
{
    s2v_session *s = j->s;
    const bool is_before = (j->needs & BEFORE_LAYER) && !j->method->ahead;
    const bool is_apart = is_before || (j->needs & S2P_NEED_ERC);
    s2p_status st = S2P_OK;
    if (is_apart && layer > *at) {
        st = s2v_run_layers(s, *at, layer, NULL, j->error);
        *at = layer;
    }
    if (st == S2P_OK && is_before) st = probe_layer(j, layer, looks);
    if (st == S2P_OK && (j->needs & S2P_NEED_ERC))
        st = make_floats(j, (size_t)s->rows.n, 1, &looks->erc);
    if (st == S2P_OK) st = s2v_run_layers(s, *at, layer + 1, looks->erc, j->error);
    *at = layer + 1;
    if (st == S2P_OK) tap_erc(j, looks->erc);
    if (st == S2P_OK && (j->needs & ATTENTION)) st = probe_attention(j, layer, looks);
    if (st == S2P_OK && (j->needs & BEFORE_LAYER) && j->method->ahead)
        st = probe_layer(j, layer + 1, looks);
    if (st == S2P_OK && (j->needs & S2P_NEED_NORMED)) st = probe_normed(j, looks);
    return st;
}

/* --- removing -------------------------------------------------------------------- */

/* Rows of a unit that stay, in their new order, and -1 for each row of zeros. */
static int32_t list_unit(const s2v_job *j, const s2v_unit *u, int32_t *keep)
{
    int32_t n;
    const bool as_picked = j->method->as_picked && j->prune->published && u->part == 0;
    const int32_t *token = as_picked ? s2p_plan_order(u->plan, &n) : s2p_plan_keep(u->plan, &n);
    for (int32_t i = 0; i < n; i++) keep[i] = u->row[s2v_place_of(u->alive, u->n_alive, token[i])];
    for (int32_t i = 0; i < s2p_plan_blanks(u->plan); i++) keep[n++] = -1;
    return n;
}

/* All text, and of each unit what stays; where newlines stand between its rows, in between. */
static int32_t list_rows(const s2v_job *j, int32_t *keep, int32_t *of_unit)
{
    const s2v_rows *rows = &j->s->rows;
    int32_t n = 0;
    const int32_t *next = of_unit, *end = of_unit;
    for (int32_t row = 0; row < rows->n; row++) {
        if (rows->unit[row] < 0) {
            keep[n++] = row;
            continue;
        }
        const s2v_unit *u = &j->unit[rows->unit[row]];
        const int32_t first = u->row[0], last = u->row[u->n_alive - 1];
        if (row == first) {
            next = of_unit;
            end = of_unit + list_unit(j, u, of_unit);
        }
        const bool is_unbroken = last - first == u->n_alive - 1;
        while (next < end && (is_unbroken || row == last || *next == row)) keep[n++] = *next++;
    }
    return n;
}

/* Tests compare removal with this: every row stays, but nobody sees the dropped ones. */
static s2p_status hide_rows(s2v_job *j, const int32_t *keep, int32_t n_keep)
{
    s2v_session *s = j->s;
    s->hidden_rows = malloc((size_t)s->rows.n);
    if (!s->hidden_rows) return s2_fail_memory(j->error, (size_t)s->rows.n, "hidden rows");
    memset(s->hidden_rows, 1, (size_t)s->rows.n);
    for (int32_t i = 0; i < n_keep; i++) s->hidden_rows[keep[i]] = 0;
    return S2P_OK;
}

/* Rows of zeros may need more room than the prompt had; the last layer has only earlier turns. */
static s2p_status check_room(const s2v_job *j, int32_t n)
{
    const s2v_kv *kv = &j->s->kv;
    if (n <= kv->n_ctx - kv->n_cells[kv->n_layers - 1]) return S2P_OK;
    return s2_fail(j->error, S2P_ELIMIT,
                   "method '%s' makes %d rows of the prompt's %d; the context of %d has no room "
                   "for them (-c)",
                   j->method->name, n, j->s->rows.n, kv->n_ctx);
}

static s2p_status remove_rows(s2v_job *j, int32_t n_layers)
{
    s2v_session *s = j->s;
    const size_t room = (size_t)s->rows.capacity;
    int32_t *keep = malloc(2 * room * sizeof *keep);
    if (!keep) return s2_fail_memory(j->error, 2 * room * sizeof *keep, "kept rows");
    const int32_t n = list_rows(j, keep, keep + room);
    bool changes = n != s->rows.n;
    for (int32_t i = 0; i < n && !changes; i++) changes = keep[i] != i;
    s2p_status st = check_room(j, n);
    for (int32_t u = 0; st == S2P_OK && u < j->n_units; u++)
        if (j->unit[u].n_alive > 0)
            st = s2v_merge_rows(s, j->unit[u].plan, j->unit[u].alive, j->unit[u].row,
                                j->unit[u].n_alive, j->error);
    const int32_t n_pruned = j->method->prunes_cache ? n_layers : 0;
    if (st == S2P_OK && changes) s2v_prefix_save(j, n_pruned);
    if (st == S2P_OK && changes)
        st = s->masks_instead ? hide_rows(j, keep, n) : s2v_compact(s, keep, n, n_pruned, j->error);
    free(keep);
    return st;
}

static s2p_status prune(s2v_job *j, int32_t stage, const s2v_looks *looks)
{
    const double start = s2v_now_ms();
    s2v_stats *t = &j->stats;
    s2p_status st = S2P_OK;
    t->image_tokens = 0;
    for (int32_t i = 0; st == S2P_OK && i < j->n_units; i++) {
        s2v_unit *u = &j->unit[i];
        if (u->n_alive == 0) continue;
        st = s2v_select_unit(j, u, stage, looks);
        int32_t n_kept;
        (void)s2p_plan_keep(u->plan, &n_kept);
        t->image_tokens += n_kept + s2p_plan_blanks(u->plan);
    }
    if (st == S2P_OK) st = remove_rows(j, j->after[stage] + 1);
    if (st == S2P_OK && !j->s->masks_instead) s2v_units_find(j);
    t->stage_after[stage] = j->after[stage];
    t->stage_tokens[stage] = t->image_tokens;
    t->n_stages = stage + 1;
    t->select_ms += s2v_now_ms() - start;
    return st;
}

/* --- accounting -------------------------------------------------------------------- */

/* Visual tokens layer i has seen. */
static int32_t tokens_in(const s2v_stats *t, int32_t layer)
{
    int32_t n = t->image_tokens_full;
    for (int32_t i = 0; i < t->n_stages; i++)
        if (layer > t->stage_after[i]) n = t->stage_tokens[i];
    return n;
}

static void account(s2v_job *j)
{
    const s2v_session *s = j->s;
    const s2v_decoder_params *p = &s->engine->model.decoder.p;
    s2v_stats *t = &j->stats;
    const double d = p->n_embd, d_kv = (double)p->n_kv_heads * p->head_dim, m = p->n_ff;
    const double per_row = 2.0 * (2.0 * d * d + 2.0 * d * d_kv + 3.0 * d * m);
    const uint64_t row =
        2 * (uint64_t)ggml_row_size(s->kv.type, (int64_t)p->n_kv_heads * p->head_dim);
    for (int32_t i = 0; i < p->n_layers; i++) {
        const int32_t n_tokens = tokens_in(t, i);
        const double n = t->text_tokens + n_tokens;
        t->flops += per_row * n + 4.0 * n * n * d;
        t->kv_visual_bytes +=
            row * (uint64_t)(j->method->prunes_cache ? t->image_tokens : n_tokens);
        t->kv_visual_bytes_paper += 4 * (uint64_t)d_kv * (uint64_t)n_tokens;
        t->kv_total_bytes += row * (uint64_t)s->kv.n_cells[i];
    }
    t->prompt_tokens = t->text_tokens + t->image_tokens;
}

/* --- all stages ---------------------------------------------------------------------- */

static s2p_status run_stage(s2v_job *j, int32_t stage, int32_t *at)
{
    s2v_looks looks = { .erc = NULL };
    const double start = s2v_now_ms(), probed = j->s->probe_ms;
    s2p_status st = S2P_OK;
    if (j->after[stage] >= 0) st = run_and_look(j, at, j->after[stage], &looks);
    const double layers_ms = s2v_now_ms() - start - (j->s->probe_ms - probed);
    *(stage == 0 ? &j->stats.layer0_ms : &j->stats.layers_ms) += layers_ms;
    if (st == S2P_OK) st = prune(j, stage, &looks);
    looks_free(&looks);
    return st;
}

static s2p_status run_all(s2v_job *j)
{
    s2v_session *s = j->s;
    const int32_t n_layers = s->engine->model.decoder.p.n_layers;
    int32_t at = 0;
    s2v_units_find(j);
    s2p_status st = s2v_units_read(j);
    for (int32_t i = 0; st == S2P_OK && i < j->method->n_stages; i++) st = run_stage(j, i, &at);
    const double start = s2v_now_ms();
    if (st == S2P_OK) st = s2v_run_layers(s, at, n_layers, NULL, j->error);
    j->stats.layers_ms += s2v_now_ms() - start;
    if (st == S2P_OK) s2v_prefix_remember(j);
    return st;
}

s2p_status s2v_run_stages(s2v_job *j)
{
    const s2p_status st = j->is_recalled ? s2v_prefix_run(j) : run_all(j);
    if (st == S2P_OK) account(j);
    return st;
}
