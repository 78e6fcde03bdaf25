/* test_decoder_probe.c - what methods see of the decoder, against the same sums done by hand in
 * double.
 *
 * A trace stands between the layers of a real prefill and probes there. The rows it is handed, and
 * the weights, are all the reference needs: norm, projections, M-RoPE and softmax are told again
 * here in plain loops.
 */
#include "tiny_run.h"

#include "engine/prompt/trace.h"

#define HEADS 2
#define HEAD 32
#define MAX_ROWS 400
#define EVERYTHING                                                                           \
    (S2P_NEED_LAST_QUERY | S2P_NEED_MEAN_QUERY | S2P_NEED_PLAIN_KEY | S2P_NEED_ROTATED_KEY | \
     S2P_NEED_QUERY_ATTN)

static const char *folder;
static s2v_engine *engine;

static int open_engine(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    engine = tiny_open();
    return 0;
}

static int close_engine(void **state)
{
    (void)state;
    s2v_engine_close(engine);
    return 0;
}

/* --- looking --------------------------------------------------------------------- */

typedef struct look { /* at one layer of one prefill */
    s2v_session *session;
    int32_t layer, first_query;
    uint32_t needs;
    int32_t mean_rows[3];
    s2p_status status;
    s2p_error error;
    int32_t n, n_before; /* rows, and slots of earlier turns */
    int32_t pos[3][MAX_ROWS];
    float *in, *out, *normed, *attention; /* [n][TINY_WIDTH] twice, its norm, [queries][n] */
    float *cached;                        /* [n_before + n][HEAD] keys as the cache has them */
    s2v_decoder_probe probe;
} look;

static float *copy_floats(const float *from, size_t n)
{
    float *to = malloc(n * sizeof *to);
    if (!to) abort();
    if (from) memcpy(to, from, n * sizeof *to);
    return to;
}

/* Keys of the first n slots, whatever type they are kept in. */
static float *read_cache(const struct ggml_tensor *cache, size_t n)
{
    const size_t n_bytes = n * cache->nb[1];
    uint8_t *bytes = malloc(n_bytes);
    float *keys = copy_floats(NULL, n * HEAD);
    if (!bytes) abort();
    ggml_backend_tensor_get(cache, bytes, 0, n_bytes);
    if (cache->type == GGML_TYPE_F32)
        memcpy(keys, bytes, n_bytes);
    else
        ggml_get_type_traits(cache->type)->to_float(bytes, keys, (int64_t)n * HEAD);
    free(bytes);
    return keys;
}

static void look_before(look *l, const float *rows, int32_t n)
{
    const s2v_decoder_request request = {
        .needs = l->needs, .first_query = l->first_query, .mean_rows = l->mean_rows, .n_means = 3
    };
    l->n = n;
    l->n_before = s2v_past_length(&l->session->past, l->layer);
    l->in = copy_floats(rows, (size_t)n * TINY_WIDTH);
    l->mean_rows[0] = 1;
    l->mean_rows[1] = n / 2;
    l->mean_rows[2] = n;
    for (int plane = 0; plane < 3; plane++)
        memcpy(l->pos[plane], l->session->rows.pos[plane], (size_t)n * sizeof(int32_t));
    const s2v_probed on = s2v_session_probed(l->session);
    l->status = s2v_decoder_probe_layer(&on, l->layer, &request, &l->probe, &l->error);
}

static void look_after(look *l, const float *rows, int32_t n)
{
    l->out = copy_floats(rows, (size_t)n * TINY_WIDTH);
    l->cached = read_cache(l->session->past.layer[l->layer].k, (size_t)(l->n_before + n));
    const s2v_probed on = s2v_session_probed(l->session);
    l->normed = copy_floats(NULL, (size_t)n * TINY_WIDTH);
    if (l->status == S2P_OK) l->status = s2v_decoder_probe_normed(&on, l->normed, &l->error);
    if (l->status != S2P_OK || !l->probe.query) return;
    if (!(l->needs & S2P_NEED_QUERY_ATTN)) l->first_query = n - 1;
    l->attention = copy_floats(NULL, (size_t)(n - l->first_query) * (size_t)n);
    l->status = s2v_decoder_probe_attention(&on, l->layer, l->probe.query, l->first_query,
                                            l->attention, &l->error);
}

