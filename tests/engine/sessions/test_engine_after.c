/* test_engine_after.c - pruning after another layer than the method's own.
 *
 * Methods are shown the layer they follow; those that look at no layer keep the same tokens wherever
 * they prune. Lengths of the caches, FLOPs and bytes are worked out by hand from the layer.
 */
#include "method_scenes.h"

#include "engine/prompt/steps.h"

static outcome full, first, second; /* too large for a stack */

#define QWEN_SCENE (&scenes[1]) /* 7x9 tokens */
#define N_TOKENS 63
#define BUDGET 10

static question ask_after(const char *method, const int32_t *after)
{
    question q = scene_question(QWEN_SCENE, method, BUDGET);
    q.prune.after = after;
    return q;
}

/* --- what is kept --------------------------------------------------------------------------- */

typedef struct looked {
    int32_t layer;
    float h[2][MAX_ROWS][TINY_WIDTH]; /* before and after the layer */
    float attn[MAX_ROWS];             /* of the last row in it */
} looked;

static void look(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                 void *user)
{
    looked *l = user;
    if (strcmp(name, "h") == 0 && (index == l->layer || index == l->layer + 1))
        memcpy(l->h[index - l->layer], data, (size_t)rows * sizeof l->h[0][0]);
    if (strcmp(name, "attn") == 0 && index == l->layer)
        memcpy(l->attn, data + (ptrdiff_t)(rows - 1) * cols, (size_t)cols * sizeof *data);
}

static void assert_best_kept(const outcome *o, const double *score_of_row)
{
    double lowest = INFINITY;
    assert_int_equal(o->n_kept[0], BUDGET);
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < full.n_rows; i++) {
            if (full.unit[i] != 0) continue;
            bool is_kept = false;
            for (int32_t k = 0; k < o->n_kept[0]; k++)
                is_kept = is_kept || o->kept[0][k] == full.token[i];
            if (pass == 0 && is_kept) lowest = fmin(lowest, score_of_row[i]);
            if (pass == 1 && !is_kept) assert_true(score_of_row[i] <= lowest + 1e-6);
        }
}

/* FastV after layer N keeps what layer N attended to, ERC after layer N what layer N moved; both from
 * an unpruned run. */
static void reads_the_layer_it_follows(void **state)
{
    (void)state;
    static looked l;
    static double attention[MAX_ROWS], change[MAX_ROWS];
    const pair *p = &pairs[2];
    s2v_session *s = pair_session(p, 0);
    for (int32_t layer = 0; layer < 6; layer++) {
        l.layer = layer;
        s->trace.attention = true;
        s2v_session_set_trace(s, look, &l);
        question q = scene_question(QWEN_SCENE, "full", 1);
        prefill_well(s, &q, &full);
        s2v_session_set_trace(s, NULL, NULL);
        for (int32_t row = 0; row < full.n_rows; row++) {
            attention[row] = (double)l.attn[row];
            change[row] = 0.0;
            for (int32_t k = 0; k < TINY_WIDTH; k++)
                change[row] += pow((double)l.h[1][row][k] - (double)l.h[0][row][k], 2.0);
            change[row] = sqrt(change[row]);
        }
        q = ask_after("fastv", &layer);
        prefill_well(s, &q, &first);
        assert_best_kept(&first, attention);
        q = ask_after("erc-top", &layer);
        prefill_well(s, &q, &first);
        assert_best_kept(&first, change);
    }
    s2v_session_free(s);
}

