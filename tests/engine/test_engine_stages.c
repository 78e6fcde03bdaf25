/* test_engine_stages.c - the stages of every pruning method, told again by hand.
 *
 * A prefill is watched: the rows at every layer boundary, what the decoder did there, and what the
 * method was shown. What it was shown must be what was there, token by token. Then the prefill is
 * repeated in plain loops: rows leave and take others in as the plan says, layers run over what is
 * left, and at every prune point and at the end the same numbers must come out.
 */
#include "method_scenes.h"

#include "engine/session/session.h"
#include "engine/prompt/trace.h"
#include "engine/prompt/steps.h"
#include "engine/vision/tower_cache.h"

#define KV_WIDTH TINY_KV_WIDTH
#define QUERY_WIDTH TINY_WIDTH

typedef struct boundary { /* the rows between two layers, before anything is removed there */
    int32_t n, unit[MAX_ROWS], token[MAX_ROWS], pos[3][MAX_ROWS];
    float h[MAX_ROWS][TINY_WIDTH];
} boundary;

typedef struct decision { /* of one stage for one unit */
    int32_t n_kept, kept[MAX_ROWS];
    int32_t n_merges;
    s2p_merge merge[40 * MAX_ROWS];
} decision;

typedef struct run { /* one prefill, watched */
    const question *asked;
    s2v_session *session;
    const s2p_method *method;
    int32_t n_layers, n_stages_seen, n_erc;
    float erc[MAX_PICTURES][MAX_ROWS]; /* as tapped */
    boundary at[DEEP_LAYERS + 1];
    float attn[DEEP_LAYERS][MAX_ROWS * MAX_ROWS];
    float rotated_key[DEEP_LAYERS][MAX_ROWS * KV_WIDTH];
    s2v_decoder_probe
        probe[DEEP_LAYERS]; /* of the rows at that boundary; the means up to each row */
    decision made[S2P_MAX_STAGES][MAX_UNITS];
    outcome end;
} run;

static run plain, pruned; /* too large for a stack */
static boundary now;

/* --- watching -------------------------------------------------------------------------- */

static void keep_boundary(run *r, int32_t index, const float *data, int32_t n)
{
    boundary *b = &r->at[index];
    const s2v_rows *rows = &r->session->rows;
    const size_t n_bytes = (size_t)n * sizeof(int32_t);
    assert_true(n <= MAX_ROWS && index <= r->n_layers);
    memset(b, 0, sizeof *b);
    b->n = n;
    memcpy(b->h, data, (size_t)n * sizeof b->h[0]);
    memcpy(b->unit, rows->unit, n_bytes);
    memcpy(b->token, rows->token, n_bytes);
    for (int plane = 0; plane < 3; plane++) memcpy(b->pos[plane], rows->pos[plane], n_bytes);
    if (index == r->n_layers) return;
    int32_t ends[MAX_ROWS];
    for (int32_t i = 0; i < n; i++) ends[i] = i + 1;
    const s2v_decoder_request request = { .needs = S2P_NEED_LAST_QUERY | S2P_NEED_MEAN_QUERY |
                                                   S2P_NEED_PLAIN_KEY,
                                          .mean_rows = ends,
                                          .n_means = n };
    s2v_decoder_probe_free(&r->probe[index]);
    const s2v_probed on = s2v_session_probed(r->session);
    assert_int_equal(s2v_decoder_probe_layer(&on, index, &request, &r->probe[index], NULL), S2P_OK);
}

static void tap(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                void *user)
{
    run *r = user;
    const size_t n_bytes = (size_t)rows * (size_t)cols * sizeof *data;
    if (strcmp(name, "h") == 0) keep_boundary(r, index, data, rows);
    if (strcmp(name, "erc") == 0) {
        assert_true(index == r->n_erc++ && n_bytes <= sizeof r->erc[0]);
        memcpy(r->erc[index], data, n_bytes);
    }
    if (strcmp(name, "attn") == 0) memcpy(r->attn[index], data, n_bytes);
    if (strcmp(name, "k_rope") == 0) memcpy(r->rotated_key[index], data, n_bytes);
}

