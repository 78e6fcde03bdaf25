/* Decoders with experts against the same arithmetic written out in double: the router's softmax, the experts
 * it likes best, their shares; every layer, the logits, the tokens that follow, pruned or not. The same
 * reference runs the dense decoder, which the goldens compare with Hugging Face. */
#include "tiny_experts.h"

enum { N = TINY_WIDTH, HEADS = 2, HEAD = QWEN3_HEAD, MAX_ROWS = 128, LAYERS = TINY_LAYERS };
enum { STEPS = 6 };

static const char *folder;
static tiny_file text, mmproj;

/* --- the reference ---------------------------------------------------------------- */

static s2v_gguf *weights;
static double keys[LAYERS][MAX_ROWS][HEAD], values[LAYERS][MAX_ROWS][HEAD]; /* one KV head */
static int n_past[LAYERS];

static const float *weight(const char *pattern, int layer)
{
    char name[64];
    (void)snprintf(name, sizeof name, "blk.%d.%s.weight", layer, pattern);
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(weights, layer < 0 ? pattern : name);
    CHECK_CASE(t && t->type == GGML_TYPE_F32, "%s", layer < 0 ? pattern : name);
    return (const float *)(const void *)t->data;
}

static void multiply(const float *w, const double *x, int in, int out, double *y)
{
    for (int o = 0; o < out; o++) {
        y[o] = 0.0;
        for (int i = 0; i < in; i++) y[o] += (double)w[o * in + i] * x[i];
    }
}

static void rms_norm(const double *x, const float *w, int n, double *y)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i] / n;
    for (int i = 0; i < n; i++) y[i] = x[i] / sqrt(sum + 1e-6) * (double)w[i];
}

/* M-RoPE in turns, sections 4, 2, 2: pairs 1 and 4 by row, 2 and 5 by column, the others by time. */
static void rotate(double *x, const int pos[3])
{
    static const int plane[HEAD / 2] = { 0, 1, 2, 0, 1, 2, 0, 0 };
    for (int i = 0; i < HEAD / 2; i++) {
        const double angle = pos[plane[i]] * pow(1e6, -2.0 * i / HEAD);
        const double a = x[i], b = x[i + HEAD / 2];
        x[i] = a * cos(angle) - b * sin(angle);
        x[i + HEAD / 2] = b * cos(angle) + a * sin(angle);
    }
}

static void swiglu(const float *gate, const float *up, const float *down, int ff, const double *x,
                   double share, double *sum)
{
    double g[TINY_FF], u[TINY_FF], y[N];
    multiply(gate, x, N, ff, g);
    multiply(up, x, N, ff, u);
    for (int i = 0; i < ff; i++) g[i] = g[i] / (1.0 + exp(-g[i])) * u[i];
    multiply(down, g, ff, N, y);
    for (int i = 0; i < N; i++) sum[i] += share * y[i];
}

/* Softmax over all, the best of them one after the other, their probabilities over the sum of these. */
static void feed_forward(int layer, const double *x, double *sum)
{
    if (!s2v_gguf_find_tensor(weights, "blk.0.ffn_gate_inp.weight")) {
        swiglu(weight("ffn_gate", layer), weight("ffn_up", layer), weight("ffn_down", layer),
               TINY_FF, x, 1.0, sum);
        return;
    }
    double like[EXPERTS_N], total = 0.0, chosen = 0.0;
    int best[EXPERTS_USED];
    multiply(weight("ffn_gate_inp", layer), x, N, EXPERTS_N, like);
    for (int e = 0; e < EXPERTS_N; e++) total += like[e] = exp(like[e]);
    for (int k = 0; k < EXPERTS_USED; k++) {
        best[k] = -1;
        for (int e = 0; e < EXPERTS_N; e++)
            if ((k == 0 || e != best[0]) && (best[k] < 0 || like[e] > like[best[k]])) best[k] = e;
        chosen += like[best[k]] / total;
    }
    const int each = N * EXPERTS_FF;
    for (int k = 0; k < EXPERTS_USED; k++)
        swiglu(weight("ffn_gate_exps", layer) + best[k] * each,
               weight("ffn_up_exps", layer) + best[k] * each,
               weight("ffn_down_exps", layer) + best[k] * each, EXPERTS_FF, x,
               like[best[k]] / total / chosen, sum);
}

