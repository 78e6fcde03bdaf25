/* paper_scores.c - numbers of finished evaluations, by setting and benchmark. */
#include "asking/model_kind.h"
#include "eval/run/fingerprint.h"
#include "paper/paper_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void s2_paper_scores_free(s2_paper_scores *scores)
{
    free(scores->score);
    *scores = (s2_paper_scores){ .n = 0 };
}

/* The same setting on the same benchmark twice would make two tables of one. */
static const s2_paper_score *find(const s2_paper_scores *s, const s2_paper_score *like)
{
    for (int32_t i = 0; i < s->n; i++)
        if (strcmp(s->score[i].label, like->label) == 0 &&
            strcmp(s->score[i].group, like->group) == 0 &&
            strcmp(s->score[i].task, like->task) == 0)
            return &s->score[i];
    return NULL;
}

s2p_status s2_paper_scores_add(s2_paper_scores *scores, const s2_paper_score *score,
                               s2p_error *error)
{
    const s2_paper_score *there = find(scores, score);
    if (there && there->value == score->value && there->n_samples == score->n_samples)
        return S2P_OK;
    if (there)
        return s2_fail(error, S2P_EINVAL,
                       "two runs have %.60s at %.10s on %.40s, with different numbers; leave one "
                       "out",
                       score->label, score->group, score->task);
    if (scores->n == scores->capacity) {
        const int32_t capacity = scores->capacity ? 2 * scores->capacity : 64;
        s2_paper_score *grown = realloc(scores->score, (size_t)capacity * sizeof *grown);
        if (!grown) return s2_fail_memory(error, (size_t)capacity * sizeof *grown, "the scores");
        scores->score = grown;
        scores->capacity = capacity;
    }
    scores->score[scores->n++] = *score;
    return S2P_OK;
}

s2p_status s2_paper_scores_of(const s2e_results *results, s2_paper_scores *scores, s2p_error *error)
{
    const char *kind = s2_json_string(results->values, S2E_ABOUT "kind");
    const char *pictures = s2_json_string(results->values, S2E_IS "pictures");
    if (scores->n == 0) {
        (void)snprintf(scores->model, sizeof scores->model, "%s", results->model);
        (void)snprintf(scores->kind, sizeof scores->kind, "%s", kind ? kind : "");
        scores->has_paper_size = scores->has_paper_protocol = true;
    }
    scores->has_paper_size =
        scores->has_paper_size && pictures && strstr(pictures, "size=672x672 ") == pictures;
    scores->has_paper_protocol = scores->has_paper_protocol && results->protocol == S2E_PAPER;
    for (int32_t t = 0; t < results->n_tasks; t++) {
        const s2e_task_results *task = &results->task[t];
        for (int32_t i = 0; i < task->n_results; i++) {
            const s2e_result *r = &task->result[i];
            s2a_setting setting;
            char title[S2A_LABEL_SIZE];
            const bool is_known = s2e_setting_read(results->values, &r->column, &setting);
            double best;
            const double value = s2e_result_headline(r, results->protocol, &best);
            s2_paper_score score = { .n_samples = task->set->n_samples };
            score.value = strcmp(task->task->name, "mme") == 0 ? value : 100.0 * value / best;
            (void)snprintf(score.label, sizeof score.label, "%.*s", (int)sizeof score.label - 1,
                           r->column.label);
            (void)snprintf(score.title, sizeof score.title, "%.90s",
                           is_known ? s2a_setting_title(&setting, title) : r->column.label);
            (void)snprintf(score.group, sizeof score.group, "%s", r->column.budget);
            (void)snprintf(score.task, sizeof score.task, "%s", task->task->name);
            TRY(s2_paper_scores_add(scores, &score, error));
        }
    }
    return S2P_OK;
}

bool s2_paper_is_whole(const s2_paper_score *score)
{
    static const struct {
        const char *task;
        int32_t n[2];
    } whole[] = {
        { "gqa", { 12578, 0 } },
        { "scienceqa", { 2017, 0 } },
        { "textvqa", { 5000, 0 } },
        { "vizwiz", { 4319, 0 } },
        { "mmmu", { 900, 0 } },
        { "pope", { 9000, 3000 } }, /* three samplings, or the one the release runs */
        { "mme", { 2374, 0 } },
        { "mmbench", { 4329, 0 } },
        { "mmbench-cn", { 4329, 0 } },
        { "mmvet", { 218, 0 } },
        { "ocrbench", { 1000, 0 } },
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(whole[i].task, score->task) == 0)
            return score->n_samples == whole[i].n[0] || score->n_samples == whole[i].n[1];
    return false;
}

const char *s2_paper_why_not(const s2_printed_table *printed, const s2_paper_scores *scores)
{
    if (!s2_model_is(scores->kind, scores->model, printed->model))
        return strcmp(printed->name, "table2") == 0 ? "the model is not LLaVA-OneVision-7B"
                                                    : "the model is not Qwen2.5-VL-7B";
    if (strcmp(printed->model, "qwen2.5-vl-7b") == 0 && !scores->has_paper_size)
        return "pictures were not shown at 672x672";
    if (!scores->has_paper_protocol) return "prompts and scores are not those of the paper";
    return NULL;
}