/* The rows a stage looks at, and the layer whose work it sees. */
static const boundary *rows_before(const run *r, int32_t stage, int32_t *layer)
{
    *layer = after_layer(r->method, stage, r->n_layers);
    return *layer < 0 ? &plain.at[0] : &r->at[*layer + 1];
}

/* --- what a method is shown ------------------------------------------------------------- */

static void assert_close(const char *what, const float *got, const float *expected, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK_CASE(fabsf(got[i] - expected[i]) <= 1e-5f * fmaxf(1.0f, fabsf(expected[i])),
                   "%s, %s: %g, not %g at %zu", s2p_method_about(pruned.method)->name, what,
                   (double)got[i], (double)expected[i], i);
}

static int32_t list_unit(const boundary *b, int32_t unit, int32_t *row)
{
    int32_t n = 0;
    for (int32_t i = 0; i < b->n; i++)
        if (b->unit[i] == unit) row[n++] = i;
    return n;
}

/* Rows after the last visual one and what closes the picture: a mark, or a newline. */
static int32_t count_question(const boundary *b)
{
    int32_t last = 0;
    for (int32_t i = 0; i < b->n; i++)
        if (b->unit[i] >= 0) last = i;
    return b->n - last - 2;
}

static void check_decoder(const s2p_view *v, const run *r, const boundary *b, int32_t layer,
                          int32_t unit, const int32_t *row, int32_t n)
{
    const float *hidden = v->signal[S2P_HIDDEN].data, *erc = v->signal[S2P_ERC].data;
    const bool sees_all = s2p_method_about(r->method)->needs & S2P_NEED_QUERY_ATTN;
    const float *attn = v->signal[sees_all ? S2P_QUERY_ATTN : S2P_LAST_ATTN].data;
    const int32_t n_queries = sees_all ? count_question(&plain.at[0]) : 1;
    if (sees_all) assert_int_equal(v->signal[S2P_QUERY_ATTN].shape[0], n_queries);
    for (int32_t i = 0; i < n; i++) {
        if (hidden) assert_close("hidden", hidden + i * TINY_WIDTH, b->h[row[i]], TINY_WIDTH);
        for (int32_t q = 0; attn && q < n_queries; q++)
            assert_close("attention", &attn[q * n + i],
                         &r->attn[layer][(b->n - n_queries + q) * b->n + row[i]], 1);
        if (!erc || r->at[layer].n != b->n) continue; /* rows left just before that layer */
        double squares = 0.0;
        for (int32_t k = 0; k < TINY_WIDTH; k++)
            squares += pow((double)b->h[row[i]][k] - (double)r->at[layer].h[row[i]][k], 2.0);
        const float change = (float)sqrt(squares);
        assert_close("erc", &erc[i], &change, 1);
        if (v->stage == 0 && unit % S2V_MAX_PARTS == 0)
            assert_close("erc", &r->erc[unit / S2V_MAX_PARTS][i], &change, 1);
    }
}

static void check_queries(const s2p_view *v, const run *r, const boundary *b, int32_t layer,
                          const int32_t *row, int32_t n)
{
    const float *last_query = v->signal[S2P_LAST_QUERY].data;
    const float *mean_query = v->signal[S2P_MEAN_QUERY].data;
    const float *plain_key = v->signal[S2P_PLAIN_KEY].data;
    const s2v_decoder_probe *p = &r->probe[layer + s2p_method_about(r->method)->ahead];
    if (!s2p_method_about(r->method)->ahead && r->at[layer].n != b->n) return; /* likewise */
    if (last_query) assert_close("last query", last_query, p->last_query, QUERY_WIDTH);
    if (mean_query)
        assert_close("mean query", mean_query, p->mean_query + row[n - 1] * QUERY_WIDTH,
                     QUERY_WIDTH);
    for (int32_t i = 0; plain_key && i < n; i++)
        assert_close("plain key", plain_key + i * KV_WIDTH, p->plain_key + row[i] * KV_WIDTH,
                     KV_WIDTH);
}

