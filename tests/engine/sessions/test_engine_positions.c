/* test_engine_positions.c - positions renumbered after pruning, against the definition.
 *
 * The reference runs the decoder layer by layer on rows and positions written by hand: all rows at
 * their own positions up to the prune point, the kept ones at 0, 1, 2, ... after it. A second turn
 * follows the last row in the numbering of each layer.
 */
#include "method_scenes.h"

#include "engine/prompt/steps.h"

static outcome full, kept, renumbered; /* too large for a stack */

typedef struct looked { /* rows that enter each layer of a prefill */
    int32_t n[DEEP_LAYERS + 1];
    float h[DEEP_LAYERS + 1][MAX_ROWS][TINY_WIDTH];
} looked;

static looked of_full, of_turn;

static void look(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                 void *user)
{
    looked *l = user;
    if (strcmp(name, "h") != 0) return;
    assert_true(rows <= MAX_ROWS && cols == TINY_WIDTH && index <= DEEP_LAYERS);
    l->n[index] = rows;
    memcpy(l->h[index], data, (size_t)rows * sizeof l->h[0][0]);
}

static s2v_session *session_of(const pair *p, s2v_kv_type type)
{
    s2v_session_options options = tiny_session_options();
    options.n_ctx = 512;
    options.n_threads = 1;
    options.kv_type = type;
    s2v_cache_clear(p->engine->cache);
    return tiny_session(p->engine, &options);
}

/* Rows with positions first, first + 1, ... through layers [from, to). */
static void run_rows(s2v_session *s, float (*h)[TINY_WIDTH], int32_t n, int32_t first, int32_t from,
                     int32_t to)
{
    s2p_error error;
    const s2v_engine *e = s->engine;
    if (from == to) return;
    assert_int_equal(
        s2v_rows_reserve(&s->rows, &e->model.decoder, &e->devices, &s->traffic, n, 0, &error),
        S2P_OK);
    for (int32_t i = 0; i < n; i++) {
        s->rows.unit[i] = s->rows.token[i] = -1;
        for (int plane = 0; plane < 3; plane++) s->rows.pos[plane][i] = first + i;
    }
    s->rows.n_tail = 0;
    s2v_rows_set(&s->rows, 0, n, &h[0][0]);
    s->progress.total = 1e9;
    assert_int_equal(s2v_run_layers(s, from, to, NULL, &error), S2P_OK);
}

static const question second_turn = { .raw = " user hello ba cde" };

static void prefill_turn(s2v_session *s, const question *q, looked *l, int32_t *next_pos)
{
    s2v_stats stats;
    s2p_error error;
    s2v_session_set_trace(s, look, l);
    CHECK_CASE(prefill(s, q, &stats, &error) == S2P_OK, "%s: %s", q->raw, error.message);
    s2v_session_set_trace(s, NULL, NULL);
    *next_pos = s->next_pos;
}

/* The reference of a method of one stage, both turns; `turn`: the rows of the second. */
static void run_reference(s2v_session *s, int32_t after, bool prunes_cache, const float *logits,
                          float *second)
{
    static float rows[MAX_ROWS][TINY_WIDTH];
    static int32_t keep[MAX_ROWS];
    s2p_error error;
    const int32_t n_layers = s->past.n_layers, n = renumbered.n_rows;
    s2v_session_reset(s);
    for (int32_t i = 0; i < n; i++) {
        keep[i] = full_row(&full, &renumbered, i);
        memcpy(rows[i], of_full.h[after + 1][keep[i]], sizeof rows[i]);
    }
    run_rows(s, of_full.h[0], full.n_rows, 0, 0, after + 1);
    if (prunes_cache && after >= 0)
        assert_int_equal(s2v_compact(s, keep, n, after + 1, &error), S2P_OK);
    run_rows(s, rows, n, 0, after + 1, n_layers);
    CHECK_CASE(distance(s2v_session_logits(s), logits) <= 1e-5, "first turn: %g",
               distance(s2v_session_logits(s), logits));

    run_rows(s, of_turn.h[0], of_turn.n[0], full.next_pos, 0, after + 1);
    static float middle[MAX_ROWS][TINY_WIDTH];
    if (after >= 0) s2v_rows_get(&s->rows, 0, of_turn.n[0], &middle[0][0]);
    run_rows(s, after >= 0 ? middle : of_turn.h[0], of_turn.n[0], n, after + 1, n_layers);
    memcpy(second, s2v_session_logits(s), N_VOCABULARY * sizeof *second);
}

