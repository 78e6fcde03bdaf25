/* chartqa_task.c - ChartQA test: questions about charts, half of them by people.
 *
 * It is not in the paper: `paper` is the official score of answers that were asked for and ended
 * as its release does it.
 */
#include "eval/judging.h"
#include "eval/scoring/answer_matching.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

#include <stdio.h>
#include <string.h>

/* "human_test", "test_human", test_human.json: who wrote the question. */
static void draft_author(s2e_draft *d, const char *name)
{
    if (name && strstr(name, "human")) s2e_draft_category(d, "human");
    if (name && strstr(name, "augmented")) s2e_draft_category(d, "augmented");
}

/* Rows have no name: the id is their place among all rows of the data. */
static s2p_status number(s2e_loading *l, s2e_draft *d, s2p_error *error)
{
    char id[32];
    (void)snprintf(id, sizeof id, "%d", (int)s2e_nth(l, "row"));
    return s2e_draft_id(d, "%s", id, error);
}

static s2p_status table_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                            s2p_error *error)
{
    (void)skip;
    d->index = s2e_first_text(row, "index");
    TRY(d->index ? s2e_draft_id(d, "%s", d->index, error) : number(l, d, error));
    TRY(s2e_need_text(row, "question query", &d->sample.question, error));
    TRY(s2e_draft_answers(d, row, s2e_row_value(row, "answer") ? "answer" : "label", error));
    if (d->sample.n_answers < 1) return s2_fail(error, S2P_EFORMAT, "no answer");
    draft_author(d, s2e_first_text(row, "type split human_or_machine category"));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    (void)skip;
    const char *image, *label;
    TRY(number(l, d, error));
    TRY(s2e_need_text(row, "query", &d->sample.question, error));
    TRY(s2e_need_text(row, "label", &label, error));
    TRY(s2e_need_text(row, "imgname", &image, error));
    s2e_draft_answer(d, label);
    draft_author(d, l->file);
    return s2e_draft_file(l, d, "png|test/png|ChartQA Dataset/test/png|images", image, error);
}

static const s2e_layout layouts[] = {
    { .files = "ChartQA_TEST.tsv|ChartQA*.tsv", .row = table_row },
    { .files = "data/test-*.parquet|test-*.parquet", .row = table_row },
    { .files = "test_*.json|test/test_*.json|ChartQA Dataset/test/test_*.json",
      .row = original_row },
    { .files = NULL },
};

static s2p_status read_chartqa(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

static s2p_status prompt_chartqa(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                 s2p_error *error)
{
    if (protocol != S2E_LMMS) return s2e_prompt_short(sample, protocol, out, error);
    s2e_prompt_line(sample->question, "Answer the question with a single word.", out);
    return out->status;
}

/* VLMEvalKit takes the spaces around an answer away, the others compare it as it is. */
static s2p_status judge_chartqa(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                                const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)draws;
    s2e_scratch scratch = { .failed = false };
    s2e_str text = s2e_judged_text(&scratch, protocol, answer);
    bool right = false;
    if (protocol == S2E_VLMEVALKIT) text = s2e_strip(text);
    for (int32_t i = 0; i < sample->n_answers && !right; i++)
        right = s2e_relaxed_match(&scratch, text, s2e_str_of(&scratch, sample->answer[i]));
    return s2e_settle_text(out, &scratch, "relaxed", right, text, error);
}

static s2p_status aggregate_chartqa(const s2e_set *set, s2e_protocol protocol,
                                    const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    (void)protocol;
    return s2e_figures_of_categories(set, verdict, "relaxed accuracy", out, error);
}

const s2e_task task_chartqa = {
    .name = "chartqa",
    .title = "ChartQA",
    .summary = "test: questions about charts, relaxed accuracy",
    .read = read_chartqa,
    .prompt = prompt_chartqa,
    .predict = { 1024, 128, 2048, 16 },
    .judge = judge_chartqa,
    .aggregate = aggregate_chartqa,
};