/* A row through the final norm. */
static void norm_row(const s2v_session *session, const float *h, float *out)
{
    const s2v_decoder *d = &session->engine->model.decoder;
    float weight[TINY_WIDTH];
    double squares = 0.0;
    ggml_backend_tensor_get(d->output_norm, weight, 0, sizeof weight);
    for (int32_t k = 0; k < TINY_WIDTH; k++) squares += (double)h[k] * (double)h[k];
    const double scale = 1.0 / sqrt(squares / TINY_WIDTH + (double)d->p.rms_eps);
    for (int32_t k = 0; k < TINY_WIDTH; k++)
        out[k] = (float)((double)h[k] * scale * (double)weight[k]);
}

/* The prompt as a unit sees it: text, its own rows, text; no other picture. */
static void check_prompt(const s2p_view *v, const run *r, const boundary *b, int32_t layer,
                         const int32_t *row, int32_t n)
{
    const s2p_signal *key = &v->signal[S2P_ROTATED_KEY], *through = &v->signal[S2P_NORMED];
    int32_t list[MAX_ROWS], n_list = 0;
    if (!key->data && !through->data) return;
    for (int32_t i = 0; i < row[0]; i++)
        if (b->unit[i] < 0) list[n_list++] = i;
    assert_int_equal(v->first_row, n_list);
    for (int32_t i = 0; i < n; i++) list[n_list++] = row[i];
    for (int32_t i = row[0]; i < b->n; i++)
        if (b->unit[i] < 0) list[n_list++] = i;
    assert_int_equal(key->shape[1], n_list);
    assert_int_equal(through->shape[0], n_list);
    for (int32_t i = 0; i < n_list; i++) {
        float normed[TINY_WIDTH];
        norm_row(r->session, b->h[list[i]], normed);
        assert_close("key", key->data + i * KV_WIDTH, r->rotated_key[layer] + list[i] * KV_WIDTH,
                     KV_WIDTH);
        assert_close("normed", through->data + i * TINY_WIDTH, normed, TINY_WIDTH);
    }
}

/* Features and the question as they entered the decoder. */
static void check_entrance(const s2p_view *v, int32_t unit, int32_t n_tokens)
{
    const boundary *b = &plain.at[0];
    int32_t row[MAX_ROWS];
    const int32_t n = list_unit(b, unit, row), n_text = count_question(b);
    assert_int_equal(n, n_tokens);
    const s2p_signal *feature = &v->signal[S2P_FEATURE], *text = &v->signal[S2P_TEXT];
    for (int32_t i = 0; feature->data && i < n; i++)
        assert_memory_equal(feature->data + i * TINY_WIDTH, b->h[row[i]], sizeof b->h[0]);
    if (!text->data) return;
    assert_int_equal(text->shape[0], n_text);
    assert_memory_equal(text->data, b->h[b->n - n_text], (size_t)n_text * sizeof b->h[0]);
}

/* What the tower did to all parts of a picture is remembered in one list. */
static void check_tower(const s2p_view *v, const run *r, int32_t unit, int32_t n)
{
    const s2v_engine *engine = r->session->engine;
    const s2v_model *model = &engine->model;
    const question *q = r->asked;
    const int32_t first = unit % S2V_MAX_PARTS ? LLAVA_TOKENS : 0, i = unit / S2V_MAX_PARTS;
    if (r->session->options.no_cache) return;
    s2v_frame frame = { .patches = NULL };
    assert_int_equal(model->arch->frame(model, &q->image[i], &q->size[i],
                                        model->arch->usual_framing(q->n_images, true), &frame,
                                        NULL),
                     S2P_OK);
    s2v_tower_known seen;
    s2v_tower_key(&engine->model, engine->identity.tower, r->session->backends.n_threads, &frame);
    assert_true(s2v_tower_recall(engine->cache, &engine->model, &frame, true, &seen));
    const float *attn = v->signal[S2P_VISION_ATTN].data, *key = v->signal[S2P_VISION_KEY].data;
    if (attn) assert_memory_equal(attn, seen.attn + first, (size_t)n * sizeof(float));
    if (key)
        assert_memory_equal(key, seen.key + (ptrdiff_t)first * seen.key_dim,
                            (size_t)n * (size_t)seen.key_dim * sizeof(float));
    s2v_cache_release(engine->cache, seen.block);
    s2v_frame_free(&frame);
}

