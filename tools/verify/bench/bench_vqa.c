/* bench_vqa.c - short answers: normalisers, VQA accuracy, GQA, OCRBench. */
#include "eval/scoring/answer_matching.h"
#include "verify/bench/bench_case.h"

#include <string.h>

#define EXACT 1e-12

static void check_accuracy(s2_bench_case *b)
{
    static const struct {
        const char *key;
        s2e_normaliser how;
        double scale, tolerance;
    } forms[] = { { "llava_textvqa", S2E_EVALAI, 1.0, EXACT },
                  { "lmms_eval", S2E_EVALAI, 1.0, EXACT },
                  { "vlmevalkit_textvqa", S2E_KIT, 1.0, EXACT },
                  { "s2prune_release_vizwiz", S2E_PAPER_VIZWIZ, 1.0, EXACT },
                  { "official_vqa_pct", S2E_VQA, 100.0, 0.00005 + EXACT } };
    const char *answer[S2_BENCH_MAX_ANSWERS];
    const int32_t n = s2_bench_texts(json_object_get(b->c, "answers"), answer);
    const s2e_str text = s2_bench_str(b, "pred");
    s2e_str used;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        s2_bench_same_real(b, forms[i].key,
                           forms[i].scale *
                               s2e_vqa_accuracy(&b->scratch, forms[i].how, text, answer, n, &used),
                           forms[i].tolerance);
    s2_bench_same_real(b, "s2prune_release_textvqa",
                       s2e_soft_score(&b->scratch, text, answer, n, &used), EXACT);
}

static void check_ocr(s2_bench_case *b)
{
    const char *answer[S2_BENCH_MAX_ANSWERS], *category = s2_json_string(b->c, "category"),
                                              *dataset = s2_json_string(b->c, "dataset");
    const int32_t n = s2_bench_texts(json_object_get(b->c, "answers"), answer);
    const s2e_str text = s2_bench_str(b, "prediction");
    const bool is_formula =
        category && strcmp(category, "Handwritten Mathematical Expression Recognition") == 0;
    size_t at, length;
    s2_bench_same_real(b, "vlmevalkit",
                       s2e_ocr_match(&b->scratch, text, answer, n, is_formula, false, &at, &length),
                       EXACT);
    s2_bench_same_real(b, "lmms_eval",
                       s2e_ocr_match(&b->scratch, text, answer, n,
                                     dataset && strcmp(dataset, "HME100k") == 0, true, &at,
                                     &length),
                       EXACT);
}

void s2_bench_check_vqa(s2_bench_case *b)
{
    static const struct {
        const char *key;
        s2e_normaliser how;
    } forms[] = { { "evalai", S2E_EVALAI },
                  { "vlmevalkit", S2E_KIT },
                  { "out", S2E_VQA },
                  { "s2prune_release_vizwiz", S2E_PAPER_VIZWIZ },
                  { "s2prune_release_simple", S2E_PAPER_SHORT } };
    static const struct {
        const char *key;
        s2e_short_rule rule;
    } rules[] = { { "official_after_llava_convert", S2E_SHORT_LLAVA },
                  { "lmms_eval_exact_match", S2E_SHORT_LMMS },
                  { "vlmevalkit_accuracy", S2E_SHORT_KIT },
                  { "s2prune_release", S2E_SHORT_PAPER } };
    if (json_object_get(b->c, "in")) {
        const s2e_str text = s2_bench_str(b, "in");
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
            s2_bench_same_str(b, forms[i].key, s2e_normalise(&b->scratch, forms[i].how, text));
    } else if (json_object_get(b->c, "pred")) {
        check_accuracy(b);
    } else if (json_object_get(b->c, "gold")) { /* GQA */
        const s2e_str text = s2_bench_str(b, "prediction"), gold = s2_bench_str(b, "gold");
        s2e_str used;
        for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
            s2_bench_same_real(b, rules[i].key,
                               s2e_short_is_right(&b->scratch, rules[i].rule, text, gold, &used),
                               EXACT);
    } else {
        check_ocr(b);
    }
}
