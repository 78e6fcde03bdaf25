/* pope_task.c - POPE: is this object in the picture? Three ways to sample what is asked for. */
#include "eval/judging.h"
#include "eval/scoring/answer_reading.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* --- reading ------------------------------------------------------------------------ */

static s2p_status common(const s2e_row *row, s2e_draft *d, s2p_error *error)
{
    const char *answer;
    TRY(s2e_need_text(row, "question text", &d->sample.question, error));
    TRY(s2e_need_text(row, "answer label", &answer, error));
    if (strcasecmp(answer, "yes") != 0 && strcasecmp(answer, "no") != 0)
        return s2_fail(error, S2P_EFORMAT, "the label is '%.40s', not yes or no", answer);
    s2e_draft_answer(d, strcasecmp(answer, "yes") == 0 ? "yes" : "no");
    return S2P_OK;
}

static s2p_status tsv_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    (void)skip;
    TRY(s2e_draft_id(d, "%s", d->index = s2e_first_text(row, "index"), error));
    TRY(common(row, d, error));
    s2e_draft_categories(d, row, s2e_first_text(row, "category"));
    return s2e_draft_pictures(l, d, row, "image", error);
}

/* The three samplings count their questions from 1 each: the id has both. */
static s2p_status sampled_id(s2e_draft *d, const s2e_row *row, const char *category,
                             s2p_error *error)
{
    char format[128];
    const char *id = s2e_first_text(row, "question_id id index");
    (void)snprintf(format, sizeof format, "%.100s/%%s", category);
    s2e_draft_category(d, category);
    return s2e_draft_id(d, strchr(category, '%') ? "%s" : format, id, error);
}

static s2p_status parquet_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                              s2p_error *error)
{
    (void)skip;
    const char *category;
    TRY(s2e_need_text(row, "category", &category, error));
    TRY(sampled_id(d, row, category, error));
    TRY(common(row, d, error));
    return s2e_draft_pictures(l, d, row, "image", error);
}

/* coco_pope_random.json */
static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    (void)skip;
    const char *image, *name = strrchr(row->file, '_');
    const char *category = name ? s2e_arena_text(row->arena, name + 1, strcspn(name + 1, ".")) : "";
    if (!category) return s2_fail_memory(error, 16, "a category");
    TRY(sampled_id(d, row, category, error));
    TRY(common(row, d, error));
    TRY(s2e_need_text(row, "image", &image, error));
    return s2e_draft_file(l, d, "val2014|images|coco/val2014|../val2014|", image, error);
}

static const s2e_layout layouts[] = {
    { .files = "POPE.tsv|POPE*.tsv", .row = tsv_row },
    { .files = "data/test-*.parquet|test-*.parquet|Full/*.parquet|*-00000-of-*.parquet",
      .row = parquet_row },
    { .files = "coco/coco_pope_*.json|coco_pope_*.json|pope/coco/coco_pope_*.json|"
               "output/coco/coco_pope_*.json",
      .row = original_row },
    { .files = NULL },
};

static s2p_status read_pope(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

/* --- asking --------------------------------------------------------------------------- */

static s2p_status prompt_pope(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                              s2p_error *error)
{
    (void)error;
    if (protocol == S2E_PAPER) {
        s2e_prompt_paper(sample, "Hint", S2E_PAPER_YES_NO, out);
    } else if (protocol == S2E_LMMS) {
        s2e_prompt_trimmed(sample->question, out);
        s2e_prompt_line("", S2E_SAY_SHORT, out);
    } else {
        s2e_prompt_line(sample->question, protocol == S2E_VLMEVALKIT ? NULL : S2E_SAY_SHORT, out);
    }
    return out->status;
}

/* --- adding up ------------------------------------------------------------------------ */

/* VLMEvalKit takes what is neither as a no, though never as a right one. */
static void count(s2e_yes_no *counts, s2e_protocol protocol, bool label_is_yes,
                  const s2e_verdict *verdict)
{
    const char answer = verdict->extracted[0];
    s2e_yes_no_add(counts, label_is_yes, answer);
    if (!answer && protocol == S2E_VLMEVALKIT)
        ++*(label_is_yes ? &counts->false_no : &counts->true_no);
}

static s2p_status add_figures(const s2e_yes_no *c, s2e_protocol protocol, const char *section,
                              s2e_figures *out, s2p_error *error)
{
    const int32_t yes =
        protocol == S2E_LMMS ? c->n_label_yes : c->n_yes; /* its ratio is of labels */
    const struct {
        const char *name;
        double value;
    } figures[] = { { "F1", s2e_f1(c) },
                    { "accuracy", (double)c->n_right / c->n },
                    { "precision", s2e_precision(c) },
                    { "recall", s2e_recall(c) },
                    { "yes ratio", (double)yes / c->n } };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const s2e_figure figure = { .name = figures[i].name,
                                    .section = section,
                                    .value = 100.0 * figures[i].value,
                                    .best = 100.0,
                                    .n = c->n,
                                    .headline = i == 0 && !section[0] };
        TRY(s2e_figures_add(out, &figure, error));
    }
    return S2P_OK;
}

