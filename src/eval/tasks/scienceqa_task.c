/* scienceqa_task.c - ScienceQA, test questions that have a picture. */
#include "eval/judging.h"
#include "eval/scoring/answer_reading.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

#include <stdio.h>
#include <string.h>

#define SPLIT "test"

static const char *letter_text(const s2e_row *row, int64_t index)
{
    const char letter[] = { (char)('A' + index), 0 };
    return s2e_arena_text(row->arena, letter, 1);
}

/* Choices as a list, the answer as its index. */
static s2p_status listed(const s2e_row *row, s2e_draft *d, s2p_error *error)
{
    int64_t answer;
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    d->sample.hint = s2e_first_text(row, "hint");
    TRY(s2e_draft_choices(d, row, "choices", error));
    if (!s2e_row_int(row, "answer", &answer) || answer < 0 || answer >= d->sample.n_choices)
        return s2_fail(error, S2P_EFORMAT, "the answer is not an index of the %d choices",
                       d->sample.n_choices);
    s2e_draft_answer(d, letter_text(row, answer));
    s2e_draft_category(d, s2e_first_text(row, "subject category"));
    return S2P_OK;
}

static s2p_status tsv_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    (void)skip;
    const char *answer;
    TRY(s2e_draft_id(d, "%s", d->index = s2e_first_text(row, "index"), error));
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    TRY(s2e_need_text(row, "answer", &answer, error));
    d->sample.hint = s2e_first_text(row, "hint");
    s2e_draft_lettered(d, row);
    s2e_draft_answer(d, answer);
    s2e_draft_category(d, s2e_first_text(row, "subject category"));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status parquet_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                              s2p_error *error)
{
    (void)skip;
    char number[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)row->number - 1);
    const char *id = s2e_first_text(row, "id pid question_id index");
    TRY(s2e_draft_id(d, "%s", id ? id : number, error));
    TRY(listed(row, d, error));
    const s2e_value *image = s2e_row_value(row, "image");
    *skip = !image || image->type == S2E_NONE;
    return *skip ? S2P_OK : s2e_draft_pictures(l, d, row, "image", error);
}

/* pid_splits.json says which are of the test split, where it is there. */
static s2p_status read_splits(s2e_loading *l, s2p_error *error)
{
    static const char *const places[] = { "pid_splits.json", "data/scienceqa/pid_splits.json",
                                          "scienceqa/pid_splits.json" };
    (void)error;
    json_t *splits = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !splits; i++)
        (void)s2e_read_beside(l, places[i], &splits, NULL);
    json_t *test = json_object();
    const json_t *list = json_object_get(splits, SPLIT);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_is_string(json_array_get(list, i)))
            (void)json_object_set_new(test, json_string_value(json_array_get(list, i)),
                                      json_true());
    l->beside = splits ? test : NULL;
    if (!splits) json_decref(test);
    json_decref(splits);
    return S2P_OK;
}

static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    char name[600];
    const char *id = s2e_first_text(row, "id"), *image = s2e_first_text(row, "image"),
               *split = s2e_first_text(row, "split");
    TRY(s2e_draft_id(d, "%s", id, error));
    const bool is_test =
        l->beside ? json_object_get(l->beside, id) != NULL : split && strcmp(split, SPLIT) == 0;
    *skip = !image || !is_test;
    if (*skip) return S2P_OK;
    TRY(listed(row, d, error));
    (void)snprintf(name, sizeof name, SPLIT "/%.250s/%.250s", id, image);
    return s2e_draft_file(l, d, "|images|scienceqa/images", name, error);
}

static const s2e_layout layouts[] = {
    { .files = "ScienceQA_TEST.tsv|ScienceQA*.tsv", .row = tsv_row },
    { .files = "ScienceQA-IMG/test-*.parquet|test-*.parquet|data/test-*.parquet",
      .row = parquet_row },
    { .files = "problems.json|data/scienceqa/problems.json|scienceqa/problems.json",
      .row = original_row,
      .start = read_splits },
    { .files = NULL },
};

static s2p_status read_scienceqa(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

static s2p_status prompt_scienceqa(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                   s2p_error *error)
{
    (void)error;
    if (protocol == S2E_PAPER) {
        s2e_prompt_paper(sample, "Context", S2E_PAPER_LETTER_E, out);
    } else if (protocol == S2E_VLMEVALKIT) {
        s2e_prompt_kit_choice(sample, S2E_KIT_SELECT " \n", out);
    } else {
        if (sample->hint[0]) s2_buffer_printf(out, "Context: %s\n", sample->hint);
        s2_buffer_printf(out, "%s\n", sample->question);
        s2e_prompt_options(sample, out);
        s2e_prompt_text(out, S2E_SAY_LETTER);
    }
    return out->status;
}

static s2p_status judge_scienceqa(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                                  const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)draws;
    s2e_scratch scratch = { .failed = false };
    s2e_choice room[S2E_MAX_CHOICES];
    const s2e_str text = s2e_str_of(&scratch, answer);
    s2e_found found;
    bool right;
    switch (protocol) {
    case S2E_OFFICIAL:
        found = s2e_o6(text);
        right = s2e_accepts(sample, found.letter) && found.letter - 'A' < sample->n_choices;
        break;
    case S2E_LMMS:
        found = s2e_o7(&scratch, text, sample->answer[0][0], &right);
        break;
    case S2E_VLMEVALKIT:
        found = s2e_o1(&scratch, text, s2e_options_of(sample, true, room));
        right = s2e_accepts(sample, found.letter);
        break;
    default:
        found = s2e_o8(&scratch, text);
        right = s2e_accepts(sample, found.letter);
    }
    return s2e_settle_letter(out, &scratch, answer, found, right, error);
}

static s2p_status aggregate_scienceqa(const s2e_set *set, s2e_protocol protocol,
                                      const s2e_verdict *verdict, s2e_figures *out,
                                      s2p_error *error)
{
    (void)protocol;
    return s2e_figures_of_categories(set, verdict, "accuracy", out, error);
}

const s2e_task task_scienceqa = {
    .name = "scienceqa",
    .title = "SQA-IMG",
    .summary = "ScienceQA test questions with a picture: choices from school science",
    .read = read_scienceqa,
    .prompt = prompt_scienceqa,
    .predict = { 1024, 1024, 2048, 16 },
    .stops = s2e_stops_at_letter,
    .judge = judge_scienceqa,
    .aggregate = aggregate_scienceqa,
};
