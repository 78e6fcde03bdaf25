/* paper_sections.c - one row for each table or figure: what fills it, and the command when nothing does. */
#include "paper/paper_sections.h"

#include "analyze/rates.h"
#include "asking/model_kind.h"
#include "paper/paper_efficiency.h"
#include "paper/paper_facts.h"

#include <math.h>
#include <string.h>

#define QWEN "-m qwen2.5-vl-7b.gguf -mm mmproj.gguf --preset paper --data-dir DATA"

typedef struct section {
    const char *heading;
    const char *analysis;          /* of analysis_table.c; NULL: none */
    const char *tasks;             /* the paper's benchmarks for it */
    const char *methods, *budgets; /* columns of a run that belong there; NULL: all */
    const char *table;             /* printed, with our numbers next to it; NULL: none */
    const char *facts;             /* "figure5": numbers of the text */
    const char *note;
    const char *command; /* for the paper's model and data */
} section;

static const section sections[] = {
    { "Figure 2, Figures S1 and S2, Table S1: token scores induce spatial allocation", "spatial",
      "mmbench", "fastv-top,feather-top,feather-top-8,visionzip-top,erc-top,s2prune", "32,64,128",
      NULL, "figure2",
      "The paper: Qwen2.5-VL-7B, 1,000 questions of MMBench, one rule (Global Top-B) for every "
      "score.",
      "s2prune analyze spatial " QWEN " --tasks mmbench --pictures 1000 --out figure2" },
    { "Figure 3: retention against Random", "retention", NULL,
      "full,random,uniform,fastv,dart,gprune,visionzip,vispruner,gridprune,holov,s2prune", "64",
      NULL, NULL,
      "The paper: Qwen2.5-VL-7B at 64 tokens; Uniform Grid is above Random on four of five "
      "benchmarks, which it does not name in the text.",
      "s2prune analyze retention " QWEN
      " --tasks gqa,scienceqa,textvqa,pope,mmbench --out figure3" },
    { "Figure 5: adaptive against equal density by structural heterogeneity", "heterogeneity",
      "mmbench,textvqa,pope", "equal-density,s2prune[centre]", "64,32", NULL, "figure5",
      "The paper: the mean of MMBench, TextVQA and POPE.",
      "s2prune analyze heterogeneity " QWEN " --tasks mmbench,textvqa,pope --out figure5" },
    { "Table 1 and Table S2: main results", "main", NULL, NULL, NULL, "table1", NULL, NULL, NULL },
    { "Figure 6: accuracy against budget", "budget", "gqa,pope,mmbench",
      "full,fastv,visionzip,s2prune", "192,128,64,32", NULL, NULL,
      "The paper: GQA, POPE and MMBench; its numbers are those of Tables 1 and S2.",
      "s2prune analyze budget " QWEN " --tasks gqa,pope,mmbench --out figure6" },
    { "Table 2: LLaVA-OneVision", "llava", NULL, NULL, NULL, "table2", NULL, NULL, NULL },
    { "Table 3: efficiency", "", NULL, NULL, NULL, NULL, NULL, NULL,
      "s2prune bench -m qwen2.5-vl-7b.gguf -mm mmproj.gguf --preset paper -i photo.jpg" },
    { "Figure 7 and Table 4: allocators and selectors", "ablation",
      "mmmu,textvqa,vizwiz,mmbench,scienceqa",
      "full,s2prune,s2prune[uniform],s2prune[fft],s2prune[erank],s2prune[allocator=random],"
      "s2prune[selector=random],s2prune[norm],s2prune[query-all],s2prune[query-last],"
      "s2prune[centre]",
      "64", "table4", "figure7",
      "The paper: allocators on MMMU, TextVQA and VizWiz, selectors on MMBench, ScienceQA and "
      "TextVQA, at 64 tokens.",
      "s2prune analyze ablation " QWEN
      " --tasks mmmu,textvqa,vizwiz,mmbench,scienceqa --out figure7" },
    { "Table S3: grid size", "grid", "mmbench,textvqa,scienceqa,pope",
      "full,s2prune[K=3],s2prune[K=4],s2prune[K=5],s2prune[K=6],s2prune[K=7],s2prune[K=8]", "64,32",
      "table_s3", NULL, "The paper: four benchmarks, at 64 and 32 tokens.",
      "s2prune analyze grid " QWEN " --tasks mmbench,textvqa,scienceqa,pope --out table_s3" },
    { "Figures S3 to S6: cases", "cases", "pope", "full,fastv,gridprune,s2prune", "32,128", NULL,
      NULL,
      "The paper: POPE questions that S2Prune answers and FastV and GridPrune do not, at 32 and "
      "128 "
      "tokens.",
      "s2prune analyze cases " QWEN " --tasks pope --out cases" },
    { "Not in the paper: what methods have in common", "overlap", NULL, NULL, "64", NULL, NULL,
      NULL, NULL },
};

