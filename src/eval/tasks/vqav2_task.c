/* vqav2_task.c - VQAv2 validation: balanced questions about COCO pictures. */
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/vqa_family.h"

#include <stdio.h>
#include <string.h>

#define QUESTIONS "v2_OpenEnded_mscoco_val2014_questions.json"
#define ANNOTATIONS "v2_mscoco_val2014_annotations.json"

static s2p_status table_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                            s2p_error *error)
{
    (void)skip;
    TRY(s2e_draft_id(d, "%s", d->index = s2e_first_text(row, "question_id index"), error));
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    TRY(s2e_draft_answers(d, row, s2e_row_value(row, "answers") ? "answers" : "answer", error));
    s2e_draft_category(d, s2e_first_text(row, "answer_type category"));
    return s2e_draft_pictures(l, d, row, "image", error);
}

/* Questions stand in a file of their own: id to text. */
static s2p_status read_questions(s2e_loading *l, s2p_error *error)
{
    json_t *root = NULL;
    s2p_status st = s2e_read_beside(l, QUESTIONS, &root, NULL);
    if (st != S2P_OK) st = s2e_read_beside(l, "questions/" QUESTIONS, &root, error);
    TRY(st);
    l->beside = json_object();
    const json_t *list = json_object_get(root, "questions");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *text = s2_json_string(item, "question");
        char id[32];
        (void)snprintf(id, sizeof id, "%lld",
                       (long long)json_integer_value(json_object_get(item, "question_id")));
        if (text) (void)json_object_set_new(l->beside, id, json_string(text));
    }
    json_decref(root);
    return S2P_OK;
}

static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    (void)skip;
    int64_t image;
    char name[64];
    const char *id = s2e_first_text(row, "question_id");
    TRY(s2e_draft_id(d, "%s", id, error));
    d->sample.question = s2_json_string(l->beside, id);
    if (!d->sample.question) return s2_fail(error, S2P_EFORMAT, "no question has the id %.40s", id);
    TRY(s2e_draft_answers(d, row, "answers", error));
    s2e_draft_category(d, s2e_first_text(row, "answer_type"));
    if (!s2e_row_int(row, "image_id", &image))
        return s2_fail(error, S2P_EFORMAT, "image_id is not a number");
    (void)snprintf(name, sizeof name, "COCO_val2014_%012lld.jpg", (long long)image);
    return s2e_draft_file(l, d, "val2014|images/val2014|images|", name, error);
}

static const s2e_layout layouts[] = {
    { .files = "VQAv2*.tsv", .row = table_row },
    { .files = "data/validation-*.parquet|validation-*.parquet", .row = table_row },
    { .files = ANNOTATIONS "|annotations/" ANNOTATIONS,
      .row = original_row,
      .member = "annotations",
      .start = read_questions },
    { .files = NULL },
};

static s2p_status read_vqav2(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

static s2p_status judge_vqav2(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                              const char *answer, s2e_verdict *out, s2p_error *error)
{
    static const s2e_vqa_rule rules[S2E_N_PROTOCOLS] = { { S2E_PAPER_SHORT, true, "N5" },
                                                         { S2E_VQA, false, "N3" },
                                                         { S2E_KIT, false, "N2" },
                                                         { S2E_EVALAI, false, "N1" } };
    (void)draws;
    return s2e_judge_vqa(sample, &rules[protocol], protocol == S2E_PAPER, answer, out, error);
}

const s2e_task task_vqav2 = {
    .name = "vqav2",
    .title = "VQAv2",
    .summary = "validation: balanced questions about COCO pictures",
    .read = read_vqav2,
    .prompt = s2e_prompt_short,
    .predict = { 1024, 128, 2048, 16 },
    .judge = judge_vqav2,
    .aggregate = s2e_aggregate_vqa,
};