/* What the method makes of the same view, kept for the repetition. */
static void decide(run *r, const s2p_view *v, s2p_grid grid, int32_t unit)
{
    decision *d = &r->made[v->stage][unit];
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    assert_int_equal(s2p_method_run(r->method, v, plan, NULL), S2P_OK);
    const int32_t *kept = s2p_plan_keep(plan, &d->n_kept);
    memcpy(d->kept, kept, (size_t)d->n_kept * sizeof *kept);
    const s2p_merge *merge = s2p_plan_merges(plan, &d->n_merges);
    assert_true(d->n_merges <= (int32_t)COUNT_OF(d->merge));
    if (d->n_merges > 0) memcpy(d->merge, merge, (size_t)d->n_merges * sizeof *merge);
    s2p_plan_free(plan);
}

/* VisionZip: every dropped token goes to one row that stays, each of these gains their mean. */
static void check_zip(const decision *d, int32_t n_tokens)
{
    double weight[MAX_ROWS] = { 0.0 };
    int32_t n_given[MAX_ROWS] = { 0 };
    for (int32_t m = 0; m < d->n_merges; m++) {
        weight[d->merge[m].into] += d->merge[m].weight;
        n_given[d->merge[m].from]++;
    }
    for (int32_t t = 0; t < n_tokens; t++)
        assert_true(weight[t] == 0.0 || fabs(weight[t] - 1.0) < 1e-12);
    for (int32_t k = 0; k < d->n_kept; k++) n_given[d->kept[k]] += d->n_merges > 0;
    for (int32_t t = 0; t < n_tokens; t++) assert_int_equal(n_given[t], d->n_merges > 0);
}

static void look_at_view(const s2v_selection *choice, void *user)
{
    run *r = user;
    const s2p_view *v = choice->view;
    const s2p_grid grid = choice->grid;
    const int32_t unit = S2V_MAX_PARTS * choice->picture + choice->part;
    int32_t layer, row[MAX_ROWS];
    assert_ptr_equal(choice->method, r->method);
    const boundary *b = rows_before(r, v->stage, &layer);
    const int32_t n = list_unit(b, unit, row);
    assert_int_equal(n, v->alive ? v->n_alive : grid.rows * grid.cols);
    for (int32_t i = 0; i < n; i++) assert_int_equal(b->token[row[i]], v->alive ? v->alive[i] : i);
    if (layer >= 0) {
        check_decoder(v, r, b, layer, unit, row, n);
        check_queries(v, r, b, layer, row, n);
        check_prompt(v, r, b, layer, row, n);
    }
    check_entrance(v, unit, grid.rows * grid.cols);
    check_tower(v, r, unit, grid.rows * grid.cols);
    const uint32_t needs =
        s2p_method_needs(choice->method, &v->choice) & ~(uint32_t)S2P_NEED_PIXELS;
    assert_int_equal(s2p_view_missing(v, needs), 0);
    decide(r, v, grid, unit);
    if (strcmp(s2p_method_about(choice->method)->name, "visionzip") == 0)
        check_zip(&r->made[0][unit], grid.rows * grid.cols);
    r->n_stages_seen = v->stage + 1;
}