/* --- whose model and data ---------------------------------------------------------------------------- */

static const char *file_of(const s2_paper_work *w)
{
    return w->runs ? w->runs->main.model : w->context->asker.model;
}

static const char *kind_of(const s2_paper_work *w, char out[S2_MODEL_KIND])
{
    if (!w->runs) return s2_model_kind(w->context->asker.model, w->context->asker.mmproj, out);
    (void)snprintf(out, S2_MODEL_KIND, "%s", w->runs->main.kind);
    return out;
}

static bool has_paper_size(const s2_paper_work *w)
{
    const s2v_image_options *o = &w->context->asker.image_options[0];
    return w->runs ? w->runs->main.has_paper_size : o->width == 672 && o->height == 672;
}

static bool has_task(const s2_paper_work *w, s2a_item item)
{
    for (int32_t i = 0; i < w->context->n_tasks; i++)
        if (s2a_item_is(item, w->context->task[i].task->name)) return true;
    return false;
}

static bool has_tasks(const s2_paper_work *w, const char *tasks)
{
    s2a_item item;
    while (s2a_next_item(&tasks, &item))
        if (!has_task(w, item)) return false;
    return true;
}

static bool has_one_of(const s2_paper_work *w, const char *tasks)
{
    s2a_item item;
    while (tasks && s2a_next_item(&tasks, &item))
        if (has_task(w, item)) return true;
    return false;
}

/* NULL: they are the paper's, and numbers can be compared. */
static const char *why_not(const s2_paper_work *w, const section *s)
{
    char kind[S2_MODEL_KIND];
    if (!s2_model_is(kind_of(w, kind), file_of(w), "qwen2.5-vl-7b"))
        return "the model is not Qwen2.5-VL-7B";
    if (!has_paper_size(w)) return "pictures were not shown at 672x672";
    if (!s->tasks || !has_tasks(w, s->tasks)) return "the benchmarks are not the paper's";
    if (w->options->n_pictures > 0 && strcmp(s->analysis, "spatial") != 0)
        return "only some pictures were asked about";
    return NULL;
}

/* --- trials ------------------------------------------------------------------------------------------------ */

typedef struct list {
    const char *methods, *budgets;
} list;

static s2p_status add_all(const s2a_setting *base, const list *l, s2a_setting *out, int32_t *n,
                          s2p_error *error)
{
    s2a_item method, budget;
    *n = 0;
    out[*n] = *base;
    s2a_setting_use(&out[(*n)++], "full");
    out[0].budget = (s2a_budget){ .tokens = 0 };
    for (const char *budgets = l->budgets; s2a_next_item(&budgets, &budget);)
        for (const char *methods = l->methods; s2a_next_item(&methods, &method);) {
            const char *name;
            s2a_setting *one = &out[(*n)++];
            *one = *base;
            TRY(s2a_method_read("paper", method.text, method.n, &name, error));
            s2a_setting_use(one, name);
            TRY(s2a_budget_read("paper", budget.text, budget.n, S2P_MAX_TOKENS, &one->budget,
                                error));
        }
    return S2P_OK;
}

