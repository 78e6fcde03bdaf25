/* mme_task.c - MME: 14 categories, two questions to a picture, yes or no. */
#include "base/path.h"
#include "eval/judging.h"
#include "eval/scoring/answer_reading.h"
#include "eval/tasks/loading.h"
#include "eval/tasks/prompts.h"
#include "eval/tasks/settle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SAY_YES_NO " Please answer yes or no."

static const char *const perception[] = { "existence", "count", "position", "color",   "posters",
                                          "celebrity", "scene", "landmark", "artwork", "OCR" };
static const char *const cognition[] = { "commonsense_reasoning", "numerical_calculation",
                                         "text_translation", "code_reasoning" };

/* --- reading -------------------------------------------------------------------------- */

static s2p_status take(s2e_draft *d, const char *category, const char *question, const char *answer,
                       s2p_error *error)
{
    if (strcasecmp(answer, "yes") != 0 && strcasecmp(answer, "no") != 0)
        return s2_fail(error, S2P_EFORMAT, "the answer is '%.40s', not yes or no", answer);
    d->sample.question = question;
    s2e_draft_answer(d, strcasecmp(answer, "yes") == 0 ? "yes" : "no");
    s2e_draft_category(d, category);
    return S2P_OK;
}

/* "category/stem" of "category/stem.png", and of "stem.png" with the category told. */
static void pair_key(s2e_draft *d, const char *category, const char *name)
{
    const char *base = s2_base_name(name), *dot = strrchr(base, '.');
    const int n = dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    (void)snprintf(d->group, sizeof d->group, "%.200s/%.*s", category, n > 250 ? 250 : n, base);
    d->sample.group = d->group;
}

static s2p_status common(const s2e_row *row, s2e_draft *d, const char *pair, s2p_error *error)
{
    const char *category, *question, *answer, *key;
    TRY(s2e_need_text(row, "category", &category, error));
    TRY(s2e_need_text(row, "question", &question, error));
    TRY(s2e_need_text(row, "answer", &answer, error));
    TRY(s2e_need_text(row, pair, &key, error));
    pair_key(d, category, key);
    return take(d, category, question, answer, error);
}

/* The pair and which of the two it is. */
static s2p_status pair_id(s2e_loading *l, s2e_draft *d, s2p_error *error)
{
    const int n = snprintf(d->id, sizeof d->id, "%.490s/%d", d->group, s2e_nth(l, d->group));
    d->sample.id = d->id;
    return n > 0 ? S2P_OK : s2_fail(error, S2P_EFORMAT, "no id");
}

static s2p_status tsv_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                          s2p_error *error)
{
    (void)skip;
    TRY(s2e_draft_id(d, "%s", d->index = s2e_first_text(row, "index"), error));
    TRY(common(row, d, s2e_row_value(row, "image_path") ? "image_path" : "question_id", error));
    return s2e_draft_pictures(l, d, row, "image", error);
}

static s2p_status parquet_row(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                              s2p_error *error)
{
    (void)skip;
    TRY(common(row, d, "question_id", error));
    TRY(pair_id(l, d, error));
    return s2e_draft_pictures(l, d, row, "image", error);
}

/* <category>/<stem>.txt next to the picture, or <category>/questions_answers_YN/<stem>.txt and
 * <category>/images/: a question, a tab, Yes or No. */
static s2p_status original_line(s2e_loading *l, const char *path, int64_t number, char *line,
                                s2e_draft *d, bool *skip, s2p_error *error)
{
    static const char *const endings[] = { ".jpg", ".png", ".jpeg", ".JPG", ".PNG" };
    (void)number;
    char *tab = strrchr(line, '\t'), folder[4096], name[300];
    *skip = line[strspn(line, " \t")] == '\0';
    if (*skip) return S2P_OK;
    if (!tab) return s2_fail(error, S2P_EFORMAT, "no tab between question and answer");
    *tab = '\0';
    tab[1 + strcspn(tab + 1, " \t")] = '\0';
    const char *below = path + strlen(l->folder) + 1;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(s2_base_name(below) - below), below);
    size_t n = strlen(folder);
    if (n > 0) folder[--n] = '\0'; /* the slash */
    const bool is_split = strcmp(s2_base_name(folder), "questions_answers_YN") == 0;
    if (is_split) folder[n - strlen("questions_answers_YN") - 1] = '\0';
    (void)snprintf(d->room, sizeof d->room, "%.200s", s2_base_name(folder)); /* the category */
    pair_key(d, d->room, s2_base_name(path));
    TRY(pair_id(l, d, error));
    TRY(take(d, d->room, line, tab + 1, error));
    if (is_split) (void)strncat(folder, "/images", sizeof folder - strlen(folder) - 1);
    s2p_status st = S2P_EFORMAT;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && st == S2P_EFORMAT; i++) {
        (void)snprintf(name, sizeof name, "%.250s%s", s2_base_name(d->group), endings[i]);
        st = s2e_draft_file(l, d, folder, name, error);
    }
    return st;
}