/* One row through one layer, behind those the layer has seen. */
static void run_row(int layer, double *h, const int pos[3])
{
    double x[N], q[HEADS * HEAD], out[HEADS * HEAD], y[N];
    const int at = n_past[layer]++;
    rms_norm(h, weight("attn_norm", layer), N, x);
    multiply(weight("attn_q", layer), x, N, HEADS * HEAD, q);
    multiply(weight("attn_k", layer), x, N, HEAD, keys[layer][at]);
    multiply(weight("attn_v", layer), x, N, HEAD, values[layer][at]);
    rms_norm(keys[layer][at], weight("attn_k_norm", layer), HEAD, keys[layer][at]);
    rotate(keys[layer][at], pos);
    for (int head = 0; head < HEADS; head++) {
        double *query = q + head * HEAD, *mixed = out + head * HEAD, score[MAX_ROWS], total = 0.0;
        rms_norm(query, weight("attn_q_norm", layer), HEAD, query);
        rotate(query, pos);
        for (int s = 0; s <= at; s++) {
            score[s] = 0.0;
            for (int i = 0; i < HEAD; i++) score[s] += query[i] * keys[layer][s][i] / sqrt(HEAD);
            total += score[s] = exp(score[s]);
        }
        for (int i = 0; i < HEAD; i++) {
            mixed[i] = 0.0;
            for (int s = 0; s <= at; s++) mixed[i] += score[s] / total * values[layer][s][i];
        }
    }
    multiply(weight("attn_output", layer), out, HEADS * HEAD, N, y);
    for (int i = 0; i < N; i++) h[i] += y[i];
    rms_norm(h, weight("ffn_norm", layer), N, x);
    feed_forward(layer, x, h);
}

static void keep_past(int layer, const int *keep, int n)
{
    for (int i = 0; i < n; i++) {
        memcpy(keys[layer][i], keys[layer][keep[i]], sizeof keys[layer][i]);
        memcpy(values[layer][i], values[layer][keep[i]], sizeof values[layer][i]);
    }
    n_past[layer] = n;
}

static void head(const double *h, float *logits)
{
    double x[N], y[N_VOCABULARY];
    rms_norm(h, weight("output_norm.weight", -1), N, x);
    multiply(weight("output.weight", -1), x, N, N_VOCABULARY, y);
    for (int i = 0; i < N_VOCABULARY; i++) logits[i] = (float)y[i];
}

/* --- what the engine shows ------------------------------------------------------------ */

typedef struct shown { /* states after so many layers, as made and with what is added to them */
    float made[LAYERS + 1][MAX_ROWS][N], added[LAYERS + 1][MAX_ROWS][N];
    int n[LAYERS + 1];
    bool is_added[LAYERS + 1];
} shown;

static void show(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                 void *user)
{
    shown *s = user;
    const bool is_added = strcmp(name, "h_ds") == 0;
    if (!is_added && strcmp(name, "h") != 0) return;
    assert_true(rows <= MAX_ROWS && cols == N && index <= LAYERS);
    memcpy(is_added ? s->added[index] : s->made[index], data, (size_t)rows * N * sizeof *data);
    s->n[index] = rows;
    s->is_added[index] = s->is_added[index] || is_added;
}

static double row_distance(const double *expected, const float *got)
{
    double worst = 0.0, largest = 1.0;
    for (int i = 0; i < N; i++) {
        largest = fmax(largest, fabs(expected[i]));
        const double d = fabs(expected[i] - (double)got[i]);
        if (!(d <= worst)) worst = d;
    }
    return worst / largest;
}

static const float *embedding(int32_t token)
{
    return weight("token_embd.weight", -1) + (size_t)token * N;
}