/* Methods of Tables 1 and S2, and the second grid of S2. */
static s2p_status main_settings(const s2a_setting *base, const char *budgets, s2a_setting *out,
                                int32_t *n, s2p_error *error)
{
    const list l = { "fastv,dart,gprune,visionzip,vispruner,gridprune,holov,s2prune", budgets };
    TRY(add_all(base, &l, out, n, error));
    out[*n] = out[*n - 1];
    out[*n].budget = (s2a_budget){ .tokens = 192 };
    out[(*n)++].choice.side = 10;
    return S2P_OK;
}

static s2p_status llava_settings(const s2a_setting *base, const char *budgets, s2a_setting *out,
                                 int32_t *n, s2p_error *error)
{
    return add_all(base, &(list){ "fastv,cdpruner,gridprune,s2prune", budgets }, out, n, error);
}

static const s2_analysis main_analyses[] = {
    { .name = "main", .budgets = "192,128,64,32", .per_picture = 1, .settings = main_settings },
    { .name = "llava", .budgets = "160,80,40", .per_picture = 1, .settings = llava_settings },
};

/* Every setting on every benchmark. */
static s2p_status scores_of_trials(const s2_paper_work *w, const s2_trials *t, s2_paper_scores *out,
                                   s2p_error *error)
{
    (void)snprintf(out->model, sizeof out->model, "%.100s", t->model);
    (void)kind_of(w, out->kind);
    out->has_paper_size = has_paper_size(w);
    out->has_paper_protocol = w->context->protocol == S2E_PAPER;
    for (int32_t p = 0; p < t->n_parts; p++)
        for (int32_t i = 0; i < t->n_settings; i++) {
            char label[S2A_LABEL_SIZE];
            s2_rate rate;
            s2_paper_score score = { .value = 0.0 };
            const s2_scope scope = { p, S2_ALL_CATEGORIES, NULL };
            if (s2_rate_of(t, i, S2_NO_SETTING, scope, &rate) != S2P_OK)
                return s2_fail_memory(error, sizeof rate, "the scores");
            score.value =
                strcmp(t->part[p].name, "mme") == 0 ? rate.value : 100.0 * rate.value / rate.best;
            score.n_samples = rate.n;
            (void)snprintf(score.label, sizeof score.label, "%.90s",
                           s2a_setting_label(&t->setting[i], label));
            (void)snprintf(score.title, sizeof score.title, "%.90s",
                           s2a_setting_title(&t->setting[i], label));
            (void)snprintf(score.task, sizeof score.task, "%.40s", t->part[p].name);
            if (s2a_budget_is_none(t->setting[i].budget))
                (void)snprintf(score.group, sizeof score.group, "%s", S2_PRINTED_FULL);
            else
                (void)s2a_budget_text(t->setting[i].budget, score.group);
            TRY(s2_paper_scores_add(out, &score, error));
        }
    return S2P_OK;
}

/* --- a section of an analysis ---------------------------------------------------------------------------------- */

static void tell_extent(const s2_paper_work *w, const s2_trials *t)
{
    char note[160 + S2_NAMES_SIZE], names[S2_NAMES_SIZE];
    (void)snprintf(note, sizeof note, "%d pictures and %d questions of %s, %d settings.",
                   t->n_pictures, t->n_questions, s2_trials_names(t, names), t->n_settings);
    s2_study_note(w->study, note);
    if (w->settings->size == 0) s2_analyze_describe(w->context, t, true, w->settings);
}

/* What cannot be made of this data is a blank with a sentence, not the end of the report. */
static bool is_blank(s2p_status st)
{
    return st == S2P_EINVAL || st == S2P_EFORMAT || st == S2P_EUNSUPPORTED;
}

