/* test_engine_pruned.c - pruned prompts in company: hidden instead of removed, in chunks, over two
 * turns, and as the authors of the methods have it.
 */
#include "method_scenes.h"

#include "engine/prompt/steps.h"

static outcome full, first, second; /* too large for a stack */
static answer a, b;

static bool fits(const scene *sc, const pair *p) { return sc->is_llava == p->is_llava; }

static void ignore(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                   void *user)
{
    (void)name, (void)index, (void)data, (void)rows, (void)cols, (void)user;
}

static question third(const scene *sc, const s2p_method *m)
{
    question q = scene_question(sc, s2p_method_about(m)->name, 1);
    q.prune.budget.percent = 30.0;
    return q;
}

/* --- hidden or removed --------------------------------------------------------------------- */

/* With one prune point the layers before it saw everything and those after it what is left: hiding
 * the others from attention comes to the same. Rows that took others in are left in both. */
static void removal_is_masking(void **state)
{
    (void)state;
    const s2p_method *m;
    for (size_t i = 0; i < COUNT_OF(pairs) * COUNT_OF(scenes); i++) {
        const pair *p = &pairs[i / COUNT_OF(scenes)];
        const scene *sc = &scenes[i % COUNT_OF(scenes)];
        if (!fits(sc, p)) continue;
        s2v_session *removes = pair_session(p, 0), *masks = pair_session(p, i % 2 ? 13 : 0);
        masks->trace.masks = true;
        for (size_t k = 0; (m = s2p_method_at(k)) != NULL; k++) {
            if (s2p_method_about(m)->n_stages > 1 || s2p_method_about(m)->resizes) continue;
            const question q = third(sc, m);
            prefill_well(removes, &q, &first);
            prefill_well(masks, &q, &second);
            assert_true(same_kept(&first, &second));
            CHECK_CASE(distance(first.logits, second.logits) <= 1e-5, "%s, %s: %g",
                       s2p_method_about(m)->name, sc->name, distance(first.logits, second.logits));
        }
        s2v_session_free(masks);
        s2v_session_free(removes);
    }
}

/* --- by the definition --------------------------------------------------------------------- */

typedef struct looked {
    float h[2][MAX_ROWS][TINY_WIDTH]; /* before and after layer 0 */
    float attn[MAX_ROWS];             /* of the last row in layer 1 */
} looked;

static void look(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                 void *user)
{
    looked *l = user;
    if (strcmp(name, "h") == 0 && index < 2)
        memcpy(l->h[index], data, (size_t)rows * sizeof l->h[0][0]);
    if (strcmp(name, "attn") == 0 && index == 1)
        memcpy(l->attn, data + (ptrdiff_t)(rows - 1) * cols, (size_t)cols * sizeof *data);
}

/* The unit keeps the tokens of the highest scores: no other one is better than a kept one. */
static void assert_best_kept(const outcome *o, int32_t unit, const double *score_of_row)
{
    double lowest = INFINITY;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < full.n_rows; i++) {
            if (full.unit[i] != unit) continue;
            bool is_kept = false;
            for (int32_t k = 0; k < o->n_kept[unit]; k++)
                is_kept = is_kept || o->kept[unit][k] == full.token[i];
            if (pass == 0 && is_kept) lowest = fmin(lowest, score_of_row[i]);
            if (pass == 1 && !is_kept) assert_true(score_of_row[i] <= lowest + 1e-6);
        }
}

/* FastV from the attention of an unpruned run; ERC from the rows around its first layer. */
static void scores_of_an_unpruned_run(void **state)
{
    (void)state;
    static looked l;
    static double attention[MAX_ROWS], change[MAX_ROWS];
    for (size_t i = 0; i < COUNT_OF(pairs) * COUNT_OF(scenes); i++) {
        const pair *p = &pairs[i / COUNT_OF(scenes)];
        const scene *sc = &scenes[i % COUNT_OF(scenes)];
        if (!fits(sc, p)) continue;
        s2v_session *s = pair_session(p, 0);
        s->trace.attention = true;
        s2v_session_set_trace(s, look, &l);
        question q = scene_question(sc, "full", 1);
        prefill_well(s, &q, &full);
        s2v_session_set_trace(s, NULL, NULL);
        for (int32_t row = 0; row < full.n_rows; row++) {
            attention[row] = (double)l.attn[row];
            change[row] = 0.0;
            for (int32_t k = 0; k < TINY_WIDTH; k++)
                change[row] += pow((double)l.h[1][row][k] - (double)l.h[0][row][k], 2.0);
            change[row] = sqrt(change[row]);
        }
        q = third(sc, s2p_method_find("fastv"));
        prefill_well(s, &q, &first);
        q = third(sc, s2p_method_find("erc-top"));
        prefill_well(s, &q, &second);
        for (int32_t u = 0; u < MAX_UNITS; u++) {
            assert_best_kept(&first, u, attention);
            assert_best_kept(&second, u, change);
        }
        s2v_session_free(s);
    }
}

