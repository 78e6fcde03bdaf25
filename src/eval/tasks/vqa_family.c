/* vqa_family.c - what the three share. */
#include "eval/tasks/vqa_family.h"

#include "eval/judging.h"
#include "eval/scoring/answer_reading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

s2p_status s2e_judge_vqa(const s2e_sample *sample, const s2e_vqa_rule *rule, bool is_paper,
                         const char *answer, s2e_verdict *out, s2p_error *error)
{
    s2e_scratch scratch = { .failed = false };
    s2e_str text = s2e_str_of(&scratch, answer), used;
    if (is_paper) text = s2e_final_or_all(&scratch, text);
    const double score =
        rule->soft
            ? s2e_soft_score(&scratch, text, sample->answer, sample->n_answers, &used)
            : s2e_vqa_accuracy(&scratch, rule->how, text, sample->answer, sample->n_answers, &used);
    return s2e_settle_text(out, &scratch, rule->name, score, used, error);
}

s2p_status s2e_prompt_vqa(const s2e_sample *sample, s2e_protocol protocol,
                          const char *const instruction[S2E_N_PROTOCOLS], s2_buffer *out,
                          s2p_error *error)
{
    if (protocol == S2E_PAPER) {
        s2e_prompt_paper(sample, "Hint", instruction[S2E_PAPER], out);
        return out->status;
    }
    if (protocol == S2E_LMMS)
        TRY(s2e_prompt_capitalized(sample->question, out, error));
    else
        s2e_prompt_text(out, sample->question);
    if (protocol == S2E_OFFICIAL) s2e_prompt_ocr(sample, out);
    s2e_prompt_line("", instruction[protocol], out);
    return out->status;
}

s2p_status s2e_aggregate_vqa(const s2e_set *set, s2e_protocol protocol, const s2e_verdict *verdict,
                             s2e_figures *out, s2p_error *error)
{
    (void)protocol;
    return s2e_figures_of_categories(set, verdict, "accuracy", out, error);
}
