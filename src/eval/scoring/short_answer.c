/* short_answer.c - equality, after what each harness does first. */
#include "eval/scoring/answer_matching.h"

#include "eval/scoring/answer_reading.h"

static s2e_str bare(s2e_scratch *scratch, s2e_str text)
{
    text = s2e_lower(scratch, text);
    int32_t *code = s2_pool_take(&scratch->pool, text.n * sizeof *code);
    s2e_str out = { code, 0 };
    if (!code) scratch->failed = true;
    for (size_t i = 0; code && i < text.n; i++)
        if (!s2e_is_punctuation(text.code[i])) code[out.n++] = text.code[i];
    return out;
}

static s2e_str short_form(s2e_scratch *scratch, s2e_short_rule rule, s2e_str text)
{
    switch (rule) {
    case S2E_SHORT_LLAVA:
        return s2e_lower(scratch, s2e_rstrip_code(text, '.'));
    case S2E_SHORT_KIT:
        return s2e_lower(scratch, s2e_strip(text));
    case S2E_SHORT_LMMS:
        return bare(scratch, text);
    case S2E_SHORT_PAPER:
    default:
        return s2e_normalise(scratch, S2E_PAPER_SHORT, text);
    }
}

bool s2e_short_is_right(s2e_scratch *scratch, s2e_short_rule rule, s2e_str answer, s2e_str gold,
                        s2e_str *used)
{
    if (rule == S2E_SHORT_PAPER) answer = s2e_final_or_all(scratch, answer);
    *used = short_form(scratch, rule, answer);
    return s2e_same(*used, rule == S2E_SHORT_LLAVA ? gold : short_form(scratch, rule, gold));
}
