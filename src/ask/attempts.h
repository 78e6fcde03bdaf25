/* attempts.h - the answers of a setting with several budgets, for outputs. */
#ifndef S2_ASK_ATTEMPTS_H
#define S2_ASK_ATTEMPTS_H

#include "ask/ask.h"
#include "base/json.h"

/* Into the "prune" object of an answer, where the setting has several budgets: "budget" as text ("64..192"),
 * "escalated", "min_confidence" and "attempts" [{"budget":,"image_tokens":,"prompt_tokens":,"confidence":,
 * "ms":,"flops":}]. Otherwise the object is unchanged. */
void s2a_attempts_add(const s2a_setting *setting, const s2a_attempts *attempts, json_t *prune);

/* Before the final attempt has ended: "budget" as text, and "escalated". */
void s2a_attempts_foretell(const s2a_setting *setting, bool is_repeated, json_t *prune);

/* Visual tokens of all attempts: what was prefilled for the answer. */
int32_t s2a_prefilled_tokens(const s2a_answer *answer);

#endif /* S2_ASK_ATTEMPTS_H */