/* --- chunks -------------------------------------------------------------------------------- */

/* Every layer moved down or not, a chunk ends where it ends: the deep pairs will do. */
static void chunks_are_the_prompt(void **state)
{
    (void)state;
    const s2p_method *m;
    for (size_t i = 2 * COUNT_OF(scenes); i < COUNT_OF(pairs) * COUNT_OF(scenes); i++) {
        const pair *p = &pairs[i / COUNT_OF(scenes)];
        const scene *sc = &scenes[i % COUNT_OF(scenes)];
        if (!fits(sc, p)) continue;
        s2v_session *at_once = pair_session(p, 0);
        s2v_session *chunked[] = { pair_session(p, 7), pair_session(p, 16) };
        for (size_t k = 0; (m = s2p_method_at(k)) != NULL; k++) {
            if (s2p_method_about(m)->resizes) continue; /* test_shrink */
            const question q = third(sc, m);
            prefill_well(at_once, &q, &first);
            for (int c = 0; c < 2; c++) {
                prefill_well(chunked[c], &q, &second);
                CHECK_CASE(same_kept(&first, &second), "%s, %s", s2p_method_about(m)->name,
                           sc->name);
                CHECK_CASE(distance(first.logits, second.logits) <= 1e-5, "%s, %s: %g",
                           s2p_method_about(m)->name, sc->name,
                           distance(first.logits, second.logits));
                assert_memory_equal(first.n_slots, second.n_slots, sizeof first.n_slots);
            }
        }
        s2v_session_free(at_once);
        for (int c = 0; c < 2; c++) s2v_session_free(chunked[c]);
    }
}

/* --- turns --------------------------------------------------------------------------------- */

typedef struct slots { /* of every layer, keys and values */
    uint8_t bytes[2 * DEEP_LAYERS][512 * TINY_KV_WIDTH * sizeof(float)];
    size_t n_bytes[2 * DEEP_LAYERS];
} slots;

static void read_slots(const s2v_session *s, slots *out)
{
    for (int32_t i = 0; i < 2 * s->past.n_layers; i++) {
        const struct ggml_tensor *from = i % 2 ? s->past.layer[i / 2].v : s->past.layer[i / 2].k;
        out->n_bytes[i] = (size_t)s2v_past_length(&s->past, i / 2) * from->nb[1];
        assert_true(out->n_bytes[i] <= sizeof out->bytes[0]);
        ggml_backend_tensor_get(from, out->bytes[i], 0, out->n_bytes[i]);
    }
}

/* The slots of `x` stand at the beginning of `y`, bit for bit. */
static void assert_starts_with(const slots *y, const slots *x, int32_t n_layers)
{
    for (int32_t i = 0; i < 2 * n_layers; i++) {
        assert_true(y->n_bytes[i] >= x->n_bytes[i]);
        assert_memory_equal(y->bytes[i], x->bytes[i], x->n_bytes[i]);
    }
}

/* Questions about pictures, the second pruned by another method, with an answer in between. The
 * first turn is left as it was. */
static void converse(s2v_session *s, const scene *sc, const s2p_method *m, const s2p_method *next,
                     slots *end)
{
    static slots middle;
    question q = third(sc, m);
    s2v_session_reset(s);
    ask(s, &q, &a);
    read_slots(s, &middle);
    q = third(sc, next);
    q.raw = questions[sc->n_pictures - 1][1];
    prefill_only(s, &q, &b);
    read_slots(s, end);
    assert_starts_with(end, &middle, s->past.n_layers);
}

/* Layers with different numbers of slots: run together where they are equal, or one by one. The
 * last layer then computes one row or all, which rounds its logits differently. */