static void between_layers(const char *name, int32_t index, const float *data, int32_t rows,
                           int32_t cols, void *user)
{
    look *l = user;
    if (strcmp(name, "h") != 0) return;
    assert_int_equal(cols, TINY_WIDTH);
    assert_true(rows <= MAX_ROWS);
    if (index == l->layer) look_before(l, data, rows);
    if (index == l->layer + 1) look_after(l, data, rows);
}

/* Prefill and look at l->layer of it. */
static void look_at(s2v_session *session, const question *q, look *l)
{
    s2p_error error = { S2P_OK, "" };
    l->session = session;
    s2v_session_set_trace(session, between_layers, l);
    CHECK_CASE(prefill(session, q, NULL, &error) == S2P_OK, "%s", error.message);
    s2v_session_set_trace(session, NULL, NULL);
}

static void look_free(look *l)
{
    s2v_decoder_probe_free(&l->probe);
    free(l->in);
    free(l->out);
    free(l->normed);
    free(l->attention);
    free(l->cached);
}

/* --- the reference ----------------------------------------------------------------- */

typedef struct reference {             /* of one row of one layer, in double */
    double x[TINY_WIDTH];              /* normed */
    double q[HEADS * HEAD], k[HEAD];   /* not rotated */
    double qr[HEADS * HEAD], kr[HEAD]; /* rotated */
} reference;

static float *weights_of(const struct ggml_tensor *tensor)
{
    assert_int_equal(tensor->type, GGML_TYPE_F32);
    float *values = copy_floats(NULL, (size_t)ggml_nelements(tensor));
    ggml_backend_tensor_get(tensor, values, 0, ggml_nbytes(tensor));
    return values;
}

static void norm(const float *row, const struct ggml_tensor *weight, double *out)
{
    float *w = weights_of(weight);
    double sum = 0.0;
    for (int i = 0; i < TINY_WIDTH; i++) sum += (double)row[i] * (double)row[i];
    for (int i = 0; i < TINY_WIDTH; i++)
        out[i] = (double)row[i] / sqrt(sum / TINY_WIDTH + 1e-6) * (double)w[i];
    free(w);
}

static void project(const struct ggml_tensor *weight, const struct ggml_tensor *bias,
                    const double *x, int n_out, double *out)
{
    float *w = weights_of(weight), *b = weights_of(bias);
    for (int o = 0; o < n_out; o++) {
        out[o] = (double)b[o];
        for (int i = 0; i < TINY_WIDTH; i++) out[o] += (double)w[o * TINY_WIDTH + i] * x[i];
    }
    free(w);
    free(b);
}

/* M-RoPE with sections 4, 6, 6: pairs (i, i + 16), the first four turned by time. */
static void rotate(const double *x, const int32_t pos[3], double *out)
{
    for (int i = 0; i < HEAD / 2; i++) {
        const int plane = i < 4 ? 0 : i < 10 ? 1 : 2;
        const double angle = pos[plane] * pow(1e6, -2.0 * i / HEAD);
        out[i] = x[i] * cos(angle) - x[i + HEAD / 2] * sin(angle);
        out[i + HEAD / 2] = x[i] * sin(angle) + x[i + HEAD / 2] * cos(angle);
    }
}

static reference *refer(const look *l)
{
    const s2v_layer *layer = &engine->model.decoder.layers[l->layer];
    reference *all = malloc((size_t)l->n * sizeof *all);
    if (!all) abort();
    for (int32_t r = 0; r < l->n; r++) {
        reference *ref = &all[r];
        const int32_t pos[3] = { l->pos[0][r], l->pos[1][r], l->pos[2][r] };
        norm(l->in + (size_t)r * TINY_WIDTH, layer->attn_norm, ref->x);
        project(layer->attention.q, layer->attention.q_bias, ref->x, HEADS * HEAD, ref->q);
        project(layer->attention.k, layer->attention.k_bias, ref->x, HEAD, ref->k);
        for (int h = 0; h < HEADS; h++) rotate(ref->q + h * HEAD, pos, ref->qr + h * HEAD);
        rotate(ref->k, pos, ref->kr);
    }
    return all;
}

/* Mean over heads of row `row`'s attention to the slots it sees: earlier turns, then the prompt.
 * The cache may round keys, so they are those of the cache. */
