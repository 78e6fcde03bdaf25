/* docvqa_task.c - DocVQA and InfographicVQA validation: reading documents, by ANLS.
 *
 * The paper has neither: `paper` is the challenge's own score of answers that were asked for and
 * ended as its release does it.
 */
#include "eval/judging.h"
#include "eval/scoring/answer_matching.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

/* A list of names, or one; a row without them is in no category. */
static void categories(const s2e_row *row, s2e_draft *d, const char *column)
{
    const s2e_value *list = NULL;
    if (s2e_row_list(row, column, &list, NULL) != S2P_OK || !list) {
        s2e_draft_category(d, s2e_first_text(row, column));
        return;
    }
    for (size_t i = 0; i < list->n; i++)
        s2e_draft_category(d, s2e_value_text(&list->item[i], row->arena));
}

static s2p_status common(const s2e_row *row, s2e_draft *d, const char *ids, s2p_error *error)
{
    TRY(s2e_draft_id(d, "%s", s2e_first_text(row, ids), error));
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    TRY(s2e_draft_answers(d, row, s2e_row_value(row, "answers") ? "answers" : "answer", error));
    categories(row, d, "question_types");
    categories(row, d, "answer_type");
    return S2P_OK;
}

static s2p_status table_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                            s2p_error *error)
{
    (void)skip;
    d->index = s2e_first_text(row, "index");
    TRY(common(row, d, "index questionId question_id", error));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    (void)skip;
    const char *image;
    TRY(common(row, d, "questionId", error));
    TRY(s2e_need_text(row, "image image_local_name", &image, error));
    return s2e_draft_file(l, d, "|infographicsvqa_images|infographicVQA_val_v1.0_images|images|val",
                          image, error);
}

static const s2e_layout documents[] = {
    { .files = "DocVQA_VAL.tsv|DocVQA*.tsv", .row = table_row },
    { .files = "DocVQA/validation-*.parquet|data/validation-*.parquet|validation-*.parquet",
      .row = table_row },
    { .files = "val_v1.0_withQT.json|val_v1.0.json|val/val_v1.0.json|docvqa/val_v1.0_withQT.json",
      .row = original_row,
      .member = "data" },
    { .files = NULL },
};

static const s2e_layout infographics[] = {
    { .files = "InfoVQA_VAL.tsv|InfoVQA*.tsv|InfographicVQA*.tsv", .row = table_row },
    { .files = "InfographicVQA/validation-*.parquet|data/validation-*.parquet|validation-*.parquet",
      .row = table_row },
    { .files = "infographicsVQA_val_v1.0_withQT.json|infographicVQA_val_v1.0.json|"
               "infographicsVQA_val_v1.0.json",
      .row = original_row,
      .member = "data" },
    { .files = NULL },
};

static s2p_status read_documents(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, documents, out, error);
}

static s2p_status read_infographics(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, infographics, out, error);
}

static s2p_status judge_anls(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                             const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)draws;
    s2e_scratch scratch = { .failed = false };
    const s2e_str text = s2e_judged_text(&scratch, protocol, answer);
    s2e_str used;
    const double score = s2e_anls(&scratch, text, sample->answer, sample->n_answers, &used);
    return s2e_settle_text(out, &scratch, "ANLS", score, used, error);
}

static s2p_status aggregate_anls(const s2e_set *set, s2e_protocol protocol,
                                 const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    (void)protocol;
    return s2e_figures_of_categories(set, verdict, "ANLS", out, error);
}

const s2e_task task_docvqa = {
    .name = "docvqa",
    .title = "DocVQA",
    .summary = "validation: questions about scanned documents, ANLS",
    .read = read_documents,
    .prompt = s2e_prompt_short,
    .predict = { 1024, 128, 2048, 32 },
    .judge = judge_anls,
    .aggregate = aggregate_anls,
};

const s2e_task task_infovqa = {
    .name = "infovqa",
    .title = "InfoVQA",
    .summary = "InfographicVQA validation: questions about infographics, ANLS",
    .read = read_infographics,
    .prompt = s2e_prompt_short,
    .predict = { 1024, 128, 2048, 32 },
    .judge = judge_anls,
    .aggregate = aggregate_anls,
};