/* A prompt with a picture, then tokens: every state and all logits. budget 0: not pruned. */
static void follow(s2v_engine *engine, int32_t budget, int32_t n_batch, answer *out)
{
    static shown s;
    static double h[MAX_ROWS][N];
    static int pos[MAX_ROWS][3], keep[MAX_ROWS];
    memset(&s, 0, sizeof s);
    memset(n_past, 0, sizeof n_past);
    question q = one_picture(budget > 0 ? "s2prune" : NULL, budget);
    question whole = one_picture(NULL, 0);
    s2v_session_options options = tiny_session_options();
    options.n_batch = n_batch;
    s2v_session *session = tiny_session(engine, &options);
    prefill_only(session, &whole, out);
    const int n = session->rows.n;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) pos[i][k] = session->rows.pos[k][i];
    int n_kept = 0, first = 0;
    while (session->rows.token[first] < 0) first++;
    const int n_tokens = 9 * 7;

    s2v_session_free(session);
    session = tiny_session(engine, &options);
    s2v_session_set_trace(session, show, &s);
    prefill_only(session, &q, out);
    for (int i = 0; i < n; i++) { /* rows that stay: text, and what the plan keeps */
        bool stays = budget == 0 || i < first || i >= first + n_tokens;
        for (int32_t k = 0; !stays && k < out->n_kept[0]; k++) stays = out->kept[0][k] == i - first;
        if (stays) keep[n_kept++] = i;
    }
    int rows = n;
    assert_int_equal(s.n[0], n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < N; k++) h[i][k] = (double)s.made[0][i][k];
    for (int layer = 0; layer < LAYERS; layer++) {
        const bool is_cut = layer == LAYERS - 1; /* the last layer makes the last row alone */
        for (int i = 0; i < rows; i++) run_row(layer, h[i], pos[i]);
        for (int i = is_cut && s.n[layer + 1] == 1 ? rows - 1 : 0; i < rows; i++) {
            const int at = s.n[layer + 1] == 1 ? 0 : i;
            CHECK_CASE(row_distance(h[i], s.made[layer + 1][at]) < 2e-5,
                       "layer %d, row %d of %d: off by %g", layer, i, rows,
                       row_distance(h[i], s.made[layer + 1][at]));
            for (int k = 0; s.is_added[layer + 1] && k < N; k++)
                h[i][k] += (double)s.added[layer + 1][at][k] - (double)s.made[layer + 1][at][k];
        }
        if (layer > 0 || budget == 0) continue;
        keep_past(0, keep, n_kept);
        for (int i = 0; i < n_kept; i++) {
            memcpy(h[i], h[keep[i]], sizeof h[i]);
            memcpy(pos[i], pos[keep[i]], sizeof pos[i]);
        }
        rows = n_kept;
    }
    float logits[N_VOCABULARY];
    head(h[rows - 1], logits);
    CHECK_CASE(distance(logits, out->first) < 5e-5, "logits: off by %g",
               distance(logits, out->first));

    int next = pos[rows - 1][0];
    for (int step = 0; step < STEPS; step++) { /* the tokens after it, each through every layer */
        char bytes[64];
        int done;
        assert_int_equal(s2v_session_next(session, bytes, sizeof bytes, &done, NULL), S2P_OK);
        assert_true(distance(logits, s2v_session_logits(session)) < 5e-5);
        size_t n_said;
        const int32_t token = s2v_session_tokens(session, &n_said)[step];
        out->token[step] = token;
        double row[N];
        next++;
        for (int k = 0; k < N; k++) row[k] = (double)embedding(token)[k];
        for (int layer = 0; layer < LAYERS; layer++)
            run_row(layer, row, (const int[3]){ next, next, next });
        head(row, logits);
    }
    s2v_session_free(session);
}

static void write_pair(const char *name, bool has_experts)
{
    vocabulary_init(&tiny_words);
    if (has_experts)
        experts_text(&text, LAYERS);
    else
        qwen3_text(&text, LAYERS);
    qwen3_mmproj(&mmproj, TINY_BLOCKS);
    tiny_write_pair(folder, name, &text, &mmproj);
}