static void second_turns(void **state)
{
    (void)state;
    static answer one_by_one;
    static slots end[2];
    const s2p_method *m;
    for (size_t i = 0; i < COUNT_OF(pairs) * COUNT_OF(scenes); i++) {
        const pair *p = &pairs[i / COUNT_OF(scenes)];
        const scene *sc = &scenes[i % COUNT_OF(scenes)];
        if (!fits(sc, p) || i % 3 == 0) continue;
        s2v_session *together = pair_session(p, 0), *alone = pair_session(p, 0);
        s2v_session_set_trace(alone, ignore, NULL);
        for (size_t k = 0; (m = s2p_method_at(k)) != NULL; k++) {
            const s2p_method *next = s2p_method_at(k + 1) ? s2p_method_at(k + 1) : s2p_method_at(0);
            if (s2p_method_about(m)->resizes || s2p_method_about(next)->resizes) continue;
            converse(alone, sc, m, next, &end[0]);
            one_by_one = b;
            converse(together, sc, m, next, &end[1]);
            assert_same_answer(&one_by_one, &b);
            CHECK_CASE(distance(one_by_one.first, b.first) <= 1e-5, "%s, %s: %g",
                       s2p_method_about(m)->name, sc->name, distance(one_by_one.first, b.first));
            assert_int_equal(together->next_pos, alone->next_pos);
            assert_starts_with(&end[0], &end[1], p->n_layers);
            assert_starts_with(&end[1], &end[0], p->n_layers);
        }
        s2v_session_free(alone);
        s2v_session_free(together);
    }
}

/* A method that does not see the question and leaves the cache as it is: what comes in a second
 * turn meets, layer for layer, what it would have met in the same prompt. */
static void a_prompt_in_two_turns(void **state)
{
    (void)state;
    const s2p_method *m;
    int n_partly = 0; /* methods whose layers have different numbers of slots */
    for (size_t i = 0; i < COUNT_OF(pairs) * COUNT_OF(scenes); i++) {
        const pair *p = &pairs[i / COUNT_OF(scenes)];
        const scene *sc = &scenes[i % COUNT_OF(scenes)];
        if (!fits(sc, p)) continue;
        s2v_session *turns = pair_session(p, 0), *at_once = pair_session(p, 0);
        for (size_t k = 0; (m = s2p_method_at(k)) != NULL; k++) {
            if (s2p_method_about(m)->sees_question || s2p_method_about(m)->prunes_cache) continue;
            if (s2p_method_about(m)->resizes) continue;
            question q = third(sc, m), rest = { .raw = " bcd user" };
            if (k % 2) rest.prune = q.prune; /* nothing to prune */
            const bool is_one = sc->n_pictures == 1;
            q.raw = is_one ? "hello world <image> aaaa" : "hello world <image> and <image> aaaa";
            s2v_session_reset(turns);
            prefill_only(turns, &q, &a);
            prefill_only(turns, &rest, &a);
            generate(turns, &a);
            q.raw = is_one ? "hello world <image> aaaa bcd user"
                           : "hello world <image> and <image> aaaa bcd user";
            s2v_session_reset(at_once);
            ask(at_once, &q, &b);
            CHECK_CASE(distance(b.first, a.first) <= 1e-5, "%s, %s: %g", s2p_method_about(m)->name,
                       sc->name, distance(b.first, a.first));
            assert_memory_equal(a.token, b.token, sizeof a.token);
            for (int32_t l = 0; l < p->n_layers; l++)
                assert_int_equal(s2v_past_length(&turns->past, l),
                                 s2v_past_length(&at_once->past, l));
            n_partly +=
                s2v_past_length(&turns->past, 0) != s2v_past_length(&turns->past, p->n_layers - 1);
        }
        s2v_session_free(at_once);
        s2v_session_free(turns);
    }
    assert_int_equal(n_partly, 2 * 2 * (5 + 3)); /* euti and v2drop, everywhere */
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removal_is_masking),    cmocka_unit_test(scores_of_an_unpruned_run),
        cmocka_unit_test(chunks_are_the_prompt), cmocka_unit_test(second_turns),
        cmocka_unit_test(a_prompt_in_two_turns),
    };
    return cmocka_run_group_tests(tests, open_pairs, close_pairs);
}
