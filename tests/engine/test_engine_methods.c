/* test_engine_methods.c - what every pruning method promises, run through the engine.
 *
 * The table of methods x two architectures x grids x budgets: the budget to the token, ascending,
 * the same for the same seed, text and positions untouched, the cache and the figures as the method
 * says. All tokens or more is the unpruned model bit for bit. Methods that do not see the question
 * choose the same for any.
 */
#include "method_scenes.h"

#define OTHER_SEED 77

static outcome full, first, second; /* too large for a stack */
static answer plain, whole;

/* --- a budget ------------------------------------------------------------------------ */

static int32_t picture_tokens(const outcome *o, int32_t picture)
{
    return o->n_tokens[S2V_MAX_PARTS * picture] + o->n_tokens[S2V_MAX_PARTS * picture + 1];
}

static int32_t expected_budget(const question *q, int32_t n, int32_t picture)
{
    const s2v_budget asked =
        q->prune.image_budget ? q->prune.image_budget[picture] : q->prune.budget;
    const double share = fmax(rint(asked.percent / 100.0 * n), 1.0);
    const int32_t budget = asked.percent > 0.0 ? (int32_t)share : asked.tokens;
    return strcmp(q->prune.method, "full") == 0 || budget > n ? n : budget;
}

/* As many as asked for, ascending, in range. */
static void check_kept(const question *q, const outcome *o)
{
    int32_t total = 0;
    for (int32_t i = 0; i < q->n_images; i++) {
        const int32_t n = picture_tokens(o, i), expected = expected_budget(q, n, i);
        int32_t n_kept = 0;
        for (int32_t u = S2V_MAX_PARTS * i; u < S2V_MAX_PARTS * (i + 1); u++) {
            n_kept += o->n_kept[u];
            assert_true((o->n_kept[u] > 0) == (o->n_tokens[u] > 0));
            for (int32_t k = 0; k < o->n_kept[u]; k++) {
                assert_in_range(o->kept[u][k], 0, o->n_tokens[u] - 1);
                assert_true(k == 0 || o->kept[u][k] > o->kept[u][k - 1]);
            }
        }
        CHECK_CASE(n_kept == expected, "%s kept %d of %d, not %d", q->prune.method, n_kept, n,
                   expected);
        total += n_kept;
    }
    assert_int_equal(o->stats.image_tokens, total);
}

/* Text is all there; what is left stands in the old order at the old positions. */
static void check_rows(const outcome *o)
{
    int32_t next[MAX_UNITS] = { 0 }, before = -1, n_text = 0;
    for (int32_t i = 0; i < o->n_rows; i++) {
        const int32_t row = full_row(&full, o, i), u = o->unit[i];
        assert_true(row > before);
        before = row;
        for (int plane = 0; plane < 3; plane++)
            assert_int_equal(o->pos[plane][i], full.pos[plane][row]);
        n_text += u < 0;
        if (u >= 0) assert_int_equal(o->token[i], o->kept[u][next[u]++]);
    }
    for (int32_t u = 0; u < MAX_UNITS; u++) assert_int_equal(next[u], o->n_kept[u]);
    assert_int_equal(n_text, full.stats.text_tokens);
    assert_int_equal(o->stats.text_tokens, full.stats.text_tokens);
    assert_int_equal(o->next_pos, full.next_pos);
}

/* Tokens a stage leaves of a unit: each stage keeps the same share. */
static int32_t stage_tokens(const s2p_method *m, int32_t n_tokens, int32_t n_kept, int32_t stage)
{
    if (n_tokens == 0) return 0;
    const double n = n_tokens, share = (stage + 1.0) / s2p_method_about(m)->n_stages;
    const int32_t leave = (int32_t)rint(n * pow(n_kept / n, share));
    return leave > n_kept ? leave : n_kept;
}