static const s2e_layout layouts[] = {
    { .files = "MME.tsv|MME*.tsv", .row = tsv_row },
    { .files = "data/test-*.parquet|test-*.parquet", .row = parquet_row },
    { .files = "*/questions_answers_YN/*.txt|MME_Benchmark_release_version/*/*.txt|"
               "MME_Benchmark_release_version/*/questions_answers_YN/*.txt|*/*.txt",
      .line = original_line },
    { .files = NULL },
};

static s2p_status read_mme(const char *path, s2e_set *out, s2p_error *error)
{
    return s2e_load(path, layouts, out, error);
}

/* --- asking and judging ----------------------------------------------------------------- */

static s2p_status prompt_mme(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                             s2p_error *error)
{
    (void)error;
    if (protocol == S2E_PAPER) {
        s2e_prompt_paper(sample, "Hint", S2E_PAPER_YES_NO, out);
    } else if (protocol == S2E_VLMEVALKIT) {
        s2e_prompt_text(out, sample->question);
    } else { /* their own instruction instead of the one in the question */
        const char *at = sample->question, *hit;
        for (; (hit = strstr(at, SAY_YES_NO)); at = hit + strlen(SAY_YES_NO))
            s2_buffer_append(out, at, (size_t)(hit - at));
        s2e_prompt_text(out, at);
        while (protocol == S2E_LMMS && out->size > 0 && strchr(" \t\n", out->data[out->size - 1]))
            out->size--;
        s2e_prompt_line("", S2E_SAY_SHORT, out);
    }
    return out->status;
}

static s2p_status judge_mme(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                            const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)draws;
    s2e_scratch scratch = { .failed = false };
    const s2e_str text = s2e_str_of(&scratch, answer);
    const s2e_found found = protocol == S2E_PAPER      ? s2e_y6(&scratch, text)
                            : protocol == S2E_OFFICIAL ? s2e_y4(&scratch, text)
                            : protocol == S2E_LMMS     ? s2e_y5(&scratch, text)
                                                       : s2e_y2(&scratch, text);
    const bool right = found.letter && found.letter == sample->answer[0][0];
    return s2e_settle_yes_no(out, &scratch, answer, found, right, error);
}

/* --- adding up --------------------------------------------------------------------------- */

typedef struct pairs { /* of one category */
    int32_t n, n_right, n_pairs, n_both;
} pairs;

/* Rows of a pair may stand anywhere: what was met of each so far. */
static s2p_status count_category(const s2e_set *set, const s2e_verdict *verdict,
                                 const char *category, pairs *out, s2p_error *error)
{
    s2_names seen = { .n = 0 };
    bool *both = calloc((size_t)set->n_samples + 1, sizeof *both);
    s2p_status st = both ? S2P_OK : s2_fail_memory(error, (size_t)set->n_samples, "the pairs");
    *out = (pairs){ .n = 0 };
    for (int32_t i = 0; i < set->n_samples && st == S2P_OK; i++) {
        const s2e_sample *sample = &set->sample[i];
        if (!verdict[i].rule || sample->n_categories < 1 || sample->category[0] != category)
            continue;
        bool is_new;
        const int32_t pair = s2_names_add(&seen, sample->group, &is_new);
        if (pair < 0) st = s2_fail_memory(error, 64, "the pairs");
        const bool right = verdict[i].score > 0.5f;
        if (pair >= 0) both[pair] = right && (is_new || both[pair]);
        out->n++;
        out->n_right += right;
    }
    out->n_pairs = seen.n;
    for (int32_t i = 0; i < seen.n && both; i++) out->n_both += both[i];
    s2_names_free(&seen);
    free(both);
    return st;
}