static void attend(const look *l, const reference *ref, int32_t row, double *out)
{
    static double weight[2 * MAX_ROWS];
    const int32_t n = l->n_before + row + 1;
    for (int32_t c = 0; c < n; c++) out[c] = 0.0;
    for (int h = 0; h < HEADS; h++) {
        double sum = 0.0;
        for (int32_t c = 0; c < n; c++) {
            double score = 0.0;
            for (int i = 0; i < HEAD; i++)
                score += ref[row].qr[h * HEAD + i] * (double)l->cached[c * HEAD + i];
            sum += weight[c] = exp(score / sqrt(HEAD));
        }
        for (int32_t c = 0; c < n; c++) out[c] += weight[c] / sum / HEADS;
    }
}

static void assert_near(const char *what, const float *got, const double *expected, size_t n,
                        double allowed)
{
    for (size_t i = 0; i < n; i++)
        CHECK_CASE(fabs((double)got[i] - expected[i]) <= allowed, "%s %zu: %.9g, expected %.9g",
                   what, i, (double)got[i], expected[i]);
}

static void assert_attention(const look *l, const reference *ref)
{
    static double expected[2 * MAX_ROWS];
    for (int32_t row = l->first_query; row < l->n; row++) {
        const float *got = l->attention + (size_t)(row - l->first_query) * (size_t)l->n;
        attend(l, ref, row, expected);
        assert_near("attention", got, expected + l->n_before, (size_t)row + 1, 1e-6);
        for (int32_t c = row + 1; c < l->n; c++) assert_true(got[c] == 0.0f); /* ahead */
    }
}

static double row_sum(const look *l, int32_t query)
{
    double sum = 0.0;
    for (int32_t c = 0; c < l->n; c++)
        sum += (double)l->attention[(size_t)query * (size_t)l->n + (size_t)c];
    return sum;
}

/* --- tests ------------------------------------------------------------------------ */

static void check_against_reference(const look *l, const reference *ref)
{
    const size_t n = (size_t)l->n;
    const s2v_decoder_probe *p = &l->probe;
    assert_near("last query", p->last_query, ref[n - 1].q, HEADS * HEAD, 1e-5);
    for (size_t r = 0; r < n; r++) {
        double normed[TINY_WIDTH];
        assert_near("key", p->plain_key + r * HEAD, ref[r].k, HEAD, 1e-5);
        assert_near("rotated key", p->rotated_key + r * HEAD, ref[r].kr, HEAD, 2e-5);
        norm(l->out + r * TINY_WIDTH, engine->model.decoder.output_norm, normed);
        assert_near("normed", l->normed + r * TINY_WIDTH, normed, TINY_WIDTH, 1e-5);
        if ((int32_t)r >= l->first_query)
            assert_near("query", p->query + (r - (size_t)l->first_query) * HEADS * HEAD, ref[r].qr,
                        HEADS * HEAD, 2e-5);
    }
    for (int m = 0; m < 3; m++) {
        double mean[HEADS * HEAD] = { 0.0 };
        for (int32_t r = 0; r < l->mean_rows[m]; r++)
            for (int i = 0; i < HEADS * HEAD; i++) mean[i] += ref[r].q[i] / l->mean_rows[m];
        assert_near("mean query", p->mean_query + m * HEADS * HEAD, mean, HEADS * HEAD, 1e-5);
    }
}

