/* settle.c - scores, rules, spans. */
#include "eval/tasks/settle.h"

#include "eval/scoring/answer_reading.h"
#include "eval/tasks/prompts.h"

#include <stdlib.h>
#include <string.h>

bool s2e_accepts(const s2e_sample *sample, char letter)
{
    for (int32_t i = 0; i < sample->n_answers; i++)
        if (letter && sample->answer[i][0] == letter && !sample->answer[i][1]) return true;
    return false;
}

s2e_options s2e_options_of(const s2e_sample *sample, bool for_kit, s2e_choice *room)
{
    int32_t n = 0;
    for (int32_t i = 0; i < sample->n_choices && n < S2E_MAX_CHOICES; i++)
        if (!for_kit || !s2e_kit_loses(sample->choice[i].text)) room[n++] = sample->choice[i];
    return (s2e_options){ room, n };
}

s2e_str s2e_judged_text(s2e_scratch *scratch, s2e_protocol protocol, const char *answer)
{
    const s2e_str all = s2e_str_of(scratch, answer);
    if (protocol != S2E_PAPER) return all;
    const s2e_str final = s2e_final_answer(scratch, all);
    return final.n ? final : all;
}

static s2p_status settle(s2e_verdict *out, s2e_scratch *scratch, const char *rule, double score,
                         const char *extracted, s2p_error *error)
{
    out->rule = rule;
    out->score = (float)score;
    out->extracted = strdup(extracted);
    const bool failed = scratch->failed || !out->extracted;
    s2e_scratch_free(scratch);
    return failed ? s2_fail_memory(error, 64, "a verdict") : S2P_OK;
}

static void place(s2e_verdict *out, const char *answer, s2e_found found)
{
    if (!found.n) return;
    out->span_at = s2e_byte_of(answer, found.at);
    out->span_length = s2e_byte_of(answer, found.at + found.n) - out->span_at;
}

s2p_status s2e_settle_letter(s2e_verdict *out, s2e_scratch *scratch, const char *answer,
                             s2e_found found, bool right, s2p_error *error)
{
    const char letter[] = { found.letter, 0 };
    place(out, answer, found);
    return settle(out, scratch, found.rule, right, letter, error);
}

s2p_status s2e_settle_yes_no(s2e_verdict *out, s2e_scratch *scratch, const char *answer,
                             s2e_found found, bool right, s2p_error *error)
{
    place(out, answer, found);
    return settle(out, scratch, found.rule, right,
                  found.letter == 'y'   ? "yes"
                  : found.letter == 'n' ? "no"
                                        : "",
                  error);
}

s2p_status s2e_settle_text(s2e_verdict *out, s2e_scratch *scratch, const char *rule, double score,
                           s2e_str used, s2p_error *error)
{
    return settle(out, scratch, rule, score, s2e_str_text(scratch, used), error);
}

s2p_status s2e_judge_yes_no(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                            const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)draws;
    s2e_scratch scratch = { .failed = false };
    const s2e_str text = s2e_str_of(&scratch, answer);
    const s2e_found found = protocol == S2E_PAPER      ? s2e_y6(&scratch, text)
                            : protocol == S2E_OFFICIAL ? s2e_y1(text)
                            : protocol == S2E_LMMS     ? s2e_y3(&scratch, text)
                                                       : s2e_y2(&scratch, text);
    const bool right = found.letter && found.letter == sample->answer[0][0];
    return s2e_settle_yes_no(out, &scratch, answer, found, right, error);
}
