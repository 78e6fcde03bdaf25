/* outcomes.c - rows of a store as numbers. */
#include "eval/tune/outcomes.h"

#include "base/error.h"
#include "eval/judging.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static s2p_status count_groups(s2e_outcomes *out, s2p_error *error)
{
    const size_t room = (size_t)out->n_questions + 1;
    out->group = calloc(room, sizeof *out->group);
    if (!out->group) return s2_fail_memory(error, room * sizeof *out->group, "the questions");
    for (int32_t t = 0; t < out->n_tasks; t++) {
        const s2e_set *set = out->task[t].set;
        int64_t number = 0;
        for (int32_t first = 0, last; first < set->n_samples; first = last, number++) {
            last = s2e_group_end(set, first);
            out->group[out->n_groups++] =
                (s2e_group){ t, out->first[t] + first, out->first[t] + last, number };
            if (last - first > out->largest_group) out->largest_group = last - first;
        }
    }
    return S2P_OK;
}

s2p_status s2e_outcomes_start(s2e_outcomes *out, s2p_error *error)
{
    int64_t n = 0;
    out->first = calloc((size_t)out->n_tasks + 1, sizeof *out->first);
    if (!out->first) return s2_fail_memory(error, sizeof *out->first, "the questions");
    for (int32_t t = 0; t < out->n_tasks; t++) {
        out->first[t] = (int32_t)n;
        n += out->task[t].set->n_samples;
        if (n > S2E_MAX_SAMPLES)
            return s2_fail(error, S2P_ELIMIT, "more than %d questions", S2E_MAX_SAMPLES);
    }
    out->first[out->n_tasks] = out->n_questions = (int32_t)n;
    const size_t room = (size_t)n * (size_t)out->n_columns + 1;
    out->at = calloc(room, sizeof *out->at);
    if (!out->at) return s2_fail_memory(error, room * sizeof *out->at, "the answers");
    return count_groups(out, error);
}

void s2e_outcomes_free(s2e_outcomes *out)
{
    const size_t n = out->at ? (size_t)out->n_questions * (size_t)out->n_columns : 0;
    for (size_t i = 0; i < n; i++) free(out->at[i].answer);
    free(out->at);
    free(out->group);
    free(out->first);
    *out = (s2e_outcomes){ .n_tasks = 0 };
}

/* "[[-0.01,7.2],...]": the lowest probability of the first tokens. Below 0: not that. */
static double read_confidence(const char *text)
{
    json_t *root = NULL;
    double lowest = 0.0;
    if (!text || s2_json_parse(text, strlen(text), "logprobs", &root, NULL) != S2P_OK) return -1.0;
    bool is_right = json_is_array(root);
    for (size_t i = 0; i < json_array_size(root) && i < S2A_CONFIDENCE_TOKENS; i++) {
        const json_t *value = json_array_get(json_array_get(root, i), 0);
        is_right = is_right && json_is_number(value);
        lowest = fmin(lowest, json_number_value(value));
    }
    json_decref(root);
    return is_right ? exp(lowest) : -1.0;
}

typedef struct reading {
    s2e_outcomes *out;
    int32_t task, column;
} reading;

static s2p_status take(const s2e_record *record, void *user, s2p_error *error)
{
    const reading *r = user;
    s2e_outcomes *out = r->out;
    const s2e_asking *asking = &out->task[r->task];
    const int32_t sample = s2e_set_find(asking->set, record->sample);
    if (sample < 0 || strcmp(record->method, out->column[r->column].method) != 0 ||
        strcmp(record->budget, out->column[r->column].budget) != 0 || record->seed != 0)
        return S2P_OK;
    s2e_outcome *one = &out->at[(size_t)r->column * (size_t)out->n_questions +
                                (size_t)(out->first[r->task] + sample)];
    if (one->is_there) return S2P_OK;
    one->tokens = record->tokens_after;
    one->flops = record->flops;
    one->tower_flops = record->tower_flops;
    one->is_there = true;
    if (record->failure) return S2P_OK; /* wrong, and as unsure as can be */
    one->confidence = read_confidence(record->logprobs);
    if (one->confidence < 0.0)
        return s2_fail(error, S2P_EFORMAT,
                       "the answers in --out have no probabilities (--logprobs); use a new folder");
    s2e_verdict verdict = { .rule = NULL };
    TRY(s2e_judge_one(asking->task, &asking->set->sample[sample], out->protocol, record->text,
                      record->grids, &verdict, error));
    one->score = (double)verdict.score;
    s2e_verdict_free(&verdict);
    one->answer = strdup(record->text);
    return one->answer ? S2P_OK : s2_fail_memory(error, strlen(record->text), "an answer");
}

s2p_status s2e_outcomes_read(s2e_outcomes *out, s2e_store *store, s2p_error *error)
{
    for (int32_t t = 0; t < out->n_tasks; t++)
        for (int32_t c = 0; c < out->n_columns; c++) {
            reading r = { out, t, c };
            const s2e_record which = { .task = out->task[t].task->name,
                                       .method = out->column[c].method,
                                       .budget = out->column[c].budget,
                                       .seed = 0 };
            TRY(s2e_store_walk(store, &which, take, &r, error));
        }
    return S2P_OK;
}

static const s2e_outcome *outcome(const s2e_outcomes *o, int32_t column, int32_t q)
{
    return &o->at[(size_t)column * (size_t)o->n_questions + (size_t)q];
}

bool s2e_outcomes_has(const s2e_outcomes *o, int32_t column, int32_t group)
{
    for (int32_t q = o->group[group].first; q < o->group[group].last; q++)
        if (!outcome(o, column, q)->is_there) return false;
    return true;
}

s2e_spent s2e_outcomes_spent(const s2e_outcomes *o, const s2e_plan_of_budgets *plan, int32_t q)
{
    const s2e_outcome *full = outcome(o, 0, q), *used = outcome(o, plan->column, q);
    const s2e_outcome *then = plan->then >= 0 ? outcome(o, plan->then, q) : NULL;
    s2e_spent out = { .tokens = used->tokens, .flops = used->flops + used->tower_flops };
    bool is_known = used->flops > 0.0;
    /* a failure is no answer to be unsure of: the program would not ask again */
    const bool is_more = then && used->answer && (plan->resizes || then->tokens > used->tokens);
    if (is_more && used->confidence < plan->min_confidence) {
        out.is_again = true;
        out.tokens += then->tokens;
        out.flops += then->flops + (plan->resizes ? then->tower_flops : 0.0);
        is_known = is_known && then->flops > 0.0;
        used = then;
    }
    if (!is_known) out.flops = 0.0;
    out.loss = !o->by_agreement ? full->score - used->score
               : full->answer && used->answer && s2e_is_same_answer(full->answer, used->answer)
                   ? 0.0
                   : 1.0;
    return out;
}
