/* mmvet_task.c - MM-Vet: open answers that need several capabilities at once.
 *
 * Its own score is a grade by GPT-4. Without one the answers are matched with the reference
 * (reference_match.c), in all four protocols alike.
 */
#include "eval/judging.h"
#include "eval/scoring/means.h"
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
    return S2P_OK;
}

static s2p_status tsv_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    (void)skip;
    TRY(s2e_draft_id(d, "%s", d->index = s2e_first_text(row, "index"), error));
    TRY(common(row, d, error));
    s2e_draft_categories(d, row, s2e_first_text(row, "category capability"));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status parquet_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                              s2p_error *error)
{
    (void)skip;
    TRY(s2e_draft_id(d, "%s", s2e_first_text(row, "question_id id index"), error));
    TRY(common(row, d, error));
    s2e_draft_categories(d, row, s2e_first_text(row, "capability category"));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    (void)skip;
    const char *image;
    const s2e_value *list;
    TRY(s2e_draft_id(d, "%s", s2e_first_text(row, "id"), error));
    TRY(common(row, d, error));
    TRY(s2e_row_list(row, "capability", &list, error));
    for (size_t i = 0; list && i < list->n; i++)
        s2e_draft_category(d, s2e_value_text(&list->item[i], row->arena));
    TRY(s2e_need_text(row, "imagename", &image, error));
    return s2e_draft_file(l, d, "images|mm-vet/images|", image, error);
}

static const s2e_layout layouts[] = {
    { .files = "MMVet.tsv|MMVet*.tsv", .row = tsv_row },
    { .files = "data/test-*.parquet|test-*.parquet", .row = parquet_row },
    { .files = "mm-vet.json|mm-vet/mm-vet.json", .row = original_row },
    { .files = NULL },
};

static s2p_status read_mmvet(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

static s2p_status prompt_mmvet(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                               s2p_error *error)
{
    (void)error;
    if (protocol == S2E_PAPER) {
        s2e_prompt_paper(sample, "Hint", S2E_PAPER_SHORT_TEXT, out);
        return out->status;
    }
    if (protocol == S2E_LMMS)
        s2e_prompt_text(out, "First please perform reasoning, and think step by step to provide "
                             "best answer to the following question: \n\n");
    s2e_prompt_text(out, sample->question);
    return out->status;
}

static s2p_status judge_mmvet(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                              const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)protocol, (void)draws;
    s2e_scratch scratch = { .failed = false };
    const s2e_str text = s2e_str_of(&scratch, answer);
    const bool right = s2e_reference_match(&scratch, text, s2e_str_of(&scratch, sample->answer[0]));
    return s2e_settle_text(out, &scratch, "reference", right, s2e_strip(text), error);
}

/* "rec,know" of a sample, in the order of its data. */
static void capabilities_of(const s2e_sample *sample, char *out, size_t size, const char *between)
{
    out[0] = '\0';
    for (int32_t i = 0; i < sample->n_categories; i++) {
        const size_t n = strlen(out);
        (void)snprintf(out + n, size - n, "%s%.30s", i ? between : "", sample->category[i]);
    }
}

static s2p_status add_mean(const s2e_set *set, const s2e_verdict *verdict, const char *name,
                           bool one_table, s2e_figures *out, s2p_error *error)
{
    double sum = 0.0;
    int32_t n = 0;
    for (int32_t i = 0; i < set->n_samples; i++) {
        char list[256];
        if (!verdict[i].rule) continue;
        capabilities_of(&set->sample[i], list, sizeof list, ",");
        const int32_t weight = s2e_capability_weight(list, name, one_table);
        sum += weight * (double)verdict[i].score;
        n += weight;
    }
    const s2e_figure figure = { "score", name, n ? 100.0 * sum / n : 0.0, 100.0, n, false };
    return n ? s2e_figures_add(out, &figure, error) : S2P_OK;
}

static s2p_status aggregate_mmvet(const s2e_set *set, s2e_protocol protocol,
                                  const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    const bool one_table = protocol == S2E_VLMEVALKIT;
    const s2e_figure all = { .name = "reference match", .headline = true };
    TRY(s2e_figures_of(set, verdict, NULL, NULL, &all, out, error));
    s2_names names = { .n = 0 };
    s2p_status st = S2P_OK;
    for (size_t i = 0; s2e_capability_name(i); i++)
        if (s2_names_add(&names, s2e_capability_name(i), NULL) < 0) st = S2P_ENOMEM;
    for (int32_t i = 0; i < set->n_samples; i++) { /* then the combinations, as they come */
        char list[256];
        capabilities_of(&set->sample[i], list, sizeof list, "_");
        if (list[0] && s2_names_add(&names, list, NULL) < 0) st = S2P_ENOMEM;
    }
    if (st != S2P_OK) (void)s2_fail_memory(error, 64, "the capabilities");
    for (int32_t i = 0; i < names.n && st == S2P_OK; i++)
        st = add_mean(set, verdict, names.name[i], one_table, out, error);
    s2_names_free(&names);
    return st;
}

const s2e_task task_mmvet = {
    .name = "mmvet",
    .title = "MMVet",
    .summary = "open answers that need several capabilities; matched with the reference, no GPT",
    .read = read_mmvet,
    .prompt = prompt_mmvet,
    .predict = { 1024, 1024, 2048, 1024 },
    .judge = judge_mmvet,
    .is_graded = true,
    .aggregate = aggregate_mmvet,
};