/* Once for each sampling it is of. */
static int32_t times_of(const s2e_sample *sample)
{
    return sample->n_categories > 0 ? sample->n_categories : 1;
}

static s2p_status aggregate_pope(const s2e_set *set, s2e_protocol protocol,
                                 const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    s2e_yes_no all = { .n = 0 }, by[S2E_MAX_CATEGORIES] = { { .n = 0 } };
    for (int32_t i = 0; i < set->n_samples; i++) {
        const s2e_sample *sample = &set->sample[i];
        if (!verdict[i].rule) continue;
        const bool yes = sample->answer[0][0] == 'y';
        for (int32_t k = 0; k < times_of(sample); k++) count(&all, protocol, yes, &verdict[i]);
        for (int32_t k = 0; k < sample->n_categories; k++)
            for (int32_t c = 0; c < set->n_categories; c++)
                if (set->category[c] == sample->category[k])
                    count(&by[c], protocol, yes, &verdict[i]);
    }
    if (all.n == 0) return S2P_OK;
    TRY(add_figures(&all, protocol, "", out, error));
    double sum = 0.0;
    int32_t n = 0;
    for (int32_t c = 0; c < set->n_categories; c++) {
        if (!by[c].n) continue;
        TRY(add_figures(&by[c], protocol, set->category[c], out, error));
        sum += 100.0 * s2e_f1(&by[c]);
        n++;
    }
    const s2e_figure mean = {
        .name = "mean F1", .value = n ? sum / n : 0.0, .best = 100.0, .n = all.n
    };
    return n ? s2e_figures_add(out, &mean, error) : S2P_OK;
}

/* --- what F1 is computed from --------------------------------------------------------- */

enum { TRUE_YES, FALSE_YES, FALSE_NO, N_COUNTS };

static int32_t n_counts(const s2e_set *set)
{
    (void)set;
    return N_COUNTS;
}

static void add_counts(const s2e_set *set, s2e_protocol protocol, const s2e_verdict *verdict,
                       int32_t first, int32_t last, double *out)
{
    s2e_yes_no counts = { .n = 0 };
    for (int32_t i = first; i < last; i++)
        for (int32_t k = 0; verdict[i].rule && k < times_of(&set->sample[i]); k++)
            count(&counts, protocol, set->sample[i].answer[0][0] == 'y', &verdict[i]);
    out[TRUE_YES] += counts.true_yes;
    out[FALSE_YES] += counts.false_yes;
    out[FALSE_NO] += counts.false_no;
}

static double f1_of(const s2e_set *set, s2e_protocol protocol, const double *count)
{
    (void)set, (void)protocol;
    const double wrong = count[FALSE_YES] + count[FALSE_NO];
    return count[TRUE_YES] > 0.0 ? 200.0 * count[TRUE_YES] / (2.0 * count[TRUE_YES] + wrong) : 0.0;
}

static const s2e_counts counts = { n_counts, add_counts, f1_of };

const s2e_task task_pope = {
    .name = "pope",
    .title = "POPE",
    .summary = "is this object in the picture? random, popular and adversarial objects",
    .read = read_pope,
    .prompt = prompt_pope,
    .predict = { 1024, 128, 2048, 128 },
    .stops = s2e_stops_at_yes_no,
    .judge = s2e_judge_yes_no,
    .aggregate = aggregate_pope,
    .counts = &counts,
};
