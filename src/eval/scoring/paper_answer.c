/* paper_answer.c - patterns in the order in which the release tries them.
 *
 * Places are those of the answer as a whole; inside a final answer, whose spaces are collapsed, they
 * are not told.
 */
#include "eval/scoring/answer_reading.h"

/* "Final Answer:" with any spaces, and the spaces after it: where it ends, or 0. */
static size_t after_final(s2e_str s, size_t at)
{
    size_t n = s2e_match_word(s, at, "final");
    if (!n) return 0;
    at = s2e_skip_spaces(s, at + n);
    n = s2e_match_word(s, at, "answer");
    if (!n) return 0;
    at = s2e_skip_spaces(s, at + n);
    if (at == s.n || s.code[at] != ':') return 0;
    return s2e_skip_spaces(s, at + 1);
}

/* "\boxed{" with any spaces, and the spaces after it: where it ends, or 0. */
static size_t after_boxed(s2e_str s, size_t at)
{
    const size_t n = s2e_match_word(s, at, "\\boxed");
    if (!n) return 0;
    at = s2e_skip_spaces(s, at + n);
    if (at == s.n || s.code[at] != '{') return 0;
    return s2e_skip_spaces(s, at + 1);
}

static s2e_str collapsed(s2e_scratch *scratch, s2e_str s)
{
    return s2e_join(scratch, s2e_split(scratch, s));
}

s2e_str s2e_final_answer(s2e_scratch *scratch, s2e_str answer)
{
    for (size_t i = 0; i < answer.n; i++) {
        const size_t open = after_final(answer, i);
        const size_t start = open ? after_boxed(answer, open) : 0;
        for (size_t end = start; start && end < answer.n; end++)
            if (answer.code[end] == '}') return collapsed(scratch, s2e_slice(answer, start, end));
    }
    for (size_t i = 0; i < answer.n; i++) {
        const size_t start = after_final(answer, i);
        if (!start || start == answer.n) continue;
        size_t end = start;
        while (end < answer.n && answer.code[end] != '\n') end++;
        return collapsed(scratch, s2e_rstrip_code(s2e_slice(answer, start, end), '.'));
    }
    return (s2e_str){ NULL, 0 };
}

s2e_str s2e_final_or_all(s2e_scratch *scratch, s2e_str answer)
{
    const s2e_str final = s2e_final_answer(scratch, answer);
    return final.n ? final : s2e_strip(answer);
}

/* A letter at `at`, in any case; 0: none. */
static char letter_at(s2e_str s, size_t at)
{
    return at < s.n ? s2e_any_case_letter(s.code[at]) : 0;
}

/* One that ends there: a boundary follows. */
static char lone_letter_at(s2e_str s, size_t at)
{
    const char letter = letter_at(s, at);
    return letter && s2e_is_boundary(s, at + 1) ? letter : 0;
}

typedef size_t (*pattern)(s2e_str s, size_t at); /* where its letter stands; S2E_NOT_FOUND */

static size_t boxed_letter(s2e_str s, size_t at)
{
    const size_t letter = after_boxed(s, at);
    if (!letter || !letter_at(s, letter)) return S2E_NOT_FOUND;
    const size_t end = s2e_skip_spaces(s, letter + 1);
    return end < s.n && s.code[end] == '}' ? letter : S2E_NOT_FOUND;
}

static size_t final_letter(s2e_str s, size_t at)
{
    const size_t letter = after_final(s, at);
    return letter && lone_letter_at(s, letter) ? letter : S2E_NOT_FOUND;
}

static size_t first_letter(s2e_str s, size_t at)
{
    if (at > 0) return S2E_NOT_FOUND;
    const size_t letter = s2e_skip_spaces(s, 0);
    if (!letter_at(s, letter)) return S2E_NOT_FOUND;
    const size_t end = s2e_skip_spaces(s, letter + 1);
    return end < s.n && (s.code[end] == '.' || s.code[end] == ')') ? letter : S2E_NOT_FOUND;
}

static size_t letter_after_colon(s2e_str s, size_t at)
{
    at = s2e_skip_spaces(s, at);
    if (at < s.n && (s.code[at] == ':' || s.code[at] == 0xFF1A)) at = s2e_skip_spaces(s, at + 1);
    return lone_letter_at(s, at) ? at : S2E_NOT_FOUND;
}

static size_t answered_letter(s2e_str s, size_t at)
{
    const size_t n = s2e_match_word(s, at, "answer");
    if (!n) return S2E_NOT_FOUND;
    const size_t next = s2e_skip_spaces(s, at + n);
    const size_t is = next > at + n ? s2e_match_word(s, next, "is") : 0;
    const size_t letter = is ? letter_after_colon(s, next + is) : S2E_NOT_FOUND;
    return letter != S2E_NOT_FOUND ? letter : letter_after_colon(s, at + n);
}

s2e_found s2e_o8(s2e_scratch *scratch, s2e_str answer)
{
    static const struct {
        pattern find;
        const char *rule;
    } patterns[] = { { boxed_letter, "O8.1" },
                     { final_letter, "O8.2" },
                     { first_letter, "O8.3" },
                     { answered_letter, "O8.4" } };
    const s2e_str final = s2e_final_answer(scratch, answer), text = final.n ? final : answer;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
        for (size_t i = 0; i < text.n; i++) {
            const size_t at = patterns[p].find(text, i);
            if (at != S2E_NOT_FOUND)
                return (s2e_found){ patterns[p].rule, letter_at(text, at), final.n ? 0 : at,
                                    final.n ? 0 : 1 };
        }
    for (size_t i = text.n; i-- > 0;)
        if (lone_letter_at(text, i) && s2e_is_boundary(text, i))
            return (s2e_found){ "O8.5", letter_at(text, i), final.n ? 0 : i, final.n ? 0 : 1 };
    return (s2e_found){ "O8.5", 0, 0, 0 };
}

s2e_found s2e_y6(s2e_scratch *scratch, s2e_str answer)
{
    const s2e_str final = s2e_final_answer(scratch, answer), text = final.n ? final : answer;
    for (size_t i = text.n; i-- > 0;) {
        size_t n = s2e_match_word(text, i, "yes");
        const char letter = n ? 'y' : 'n';
        if (!n) n = s2e_match_word(text, i, "no");
        if (n && s2e_is_boundary(text, i) && s2e_is_boundary(text, i + n))
            return (s2e_found){ "Y6", letter, final.n ? 0 : i, final.n ? 0 : n };
    }
    return (s2e_found){ "Y6", 0, 0, 0 };
}