/* Cells of each layer, and the figures that follow from them. */
static void check_cache(const s2p_method *m, const pair *p, const outcome *o)
{
    const s2v_stats *t = &o->stats;
    const double row_flops = 2.0 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96);
    double flops = 0.0;
    uint64_t visual = 0, paper = 0, total = 0;
    int32_t stage = 0, seen = full.stats.image_tokens_full;
    assert_int_equal(t->image_tokens_full, seen);
    assert_int_equal(t->n_stages, s2p_method_about(m)->n_stages);
    for (int32_t layer = -1; layer < p->n_layers; layer++) {
        if (layer >= 0) {
            const double n = t->text_tokens + seen;
            const int32_t slots =
                t->text_tokens + (s2p_method_about(m)->prunes_cache ? t->image_tokens : seen);
            CHECK_CASE(o->n_slots[layer] == slots, "%s: layer %d has %d slots, not %d",
                       s2p_method_about(m)->name, layer, o->n_slots[layer], slots);
            flops += row_flops * n + 4.0 * n * n * 64.0;
            visual += 256 * (uint64_t)(slots - t->text_tokens);
            paper += 4 * 32 * (uint64_t)seen;
            total += 256 * (uint64_t)slots;
        }
        if (stage == s2p_method_about(m)->n_stages || layer != after_layer(m, stage, p->n_layers))
            continue;
        seen = 0;
        for (int32_t u = 0; u < MAX_UNITS; u++)
            seen += stage_tokens(m, o->n_tokens[u], o->n_kept[u], stage);
        assert_int_equal(t->stage_after[stage], layer);
        CHECK_CASE(t->stage_tokens[stage] == seen, "%s: stage %d leaves %d, not %d",
                   s2p_method_about(m)->name, stage, t->stage_tokens[stage], seen);
        stage++;
    }
    assert_int_equal(stage, s2p_method_about(m)->n_stages);
    assert_int_equal(o->n_rows, t->text_tokens + t->image_tokens);
    assert_int_equal(t->prompt_tokens, o->n_rows);
    assert_int_equal(t->kv_visual_bytes, visual);
    assert_int_equal(t->kv_visual_bytes_paper, paper);
    assert_int_equal(t->kv_total_bytes, total);
    assert_true(fabs(t->flops - flops) <= 1e-9 * flops);
}

/* The same again for the same seed; another seed changes what is drawn and nothing else. */
static int check_seeds(s2v_session *s, const question *q)
{
    question again = *q;
    prefill_well(s, &again, &second);
    assert_true(same_kept(&first, &second));
    assert_memory_equal(first.logits, second.logits, sizeof first.logits);
    again.prune.choice.seed = OTHER_SEED;
    prefill_well(s, &again, &second);
    const bool is_same = same_kept(&first, &second);
    CHECK_CASE(is_same || strcmp(q->prune.method, "random") == 0, "%s draws", q->prune.method);
    return !is_same;
}

static int check_budget(const s2p_method *m, const pair *p, s2v_session *s, const question *q,
                        bool checks_seeds)
{
    prefill_outcome(s, q, &first);
    const bool is_split = q->size[0].framing == S2V_FRAMING_ANYRES;
    if (is_split && expected_budget(q, picture_tokens(&full, 0), 0) < 2) {
        assert_int_equal(first.status, S2P_EINVAL); /* two grids cannot share one token */
        return 0;
    }
    CHECK_CASE(first.status == S2P_OK, "%s, budget %d of %d: %s", s2p_method_about(m)->name,
               q->prune.budget.tokens, full.stats.image_tokens_full, first.error.message);
    check_kept(q, &first);
    check_rows(&first);
    check_cache(m, p, &first);
    return checks_seeds ? check_seeds(s, q) : 0;
}

/* --- the walk ------------------------------------------------------------------------- */

