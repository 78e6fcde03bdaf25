/* answer_reading.h - how an answer is read: a letter, yes or no, a number, the text that counts. */
#ifndef S2_EVAL_SCORING_ANSWER_READING_H
#define S2_EVAL_SCORING_ANSWER_READING_H

#include "eval/sample.h"
#include "eval/scoring/str.h"

#include <stdbool.h>
#include <stdint.h>

/* draws.c: the draws of Python's random.choice, which the official MMMU scorer makes. */
typedef struct s2e_draws { /* MT19937 */
    uint32_t state[624];
    int32_t next;
} s2e_draws;

/* As random.seed(seed). */
void s2e_draws_start(s2e_draws *draws, uint32_t seed);

/* The index random.choice takes of n, n >= 1. */
uint32_t s2e_draws_below(s2e_draws *draws, uint32_t n);

/* option_letters.c: which option an answer means. */
#define S2E_NO_OPTION 'Z' /* decided, and none of them */

typedef struct s2e_found {
    const char *rule; /* which rule decided, or the last one that did not */
    char letter;      /* 0: undecided */
    size_t at, n;     /* where in the answer, code points; n = 0: nowhere */
} s2e_found;

typedef struct s2e_options {
    const s2e_choice *choice; /* [n] */
    int32_t n;
} s2e_options;

/* O1, VLMEvalKit: first the letters, then the texts. */
s2e_found s2e_o1_letter(s2e_scratch *scratch, s2e_str answer, s2e_options options);
s2e_found s2e_o1_text(s2e_scratch *scratch, s2e_str answer, s2e_options options);
s2e_found s2e_o1(s2e_scratch *scratch, s2e_str answer, s2e_options options);

/* O2, lmms-eval MMBench; O3, its static extractor. */
s2e_found s2e_o2(s2e_scratch *scratch, s2e_str answer, s2e_options options);
s2e_found s2e_o3(s2e_scratch *scratch, s2e_str answer, s2e_options options);

/* O4, MMMU official; O5, the same in lmms-eval. Undecided there means a draw; draws NULL: the first
 * letter. */
s2e_found s2e_o4(s2e_scratch *scratch, s2e_str answer, s2e_options options, s2e_draws *draws);
s2e_found s2e_o5(s2e_scratch *scratch, s2e_str answer, s2e_options options, s2e_draws *draws);

/* O6, ScienceQA in LLaVA: a letter that may be beyond the options. O7, in lmms-eval: `right` says
 * whether the answer is the target. */
s2e_found s2e_o6(s2e_str answer);
s2e_found s2e_o7(s2e_scratch *scratch, s2e_str answer, char target, bool *right);

/* O9, MMStar's own: the first letter, behind "(", "option " or "the answer is " too. O10, SEED-Bench in
 * LLaVA: an answer that is one capital. O11, in lmms-eval: the first letter, whatever follows. */
s2e_found s2e_o9(s2e_scratch *scratch, s2e_str answer);
s2e_found s2e_o10(s2e_str answer);
s2e_found s2e_o11(s2e_str answer);

/* yes_no.c: Y1 to Y5: yes or no in an answer, and what people count from it. */

/* In the letter: 'y', 'n', or 0 when it is neither. */
s2e_found s2e_y1(s2e_str answer);                       /* POPE, LLaVA: never neither */
s2e_found s2e_y2(s2e_scratch *scratch, s2e_str answer); /* VLMEvalKit */
s2e_found s2e_y3(s2e_scratch *scratch, s2e_str answer); /* lmms-eval POPE */
s2e_found s2e_y4(s2e_scratch *scratch, s2e_str answer); /* MME */
s2e_found s2e_y5(s2e_scratch *scratch, s2e_str answer); /* lmms-eval MME */

typedef struct s2e_yes_no { /* yes is positive */
    int32_t true_yes, false_yes, true_no, false_no;
    int32_t n, n_right, n_yes, n_label_yes; /* of all: also answers that are neither */
} s2e_yes_no;

/* answer: 'y', 'n', or 0, which is wrong and no more. */
void s2e_yes_no_add(s2e_yes_no *counts, bool label_is_yes, char answer);

double s2e_precision(const s2e_yes_no *counts); /* 0 when nothing was answered so */
double s2e_recall(const s2e_yes_no *counts);
double s2e_f1(const s2e_yes_no *counts);

/* mmmu_open.c: open answers of MMMU, as the official scorer reads them. */
typedef struct s2e_reading { /* one way to read an answer: a number of two decimals, or a text */
    bool is_number;
    double number;
    s2e_str text;
} s2e_reading;

typedef struct s2e_readings {
    s2e_reading *reading;
    size_t n, capacity;
} s2e_readings;

/* Numbers in a text as they are written: with thousands commas, scientific, then simple ones. */
s2e_words s2e_numbers_in(s2e_scratch *scratch, s2e_str text);

/* Every reading of an answer, none twice. */
s2e_readings s2e_open_readings(s2e_scratch *scratch, s2e_str answer);

/* Does one of them hold or equal one of the gold answers? *hit: which reading. */
bool s2e_open_is_right(s2e_scratch *scratch, const s2e_readings *readings, const char *const *gold,
                       int32_t n_gold, size_t *hit);

/* What Python's float() reads; false where it refuses. */
bool s2e_float(s2e_scratch *scratch, s2e_str text, double *out);

/* paper_answer.c: O8 and Y6: how the release of S2Prune reads an answer. */

/* What follows "Final Answer:", boxed or to the end of its line; empty when nothing does. */
s2e_str s2e_final_answer(s2e_scratch *scratch, s2e_str answer);

/* That, or the answer without the spaces around it. */
s2e_str s2e_final_or_all(s2e_scratch *scratch, s2e_str answer);

/* O8: any letter A to Z, or 0 if none is found. */
s2e_found s2e_o8(s2e_scratch *scratch, s2e_str answer);

/* Y6: 'y', 'n' or 0 in the letter. */
s2e_found s2e_y6(s2e_scratch *scratch, s2e_str answer);

/* early_stop.c: where the release of S2Prune ends an answer; that changes answers ("A bird" is "A").
 */

/* The whole text so far, spaces aside, is one letter A to E in any case: "(" before it, ")" after it,
 * then one of '.' ')', all optional. */
bool s2e_stops_at_letter(const char *text_so_far);

/* The same for yes or no, with one of '.' '!' after it. */
bool s2e_stops_at_yes_no(const char *text_so_far);

/* An answer whose last tokens are some n-gram, 1 <= n <= 64, three times over is cut: the number of
 * tokens before the three; n_tokens when there is no such thing. */
int32_t s2e_repeats_from(const int32_t *token, int32_t n_tokens);

#endif /* S2_EVAL_SCORING_ANSWER_READING_H */