/* feather-8 is feather seven layers deep; saying a method's own layer changes nothing. */
static void the_same_layer_is_the_same_run(void **state)
{
    (void)state;
    static const int32_t seven = 7;
    s2v_session *s = pair_session(&pairs[2], 0);
    question q = ask_after("feather", &seven);
    prefill_well(s, &q, &first);
    q = ask_after("feather-8", NULL);
    prefill_well(s, &q, &second);
    assert_true(same_kept(&first, &second));
    assert_memory_equal(first.logits, second.logits, sizeof first.logits);
    const s2p_method *m;
    for (size_t i = 0; (m = s2p_method_at(i)); i++) {
        const s2p_method_info *about = s2p_method_about(m);
        if (about->n_stages != 1) continue;
        q = ask_after(about->name, NULL);
        prefill_well(s, &q, &first);
        q = ask_after(about->name, &about->after[0]);
        prefill_well(s, &q, &second);
        assert_true(same_kept(&first, &second));
        assert_memory_equal(first.logits, second.logits, sizeof first.logits);
        assert_true(first.stats.flops == second.stats.flops &&
                    first.stats.kv_visual_bytes == second.stats.kv_visual_bytes);
    }
    s2v_session_free(s);
}

/* A method that looks at no layer keeps the same tokens everywhere, and hiding the others after that
 * layer comes to the same as removing them. */
static void controls_keep_the_same(void **state)
{
    (void)state;
    s2v_session *removes = pair_session(&pairs[2], 0), *masks = pair_session(&pairs[2], 0);
    masks->trace.masks = true;
    const s2p_method *m;
    int32_t n_methods = 0;
    for (size_t i = 0; (m = s2p_method_at(i)); i++) {
        const s2p_method_info *about = s2p_method_about(m);
        if (about->keeps_all || about->after[0] != S2P_BEFORE_DECODER) continue;
        n_methods++;
        question q = ask_after(about->name, NULL);
        prefill_well(removes, &q, &first);
        for (int32_t layer = 0; layer < 3; layer++) {
            q = ask_after(about->name, &layer);
            prefill_well(removes, &q, &second);
            assert_true(same_kept(&first, &second));
            assert_true(second.stats.n_stages == 1 && second.stats.stage_after[0] == layer);
            assert_true(distance(first.logits, second.logits) > 0.0);
            outcome *masked = &full;
            prefill_well(masks, &q, masked);
            CHECK_CASE(distance(masked->logits, second.logits) <= 1e-5, "%s after %d: %g",
                       about->name, layer, distance(masked->logits, second.logits));
        }
    }
    assert_true(n_methods >= 10);
    s2v_session_free(masks);
    s2v_session_free(removes);
}

/* --- what it costs -------------------------------------------------------------------------- */

/* One decoder layer on n tokens, by the paper's formula. */
static double layer_flops(const s2v_decoder_params *p, double n)
{
    const double d = p->n_embd, m = p->n_ff, d_q = (double)p->n_heads * p->head_dim,
                 d_kv = (double)p->n_kv_heads * p->head_dim;
    return 2.0 * n * (2.0 * d * d_q + 2.0 * d * d_kv + 3.0 * d * m) + 4.0 * n * n * d_q;
}

static void check_cost(const char *method, const int32_t *after, int32_t n_full, bool forgets)
{
    const pair *p = &pairs[2];
    const s2v_decoder_params *d = &p->engine->model.decoder.p;
    s2v_session *s = pair_session(p, 0);
    const question q = ask_after(method, after);
    prefill_well(s, &q, &first);
    const int32_t n_text = first.stats.text_tokens;
    const double flops = n_full * layer_flops(d, n_text + N_TOKENS) +
                         (p->n_layers - n_full) * layer_flops(d, n_text + BUDGET);
    CHECK_CASE(fabs(first.stats.flops - flops) <= 1e-9 * flops, "%s: %g, not %g", method,
               first.stats.flops, flops);
    const uint64_t row = 4 * (uint64_t)(d->n_kv_heads * d->head_dim);
    const uint64_t n_paper = (uint64_t)(n_full * N_TOKENS + (p->n_layers - n_full) * BUDGET);
    assert_int_equal(first.stats.kv_visual_bytes_paper, row * n_paper);
    for (int32_t l = 0; l < p->n_layers; l++)
        assert_int_equal(first.n_slots[l], n_text + (l < n_full && !forgets ? N_TOKENS : BUDGET));
    s2v_session_free(s);
}

