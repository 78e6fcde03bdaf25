/* vqa_accuracy.c - an answer three of the others gave is right. */
#include "eval/scoring/answer_matching.h"

static double at_most_one(double value) { return value < 1.0 ? value : 1.0; }

double s2e_held_out_accuracy(int32_t k, int32_t n)
{
    if (n < 1) return 0.0;
    const double inside = k > 0 ? at_most_one((k - 1) / 3.0) : 0.0, outside = at_most_one(k / 3.0);
    return (k * inside + (n - k) * outside) / n;
}

/* Without P and W. */
static s2e_str barely(s2e_scratch *scratch, s2e_str text)
{
    text = s2e_replace(scratch, text, "\n", " ");
    return s2e_strip(s2e_replace(scratch, text, "\t", " "));
}

/* Answers as the official code first sees them; are they all one string? */
static bool all_same(s2e_scratch *scratch, const char *const *answer, int32_t n)
{
    s2e_str first = { NULL, 0 };
    for (int32_t i = 0; i < n; i++) {
        const s2e_str text = barely(scratch, s2e_str_of(scratch, answer[i]));
        if (i == 0) first = text;
        if (!s2e_same(first, text)) return false;
    }
    return true;
}

double s2e_vqa_accuracy(s2e_scratch *scratch, s2e_normaliser how, s2e_str prediction,
                        const char *const *answer, int32_t n_answers, s2e_str *used)
{
    const bool as_is = how == S2E_VQA && all_same(scratch, answer, n_answers);
    *used = as_is ? barely(scratch, prediction) : s2e_normalise(scratch, how, prediction);
    int32_t k = 0;
    for (int32_t i = 0; i < n_answers; i++) {
        const s2e_str text = s2e_str_of(scratch, answer[i]);
        k += s2e_same(*used, as_is ? barely(scratch, text) : s2e_normalise(scratch, how, text));
    }
    return s2e_held_out_accuracy(k, n_answers);
}

double s2e_soft_score(s2e_scratch *scratch, s2e_str prediction, const char *const *answer,
                      int32_t n_answers, s2e_str *used)
{
    int32_t k = 0;
    *used = s2e_normalise(scratch, S2E_PAPER_SHORT, prediction);
    if (used->n == 0) return 0.0;
    for (int32_t i = 0; i < n_answers; i++)
        k += s2e_same(*used,
                      s2e_normalise(scratch, S2E_PAPER_SHORT, s2e_str_of(scratch, answer[i])));
    return at_most_one(k / 3.0);
}