/* Every method of one stage that merges nothing, both turns. */
static void equals_the_compacted_sequence(void **state)
{
    (void)state;
    int32_t n_compared = 0, n_before = 0;
    static float second[N_VOCABULARY];
    for (size_t i = 0; i < COUNT_OF(pairs) * COUNT_OF(scenes); i++) {
        const pair *p = &pairs[i / COUNT_OF(scenes)];
        const scene *sc = &scenes[i % COUNT_OF(scenes)];
        if (!p->is_llava || !sc->is_llava) continue;
        s2v_session *s = session_of(p, S2V_KV_F32), *reference = session_of(p, S2V_KV_F32);
        reference->trace.show = look; /* every row comes out of the last layer */
        reference->trace.user = &(looked){ .n = { 0 } };
        question q = scene_question(sc, "full", 1);
        s2v_session_set_trace(s, look, &of_full);
        prefill_well(s, &q, &full);
        s2v_session_set_trace(s, NULL, NULL);
        const s2p_method *m;
        for (size_t k = 0; (m = s2p_method_at(k)); k++) {
            const s2p_method_info *about = s2p_method_about(m);
            if (about->n_stages > 1 || about->keeps_all) continue;
            q = scene_question(sc, about->name, 1);
            q.prune.budget.percent = 30.0;
            prefill_well(s, &q, &kept);
            q.prune.renumber = 1;
            prefill_well(s, &q, &renumbered);
            int32_t n_merges, next, at = renumbered.stats.stage_after[0];
            (void)s2p_plan_merges(s2v_session_plan(s, 0), &n_merges);
            assert_true(same_kept(&kept, &renumbered));
            assert_true(distance(kept.logits, renumbered.logits) > 1e-6);
            if (n_merges > 0) continue;
            prefill_turn(s, &second_turn, &of_turn, &next);
            assert_int_equal(next, renumbered.n_rows + of_turn.n[0]);
            run_reference(reference, at, about->prunes_cache, renumbered.logits, second);
            CHECK_CASE(distance(second, s2v_session_logits(s)) <= 2e-5, "%s, %s: %g", about->name,
                       sc->name, distance(second, s2v_session_logits(s)));
            n_compared++;
            n_before += at < 0;
        }
        s2v_session_free(reference);
        s2v_session_free(s);
    }
    assert_true(n_before >= 20 && n_compared >= n_before + 30);
}

/* Every method, those of several stages too, in every mode and with every cache type: no gaps, and
 * the first stage does not depend on it. */
static void has_no_gaps(void **state)
{
    (void)state;
    static const s2v_kv_type types[] = { S2V_KV_F32, S2V_KV_F16, S2V_KV_Q8_0 };
    const s2p_method *m;
    for (size_t t = 0; t < 2 * COUNT_OF(types); t++) {
        const pair *p = &pairs[3];
        const scene *sc = &scenes[5 + t % 3];
        s2v_session *s = session_of(p, types[t % 3]);
        for (size_t k = 0; (m = s2p_method_at(k)); k++) {
            if (s2p_method_about(m)->resizes) continue;
            question q = scene_question(sc, s2p_method_about(m)->name, 1);
            q.prune.budget.percent = 30.0;
            q.prune.published = t >= COUNT_OF(types);
            prefill_outcome(s, &q, &kept);
            q.prune.renumber = 1;
            prefill_outcome(s, &q, &renumbered);
            assert_int_equal(kept.status, renumbered.status);
            if (kept.status != S2P_OK) continue;
            if (s2p_method_about(m)->n_stages ==
                1) /* a later stage reads layers that ran with it */
                assert_true(same_kept(&kept, &renumbered));
            for (int32_t i = 0; i < renumbered.n_rows; i++)
                assert_int_equal(renumbered.pos[0][i], i);
            assert_int_equal(renumbered.next_pos, renumbered.n_rows);
            for (int32_t i = 0; i < N_VOCABULARY; i++) assert_true(isfinite(renumbered.logits[i]));
        }
        s2v_session_free(s);
    }
}

/* A whole prompt is not taken from the cache of one whose positions were kept, nor the other way round. */
static void prompts_are_not_mixed_up(void **state)
{
    (void)state;
    s2v_session *s = session_of(&pairs[1], S2V_KV_F32);
    question q = scene_question(&scenes[5], "s2prune", 4);
    for (int round = 0; round < 3; round++) {
        q.prune.renumber = 0;
        prefill_well(s, &q, round ? &full : &kept);
        q.prune.renumber = 1;
        prefill_well(s, &q, &renumbered);
        assert_int_equal(renumbered.stats.cached_tokens, 0);
        if (round == 0) continue;
        assert_true(full.stats.cached_tokens > 0);
        assert_memory_equal(full.logits, kept.logits, sizeof full.logits);
        assert_true(distance(kept.logits, renumbered.logits) > 1e-6);
    }
    s2v_session_free(s);
}

static void rows_and_columns_are_kept(void **state)
{
    (void)state;
    s2v_session *s = session_of(&pairs[0], S2V_KV_F32);
    question q = scene_question(&scenes[1], "s2prune", 10);
    q.prune.renumber = 1;
    prefill_outcome(s, &q, &kept);
    assert_int_equal(kept.status, S2P_EUNSUPPORTED);
    assert_non_null(strstr(kept.error.message, "M-RoPE"));
    q.prune.renumber = 0;
    prefill_well(s, &q, &kept);
    s2v_session_free(s);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_compacted_sequence),
        cmocka_unit_test(has_no_gaps),
        cmocka_unit_test(prompts_are_not_mixed_up),
        cmocka_unit_test(rows_and_columns_are_kept),
    };
    return cmocka_run_group_tests(tests, open_pairs, close_pairs);
}
