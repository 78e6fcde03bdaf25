/* test_engine_methods_memory.c - every allocation of our own code in a pruned prefill fails once:
 * a typed error, nothing left behind, and the session answers as if nothing had been.
 */
#include "counted_malloc.h"
#include "method_scenes.h"

/* One of each kind: what it looks at, how often it prunes, whether rows are merged or zeros. */
static const struct {
    const char *method;
    int published;
} cases[] = {
    { "s2prune", 0 },   { "fastv", 0 },     { "feather-full", 0 }, { "dart", 0 },
    { "visionzip", 0 }, { "vispruner", 0 }, { "gridprune", 0 },    { "holov", 1 },
    { "cdpruner", 0 },  { "v2drop", 0 },    { "euti", 0 },         { "sparsevlm", 0 },
    { "prumerge+", 0 }, { "gprune", 0 },    { "divprune", 0 },
};

static outcome expected, got; /* too large for a stack */

static s2v_session *fresh(const pair *p)
{
    s2v_session *s = pair_session(p, 16);
    s->options.no_cache = 1; /* remembering is the only thing that may fail in silence */
    return s;
}

static void fail_each(const pair *p, const question *q)
{
    s2v_session *s = fresh(p);
    n_ours = 0;
    prefill_well(s, q, &expected);
    const int n = n_ours;
    CHECK_CASE(n > 20, "%s: %d allocations", q->prune.method, n);
    s2v_session_free(s);
    for (int i = 0; i < n; i++) {
        s = fresh(p);
        left = i;
        prefill_outcome(s, q, &got);
        left = -1;
        CHECK_CASE(got.status == S2P_ENOMEM && got.error.message[0],
                   "%s, allocation %d of %d: %d %s", q->prune.method, i, n, (int)got.status,
                   got.error.message);
        assert_int_equal(got.error.status, S2P_ENOMEM);
        assert_true(s2v_past_length(&s->past, 0) == 0 && s->next_pos == 0 && !s->has_logits);
        prefill_well(s, q, &got);
        assert_true(same_kept(&expected, &got));
        assert_memory_equal(expected.logits, got.logits, sizeof got.logits);
        s2v_session_free(s);
    }
}

static void every_allocation_fails(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < COUNT_OF(cases); k++) {
            question q = scene_question(&scenes[i ? 6 : 0], cases[k].method, 5);
            q.prune.published = cases[k].published;
            fail_each(&pairs[i], &q);
        }
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_fails) };
    return cmocka_run_group_tests(tests, open_pairs, close_pairs);
}
