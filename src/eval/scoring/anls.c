/* anls.c - how many letters an answer is away from a reference.
 *
 * As the script of the DocVQA and InfographicVQA challenges computes it, and VLMEvalKit and lmms-eval
 * after it: the length that divides is the longer text's before spaces are put in order, in capitals.
 */
#include "eval/scoring/answer_matching.h"

#define THRESHOLD 0.5
#define MAX_CELLS ((uint64_t)1 << 30) /* of the table: a second of work */

/* Small letters, words with one space between them. */
static s2e_str in_order(s2e_scratch *scratch, s2e_str text)
{
    return s2e_join(scratch, s2e_split(scratch, s2e_lower(scratch, s2e_strip(text))));
}

static size_t longer(size_t a, size_t b) { return a > b ? a : b; }

/* One row of the table at a time, as long as the shorter text. */
static size_t distance(s2e_scratch *scratch, s2e_str a, s2e_str b)
{
    const s2e_str across = a.n < b.n ? a : b, down = a.n < b.n ? b : a;
    size_t *row = s2_pool_take(&scratch->pool, (across.n + 1) * sizeof *row);
    if (!row) {
        scratch->failed = true;
        return down.n;
    }
    for (size_t i = 0; i <= across.n; i++) row[i] = i;
    for (size_t k = 0; k < down.n; k++) {
        size_t diagonal = row[0];
        row[0] = k + 1;
        for (size_t i = 0; i < across.n; i++) {
            size_t best = diagonal; /* the same letter */
            if (across.code[i] != down.code[k]) {
                best = row[i] < row[i + 1] ? row[i] : row[i + 1];
                best = 1 + (diagonal < best ? diagonal : best);
            }
            diagonal = row[i + 1];
            row[i + 1] = best;
        }
    }
    return row[across.n];
}

/* 0 the same, 1 nothing in common. What cannot reach the threshold is 1: texts whose lengths differ too
 * much, and two that are too long to be answers. */
static double apart(s2e_scratch *scratch, s2e_str a, s2e_str b, size_t length)
{
    const size_t difference = longer(a.n, b.n) - (a.n < b.n ? a.n : b.n);
    if (length == 0) return 0.0;
    if ((double)difference > THRESHOLD * (double)length) return 1.0;
    if (a.n > 0 && b.n > MAX_CELLS / a.n) return 1.0;
    return (double)distance(scratch, a, b) / (double)length;
}

double s2e_anls(s2e_scratch *scratch, s2e_str answer, const char *const *reference,
                int32_t n_references, s2e_str *used)
{
    double least = 1.0;
    *used = in_order(scratch, answer);
    for (int32_t i = 0; i < n_references; i++) {
        const s2e_str text = s2e_str_of(scratch, reference[i]);
        const double far = apart(scratch, *used, in_order(scratch, text),
                                 longer(s2e_upper_length(answer), s2e_upper_length(text)));
        if (far < least) least = far;
    }
    return 1.0 - least < THRESHOLD ? 0.0 : 1.0 - least;
}