static void test_reference(void **state)
{
    (void)state;
    static answer a;
    for (int has_experts = 0; has_experts < 2; has_experts++) {
        write_pair(has_experts ? "experts" : "dense", has_experts);
        s2v_engine *engine = tiny_open();
        assert_int_equal(s2v_gguf_open(&weights, tiny_model_path, NULL), S2P_OK);
        follow(engine, 0, 0, &a);
        follow(engine, 20, 0, &a);
        follow(engine, 9, 16, &a); /* in chunks */
        s2v_gguf_close(weights);
        s2v_engine_close(engine);
    }
}

/* A row's bits do not depend on the rows beside it: one chunk or several, one session or three together. */
static void test_rows_beside(void **state)
{
    (void)state;
    static answer alone[3], one;
    static const int32_t budget[3] = { 0, 20, 33 };
    write_pair("beside", true);
    s2v_engine *engine = tiny_open();
    s2v_session *session[3];
    s2v_step steps[3];
    for (int i = 0; i < 3; i++) {
        question q = one_picture(budget[i] ? "s2prune" : NULL, budget[i]);
        s2v_session_options options = tiny_session_options();
        s2v_session *s = tiny_session(engine, &options);
        ask(s, &q, &alone[i]);
        s2v_session_free(s);
        options.n_batch = 24;
        s = tiny_session(engine, &options);
        prefill_only(s, &q, &one);
        assert_memory_equal(one.n_kept, alone[i].n_kept, sizeof one.n_kept);
        assert_memory_equal(one.kept, alone[i].kept, sizeof one.kept);
        assert_true(distance(alone[i].first, one.first) < 1e-5);
        s2v_session_free(s);
        options.n_batch = 0;
        session[i] = tiny_session(engine, &options);
        prefill_only(session[i], &q, &one);
        assert_memory_equal(one.first, alone[i].first, sizeof one.first);
    }
    char bytes[3][64];
    for (int step = 0; step < MAX_ANSWER; step++) {
        for (int i = 0; i < 3; i++)
            steps[i] = (s2v_step){ .session = session[i], .text = bytes[i], .capacity = 64 };
        assert_int_equal(s2v_decode_many(steps, 3, NULL), S2P_OK);
    }
    for (int i = 0; i < 3; i++) {
        size_t n;
        const int32_t *tokens = s2v_session_tokens(session[i], &n);
        assert_int_equal(n, MAX_ANSWER);
        assert_memory_equal(tokens, alone[i].token, sizeof alone[i].token);
        CHECK_CASE(distance(alone[i].last, s2v_session_logits(session[i])) < 1e-5, "off by %g",
                   distance(alone[i].last, s2v_session_logits(session[i])));
        s2v_session_free(session[i]);
    }
    s2v_engine_close(engine);
}

/* Blocks of eight bits, read where the file has them. */
static void test_blocks(void **state)
{
    (void)state;
    static answer exact, blocks;
    question q = one_picture("s2prune", 20);
    for (int i = 0; i < 2; i++) {
        write_pair(i ? "blocks" : "exact", true);
        for (size_t t = 0; t < text.n_tensors && i; t++)
            if (strstr(text.tensor[t].name, "_exps")) text.tensor[t].type = GGML_TYPE_Q8_0;
        if (i) tiny_write_pair(folder, "blocks", &text, &mmproj);
        s2v_engine *engine = tiny_open();
        const s2v_session_options options = tiny_session_options();
        s2v_session *session = tiny_session(engine, &options);
        ask(session, &q, i ? &blocks : &exact);
        s2v_session_free(session);
        s2v_engine_close(engine);
    }
    assert_true(distance(exact.first, blocks.first) > 0.0);
    CHECK_CASE(distance(exact.first, blocks.first) < 0.05, "off by %g",
               distance(exact.first, blocks.first));
}

/* FLOPs count the experts a row uses, and the router. */
static void test_counted(void **state)
{
    (void)state;
    s2v_stats dense, experts;
    for (int i = 0; i < 2; i++) {
        write_pair("counted", i);
        s2v_engine *engine = tiny_open();
        const s2v_session_options options = tiny_session_options();
        s2v_session *session = tiny_session(engine, &options);
        const question q = { .raw = "hello world" };
        assert_int_equal(prefill(session, &q, i ? &experts : &dense, NULL), S2P_OK);
        s2v_session_free(session);
        s2v_engine_close(engine);
    }
    const double rows = dense.prompt_tokens;
    const double less =
        2.0 * LAYERS * rows * N * (3.0 * TINY_FF - 3.0 * EXPERTS_FF * EXPERTS_USED - EXPERTS_N);
    assert_true(fabs(dense.flops - experts.flops - less) <= 1e-9 * dense.flops);
}