static s2p_status collect(const s2_paper_work *w, const section *s, const s2_analysis *analysis,
                          s2_trials *trials, s2p_error *error)
{
    bool is_complete = false;
    w->context->only = has_one_of(w, s->tasks) ? s->tasks : NULL;
    w->options->methods = w->runs ? s->methods : NULL;
    w->options->budgets = w->runs ? s->budgets : NULL;
    const s2p_status st = s2_analyze_collect(w->context, analysis, trials, &is_complete, error);
    w->context->only = w->options->methods = w->options->budgets = NULL;
    return st;
}

static s2p_status add_printed(const s2_paper_work *w, const section *s, const s2_trials *trials,
                              s2p_error *error)
{
    const char *why = why_not(w, s);
    s2_paper_scores scores = { .n = 0 };
    int32_t unused;
    s2p_status st = scores_of_trials(w, trials, &scores, error);
    if (st == S2P_OK && s->facts) s2_paper_facts(s->facts, &scores, why, w->study);
    if (strcmp(s->analysis, "spatial") == 0) s2_paper_correlations(why, w->study);
    if (st == S2P_OK && s->table && has_one_of(w, s->tasks))
        st = s2_paper_table_add(s2_printed_find(s->table), &scores, NULL, w->study, &unused, error);
    s2_paper_scores_free(&scores);
    return st;
}

static s2p_status fill_analysis(const s2_paper_work *w, const section *s, s2p_error *error)
{
    const s2_analysis *analysis = s2_analysis_find(s->analysis);
    s2_trials trials = { .n_pictures = 0 };
    s2p_error why = { S2P_OK, "" };
    const int32_t first = w->study->n;
    s2p_status st = collect(w, s, analysis, &trials, &why);
    if (st == S2P_OK) st = s2_analyze_draw(analysis, &trials, w->study, &why);
    if (st == S2P_OK) st = add_printed(w, s, &trials, &why);
    if (st == S2P_OK) tell_extent(w, &trials);
    s2_trials_free(&trials);
    if (is_blank(st)) {
        char note[sizeof why.message + 32];
        s2_study_cut(w->study, first);
        (void)snprintf(note, sizeof note, "Blank: %s.", why.message);
        s2_study_note(w->study, note);
        if (!s->command) return S2P_OK;
    } else if (st != S2P_OK)
        return s2_fail(error, st, "%s", why.message);
    else if (!s->command || !why_not(w, s))
        return S2P_OK;
    s2_study_command(w->study, s->command);
    return S2P_OK;
}

/* --- the main tables -------------------------------------------------------------------------------------------- */

/* Of one benchmark that is not the paper's: its kinds of questions are columns, and said to be that. */
static s2p_status add_kinds(const s2_paper_work *w, const s2_trials *t, const char *name,
                            s2p_error *error)
{
    char table[64], caption[640 + 3 * S2_NAMES_SIZE], names[S2_NAMES_SIZE], extent[S2_NAMES_SIZE];
    int32_t full = 0;
    while (full < t->n_settings && !s2a_budget_is_none(t->setting[full].budget)) full++;
    (void)snprintf(table, sizeof table, "%s_kinds", name);
    (void)s2_trials_extent(t, extent);
    (void)snprintf(caption, sizeof caption,
                   "Not the paper's table: its methods and budgets on %s with %s. The columns are "
                   "kinds of questions of this benchmark, not benchmarks; no number here can be "
                   "compared with a printed one.%s%s%s",
                   s2_trials_names(t, names), t->model, *extent ? " " : "", extent,
                   *extent ? "." : "");
    const s2p_status st = s2_rate_table(t, full < t->n_settings ? full : S2_NO_SETTING, NULL,
                                        s2_study_table(w->study, table, caption));
    return st == S2P_OK ? st : s2_fail(error, st, "no memory for a table");
}

