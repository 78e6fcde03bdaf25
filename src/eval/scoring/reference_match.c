/* reference_match.c - parts of answers. */
#include "eval/scoring/answer_matching.h"

#include "eval/scoring/answer_reading.h"

/* --- OCRBench ------------------------------------------------------------------------ */

static s2e_str folded(s2e_scratch *scratch, s2e_str text)
{
    int32_t *code = s2_pool_take(&scratch->pool, text.n * sizeof *code);
    if (!code) {
        scratch->failed = true;
        return text;
    }
    for (size_t i = 0; i < text.n; i++) {
        const int32_t c = text.code[i];
        code[i] = c >= 0xFF01 && c <= 0xFF5E ? c - 0xFEE0 : c == 0x3000 ? ' ' : c;
    }
    return (s2e_str){ code, text.n };
}

static s2e_str prepared(s2e_scratch *scratch, s2e_str text, bool is_formula, bool fold)
{
    if (!is_formula && fold) text = folded(scratch, text);
    if (!is_formula) text = s2e_lower(scratch, text);
    text = s2e_replace(scratch, s2e_strip(text), "\n", " ");
    return is_formula ? s2e_replace(scratch, text, " ", "") : text;
}

bool s2e_ocr_match(s2e_scratch *scratch, s2e_str answer, const char *const *reference,
                   int32_t n_references, bool is_formula, bool fold, size_t *at, size_t *n)
{
    const s2e_str text = prepared(scratch, answer, is_formula, fold);
    for (int32_t i = 0; i < n_references; i++) {
        const s2e_str part = prepared(scratch, s2e_str_of(scratch, reference[i]), is_formula, fold);
        *at = s2e_find(text, part, 0);
        *n = part.n;
        if (*at != S2E_NOT_FOUND) return true;
    }
    return false;
}

/* --- MM-Vet -------------------------------------------------------------------------- */

/* On both sides a word ends, or the element itself does not begin or end with one. */
static bool stands_alone(s2e_str text, s2e_str element, size_t at)
{
    const size_t end = at + element.n;
    const bool left = at == 0 || !s2e_is_word(element.code[0]) || !s2e_is_word(text.code[at - 1]);
    const bool right =
        end == text.n || !s2e_is_word(element.code[element.n - 1]) || !s2e_is_word(text.code[end]);
    return left && right;
}

static bool has_number(s2e_scratch *scratch, s2e_str text, double wanted)
{
    const s2e_words numbers = s2e_numbers_in(scratch, text);
    for (size_t i = 0; i < numbers.n; i++) {
        double number;
        if (s2e_float(scratch, s2e_replace(scratch, numbers.word[i], ",", ""), &number) &&
            number == wanted)
            return true;
    }
    return false;
}

static bool has_element(s2e_scratch *scratch, s2e_str text, s2e_str element)
{
    double number;
    if (s2e_float(scratch, element, &number)) return has_number(scratch, text, number);
    for (size_t at = 0; (at = s2e_find(text, element, at)) != S2E_NOT_FOUND; at++)
        if (stands_alone(text, element, at)) return true;
    return false;
}

/* The next part of `text` before `mark`; *from goes behind the mark, past the end after the last. */
static s2e_str next_part(s2e_str text, s2e_str mark, size_t *from)
{
    const size_t at = s2e_find(text, mark, *from), end = at == S2E_NOT_FOUND ? text.n : at;
    const s2e_str part = s2e_slice(text, *from, end);
    *from = at == S2E_NOT_FOUND ? text.n + 1 : at + mark.n;
    return part;
}

bool s2e_reference_match(s2e_scratch *scratch, s2e_str answer, s2e_str reference)
{
    const s2e_str text = s2e_normalise(scratch, S2E_EVALAI, answer);
    const s2e_str or_mark = s2e_str_of(scratch, "<OR>"), and_mark = s2e_str_of(scratch, "<AND>");
    for (size_t from = 0; from <= reference.n;) {
        const s2e_str alternative = next_part(reference, or_mark, &from);
        bool holds = true, has_any = false;
        for (size_t at = 0; at <= alternative.n && holds;) {
            const s2e_str part = next_part(alternative, and_mark, &at);
            const s2e_str element = s2e_normalise(scratch, S2E_EVALAI, part);
            if (element.n == 0) continue; /* an article, a dash: nothing to look for */
            has_any = true;
            holds = has_element(scratch, text, element);
        }
        if (holds && has_any) return true;
    }
    return false;
}
