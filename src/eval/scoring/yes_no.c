/* yes_no.c - six readers of a yes, of which no two agree on "Not sure". */
#include "eval/scoring/answer_reading.h"

#include "eval/scoring/answer_matching.h"

static s2e_found found(const char *rule, char letter, size_t at, size_t n)
{
    return (s2e_found){ rule, letter, at, n };
}

s2e_found s2e_y1(s2e_str answer)
{
    size_t end = 0;
    while (end < answer.n && answer.code[end] != '.') end++;
    for (size_t i = 0; i < end;) { /* words between single spaces, commas taken out */
        int32_t word[4];
        size_t n = 0, first = i;
        for (; i < end && answer.code[i] != ' '; i++)
            if (answer.code[i] != ',' && n < 4) word[n++] = answer.code[i];
        const s2e_str s = { word, n };
        if (s2e_is(s, "No") || s2e_is(s, "not") || s2e_is(s, "no"))
            return found("Y1", 'n', first, i - first);
        if (i < end) i++;
    }
    return found("Y1", 'y', 0, 0);
}

s2e_found s2e_y2(s2e_scratch *scratch, s2e_str answer)
{
    const s2e_words words =
        s2e_split(scratch, s2e_punctuation(scratch, s2e_lower(scratch, answer)));
    const bool yes = s2e_has_word(words, "yes"), no = s2e_has_word(words, "no");
    return found("Y2", yes == no ? 0 : yes ? 'y' : 'n', 0, 0);
}

static char exactly(s2e_str s) { return s2e_is(s, "yes") ? 'y' : s2e_is(s, "no") ? 'n' : 0; }

s2e_found s2e_y3(s2e_scratch *scratch, s2e_str answer)
{
    return found("Y3", exactly(s2e_strip(s2e_lower(scratch, answer))), 0, 0);
}

/* Somewhere in the first four characters. */
static char in_head(s2e_str s)
{
    const s2e_str head = s2e_slice(s, 0, 4);
    return s2e_has(head, "yes") ? 'y' : s2e_has(head, "no") ? 'n' : 0;
}

s2e_found s2e_y4(s2e_scratch *scratch, s2e_str answer)
{
    const s2e_str text = s2e_lower(scratch, answer);
    const char exact = exactly(text);
    return exact ? found("Y4.1", exact, 0, text.n) : found("Y4.2", in_head(text), 0, 4);
}

s2e_found s2e_y5(s2e_scratch *scratch, s2e_str answer)
{
    const s2e_str text = s2e_replace(scratch, s2e_strip(s2e_lower(scratch, answer)), ".", "");
    const char exact = exactly(text);
    if (exact) return found("Y5.1", exact, 0, 0);
    if (text.n == 1)
        return found("Y5.2", text.code[0] == 'y' ? 'y' : text.code[0] == 'n' ? 'n' : 0, 0, 0);
    return found("Y5.3", in_head(text), 0, 0);
}

/* --- counts ---------------------------------------------------------------------- */

void s2e_yes_no_add(s2e_yes_no *counts, bool label_is_yes, char answer)
{
    counts->n++;
    counts->n_label_yes += label_is_yes;
    counts->n_yes += answer == 'y';
    counts->n_right += answer == (label_is_yes ? 'y' : 'n');
    if (answer == 'y')
        ++*(label_is_yes ? &counts->true_yes : &counts->false_yes);
    else if (answer == 'n')
        ++*(label_is_yes ? &counts->false_no : &counts->true_no);
}

static double ratio(int32_t part, int32_t whole) { return whole ? (double)part / whole : 0.0; }

double s2e_precision(const s2e_yes_no *counts)
{
    return ratio(counts->true_yes, counts->true_yes + counts->false_yes);
}

double s2e_recall(const s2e_yes_no *counts)
{
    return ratio(counts->true_yes, counts->true_yes + counts->false_no);
}

double s2e_f1(const s2e_yes_no *counts)
{
    const double p = s2e_precision(counts), r = s2e_recall(counts);
    return p + r > 0.0 ? 2.0 * p * r / (p + r) : 0.0;
}