static s2p_status add_tables(const s2_paper_work *w, bool is_llava, const s2_paper_scores *scores,
                             int32_t *n_cells, s2p_error *error)
{
    static const char *const names[][2] = { { "table1", "table_s2" }, { "table2", NULL } };
    int32_t n;
    *n_cells = 0;
    for (int i = 0; i < 2 && names[is_llava][i]; i++) {
        const s2_printed_table *printed = s2_printed_find(names[is_llava][i]);
        TRY(s2_paper_table_add(printed, scores, is_llava ? "llava-onevision-7b" : "qwen2.5-vl-7b",
                               w->study, &n, error));
        *n_cells += n;
    }
    return S2P_OK;
}

static s2p_status ask_main(const s2_paper_work *w, const section *s, bool is_llava,
                           s2p_error *error)
{
    s2_trials trials = { .n_pictures = 0 };
    s2_paper_scores scores = { .n = 0 };
    int32_t n_cells = 0;
    if (!has_one_of(w, is_llava ? "scienceqa,mmbench,mmmu,ocrbench"
                                : "gqa,scienceqa,textvqa,vizwiz,mmmu,pope,mme,mmbench,mmbench-cn,"
                                  "mmvet"))
        s2_study_note(w->study, "Blank: no benchmark of the paper was asked about.");
    s2p_status st = collect(w, s, &main_analyses[is_llava], &trials, error);
    if (st == S2P_OK) st = scores_of_trials(w, &trials, &scores, error);
    if (st == S2P_OK) st = add_tables(w, is_llava, &scores, &n_cells, error);
    if (st == S2P_OK && n_cells == 0) st = add_kinds(w, &trials, s->table, error);
    if (st == S2P_OK) tell_extent(w, &trials);
    s2_paper_scores_free(&scores);
    s2_trials_free(&trials);
    return st;
}

static s2p_status fill_main(const s2_paper_work *w, const section *s, s2p_error *error)
{
    char kind[S2_MODEL_KIND];
    const bool is_llava = strcmp(s->analysis, "llava") == 0;
    int32_t n_cells;
    if (w->runs) {
        const s2_paper_scores *scores = is_llava ? &w->runs->llava : &w->runs->main;
        if (scores->n == 0)
            s2_study_note(w->study, is_llava ? "Blank: no run of LLaVA-OneVision was given."
                                             : "Blank: no run of another model was given.");
        return add_tables(w, is_llava, scores->n ? scores : NULL, &n_cells, error);
    }
    if (s2_model_is_llava_onevision(kind_of(w, kind), file_of(w)) == is_llava)
        return ask_main(w, s, is_llava, error);
    s2_study_note(w->study, is_llava
                                ? "Blank: the model is not LLaVA-OneVision."
                                : "Blank: the model is LLaVA-OneVision; its table is Table 2.");
    return add_tables(w, is_llava, NULL, &n_cells, error);
}

static s2p_status fill_efficiency(const s2_paper_work *w, const section *s, s2p_error *error)
{
    char path[8192];
    const s2e_set *set = &w->context->task[0].set;
    s2_paper_formulas(w->study);
    if (w->runs)
        s2_study_note(w->study, "Times are not measured: there are runs, but no model.");
    else if (set->n_pictures < 1 || !set->picture[0].file)
        s2_study_note(w->study, "Times are not measured: the pictures are inside a table.");
    else {
        (void)snprintf(path, sizeof path, "%.4000s/%.4000s", set->folder, set->picture[0].file);
        TRY(s2_paper_clock(&w->context->ask, path, w->study, error));
    }
    s2_study_command(w->study, s->command);
    return S2P_OK;
}

s2p_status s2_paper_fill(const s2_paper_work *work, s2p_error *error)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const section *s = &sections[i];
        s2_study_heading(work->study, s->heading);
        if (s->note) s2_study_note(work->study, s->note);
        if (!s->analysis[0])
            TRY(fill_efficiency(work, s, error));
        else if (s2_analysis_find(s->analysis))
            TRY(fill_analysis(work, s, error));
        else
            TRY(fill_main(work, s, error));
    }
    s2_printed_report(work->study);
    return work->study->status == S2P_OK ? S2P_OK
                                         : s2_fail(error, S2P_ENOMEM, "no memory for the report");
}
