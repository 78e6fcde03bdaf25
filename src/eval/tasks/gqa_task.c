/* gqa_task.c - GQA, testdev balanced: short answers about scenes, exact match. */
#include "eval/judging.h"
#include "eval/scoring/answer_matching.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

#include <stdio.h>
#include <string.h>

static s2p_status common(const s2e_row *row, s2e_draft *d, s2p_error *error)
{
    const char *answer;
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    TRY(s2e_need_text(row, "answer", &answer, error));
    s2e_draft_answer(d, answer);
    const s2e_value *types = s2e_row_value(row, "types");
    static const char *const kinds[] = { "structural", "semantic", "detailed" };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        s2e_draft_extra(
            d, kinds[i],
            s2e_value_text(types ? s2e_value_member(types, kinds[i]) : NULL, row->arena));
    return S2P_OK;
}

static s2p_status tsv_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    (void)skip;
    TRY(s2e_draft_id(d, "%s", d->index = s2e_first_text(row, "index"), error));
    TRY(common(row, d, error));
    return s2e_draft_pictures(l, d, row, "image", error);
}

/* The pictures of the questions are in a table of their own. */
static s2p_status keep_pictures(s2e_loading *l, s2p_error *error);

static s2p_status parquet_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                              s2p_error *error)
{
    (void)skip, (void)l;
    TRY(s2e_draft_id(d, "%s", s2e_first_text(row, "id question_id index"), error));
    TRY(common(row, d, error));
    if (s2e_row_value(row, "image")) return s2e_draft_pictures(l, d, row, "image", error);
    TRY(s2e_need_text(row, "imageId", &d->reference, error));
    return strlen(d->reference) <= S2E_REFERENCE_MAX
               ? S2P_OK
               : s2_fail(error, S2P_EFORMAT, "imageId is too long");
}

static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    (void)skip;
    char name[300];
    const char *image;
    TRY(s2e_draft_id(d, "%s", s2e_first_text(row, "id"), error));
    TRY(common(row, d, error));
    TRY(s2e_need_text(row, "imageId", &image, error));
    (void)snprintf(name, sizeof name, "%.250s.jpg", image);
    return s2e_draft_file(l, d, "images|data/images|../images||gqa/images", name, error);
}

static const s2e_layout layouts[] = {
    { .files = "GQA_TestDev_Balanced.tsv|GQA*.tsv", .row = tsv_row },
    { .files = "testdev_balanced_instructions/*.parquet|*/testdev_balanced_instructions/*.parquet|"
               "testdev_balanced_instructions*.parquet",
      .row = parquet_row,
      .start = keep_pictures },
    { .files = "testdev_balanced_questions.json|data/questions1.2/testdev_balanced_questions.json|"
               "data/testdev_balanced_questions.json|questions1.2/testdev_balanced_questions.json",
      .row = original_row },
    { .files = NULL },
};

static s2p_status keep_pictures(s2e_loading *l, s2p_error *error)
{
    return s2e_load_pictures(
        l,
        "testdev_balanced_images/*.parquet|*/testdev_balanced_images/*.parquet|"
        "testdev_balanced_images*.parquet",
        "id", "image", error);
}

static s2p_status read_gqa(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

static s2p_status judge_gqa(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                            const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)draws;
    static const struct {
        s2e_short_rule rule;
        const char *name;
    } rules[S2E_N_PROTOCOLS] = { { S2E_SHORT_PAPER, "N5" },
                                 { S2E_SHORT_LLAVA, "LLaVA" },
                                 { S2E_SHORT_KIT, "trimmed" },
                                 { S2E_SHORT_LMMS, "exact_match" } };
    s2e_scratch scratch = { .failed = false };
    s2e_str used;
    const bool right =
        s2e_short_is_right(&scratch, rules[protocol].rule, s2e_str_of(&scratch, answer),
                           s2e_str_of(&scratch, sample->answer[0]), &used);
    return s2e_settle_text(out, &scratch, rules[protocol].name, right, used, error);
}

/* The official extras: yes-or-no questions and the others, and by type, where the data say. */
static s2p_status aggregate_gqa(const s2e_set *set, s2e_protocol protocol,
                                const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    (void)protocol;
    TRY(s2e_figures_of_categories(set, verdict, "accuracy", out, error));
    static const char *const kinds[] = { "structural", "semantic", "detailed" };
    double sum[2] = { 0 };
    int32_t n[2] = { 0 };
    for (int32_t i = 0; i < set->n_samples; i++) {
        const char *type = s2_json_string(set->sample[i].extra, "structural");
        if (!verdict[i].rule || !type) continue;
        const bool is_open = strcmp(type, "query") == 0;
        sum[is_open] += (double)verdict[i].score;
        n[is_open]++;
    }
    for (int k = 0; k < 2; k++)
        if (n[k])
            TRY(s2e_figures_add(out,
                                &(s2e_figure){ .name = k ? "open" : "binary",
                                               .value = 100.0 * sum[k] / n[k],
                                               .best = 100.0,
                                               .n = n[k] },
                                error));
    for (size_t k = 0; k < 2; k++) TRY(s2e_figures_by_extra(set, verdict, kinds[k], out, error));
    return S2P_OK;
}

const s2e_task task_gqa = {
    .name = "gqa",
    .title = "GQA",
    .summary = "testdev balanced: short answers about objects, attributes and relations",
    .read = read_gqa,
    .prompt = s2e_prompt_short,
    .predict = { 1024, 128, 2048, 16 },
    .judge = judge_gqa,
    .aggregate = aggregate_gqa,
};
