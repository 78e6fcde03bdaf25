/* settle.h - from what a rule found to a verdict. */
#ifndef S2_EVAL_SETTLE_H
#define S2_EVAL_SETTLE_H

#include "eval/scoring/answer_reading.h"
#include "eval/task.h"

/* Is the letter one of the sample's accepted answers? */
bool s2e_accepts(const s2e_sample *sample, char letter);

/* The sample's options; without those VLMEvalKit loses where `for_kit`. room: [S2E_MAX_CHOICES]. */
s2e_options s2e_options_of(const s2e_sample *sample, bool for_kit, s2e_choice *room);

/* What of an answer is compared where the benchmark is not the paper's: all of it, under `paper` what
 * follows "Final Answer:" where that is written. */
s2e_str s2e_judged_text(s2e_scratch *scratch, s2e_protocol protocol, const char *answer);

/* Each ends the judging: the scratch is freed, places become bytes of the answer. */
s2p_status s2e_settle_letter(s2e_verdict *out, s2e_scratch *scratch, const char *answer,
                             s2e_found found, bool right, s2p_error *error);
s2p_status s2e_settle_yes_no(s2e_verdict *out, s2e_scratch *scratch, const char *answer,
                             s2e_found found, bool right, s2p_error *error);
/* `used` is what of the answer was compared. */
s2p_status s2e_settle_text(s2e_verdict *out, s2e_scratch *scratch, const char *rule, double score,
                           s2e_str used, s2p_error *error);

/* Yes or no by the rules of POPE, whose answer is "yes" or "no". A judge of a task as it is. */
s2p_status s2e_judge_yes_no(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                            const char *answer, s2e_verdict *out, s2p_error *error);

#endif /* S2_EVAL_SETTLE_H */
