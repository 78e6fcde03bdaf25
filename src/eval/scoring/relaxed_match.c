/* relaxed_match.c - numbers read off a chart. */
#include "eval/scoring/answer_matching.h"
#include "eval/scoring/answer_reading.h"

#include <math.h>

#define TOLERANCE 0.05

/* float(), and of "12%" the twelve hundredths. */
static bool number_of(s2e_scratch *scratch, s2e_str text, double *out)
{
    const bool is_percent = text.n > 0 && text.code[text.n - 1] == '%';
    if (!s2e_float(scratch, is_percent ? s2e_rstrip_code(text, '%') : text, out)) return false;
    if (is_percent) *out /= 100.0;
    return true;
}

bool s2e_relaxed_match(s2e_scratch *scratch, s2e_str answer, s2e_str reference)
{
    double said, wanted;
    if (number_of(scratch, answer, &said) && number_of(scratch, reference, &wanted) &&
        wanted != 0.0)
        return fabs(said - wanted) / fabs(wanted) <= TOLERANCE;
    return s2e_same(s2e_lower(scratch, answer), s2e_lower(scratch, reference));
}
