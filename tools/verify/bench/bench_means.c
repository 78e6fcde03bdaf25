/* bench_means.c - means: MM-Vet's capabilities, Acc. and Rel. of the paper's tables. */
#include "eval/scoring/means.h"
#include "verify/bench/bench_case.h"

#include <math.h>
#include <string.h>

#define MAX_CELLS 64
#define HALF_DIGIT 0.05 /* cells have one decimal */

static void check_capabilities(s2_bench_case *b, const char *key)
{
    const json_t *rows = json_object_get(b->c, "rows"), *table = json_object_get(b->c, key);
    const char *name;
    json_t *expected;
    json_object_foreach((json_t *)(uintptr_t)table, name, expected)
    {
        double sum = 0.0, n = 0.0;
        for (size_t i = 0; i < json_array_size(rows); i++) {
            const json_t *row = json_array_get(rows, i);
            const char *category = s2_json_string(row, "category");
            const bool is_all = strcmp(name, "Overall") == 0;
            const double weight =
                is_all ? 1 : s2e_capability_weight(category ? category : "", name, true);
            sum += weight * json_number_value(json_object_get(row, "score"));
            n += weight;
        }
        const json_t *whole = b->c;
        b->c = expected;
        s2_bench_same_real(b, "n", n, 0.0);
        s2_bench_same_real(b, "acc", n > 0.0 ? 100.0 * sum / n : 0.0, 1e-9);
        b->c = whole;
    }
}

/* The file's own means are of the same rounded cells; the printed ones are of cells we do not know to
 * more than a digit, so they may be off by what that digit is worth. */
static void check_table_row(s2_bench_case *b)
{
    const json_t *scores = json_object_get(b->c, "scores"), *fulls = json_object_get(b->c, "full");
    double score[MAX_CELLS], full[MAX_CELLS], best[MAX_CELLS], acc_slack = 0.0, rel_slack = 0.0;
    int32_t n = 0;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)scores, name, value)
    {
        const json_t *whole = json_object_get(fulls, name);
        if (n == MAX_CELLS || !json_is_number(value) || !json_is_number(whole)) {
            s2_malformed(b->verdict, "'%.40s' is not a number, or not in the full row", name);
            return;
        }
        const bool is_mme = strcmp(name, "MME") == 0;
        score[n] = json_number_value(value);
        full[n] = json_number_value(whole);
        best[n] = is_mme ? 2800.0 : 100.0;
        const double half = is_mme ? 0.5 : HALF_DIGIT;
        acc_slack += 100.0 * half / best[n];
        rel_slack += 100.0 * half * (1.0 / full[n] + score[n] / (full[n] * full[n]));
        n++;
    }
    if (n < 1) {
        s2_malformed(b->verdict, "no cells");
        return;
    }
    const double acc = s2e_paper_acc(score, best, n), rel = s2e_paper_rel(score, full, n);
    s2_bench_same_real(b, "recomputed_acc", acc, 5.1e-5);
    s2_bench_same_real(b, "recomputed_rel", rel, 5.1e-5);
    s2_bench_same_real(b, "paper_acc", acc, HALF_DIGIT + acc_slack / n);
    s2_bench_same_real(b, "paper_rel", rel, HALF_DIGIT + rel_slack / n);
}

void s2_bench_check_means(s2_bench_case *b)
{
    if (json_object_get(b->c, "scores")) {
        check_table_row(b);
        return;
    }
    check_capabilities(b, "by_capability");
    check_capabilities(b, "by_combination");
}