static int walk_budgets(const s2p_method *m, const pair *p, s2v_session *s, const scene *sc)
{
    static const s2v_budget per_picture[MAX_PICTURES] = { { .tokens = 4 }, { .tokens = 9 } };
    static const double percents[] = { 25.0, 60.0, 0.01 };
    const int32_t n = picture_tokens(&full, 0);
    const int32_t budgets[] = { 1, 2, 5, 3, n / 2, n, n - 1, n + 7 };
    const size_t step = p->n_layers == DEEP_LAYERS ? 2 : 1; /* they take longer */
    int n_changed = 0;
    for (size_t i = 0; i < COUNT_OF(budgets); i += step) {
        const question q = scene_question(sc, s2p_method_about(m)->name, budgets[i]);
        n_changed += check_budget(m, p, s, &q, i == 2);
    }
    question q = scene_question(sc, s2p_method_about(m)->name, 1);
    for (size_t i = 0; i < COUNT_OF(percents); i += step) {
        q.prune.budget.percent = percents[i];
        n_changed += check_budget(m, p, s, &q, false);
    }
    q.prune.budget.percent = 0.0;
    q.prune.image_budget = per_picture;
    return n_changed + check_budget(m, p, s, &q, false);
}

static void walk_methods(const pair *p)
{
    const s2p_method *m;
    s2v_session *s = pair_session(p, 0);
    for (size_t i = 0; (m = s2p_method_at(i)) != NULL; i++) {
        if (s2p_method_about(m)->resizes) continue; /* test_shrink */
        int n_changed = 0;
        for (size_t k = 0; k < COUNT_OF(scenes); k++) {
            if (scenes[k].is_llava != p->is_llava) continue;
            question q = scene_question(&scenes[k], "full", 1);
            prefill_well(s, &q, &full);
            n_changed += walk_budgets(m, p, s, &scenes[k]);
        }
        assert_true((n_changed > 0) == (strcmp(s2p_method_about(m)->name, "random") == 0));
    }
    s2v_session_free(s);
}

static void budgets_are_kept_to_the_token(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) walk_methods(&pairs[i]);
}

/* --- all tokens -------------------------------------------------------------------------- */

static void all_tokens_is_the_unpruned_model(void **state)
{
    (void)state;
    const s2p_method *m;
    for (size_t i = 0; i < COUNT_OF(pairs) * COUNT_OF(scenes); i++) {
        const pair *p = &pairs[i / COUNT_OF(scenes)];
        const scene *sc = &scenes[i % COUNT_OF(scenes)];
        if (sc->is_llava != p->is_llava) continue;
        s2v_session *s = pair_session(p, 0);
        s->options.keep_attention = 0; /* nothing is looked at in case of need */
        question q = scene_question(sc, "full", 1);
        ask(s, &q, &plain);
        const int32_t n = plain.stats.image_tokens_full; /* of all pictures */
        for (size_t k = 0; (m = s2p_method_at(k)) != NULL; k++) {
            q = scene_question(sc, s2p_method_about(m)->name, k % 2 ? n : n + 7);
            q.prune.published = k % 3 == 0;
            s2v_session_reset(s);
            ask(s, &q, &whole);
            CHECK_CASE(memcmp(plain.first, whole.first, sizeof plain.first) == 0 &&
                           memcmp(plain.last, whole.last, sizeof plain.last) == 0,
                       "%s, %s", s2p_method_about(m)->name, sc->name);
            assert_same_answer(&plain, &whole);
            assert_true(whole.stats.probe_ms == 0.0);
        }
        s2v_session_free(s);
    }
}

/* --- the question --------------------------------------------------------------------------- */

/* How many of the questions made another choice than the first. */
static int count_changes(s2v_session *s, const scene *sc, question *q)
{
    int n_changed = 0;
    for (int i = 0; i < N_QUESTIONS; i++) {
        q->raw = questions[sc->n_pictures - 1][i];
        prefill_well(s, q, i == 0 ? &first : &second);
        if (i > 0) n_changed += !same_kept(&first, &second);
    }
    return n_changed;
}

/* Over all scenes of the model, with a third of the tokens. */
static void check_question(const pair *p, s2v_session *s, const s2p_method *m,
                           const s2p_choice *choice)
{
    const bool sees_question = s2p_method_sees_question(m, choice);
    int n_changed = 0;
    for (size_t k = 0; k < COUNT_OF(scenes); k++) {
        if (scenes[k].is_llava != p->is_llava) continue;
        question q = scene_question(&scenes[k], s2p_method_about(m)->name, 0);
        q.prune.budget.percent = 33.0;
        q.prune.choice = *choice;
        const int n = count_changes(s, &scenes[k], &q);
        CHECK_CASE(sees_question || n == 0, "%s (%s, %s) sees the question, %s",
                   s2p_method_about(m)->name, choice->allocator, choice->selector, scenes[k].name);
        n_changed += n;
    }
    CHECK_CASE(!sees_question || n_changed > 0, "%s (%s) never looked", s2p_method_about(m)->name,
               choice->selector);
}

