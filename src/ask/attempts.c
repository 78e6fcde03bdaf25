/* attempts.c - which budgets were asked with, and what each cost. */
#include "ask/attempts.h"

void s2a_attempts_foretell(const s2a_setting *setting, bool is_repeated, json_t *prune)
{
    char text[S2A_BUDGET_TEXT];
    json_object_set_new(prune, "budget", json_string(s2a_budget_text(setting->budget, text)));
    json_object_set_new(prune, "escalated", json_boolean(is_repeated));
}

void s2a_attempts_add(const s2a_setting *setting, const s2a_attempts *attempts, json_t *prune)
{
    char text[S2A_BUDGET_TEXT];
    if (setting->budget.n_more == 0 || attempts->n == 0) return;
    json_t *list = json_array();
    for (int32_t i = 0; i < attempts->n; i++) {
        const s2a_attempt *a = &attempts->list[i];
        const s2a_budget own = { .tokens = a->budget.tokens, .percent = a->budget.percent };
        json_array_append_new(
            list, json_pack("{s:s,s:i,s:i,s:f,s:f,s:f}", "budget", s2a_budget_text(own, text),
                            "image_tokens", a->image_tokens, "prompt_tokens", a->prompt_tokens,
                            "confidence", a->confidence, "ms", a->ms, "flops", a->flops));
    }
    s2a_attempts_foretell(setting, attempts->n > 1, prune);
    json_object_set_new(prune, "min_confidence", json_real(s2a_min_confidence(setting)));
    json_object_set_new(prune, "attempts", list);
}

int32_t s2a_prefilled_tokens(const s2a_answer *answer)
{
    int32_t n = 0;
    for (int32_t i = 0; i < answer->attempts.n; i++) n += answer->attempts.list[i].image_tokens;
    return answer->attempts.n > 0 ? n : answer->stats.image_tokens;
}