static void watch(const pair *p, const question *q, run *r)
{
    r->session = pair_session(p, 0);
    r->method = s2p_method_find(q->prune.method);
    r->asked = q;
    r->n_layers = p->n_layers;
    r->n_stages_seen = r->n_erc = 0;
    for (int32_t i = 0; i < S2P_MAX_STAGES * MAX_UNITS; i++)
        r->made[i / MAX_UNITS][i % MAX_UNITS].n_kept =
            r->made[i / MAX_UNITS][i % MAX_UNITS].n_merges = 0;
    if (!p->is_llava) r->session->options.no_cache = 1; /* watched for who needs it alone */
    r->session->trace.attention = true;
    s2v_session_set_trace(r->session, tap, r);
    if (r == &pruned) s2v_session_set_recorder(r->session, look_at_view, r);
    prefill_well(r->session, q, &r->end);
}

static void watch_end(run *r)
{
    for (int32_t i = 0; i < DEEP_LAYERS; i++) s2v_decoder_probe_free(&r->probe[i]);
    s2v_session_free(r->session);
}

/* --- the repetition ------------------------------------------------------------------- */

static int32_t row_of(const boundary *b, int32_t unit, int32_t token)
{
    for (int32_t i = 0; i < b->n; i++)
        if (b->unit[i] == unit && b->token[i] == token) return i;
    fail_msg("token %d of unit %d is not there", token, unit);
    return -1;
}

static void merge_by_hand(const run *r, int32_t stage)
{
    static double sum[MAX_ROWS][TINY_WIDTH];
    for (int32_t i = 0; i < now.n; i++)
        for (int32_t k = 0; k < TINY_WIDTH; k++) sum[i][k] = (double)now.h[i][k];
    for (int32_t u = 0; u < MAX_UNITS; u++)
        for (int32_t m = 0; m < r->made[stage][u].n_merges; m++) {
            const s2p_merge *merge = &r->made[stage][u].merge[m];
            const int32_t into = row_of(&now, u, merge->into), from = row_of(&now, u, merge->from);
            for (int32_t k = 0; k < TINY_WIDTH; k++)
                sum[into][k] += merge->weight * (double)now.h[from][k];
        }
    for (int32_t i = 0; i < now.n; i++)
        for (int32_t k = 0; k < TINY_WIDTH; k++) now.h[i][k] = (float)sum[i][k];
}

static bool stays(const run *r, int32_t stage, int32_t i)
{
    if (now.unit[i] < 0) return true;
    const decision *d = &r->made[stage][now.unit[i]];
    for (int32_t k = 0; k < d->n_kept; k++)
        if (d->kept[k] == now.token[i]) return true;
    return false;
}

static void remove_by_hand(const run *r, int32_t stage)
{
    int32_t n = 0;
    for (int32_t i = 0; i < now.n; i++) {
        if (!stays(r, stage, i)) continue;
        now.unit[n] = now.unit[i];
        now.token[n] = now.token[i];
        for (int plane = 0; plane < 3; plane++) now.pos[plane][n] = now.pos[plane][i];
        memmove(now.h[n++], now.h[i], sizeof now.h[0]);
    }
    now.n = n;
}

/* Layers [first, last) over the rows of `now`, in a session that has seen nothing. */
static void run_by_hand(s2v_session *s, int32_t n_tail, int32_t first, int32_t last)
{
    s2p_error error = { S2P_OK, "" };
    int32_t row[MAX_ROWS];
    s2v_session_reset(s);
    assert_int_equal(s2v_rows_reserve(&s->rows, &s->engine->model.decoder, &s->engine->devices,
                                      &s->traffic, now.n, 0, &error),
                     S2P_OK);
    s->rows.n_tail = n_tail;
    for (int32_t i = 0; i < now.n; i++) {
        row[i] = i;
        s->rows.unit[i] = now.unit[i];
        s->rows.token[i] = now.token[i];
        for (int plane = 0; plane < 3; plane++) s->rows.pos[plane][i] = now.pos[plane][i];
    }
    s2v_rows_write(&s->rows, row, now.n, &now.h[0][0]);
    CHECK_CASE(s2v_trace_layers(s, first, last, NULL, &error) == S2P_OK, "%s", error.message);
    s2v_rows_read(&s->rows, row, now.n, &now.h[0][0]);
}

