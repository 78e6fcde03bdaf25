/* mmstar_task.c - MMStar: 1,500 questions that cannot be answered without their picture.
 *
 * Six categories of three skills each. It is not in the paper: `paper` reads the letter as its
 * release does and counts rows as MMStar does.
 */
#include "eval/scoring/answer_reading.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/macro_mean.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

#include <string.h>

static const s2e_choice letters[] = { { 'A', "" }, { 'B', "" }, { 'C', "" }, { 'D', "" } };
#define N_LETTERS 4

/* Behind the question "\nOptions: A: one, B: two, C: three, D: four". A question that has its options
 * in some other way keeps them. */
static void take_options(const s2e_row *row, s2e_draft *d)
{
    static const char *const marks[N_LETTERS] = { "\nOptions: A: ", ", B: ", ", C: ", ", D: " };
    const char *from[N_LETTERS], *to[N_LETTERS], *at = d->sample.question;
    for (int i = 0; i < N_LETTERS; i++) {
        const char *mark = strstr(at, marks[i]);
        if (!mark) return;
        if (i > 0) to[i - 1] = mark;
        at = from[i] = mark + strlen(marks[i]);
    }
    to[N_LETTERS - 1] = at + strlen(at);
    for (int i = 0; i < N_LETTERS; i++)
        s2e_draft_choice(d, s2e_arena_text(row->arena, from[i], (size_t)(to[i] - from[i])));
    s2e_draft_extra(d, "whole", d->sample.question);
    const size_t n = (size_t)(from[0] - d->sample.question) - strlen(marks[0]);
    d->sample.question = s2e_arena_text(row->arena, d->sample.question, n);
}

static s2p_status any_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    (void)skip;
    const char *answer;
    TRY(s2e_draft_id(d, "%s", d->index = s2e_first_text(row, "index"), error));
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    TRY(s2e_need_text(row, "answer", &answer, error));
    s2e_draft_lettered(d, row);
    if (d->sample.n_choices < 1) take_options(row, d);
    s2e_draft_answer(d, answer);
    s2e_draft_category(d, s2e_first_text(row, "category"));
    s2e_draft_category(d, s2e_first_text(row, "l2_category l2-category"));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static const s2e_layout layouts[] = {
    { .files = "MMStar.tsv|MMStar*.tsv", .row = any_row },
    { .files = "mmstar.parquet|MMStar.parquet|data/val-*.parquet|val-*.parquet", .row = any_row },
    { .files = NULL },
};

static s2p_status read_mmstar(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

/* The question as in the Parquet file, options and all. */
static void prompt_whole(const s2e_sample *sample, s2_buffer *out)
{
    const char *whole = s2_json_string(sample->extra, "whole");
    s2e_prompt_trimmed(whole ? whole : sample->question, out);
    for (int32_t i = 0; i < sample->n_choices && !whole; i++)
        s2_buffer_printf(out, "%s%c: %s", i ? ", " : "\nOptions: ", sample->choice[i].letter,
                         sample->choice[i].text);
}

static s2p_status prompt_mmstar(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                s2p_error *error)
{
    (void)error;
    if (protocol == S2E_PAPER) {
        s2e_prompt_paper(sample, "Hint", S2E_PAPER_LETTER_D, out);
    } else if (protocol == S2E_LMMS) { /* without a period, as it is there */
        prompt_whole(sample, out);
        s2e_prompt_text(out, "\nAnswer with the option's letter from the given choices directly");
    } else {
        s2e_prompt_kit_choice(sample, S2E_KIT_SELECT " \n", out);
        if (sample->n_choices < 1) s2e_prompt_text(out, S2E_KIT_SELECT " \n");
    }
    return out->status;
}

static s2p_status judge_mmstar(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                               const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)draws;
    s2e_scratch scratch = { .failed = false };
    s2e_choice room[S2E_MAX_CHOICES];
    const s2e_str text = s2e_str_of(&scratch, answer);
    const s2e_options all = { letters, N_LETTERS }, own = s2e_options_of(sample, true, room);
    const s2e_found found = protocol == S2E_PAPER      ? s2e_o8(&scratch, text)
                            : protocol == S2E_OFFICIAL ? s2e_o9(&scratch, text)
                            : protocol == S2E_LMMS     ? s2e_o3(&scratch, text, all)
                            : own.n > 0                ? s2e_o1(&scratch, text, own)
                                                       : s2e_o1_letter(&scratch, text, all);
    return s2e_settle_letter(out, &scratch, answer, found, s2e_accepts(sample, found.letter),
                             error);
}

/* MMStar counts questions; lmms-eval's average is the mean of its 18 skills. */
static s2p_status aggregate_mmstar(const s2e_set *set, s2e_protocol protocol,
                                   const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    return s2e_figures_with_macro(set, verdict, "accuracy", "accuracy, mean of skills",
                                  protocol == S2E_LMMS, out, error);
}

static double value_of(const s2e_set *set, s2e_protocol protocol, const double *count)
{
    return s2e_macro_value(set, count, protocol == S2E_LMMS);
}

static const s2e_counts counts = { s2e_macro_counts, s2e_macro_add, value_of };

const s2e_task task_mmstar = {
    .name = "mmstar",
    .title = "MMStar",
    .summary = "questions that need their picture: 6 categories of 3 skills",
    .read = read_mmstar,
    .prompt = prompt_mmstar,
    .predict = { 1024, 1024, 2048, 1024 },
    .stops = s2e_stops_at_letter,
    .judge = judge_mmstar,
    .aggregate = aggregate_mmstar,
    .counts = &counts,
};
