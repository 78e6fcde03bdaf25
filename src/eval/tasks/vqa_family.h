/* vqa_family.h - TextVQA, VizWiz and VQAv2: ten people answered, VQA accuracy. */
#ifndef S2_EVAL_VQA_FAMILY_H
#define S2_EVAL_VQA_FAMILY_H

#include "eval/scoring/answer_matching.h"
#include "eval/task.h"

/* How a protocol compares; soft: min(1, k / 3), else the held-out average. */
typedef struct s2e_vqa_rule {
    s2e_normaliser how;
    bool soft;
    const char *name;
} s2e_vqa_rule;

s2p_status s2e_judge_vqa(const s2e_sample *sample, const s2e_vqa_rule *rule, bool is_paper,
                         const char *answer, s2e_verdict *out, s2p_error *error);

/* The release's form; else the question, capitalised for lmms-eval, TextVQA's OCR tokens where the
 * official prompt has them, and the instruction of the protocol; NULL: none. */
s2p_status s2e_prompt_vqa(const s2e_sample *sample, s2e_protocol protocol,
                          const char *const instruction[S2E_N_PROTOCOLS], s2_buffer *out,
                          s2p_error *error);

/* VQA accuracy over all as the headline, then by category. */
s2p_status s2e_aggregate_vqa(const s2e_set *set, s2e_protocol protocol, const s2e_verdict *verdict,
                             s2e_figures *out, s2p_error *error);

#endif /* S2_EVAL_VQA_FAMILY_H */