static bool is_one_of(const char *const *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0) return true;
    return false;
}

static s2p_status aggregate_mme(const s2e_set *set, s2e_protocol protocol,
                                const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    (void)protocol;
    double total[2] = { 0.0, 0.0 }, all = 0.0;
    int32_t n[2] = { 0, 0 }, n_all = 0;
    for (int32_t c = 0; c < set->n_categories; c++) {
        pairs p;
        const char *name = set->category[c];
        TRY(count_category(set, verdict, name, &p, error));
        if (!p.n) continue;
        const double acc = 100.0 * p.n_right / p.n, plus = 100.0 * p.n_both / p.n_pairs;
        TRY(s2e_figures_add(out, &(s2e_figure){ "score", name, acc + plus, 200.0, p.n, false },
                            error));
        TRY(s2e_figures_add(out, &(s2e_figure){ "acc", name, acc, 100.0, p.n, false }, error));
        TRY(s2e_figures_add(out, &(s2e_figure){ "acc+", name, plus, 100.0, p.n, false }, error));
        for (int g = 0; g < 2; g++) {
            if (!is_one_of(g ? cognition : perception,
                           g ? sizeof cognition / sizeof *cognition
                             : sizeof perception / sizeof *perception,
                           name))
                continue;
            total[g] += acc + plus;
            n[g] += p.n;
        }
        all += acc + plus;
        n_all += p.n;
    }
    if (n[0])
        TRY(s2e_figures_add(out, &(s2e_figure){ "perception", "", total[0], 2000.0, n[0], false },
                            error));
    if (n[1])
        TRY(s2e_figures_add(out, &(s2e_figure){ "cognition", "", total[1], 800.0, n[1], false },
                            error));
    return s2e_figures_add(out, &(s2e_figure){ "total", "", all, 2800.0, n_all, true }, error);
}

/* --- what the total is computed from ------------------------------------------------------ */

enum { ASKED, RIGHT, PAIRS, BOTH, N_COUNTS }; /* of each category */

static int32_t n_counts(const s2e_set *set) { return N_COUNTS * set->n_categories; }

/* Both questions of a pair are about one picture. */
static void add_counts(const s2e_set *set, s2e_protocol protocol, const s2e_verdict *verdict,
                       int32_t first, int32_t last, double *out)
{
    (void)protocol;
    for (int32_t i = first; i < last; i++) {
        const s2e_sample *sample = &set->sample[i];
        int32_t c = 0;
        if (!verdict[i].rule || sample->n_categories < 1) continue;
        while (c < set->n_categories - 1 && set->category[c] != sample->category[0]) c++;
        double *count = out + (size_t)N_COUNTS * (size_t)c;
        bool is_first = true, both = true;
        for (int32_t k = first; k < last; k++) {
            if (!verdict[k].rule || strcmp(set->sample[k].group, sample->group) != 0) continue;
            is_first = is_first && k >= i;
            both = both && verdict[k].score > 0.5f;
        }
        count[ASKED] += 1.0;
        count[RIGHT] += verdict[i].score > 0.5f;
        count[PAIRS] += is_first;
        count[BOTH] += is_first && both;
    }
}

static double total_of(const s2e_set *set, s2e_protocol protocol, const double *count)
{
    (void)protocol;
    double total = 0.0;
    for (int32_t c = 0; c < set->n_categories; c++, count += N_COUNTS)
        if (count[ASKED] > 0.0)
            total += 100.0 * count[RIGHT] / count[ASKED] + 100.0 * count[BOTH] / count[PAIRS];
    return total;
}

static const s2e_counts counts = { n_counts, add_counts, total_of };

const s2e_task task_mme = {
    .name = "mme",
    .title = "MME",
    .summary = "perception and cognition in 14 categories: pairs of yes-or-no questions",
    .read = read_mme,
    .prompt = prompt_mme,
    .predict = { 1024, 128, 2048, 16 },
    .stops = s2e_stops_at_yes_no,
    .judge = judge_mme,
    .aggregate = aggregate_mme,
    .counts = &counts,
};
