/* verify_bench.c - files of scorer goldens: objects of lists, each list of its own kind.
 *
 * A case is told by the members it has, so it does not matter in which list or file it stands.
 */
#include "verify/checks.h"

#include "verify/bench/bench_case.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *member[3];
    void (*check)(s2_bench_case *b);
} kinds[] = {
    { { "task", "prediction" }, s2_bench_check_task },
    { { "in", "evalai" }, s2_bench_check_vqa },
    { { "in", "out" }, s2_bench_check_vqa },
    { { "pred", "answers" }, s2_bench_check_vqa },
    { { "prediction", "gold" }, s2_bench_check_vqa },
    { { "prediction", "answers", "category" }, s2_bench_check_vqa },
    { { "answer", "choices", "infer" }, s2_bench_check_choice },
    { { "rows", "vlmevalkit_circular_hit" }, s2_bench_check_choice },
    { { "response", "options" }, s2_bench_check_choice },
    { { "response", "parsed" }, s2_bench_check_choice },
    { { "draws_from", "drawn" }, s2_bench_check_choice },
    { { "text", "answer_index" }, s2_bench_check_choice },
    { { "text", "choice", "yes_no" }, s2_bench_check_choice },
    { { "text", "official_pred" }, s2_bench_check_yes_no },
    { { "text", "official_lower_prefix4" }, s2_bench_check_yes_no },
    { { "labels", "texts" }, s2_bench_check_yes_no },
    { { "category", "rows", "official" }, s2_bench_check_yes_no },
    { { "benchmark", "harness", "row" }, s2_bench_check_prompt },
    { { "rows", "by_capability" }, s2_bench_check_means },
    { { "scores", "full", "paper_acc" }, s2_bench_check_means },
};

/* Which kind a case is; the number of kinds when it is none. */
static size_t kind_of(const json_t *c)
{
    const size_t n = sizeof kinds / sizeof *kinds;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < 3 && kinds[i].member[k] && json_object_get(c, kinds[i].member[k])) k++;
        if (k == 3 || !kinds[i].member[k]) return i;
    }
    return n;
}

static bool is_case(const json_t *c) { return kind_of(c) < sizeof kinds / sizeof *kinds; }

json_t *s2_bench_cases(const json_t *root)
{
    json_t *cases = json_array(), *member;
    const char *name;
    if (is_case(root)) (void)json_array_append(cases, (json_t *)(uintptr_t)root);
    json_object_foreach((json_t *)(uintptr_t)root, name, member)
    {
        if (strncmp(name, "python_random", 13) == 0) {
            /* random.choice, by what it draws from. */
            const char *from;
            json_t *drawn;
            json_object_foreach((json_t *)(uintptr_t)member, from, drawn)
            {
                (void)json_array_append_new(
                    cases, json_pack("{s:s, s:O}", "draws_from", from, "drawn", drawn));
            }
        }
        const json_t *full = json_object_get(root, "full");
        for (size_t i = 0; json_is_array(member) && i < json_array_size(member); i++) {
            json_t *item = json_array_get(member, i);
            if (full && json_is_object(item) && json_object_get(item, "scores")) {
                json_t *row = json_copy(item);
                if (row) (void)json_object_set(row, "full", (json_t *)(uintptr_t)full);
                (void)json_array_append_new(cases, row);
            } else if (is_case(item)) {
                (void)json_array_append(cases, item);
            }
        }
    }
    if (json_array_size(cases) > 0) return cases;
    json_decref(cases);
    return NULL;
}

void s2_check_bench(const json_t *c, s2_verdict *verdict)
{
    s2_bench_case b = { .c = c, .verdict = verdict };
    const size_t kind = kind_of(c);
    if (kind == sizeof kinds / sizeof *kinds)
        s2_malformed(verdict, "no kind of case this version knows");
    else
        kinds[kind].check(&b);
    if (b.scratch.failed) s2_malformed(verdict, "no memory");
    s2e_scratch_free(&b.scratch);
}
