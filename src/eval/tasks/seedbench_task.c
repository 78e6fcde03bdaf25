/* seedbench_task.c - SEED-Bench, its image questions: nine dimensions, four options.
 *
 * Questions about videos are left out. The benchmark's own way ranks the options by their
 * likelihood; `official` is LLaVA's script, which most papers use. It is not in the paper: `paper`
 * reads the letter as its release does.
 */
#include "eval/scoring/answer_reading.h"
#include "eval/judging.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

#include <string.h>

#define N_COLUMNS 4

static const char *dimension_of(const s2e_row *row)
{
    static const char *const names[] = { "Scene Understanding",  "Instance Identity",
                                         "Instance Attributes",  "Instance Location",
                                         "Instances Counting",   "Spatial Relation",
                                         "Instance Interaction", "Visual Reasoning",
                                         "Text Understanding" };
    int64_t number;
    if (s2e_row_int(row, "question_type_id", &number) && number >= 1 &&
        number <= (int64_t)(sizeof names / sizeof *names))
        return names[number - 1];
    return s2e_first_text(row, "category question_type_id");
}

static s2p_status common(const s2e_row *row, s2e_draft *d, bool *skip, s2p_error *error)
{
    static const char *const columns[N_COLUMNS] = { "choice_a", "choice_b", "choice_c",
                                                    "choice_d" };
    const char *answer, *type = s2e_first_text(row, "data_type");
    *skip = type && strstr(type, "ideo") != NULL;
    if (*skip) return S2P_OK;
    d->index = s2e_first_text(row, "index");
    TRY(s2e_draft_id(d, "%s", s2e_first_text(row, "index question_id"), error));
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    TRY(s2e_need_text(row, "answer", &answer, error));
    s2e_draft_lettered(d, row);
    for (size_t i = 0, is_lettered = d->sample.n_choices > 0; i < N_COLUMNS && !is_lettered; i++) {
        const char *text;
        TRY(s2e_need_text(row, columns[i], &text, error));
        s2e_draft_choice(d, text);
    }
    s2e_draft_answer(d, answer);
    s2e_draft_category(d, dimension_of(row));
    return S2P_OK;
}

static s2p_status table_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                            s2p_error *error)
{
    TRY(common(row, d, skip, error));
    return *skip ? S2P_OK : s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    const char *image;
    TRY(common(row, d, skip, error));
    if (*skip) return S2P_OK;
    TRY(s2e_need_text(row, "data_id", &image, error));
    return s2e_draft_file(l, d, "SEED-Bench-image|seed_bench/SEED-Bench-image|cc3m-image|", image,
                          error);
}

static const s2e_layout layouts[] = {
    { .files = "SEEDBench_IMG.tsv|SEEDBench_IMG*.tsv|SEEDBench*.tsv", .row = table_row },
    { .files = "data/test-*.parquet|test-*.parquet", .row = table_row },
    { .files = "SEED-Bench.json|seed_bench/SEED-Bench.json|SEED-Bench*.json",
      .row = original_row,
      .member = "questions" },
    { .files = NULL },
};

static s2p_status read_seedbench(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

static s2p_status prompt_seedbench(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                   s2p_error *error)
{
    (void)error;
    if (protocol == S2E_PAPER) {
        s2e_prompt_paper(sample, "Hint", S2E_PAPER_LETTER_D, out);
    } else if (protocol == S2E_VLMEVALKIT) {
        s2e_prompt_kit_choice(sample, S2E_KIT_SELECT " \n", out);
    } else {
        s2_buffer_printf(out, "%s\n", sample->question);
        s2e_prompt_options(sample, out);
        s2e_prompt_text(out, S2E_SAY_LETTER);
    }
    return out->status;
}

static s2p_status judge_seedbench(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                                  const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)draws;
    s2e_scratch scratch = { .failed = false };
    s2e_choice room[S2E_MAX_CHOICES];
    const s2e_str text = s2e_str_of(&scratch, answer);
    const s2e_options own = s2e_options_of(sample, true, room);
    const s2e_found found = protocol == S2E_PAPER      ? s2e_o8(&scratch, text)
                            : protocol == S2E_OFFICIAL ? s2e_o10(text)
                            : protocol == S2E_LMMS     ? s2e_o11(text)
                                                       : s2e_o1(&scratch, text, own);
    return s2e_settle_letter(out, &scratch, answer, found, s2e_accepts(sample, found.letter),
                             error);
}

static s2p_status aggregate_seedbench(const s2e_set *set, s2e_protocol protocol,
                                      const s2e_verdict *verdict, s2e_figures *out,
                                      s2p_error *error)
{
    (void)protocol;
    return s2e_figures_of_categories(set, verdict, "accuracy", out, error);
}

const s2e_task task_seedbench = {
    .name = "seedbench",
    .title = "SEED-I",
    .summary = "SEED-Bench, image questions: nine dimensions",
    .read = read_seedbench,
    .prompt = prompt_seedbench,
    .predict = { 1024, 128, 2048, 1024 },
    .stops = s2e_stops_at_letter,
    .judge = judge_seedbench,
    .aggregate = aggregate_seedbench,
};