static void methods_see_the_question_or_not(void **state)
{
    (void)state;
    const s2p_method *m;
    const s2p_choice usual = { .seed = 1 };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        s2v_session *s = pair_session(&pairs[i], 0);
        for (size_t k = 0; (m = s2p_method_at(k)) != NULL; k++)
            if (!s2p_method_about(m)->resizes) check_question(&pairs[i], s, m, &usual);
        s2v_session_free(s);
    }
}

/* The ablations: each allocator with each selector. */
static void choices_see_the_question_or_not(void **state)
{
    (void)state;
    const s2p_method *m = s2p_method_find("s2prune");
    s2p_choice choice = { .seed = 3 };
    int n_sees = 0;
    for (size_t i = 0; i < 2; i++) { /* layer 0 is all it looks at: four layers will do */
        s2v_session *s = pair_session(&pairs[i], 0);
        for (size_t a = 0; (choice.allocator = s2p_allocator_name(a)) != NULL; a++)
            for (size_t b = 0; (choice.selector = s2p_selector_name(b)) != NULL; b++) {
                check_question(&pairs[i], s, m, &choice);
                n_sees += s2p_method_sees_question(m, &choice);
            }
        s2v_session_free(s);
    }
    assert_int_equal(n_sees, 2 * 5 * 2); /* query-all and query-last */
}

/* --- refusals ----------------------------------------------------------------------------------
 */

static void refuse(const question *q, s2p_status expected, const char *part)
{
    s2v_session *s = pair_session(&pairs[q->size[0].framing != S2V_FRAMING_AUTO], 0);
    prefill_outcome(s, q, &first);
    CHECK_CASE(first.status == expected && strstr(first.error.message, part), "%s: %s", part,
               first.error.message);
    s2v_session_free(s);
}

static void budgets_it_refuses(void **state)
{
    (void)state;
    const s2p_method *m;
    static const s2v_budget second_is_none[MAX_PICTURES] = { { .tokens = 3 }, { .tokens = 0 } };
    for (size_t i = 1; (m = s2p_method_at(i)) != NULL; i++) {
        if (s2p_method_about(m)->resizes) continue; /* it shows no tiles */
        question q = scene_question(&scenes[1], s2p_method_about(m)->name, 0);
        refuse(&q, S2P_EBUDGET, "keeps nothing");
        q.prune.budget.tokens = -5;
        refuse(&q, S2P_EBUDGET, "keeps nothing");
        q = scene_question(&scenes[4], s2p_method_about(m)->name, 3);
        q.prune.image_budget = second_is_none;
        refuse(&q, S2P_EBUDGET, "keeps nothing");
        q = scene_question(&scenes[6], s2p_method_about(m)->name, 1);
        refuse(&q, S2P_EINVAL, "2 or more");
    }
    question q = scene_question(&scenes[1], "s2prune", 8);
    q.prune.choice.side = 3;
    refuse(&q, S2P_EBUDGET, "one token per region");
    q.prune.method = "equal-density";
    refuse(&q, S2P_EBUDGET, "one token per region");
    q.prune.choice.side = 8;
    q.prune.budget.tokens = 62;
    refuse(&q, S2P_EINVAL, "cannot be cut");
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budgets_are_kept_to_the_token),
        cmocka_unit_test(all_tokens_is_the_unpruned_model),
        cmocka_unit_test(methods_see_the_question_or_not),
        cmocka_unit_test(choices_see_the_question_or_not),
        cmocka_unit_test(budgets_it_refuses),
    };
    return cmocka_run_group_tests(tests, open_pairs, close_pairs);
}