/* Layers that saw all tokens: N + 1. What never entered the cache of a layer stays out of it. */
static void cost_follows_the_layer(void **state)
{
    (void)state;
    static const int32_t before = S2P_BEFORE_DECODER, zero = 0, two = 2, last = DEEP_LAYERS - 2;
    check_cost("uniform", NULL, 0, false);
    check_cost("uniform", &before, 0, false);
    check_cost("uniform", &zero, 1, true);
    check_cost("uniform", &two, 3, true);
    check_cost("uniform", &last, DEEP_LAYERS - 1, true);
    check_cost("s2prune", NULL, 1, true);
    check_cost("s2prune", &two, 3, true);
    check_cost("fastv", NULL, 2, false);
    check_cost("fastv", &zero, 1, false);
    check_cost("fastv", &last, DEEP_LAYERS - 1, false);
}

/* --- the cache of prompts ------------------------------------------------------------------- */

/* A prompt pruned after one layer is not taken for the same prompt pruned after another. */
static void prompts_are_not_mixed_up(void **state)
{
    (void)state;
    s2v_session_options options = tiny_session_options();
    options.n_threads = 1;
    options.n_ctx = 512;
    s2v_cache_clear(pairs[2].engine->cache);
    s2v_session *s = tiny_session(pairs[2].engine, &options);
    for (int round = 0; round < 2; round++)
        for (int32_t layer = S2P_BEFORE_DECODER; layer < 3; layer++) {
            const question q = ask_after("uniform", &layer);
            prefill_well(s, &q, &first);
            assert_int_equal(first.stats.stage_after[0], layer);
            assert_int_equal(first.stats.cached_tokens > 0, round);
        }
    s2v_session_free(s);
}

/* --- refusals ------------------------------------------------------------------------------- */

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        int32_t after;
        int published;
        const char *sentence;
    } cases[] = {
        { "sparsevlm", 2, 0,
          "method 'sparsevlm' prunes in 3 stages; only a method of one stage can prune after "
          "another "
          "layer" },
        { "fastv", -1, 0,
          "method 'fastv' needs question attention of a decoder layer, so it cannot prune before "
          "the "
          "decoder; the first layer is 0" },
        { "s2prune", -1, 0,
          "method 's2prune' needs ERC scores of a decoder layer, so it cannot prune before the "
          "decoder; the first layer is 0" },
        { "uniform", -2, 0, "there is no layer -2; -1 is before the decoder, 0 its first layer" },
        { "uniform", DEEP_LAYERS - 1, 0,
          "no layer follows layer 23: the model has 24 layers, and the last one to prune after is "
          "22" },
        { "holov", 1, 1,
          "method 'holov' as published prunes before the decoder; use mode default for another "
          "layer" },
    };
    s2v_session *s = pair_session(&pairs[2], 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        question q = ask_after(cases[i].method, &cases[i].after);
        q.prune.published = cases[i].published;
        prefill_outcome(s, &q, &first);
        assert_int_not_equal(first.status, S2P_OK);
        assert_string_equal(first.error.message, cases[i].sentence);
    }
    static const int32_t before = S2P_BEFORE_DECODER;
    question q = ask_after("s2prune", &before); /* neither of the two rules looks at a layer */
    q.prune.choice.selector = "centre";
    prefill_well(s, &q, &first);
    assert_int_equal(first.n_slots[0], first.stats.text_tokens + BUDGET);
    q = ask_after("full", &before); /* nothing is dropped anywhere */
    prefill_well(s, &q, &first);
    assert_int_equal(first.stats.image_tokens, N_TOKENS);
    s2v_session_free(s);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_layer_it_follows),
        cmocka_unit_test(the_same_layer_is_the_same_run),
        cmocka_unit_test(controls_keep_the_same),
        cmocka_unit_test(cost_follows_the_layer),
        cmocka_unit_test(prompts_are_not_mixed_up),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, open_pairs, close_pairs);
}