/* Bit for bit, unless rows took others in: that was summed in another precision. */
static void assert_same_rows(const run *r, const boundary *b, const char *where)
{
    const size_t n = (size_t)now.n * sizeof(int32_t);
    assert_int_equal(now.n, b->n);
    assert_memory_equal(now.unit, b->unit, n);
    assert_memory_equal(now.token, b->token, n);
    for (int plane = 0; plane < 3; plane++) assert_memory_equal(now.pos[plane], b->pos[plane], n);
    if (s2p_method_about(r->method)->merges)
        assert_close(where, &now.h[0][0], &b->h[0][0], (size_t)now.n * TINY_WIDTH);
    else
        assert_memory_equal(now.h, b->h, (size_t)now.n * sizeof now.h[0]);
}

static void ignore(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                   void *user)
{
    (void)name, (void)index, (void)data, (void)rows, (void)cols, (void)user;
}

static void repeat(const pair *p, const run *r)
{
    s2v_session *s = pair_session(p, 0);
    s2v_session_set_trace(s, ignore, NULL); /* layer by layer, as the watched one */
    const int32_t n_tail = r->session->rows.n_tail;
    int32_t at = 0;
    now = plain.at[0];
    for (int32_t stage = 0; stage < s2p_method_about(r->method)->n_stages; stage++) {
        int32_t layer;
        const boundary *b = rows_before(r, stage, &layer);
        if (layer >= at) run_by_hand(s, n_tail, at, layer + 1);
        assert_same_rows(r, b, "a prune point");
        merge_by_hand(r, stage);
        remove_by_hand(r, stage);
        at = layer + 1;
    }
    if (at == 0) assert_same_rows(r, &r->at[0], "the first layer");
    run_by_hand(s, n_tail, at, p->n_layers);
    assert_same_rows(r, &r->at[p->n_layers], "the end");
    assert_true(distance(r->end.logits, s2v_session_logits(s)) <=
                (s2p_method_about(r->method)->merges ? 1e-5 : 0.0));
    s2v_session_free(s);
}

static void repeat_method(const pair *p, const scene *sc, const char *name, double percent)
{
    question q = scene_question(sc, name, 1);
    q.prune.budget.percent = percent;
    watch(p, &q, &pruned);
    assert_int_equal(pruned.n_stages_seen, s2p_method_about(pruned.method)->n_stages);
    const int32_t first = after_layer(pruned.method, 0, p->n_layers) + 1;
    for (int32_t i = 0; i <= first && first > 0; i++) /* nothing happened before */
        assert_memory_equal(&pruned.at[i], &plain.at[i], sizeof plain.at[i]);
    const bool has_erc = s2p_method_needs(pruned.method, &q.prune.choice) & S2P_NEED_ERC;
    assert_int_equal(pruned.n_erc, has_erc ? q.n_images : 0); /* once for each picture */
    repeat(p, &pruned);
    watch_end(&pruned);
}

static void stages_told_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(pairs) * COUNT_OF(scenes); i++) {
        const pair *p = &pairs[i / COUNT_OF(scenes)];
        const scene *sc = &scenes[i % COUNT_OF(scenes)];
        if (sc->is_llava != p->is_llava) continue;
        const question q = scene_question(sc, "full", 1);
        watch(p, &q, &plain);
        const s2p_method *m;
        for (size_t k = 0; (m = s2p_method_at(k)) != NULL; k++)
            if (!s2p_method_about(m)->resizes)
                repeat_method(p, sc, s2p_method_about(m)->name, k % 2 ? 20.0 : 45.0);
        watch_end(&plain);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_told_again),
    };
    return cmocka_run_group_tests(tests, open_pairs, close_pairs);
}
