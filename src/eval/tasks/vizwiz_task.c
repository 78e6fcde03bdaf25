/* vizwiz_task.c - VizWiz validation: photographs by blind people, who asked the questions. */
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/vqa_family.h"

#include <stdio.h>
#include <string.h>

static s2p_status common(const s2e_row *row, s2e_draft *d, s2p_error *error)
{
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    TRY(s2e_draft_answers(d, row, s2e_row_value(row, "answers") ? "answers" : "answer", error));
    s2e_draft_category(d, s2e_first_text(row, "answer_type category"));
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

static s2p_status parquet_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                              s2p_error *error)
{
    (void)skip;
    TRY(s2e_draft_id(d, "%s", s2e_first_text(row, "question_id index"), error));
    TRY(common(row, d, error));
    return s2e_draft_pictures(l, d, row, "image", error);
}

/* The name of the picture without its ending is the id, as in the parquet. */
static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    (void)skip;
    const char *image;
    TRY(s2e_need_text(row, "image", &image, error));
    const char *dot = strrchr(image, '.');
    TRY(s2e_draft_id(d, "%s",
                     s2e_arena_text(row->arena, image, dot ? (size_t)(dot - image) : strlen(image)),
                     error));
    TRY(common(row, d, error));
    s2e_draft_extra(d, "image", image);
    return s2e_draft_file(l, d, "val|images|Images|", image, error);
}

static const s2e_layout layouts[] = {
    { .files = "VizWiz.tsv|VizWiz*.tsv", .row = tsv_row },
    { .files = "data/val-*.parquet|val-*.parquet", .row = parquet_row },
    { .files = "annotations/val.json|Annotations/val.json|val.json", .row = original_row },
    { .files = NULL },
};

static s2p_status read_vizwiz(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

static s2p_status prompt_vizwiz(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                s2p_error *error)
{
    static const char both[] = S2E_SAY_UNANSWERABLE "\n" S2E_SAY_SHORT;
    static const char *const instruction[S2E_N_PROTOCOLS] = { S2E_PAPER_SHORT_TEXT, both, NULL,
                                                              both };
    return s2e_prompt_vqa(sample, protocol, instruction, out, error);
}

static s2p_status judge_vizwiz(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                               const char *answer, s2e_verdict *out, s2p_error *error)
{
    static const s2e_vqa_rule rules[S2E_N_PROTOCOLS] = { { S2E_PAPER_VIZWIZ, false, "N4" },
                                                         { S2E_VQA, false, "N3" },
                                                         { S2E_KIT, false, "N2" },
                                                         { S2E_EVALAI, false, "N1" } };
    (void)draws;
    return s2e_judge_vqa(sample, &rules[protocol], protocol == S2E_PAPER, answer, out, error);
}

const s2e_task task_vizwiz = {
    .name = "vizwiz",
    .title = "VizWiz",
    .summary = "validation: questions of blind people about their photographs",
    .read = read_vizwiz,
    .prompt = prompt_vizwiz,
    .predict = { 1024, 128, 2048, 1024 },
    .judge = judge_vizwiz,
    .aggregate = s2e_aggregate_vqa,
};
