/* bench_yes_no.c - POPE and MME: single answers, then whole sets. */
#include "eval/scoring/answer_reading.h"
#include "verify/bench/bench_case.h"

#include <math.h>
#include <string.h>

#define EXACT 1e-12

static const char *word(char letter, const char *yes, const char *no, const char *neither)
{
    return letter == 'y' ? yes : letter == 'n' ? no : neither;
}

static void check_mapping(s2_bench_case *b)
{
    const s2e_str text = s2_bench_str(b, "text");
    s2e_scratch *s = &b->scratch;
    s2_bench_same_text(b, "official_pred", word(s2e_y1(text).letter, "yes", "no", ""));
    s2_bench_same_text(b, "vlmevalkit", word(s2e_y2(s, text).letter, "Yes", "No", "Unknown"));
    s2_bench_same_text(b, "lmms_eval_exact", word(s2e_y3(s, text).letter, "yes", "no", "(other)"));
    s2_bench_same_text(b, "official_lower_prefix4",
                       word(s2e_y4(s, text).letter, "yes", "no", "other"));
    s2_bench_same_text(b, "lmms_eval", word(s2e_y5(s, text).letter, "yes", "no", "other"));
    s2_bench_same_text(b, "s2prune_release", word(s2e_y6(s, text).letter, "yes", "no", ""));
}

static void compare(s2_bench_case *b, const char *key, const s2e_yes_no *counts, double yes_ratio)
{
    const json_t *whole = b->c;
    b->c = json_object_get(whole, key);
    if (b->c) {
        s2_bench_same_real(b, "TP", counts->true_yes, 0.0);
        s2_bench_same_real(b, "FP", counts->false_yes, 0.0);
        s2_bench_same_real(b, "TN", counts->true_no, 0.0);
        s2_bench_same_real(b, "FN", counts->false_no, 0.0);
        s2_bench_same_real(b, "accuracy", (double)counts->n_right / counts->n, EXACT);
        s2_bench_same_real(b, "precision", s2e_precision(counts), EXACT);
        s2_bench_same_real(b, "recall", s2e_recall(counts), EXACT);
        s2_bench_same_real(b, "f1", s2e_f1(counts), EXACT);
        s2_bench_same_real(b, "yes_ratio", yes_ratio, EXACT);
    }
    b->c = whole;
}

static void check_set(s2_bench_case *b)
{
    const json_t *labels = json_object_get(b->c, "labels"), *texts = json_object_get(b->c, "texts");
    s2e_yes_no official = { .n = 0 }, lmms = { .n = 0 }, kit = { .n = 0 }, paper = { .n = 0 };
    for (size_t i = 0; i < json_array_size(labels); i++) {
        const char *label = json_string_value(json_array_get(labels, i)),
                   *said = json_string_value(json_array_get(texts, i));
        if (!label || !said) {
            s2_malformed(b->verdict, "label or text %zu is missing", i);
            return;
        }
        const bool yes = strcmp(label, "yes") == 0;
        const s2e_str text = s2e_str_of(&b->scratch, said);
        s2e_yes_no_add(&official, yes, s2e_y1(text).letter);
        s2e_yes_no_add(&kit, yes, s2e_y2(&b->scratch, text).letter);
        s2e_yes_no_add(&lmms, yes, s2e_y3(&b->scratch, text).letter);
        s2e_yes_no_add(&paper, yes, s2e_y6(&b->scratch, text).letter);
    }
    if (official.n < 1) {
        s2_malformed(b->verdict, "no labels");
        return;
    }
    compare(b, "official", &official, (double)official.n_yes / official.n);
    compare(b, "lmms_eval", &lmms, (double)lmms.n_label_yes / lmms.n);
    compare(b, "vlmevalkit", &kit, (double)kit.n_yes / kit.n);
    compare(b, "s2prune_release", &paper, (double)paper.n_yes / paper.n);
}

/* MME: rows come in pairs about one picture. */
static void check_pairs(s2_bench_case *b)
{
    const json_t *rows = json_object_get(b->c, "rows"), *whole = b->c;
    int32_t right[2] = { 0, 0 }, both[2] = { 0, 0 }, others = 0;
    const size_t n = json_array_size(rows) / 2;
    for (size_t i = 0; i < 2 * n; i += 2) {
        bool is_right[2][2];
        for (size_t k = 0; k < 2; k++) {
            const json_t *row = json_array_get(rows, i + k);
            const char *gold = s2_json_string(row, "gt"), *said = s2_json_string(row, "pred");
            if (!gold || !said) {
                s2_malformed(b->verdict, "row %zu has no gt or pred", i + k);
                return;
            }
            const char wanted = gold[0] == 'Y' || gold[0] == 'y' ? 'y' : 'n';
            const s2e_str text = s2e_str_of(&b->scratch, said);
            const char official = s2e_y4(&b->scratch, text).letter;
            is_right[0][k] = official == wanted;
            is_right[1][k] = s2e_y5(&b->scratch, text).letter == wanted;
            others += official == 0;
        }
        for (size_t p = 0; p < 2; p++) {
            right[p] += is_right[p][0] + is_right[p][1];
            both[p] += is_right[p][0] && is_right[p][1];
        }
    }
    if (n < 1) {
        s2_malformed(b->verdict, "no pairs");
        return;
    }
    const double acc[2] = { 0.5 * right[0] / (double)n, 0.5 * right[1] / (double)n };
    const double plus[2] = { both[0] / (double)n, both[1] / (double)n };
    s2_bench_same_real(b, "lmms_eval_score", 100.0 * (acc[1] + plus[1]), 1e-9);
    b->c = json_object_get(whole, "official");
    s2_bench_same_real(b, "acc", acc[0], 1e-9);
    s2_bench_same_real(b, "acc_plus", plus[0], 1e-9);
    s2_bench_same_real(b, "score", 100.0 * (acc[0] + plus[0]), 1e-9);
    s2_bench_same_real(b, "other_num", others, 0.0);
    b->c = whole;
}

void s2_bench_check_yes_no(s2_bench_case *b)
{
    if (json_object_get(b->c, "labels"))
        check_set(b);
    else if (json_object_get(b->c, "rows"))
        check_pairs(b);
    else
        check_mapping(b);
}