/* --- refusals -------------------------------------------------------------------------- */

static void expect_refused(const char *expected)
{
    s2p_error error = { S2P_OK, "" };
    s2v_engine *engine = NULL;
    tiny_write_pair(folder, "wrong", &text, &mmproj);
    const s2v_engine_options options = tiny_options();
    const s2p_status st = s2v_engine_open(&engine, &options, &error);
    CHECK_CASE(st != S2P_OK && strstr(error.message, expected), "%d '%s', expected '%s'", (int)st,
               error.message, expected);
}

static void test_refused(void **state)
{
    (void)state;
    write_pair("wrong", true);
    tiny_find_key(&text, "qwen3vlmoe.expert_count")->value[0] = 1;
    expect_refused("qwen3vlmoe.expert_count is 1, expected 2 to 1024");
    tiny_find_key(&text, "qwen3vlmoe.expert_count")->value[0] = EXPERTS_N + 1;
    expect_refused("blk.0.ffn_gate_inp.weight is [64, 6, 1], expected [64, 7]");
    tiny_find_key(&text, "qwen3vlmoe.expert_count")->value[0] = EXPERTS_N;
    tiny_find_key(&text, "qwen3vlmoe.expert_used_count")->value[0] = EXPERTS_N + 1;
    expect_refused("qwen3vlmoe.expert_used_count is 7, expected 1 to 6");
    tiny_find_key(&text, "qwen3vlmoe.expert_used_count")->value[0] = 0;
    expect_refused("qwen3vlmoe.expert_used_count is 0, expected 1 to 6");
    tiny_find_key(&text, "qwen3vlmoe.expert_used_count")->value[0] = EXPERTS_USED;
    tiny_find_tensor(&text, "blk.1.ffn_up_exps.weight")->ne[2] = 5;
    expect_refused("blk.1.ffn_up_exps.weight is [64, 32, 5], expected [64, 32, 6]");
    tiny_find_tensor(&text, "blk.1.ffn_up_exps.weight")->ne[2] = 1;
    tiny_find_tensor(&text, "blk.1.ffn_up_exps.weight")->n_dims = 2;
    expect_refused("blk.1.ffn_up_exps.weight is [64, 32, 1], expected [64, 32, 6]");
    write_pair("wrong", true);
    tiny_drop_tensor(&text,
                     (size_t)(tiny_find_tensor(&text, "blk.2.ffn_gate_inp.weight") - text.tensor));
    expect_refused("no tensor 'blk.2.ffn_gate_inp.weight'");
    write_pair("wrong", true);
    tiny_find_tensor(&text, "blk.3.ffn_down_exps.weight")->type = GGML_TYPE_I32;
    expect_refused("blk.3.ffn_down_exps.weight has type");
}

/* A router that says nothing: no experts outside the list are looked up. */
static void test_poisoned(void **state)
{
    (void)state;
    static const float poison[] = { NAN, INFINITY, -INFINITY, 1e38f };
    for (size_t i = 0; i < sizeof poison / sizeof *poison; i++) {
        write_pair("poisoned", true);
        tiny_find_tensor(&text, "blk.1.ffn_gate_inp.weight")->poison = poison[i];
        tiny_write_pair(folder, "poisoned", &text, &mmproj);
        s2v_engine *engine = tiny_open();
        const s2v_session_options options = tiny_session_options();
        s2v_session *session = tiny_session(engine, &options);
        question q = one_picture("s2prune", 20);
        s2p_error error = { S2P_OK, "" };
        (void)prefill(session, &q, NULL, &error); /* numbers or a sentence */
        s2v_session_free(session);
        s2v_engine_close(engine);
    }
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference), cmocka_unit_test(test_rows_beside),
        cmocka_unit_test(test_blocks),    cmocka_unit_test(test_counted),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_poisoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
