/* ocrbench_task.c - OCRBench: 1,000 questions about text, a hit when the reference is in the answer. */
#include "eval/judging.h"
#include "eval/scoring/answer_matching.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

#include <stdio.h>
#include <string.h>

#define FORMULAS "Handwritten Mathematical Expression Recognition"
#define FORMULA_DATA "HME100k"

static const struct {
    const char *name, *types; /* between '|' */
} groups[] = {
    { "Text Recognition",
      "|Regular Text Recognition|Irregular Text Recognition|Artistic Text Recognition|"
      "Handwriting Recognition|Digit String Recognition|Non-Semantic Text Recognition|" },
    { "Scene Text-centric VQA", "|Scene Text-centric VQA|" },
    { "Doc-oriented VQA", "|Doc-oriented VQA|" },
    { "Key Information Extraction", "|Key Information Extraction|" },
    { FORMULAS, "|" FORMULAS "|" },
};

static s2p_status common(const s2e_row *row, s2e_draft *d, const char *answers, const char *type,
                         s2p_error *error)
{
    const char *category;
    TRY(s2e_need_text(row, "question", &d->sample.question, error));
    TRY(s2e_need_text(row, type, &category, error));
    s2e_draft_category(d, category);
    s2e_draft_extra(d, "dataset", s2e_first_text(row, "dataset dataset_name"));
    return s2e_draft_answers(d, row, answers, error);
}

static s2p_status tsv_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    (void)skip;
    TRY(s2e_draft_id(d, "%s", d->index = s2e_first_text(row, "index"), error));
    TRY(common(row, d, "answer", "category", error));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status parquet_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                              s2p_error *error)
{
    (void)skip;
    char number[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)row->number - 1);
    const char *id = s2e_first_text(row, "id index");
    TRY(s2e_draft_id(d, "%s", id ? id : number, error));
    TRY(common(row, d, "answer", "question_type type", error));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status original_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                               s2p_error *error)
{
    (void)skip;
    const char *image;
    TRY(s2e_draft_id(d, "%s", s2e_first_text(row, "id"), error));
    TRY(common(row, d, "answers", "type", error));
    TRY(s2e_need_text(row, "image_path", &image, error));
    return s2e_draft_file(l, d, "|OCRBench_Images|images", image, error);
}

static const s2e_layout layouts[] = {
    { .files = "OCRBench.tsv|OCRBench*.tsv", .row = tsv_row },
    { .files = "data/test-*.parquet|test-*.parquet", .row = parquet_row },
    { .files = "OCRBench.json|OCRBench/OCRBench.json", .row = original_row },
    { .files = NULL },
};

static s2p_status read_ocrbench(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

static s2p_status prompt_ocrbench(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                                  s2p_error *error)
{
    (void)error;
    if (protocol == S2E_PAPER)
        s2e_prompt_paper(sample, "Hint", S2E_PAPER_SHORT_TEXT, out);
    else if (protocol == S2E_LMMS)
        s2e_prompt_trimmed(sample->question, out);
    else
        s2e_prompt_text(out, sample->question);
    return out->status;
}

static s2p_status judge_ocrbench(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                                 const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)draws;
    s2e_scratch scratch = { .failed = false };
    const char *dataset = s2_json_string(sample->extra, "dataset");
    bool is_formula = sample->n_categories > 0 && strcmp(sample->category[0], FORMULAS) == 0;
    if (protocol != S2E_VLMEVALKIT && dataset) is_formula = strcmp(dataset, FORMULA_DATA) == 0;
    const s2e_str text = s2e_str_of(&scratch, answer);
    size_t at = 0, n = 0;
    const bool hit = s2e_ocr_match(&scratch, text, sample->answer, sample->n_answers, is_formula,
                                   protocol == S2E_LMMS, &at, &n);
    return s2e_settle_text(out, &scratch, is_formula ? "contains, formula" : "contains", hit,
                           s2e_strip(text), error);
}

static int32_t hits_of(const s2e_set *set, const s2e_verdict *verdict, const char *types,
                       int32_t *n)
{
    int32_t hits = 0;
    *n = 0;
    for (int32_t i = 0; i < set->n_samples; i++) {
        char name[128];
        (void)snprintf(name, sizeof name, "|%.120s|",
                       set->sample[i].n_categories ? set->sample[i].category[0] : "");
        if (!verdict[i].rule || (types && !strstr(types, name))) continue;
        hits += verdict[i].score > 0.5f;
        ++*n;
    }
    return hits;
}

/* Hits; the paper prints a tenth of them, lmms-eval a thousandth. */
static s2p_status aggregate_ocrbench(const s2e_set *set, s2e_protocol protocol,
                                     const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    const double scale = protocol == S2E_PAPER ? 0.1 : protocol == S2E_LMMS ? 0.001 : 1.0;
    int32_t n;
    const int32_t hits = hits_of(set, verdict, NULL, &n);
    TRY(s2e_figures_add(out, &(s2e_figure){ "score", "", scale * hits, scale * 1000.0, n, true },
                        error));
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        const int32_t some = hits_of(set, verdict, groups[g].types, &n);
        if (n)
            TRY(s2e_figures_add(out, &(s2e_figure){ "hits", groups[g].name, some, n, n, false },
                                error));
    }
    for (int32_t c = 0; c < set->n_categories; c++) {
        char name[128];
        (void)snprintf(name, sizeof name, "|%.120s|", set->category[c]);
        const int32_t some = hits_of(set, verdict, name, &n);
        const bool is_group = strstr(groups[0].types, name) == NULL;
        if (n && !is_group)
            TRY(s2e_figures_add(out, &(s2e_figure){ "hits", set->category[c], some, n, n, false },
                                error));
    }
    return S2P_OK;
}

const s2e_task task_ocrbench = {
    .name = "ocrbench",
    .title = "OCRBench",
    .summary = "reading: words, scenes, documents, key information, formulas",
    .read = read_ocrbench,
    .prompt = prompt_ocrbench,
    .predict = { 1024, 1024, 2048, 128 },
    .judge = judge_ocrbench,
    .aggregate = aggregate_ocrbench,
};