/* However the work is cut and whatever the cache holds. */
static void test_against_double(void **state)
{
    (void)state;
    static const struct {
        int32_t layer, n_batch, n_threads, first_query;
        s2v_kv_type type;
    } cases[] = {
        { 0, 0, 2, 0, S2V_KV_F32 },  { 2, 0, 2, 0, S2V_KV_F32 }, { 2, 0, 1, 60, S2V_KV_F32 },
        { 1, 13, 3, 0, S2V_KV_F32 }, { 3, 1, 2, 7, S2V_KV_F32 }, { 1, 64, 2, 11, S2V_KV_F16 },
        { 1, 0, 2, 0, S2V_KV_Q8_0 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_session_options options = tiny_session_options();
        options.n_batch = cases[i].n_batch;
        options.n_threads = cases[i].n_threads;
        options.kv_type = cases[i].type;
        s2v_session *session = tiny_session(engine, &options);
        const question q = one_picture(NULL, 0);
        look l = { .layer = cases[i].layer,
                   .first_query = cases[i].first_query,
                   .needs = EVERYTHING };
        look_at(session, &q, &l);
        CHECK_CASE(l.status == S2P_OK, "%zu: %s", i, l.error.message);
        assert_int_equal(l.n_before, 0);
        assert_true(l.n > 63);
        reference *ref = refer(&l);
        check_against_reference(&l, ref);
        assert_attention(&l, ref);
        for (int32_t row = 0; row < l.n - l.first_query; row++)
            assert_true(fabs(row_sum(&l, row) - 1.0) <= 1e-5);
        free(ref);
        look_free(&l);
        s2v_session_free(session);
    }
}

/* Cells of an earlier turn take part in the softmax and are not handed out. */
static void test_second_turn(void **state)
{
    (void)state;
    static const int32_t batches[] = { 0, 13 };
    for (size_t i = 0; i < COUNT_OF(batches); i++) {
        s2v_session_options options = tiny_session_options();
        options.n_batch = batches[i];
        s2v_session *session = tiny_session(engine, &options);
        const question first = one_picture(NULL, 0);
        question second = one_picture(NULL, 0);
        second.raw = "bcd <image> user hello";
        look a = { .layer = 1, .needs = EVERYTHING }, b = { .layer = 1, .needs = EVERYTHING };
        look_at(session, &first, &a);
        look_at(session, &second, &b);
        assert_int_equal(a.status, S2P_OK);
        assert_int_equal(b.status, S2P_OK);
        assert_int_equal(b.n_before, a.n);
        reference *past = refer(&a), *now = refer(&b);
        check_against_reference(&b, now);
        for (int32_t c = 0; c < b.n_before; c++)
            assert_near("earlier key", b.cached + (size_t)c * HEAD, past[c].kr, HEAD, 2e-5);
        assert_attention(&b, now);
        for (int32_t row = 0; row < b.n; row++) {
            const double sum = row_sum(&b, row);
            assert_true(sum > 1e-3 && sum < 1.0 - 1e-3);
        }
        free(now);
        free(past);
        look_free(&b);
        look_free(&a);
        s2v_session_free(session);
    }
}

/* After pruning: fewer rows, old positions, and the same promises. */
static void test_after_pruning(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    const question q = one_picture("s2prune", 20);
    look l = { .layer = 2, .first_query = 3, .needs = EVERYTHING };
    look_at(session, &q, &l);
    assert_int_equal(l.status, S2P_OK);
    assert_int_equal(l.n, session->rows.n);
    assert_true(l.n > 20 && l.n < 63);
    reference *ref = refer(&l);
    check_against_reference(&l, ref);
    assert_attention(&l, ref);
    free(ref);
    look_free(&l);
    s2v_session_free(session);
}

/* Nothing is computed that nobody asked for. */
static void test_only_what_is_asked(void **state)
{
    (void)state;
    static const uint32_t needs[] = {
        S2P_NEED_LAST_QUERY,           S2P_NEED_MEAN_QUERY, S2P_NEED_PLAIN_KEY,
        S2P_NEED_ROTATED_KEY,          S2P_NEED_QUERY_ATTN, S2P_NEED_LAST_ATTN,
        S2P_NEED_PIXELS | S2P_NEED_ERC
    };
    const s2v_session_options options = tiny_session_options();
    const question q = one_picture(NULL, 0);
    s2v_session *session = tiny_session(engine, &options);
    look all = { .layer = 1, .needs = EVERYTHING };
    look_at(session, &q, &all);
    for (size_t i = 0; i < COUNT_OF(needs); i++) {
        s2v_session_reset(session);
        look l = { .layer = 1, .needs = needs[i] };
        look_at(session, &q, &l);
        assert_int_equal(l.status, S2P_OK);
        const float *got[] = { l.probe.last_query,  l.probe.mean_query, l.probe.plain_key,
                               l.probe.rotated_key, l.probe.query,      l.probe.query };
        for (size_t k = 0; k < 4; k++) assert_int_equal(got[k] != NULL, k == i);
        assert_int_equal(l.probe.query != NULL, i == 4 || i == 5);
        for (int32_t c = 0; i == 5 && c < all.n; c++) { /* the last of all rows, up to rounding */
            const float expected = all.attention[(all.n - 1) * all.n + c];
            assert_true(fabsf(l.attention[c] - expected) <= 1e-6f);
        }
        look_free(&l);
    }
    look_free(&all);
    s2v_session_free(session);
}

/* The trace of the session itself, as the goldens use it. */
typedef struct traced {
    const look *expected; /* layer 1 */
    int n_keys, n_attentions;
} traced;

static void take_trace(const char *name, int32_t index, const float *data, int32_t rows,
                       int32_t cols, void *user)
{
    traced *t = user;
    const look *e = t->expected;
    const size_t n_bytes = (size_t)rows * (size_t)cols * sizeof *data;
    if (strcmp(name, "k_rope") == 0) {
        assert_int_equal(index, t->n_keys++);
        assert_int_equal(cols, HEAD);
        if (index == e->layer) assert_memory_equal(data, e->probe.rotated_key, n_bytes);
    } else if (strcmp(name, "attn") == 0) {
        assert_int_equal(index, t->n_attentions++);
        assert_int_equal(cols, rows);
        if (index == e->layer) assert_memory_equal(data, e->attention, n_bytes);
    }
}

static void test_trace(void **state)
{
    (void)state;
    const s2v_session_options options = tiny_session_options();
    const question q = one_picture(NULL, 0);
    s2v_session *session = tiny_session(engine, &options);
    look l = { .layer = 1, .needs = EVERYTHING };
    look_at(session, &q, &l);
    traced t = { .expected = &l };
    s2p_error error = { S2P_OK, "" };
    for (int asks = 0; asks < 2; asks++) {
        s2v_session_reset(session);
        s2v_session_set_trace(session, take_trace, &t);
        session->trace.attention = asks;
        assert_int_equal(prefill(session, &q, NULL, &error), S2P_OK);
        assert_int_equal(t.n_keys, asks ? TINY_LAYERS : 0);
        assert_int_equal(t.n_attentions, asks ? TINY_LAYERS : 0);
    }
    look_free(&l);
    s2v_session_free(session);
}

static void test_damaged_weights(void **state)
{
    (void)state;
    static const struct {
        const char *tensor;
        uint32_t needs;
    } cases[] = { { "blk.1.attn_q.bias", S2P_NEED_LAST_QUERY },
                  { "blk.1.attn_q.weight", S2P_NEED_MEAN_QUERY },
                  { "blk.1.attn_norm.weight", S2P_NEED_MEAN_QUERY },
                  { "blk.1.attn_k.weight", S2P_NEED_PLAIN_KEY },
                  { "blk.1.attn_k.bias", S2P_NEED_ROTATED_KEY },
                  { "blk.1.attn_q.bias", S2P_NEED_LAST_ATTN },
                  { "blk.1.attn_k.bias", S2P_NEED_QUERY_ATTN } };
    static tiny_file text;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        text = tiny_text_file;
        tiny_find_tensor(&text, cases[i].tensor)->poison = NAN;
        tiny_write_pair(folder, "damaged", &text, &tiny_mmproj_file);
        s2v_engine *damaged = tiny_open();
        const s2v_session_options options = tiny_session_options();
        s2v_session *session = tiny_session(damaged, &options);
        const question q = one_picture(NULL, 0);
        look l = { .session = session, .layer = 1, .needs = cases[i].needs };
        s2p_error error;
        s2v_session_set_trace(session, between_layers, &l);
        assert_int_equal(prefill(session, &q, NULL, &error), S2P_EFORMAT);
        CHECK_CASE(l.status == S2P_EFORMAT && strstr(l.error.message, "weights are damaged"),
                   "%s: %d %s", cases[i].tensor, (int)l.status, l.error.message);
        look_free(&l);
        s2v_session_free(session);
        s2v_engine_close(damaged);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_double), cmocka_unit_test(test_second_turn),
        cmocka_unit_test(test_after_pruning),  cmocka_unit_test(test_only_what_is_asked),
        cmocka_unit_test(test_trace),          cmocka_unit_test(test_damaged_weights),
    };
    return cmocka_run_group_tests_name("probe", tests, open_engine, close_engine);
}
