/* textvqa_task.c - TextVQA validation: reading text in photographs.
 *
 * LLaVA's official prompt names what an OCR engine read, which answers part of the questions without a
 * look at the picture. `textvqa-noocr` never does: what is left is the model's own reading.
 */
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/vqa_family.h"

#include <stdio.h>
#include <string.h>

static s2p_status common(const s2e_row *row, s2e_draft *d, const char *answers, s2p_error *error)
{
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    TRY(s2e_draft_answers(d, row, answers, error));
    const s2e_value *tokens = NULL;
    if (s2e_row_list(row, "ocr_tokens", &tokens, NULL) != S2P_OK || !tokens) return S2P_OK;
    json_t *list = json_array();
    for (size_t i = 0; i < tokens->n; i++) {
        const char *token = s2e_value_text(&tokens->item[i], row->arena);
        if (token) (void)json_array_append_new(list, json_string(token));
    }
    if (!d->extra) d->extra = json_object();
    (void)json_object_set_new(d->extra, "ocr_tokens", list);
    return S2P_OK;
}

static s2p_status tsv_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    (void)skip;
    TRY(s2e_draft_id(d, "%s", d->index = s2e_first_text(row, "index"), error));
    TRY(common(row, d, s2e_row_value(row, "answers") ? "answers" : "answer", error));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status parquet_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                              s2p_error *error)
{
    (void)skip;
    TRY(s2e_draft_id(d, "%s", s2e_first_text(row, "question_id index"), error));
    TRY(common(row, d, "answers", error));
    s2e_draft_extra(d, "image_id", s2e_first_text(row, "image_id"));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    (void)skip;
    const char *image;
    char name[300];
    TRY(s2e_draft_id(d, "%s", s2e_first_text(row, "question_id"), error));
    TRY(common(row, d, "answers", error));
    TRY(s2e_need_text(row, "image_id", &image, error));
    s2e_draft_extra(d, "image_id", image);
    (void)snprintf(name, sizeof name, "%.250s.jpg", image);
    return s2e_draft_file(l, d, "train_images|val_images/train_images|textvqa/train_images|images",
                          name, error);
}

static const s2e_layout layouts[] = {
    { .files = "TextVQA_VAL.tsv|TextVQA*.tsv", .row = tsv_row },
    { .files = "data/validation-*.parquet|validation-*.parquet", .row = parquet_row },
    { .files = "TextVQA_0.5.1_val.json|textvqa/TextVQA_0.5.1_val.json",
      .row = original_row,
      .member = "data" },
    { .files = NULL },
};

static s2p_status read_textvqa(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

static s2p_status prompt_textvqa(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                 s2p_error *error)
{
    static const char *const instruction[S2E_N_PROTOCOLS] = { S2E_PAPER_SHORT_TEXT, S2E_SAY_SHORT,
                                                              S2E_SAY_SHORT, S2E_SAY_SHORT };
    return s2e_prompt_vqa(sample, protocol, instruction, out, error);
}

static s2p_status prompt_bare(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                              s2p_error *error)
{
    s2e_sample bare = *sample;
    bare.extra = NULL;
    return prompt_textvqa(&bare, protocol, out, error);
}

static s2p_status judge_textvqa(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                                const char *answer, s2e_verdict *out, s2p_error *error)
{
    static const s2e_vqa_rule rules[S2E_N_PROTOCOLS] = { { S2E_PAPER_SHORT, true, "N5" },
                                                         { S2E_EVALAI, false, "N1" },
                                                         { S2E_KIT, false, "N2" },
                                                         { S2E_EVALAI, false, "N1" } };
    (void)draws;
    return s2e_judge_vqa(sample, &rules[protocol], protocol == S2E_PAPER, answer, out, error);
}

const s2e_task task_textvqa = {
    .name = "textvqa",
    .title = "TextVQA",
    .summary = "validation: questions about text in photographs",
    .read = read_textvqa,
    .prompt = prompt_textvqa,
    .predict = { 1024, 128, 2048, 1024 },
    .judge = judge_textvqa,
    .aggregate = s2e_aggregate_vqa,
};

const s2e_task task_textvqa_noocr = {
    .name = "textvqa-noocr",
    .title = "TextVQA (no OCR)",
    .summary = "the same questions, never with OCR tokens in the prompt",
    .read = read_textvqa,
    .prompt = prompt_bare,
    .predict = { 1024, 128, 2048, 1024 },
    .judge = judge_textvqa,
    .aggregate = s2e_aggregate_vqa,
};
