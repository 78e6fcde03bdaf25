/* cmd_score.c - `s2prune score`: answers made elsewhere, by all four protocols. */
#include "bundled.h"
#include "eval/answers.h"
#include "eval/eval_command.h"
#include "eval/judging.h"
#include "program.h"
#include "report.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct score_options {
    s2_list files;
    const char *task, *data, *explain;
    bool sections;
    int32_t output;
} score_options;

typedef struct scoring { /* everything `score` owns */
    const score_options *options;
    const s2e_task *task;
    s2e_set set;
    s2e_answers answers;
    s2e_verdict *verdict[S2E_N_PROTOCOLS]; /* [n_samples] of the current run */
    s2e_figures figures[S2E_N_PROTOCOLS];
} scoring;

/* --- judging ----------------------------------------------------------------------------- */

static void forget(scoring *s)
{
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        for (int32_t i = 0; s->verdict[p] && i < s->set.n_samples; i++)
            s2e_verdict_free(&s->verdict[p][i]);
        free(s->verdict[p]);
        s->verdict[p] = NULL;
        s2e_figures_free(&s->figures[p]);
    }
}

/* What a grader gave counts, whatever the protocol. */
static s2p_status use_grades(scoring *s, const s2e_run *run, s2e_verdict *verdict, s2p_error *error)
{
    for (int32_t i = 0; run->grade && i < s->set.n_samples; i++) {
        if (run->grade[i] < 0.0f) continue;
        s2e_verdict_free(&verdict[i]);
        verdict[i] =
            (s2e_verdict){ .score = run->grade[i], .rule = "grade", .extracted = strdup("") };
        if (!verdict[i].extracted) return s2_fail_memory(error, 1, "a verdict");
    }
    return S2P_OK;
}

static s2p_status judge(scoring *s, const s2e_run *run, s2p_error *error)
{
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        s->verdict[p] = calloc((size_t)s->set.n_samples + 1, sizeof *s->verdict[p]);
        if (!s->verdict[p]) return s2_fail_memory(error, (size_t)s->set.n_samples, "the verdicts");
        TRY(s2e_judge_all(s->task, &s->set, (s2e_protocol)p, run->answer, run->grids, s->verdict[p],
                          error));
        TRY(use_grades(s, run, s->verdict[p], error));
        TRY(s->task->aggregate(&s->set, (s2e_protocol)p, s->verdict[p], &s->figures[p], error));
    }
    return S2P_OK;
}

static s2e_figure *find_mutable(s2e_figures *figures, const s2e_figure *like)
{
    for (int32_t i = 0; i < figures->n; i++)
        if (strcmp(figures->figure[i].name, like->name) == 0 &&
            strcmp(figures->figure[i].section, like->section) == 0)
            return &figures->figure[i];
    return NULL;
}

/* Draws of a method that draws: each is judged alone, and the figures are their means, as in `eval`.
 * The verdicts that stay are those of the first. */
static s2p_status judge_draws(scoring *s, int32_t first, int32_t n_draws, s2p_error *error)
{
    TRY(judge(s, &s->answers.run[first], error));
    for (int32_t d = 1; d < n_draws; d++) {
        scoring other = { .options = s->options, .task = s->task, .set = s->set };
        s2p_status st = judge(&other, &s->answers.run[first + d], error);
        for (int p = 0; st == S2P_OK && p < S2E_N_PROTOCOLS; p++)
            for (int32_t i = 0; i < other.figures[p].n; i++) {
                const s2e_figure *one = &other.figures[p].figure[i];
                s2e_figure *mean = find_mutable(&s->figures[p], one);
                if (mean) mean->value += (one->value - mean->value) / (d + 1);
            }
        forget(&other);
        TRY(st);
    }
    return S2P_OK;
}

/* How many runs from this one on are draws of the same method and budget. */
static int32_t count_draws(const s2e_answers *answers, int32_t first)
{
    int32_t n = 1;
    while (first + n < answers->n_runs &&
           strcmp(answers->run[first + n].name, answers->run[first].name) == 0)
        n++;
    return n;
}

/* --- tables ------------------------------------------------------------------------------ */

static const s2e_figure *find(const s2e_figures *figures, const s2e_figure *like)
{
    for (int32_t i = 0; i < figures->n; i++)
        if (strcmp(figures->figure[i].name, like->name) == 0 &&
            strcmp(figures->figure[i].section, like->section) == 0)
            return &figures->figure[i];
    return NULL;
}

/* Was it told in the table of an earlier protocol? */
static bool was_told(const scoring *s, int protocol, const s2e_figure *figure)
{
    for (int p = 0; p < protocol; p++)
        if (find(&s->figures[p], figure)) return true;
    return false;
}

static void write_row(const scoring *s, const s2e_figure *like, s2_buffer *out)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%s%s%.60s", like->name, like->section[0] ? ": " : "",
                   like->section);
    s2_buffer_printf(out, "%-44s %6d", name, like->n);
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        const s2e_figure *figure = find(&s->figures[p], like);
        char cell[32] = "-";
        if (figure)
            (void)snprintf(cell, sizeof cell, "%s%.2f", figure->headline ? "*" : "", figure->value);
        s2_buffer_printf(out, " %10s", cell);
    }
    s2_buffer_printf(out, "\n");
}

static void write_run(const scoring *s, const s2e_run *run, int32_t n_draws, s2_buffer *out)
{
    char draws[48] = "";
    if (n_draws > 1) (void)snprintf(draws, sizeof draws, ", mean of %d draws", n_draws);
    s2_buffer_printf(out, "%s%s%s%s: %d of %d samples answered\n\n", s->task->title,
                     run->name[0] ? ", " : "", run->name, draws, run->n, s->set.n_samples);
    s2_buffer_printf(out, "%-44s %6s", "figure (* the one of the tables)", "n");
    for (size_t p = 0; s2e_protocol_name(p); p++)
        s2_buffer_printf(out, " %10s", s2e_protocol_name(p));
    s2_buffer_printf(out, "\n");
    for (int p = 0; p < S2E_N_PROTOCOLS; p++)
        for (int32_t i = 0; i < s->figures[p].n; i++) {
            const s2e_figure *figure = &s->figures[p].figure[i];
            const bool is_shown = s->options->sections || !figure->section[0];
            if (is_shown && !was_told(s, p, figure)) write_row(s, figure, out);
        }
    s2_buffer_printf(out, "\n");
}

static json_t *json_run(const scoring *s, const s2e_run *run, int32_t n_draws)
{
    json_t *protocols = json_object();
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        json_t *list = json_array();
        for (int32_t i = 0; i < s->figures[p].n; i++) {
            const s2e_figure *f = &s->figures[p].figure[i];
            (void)json_array_append_new(list,
                                        json_pack("{s:s, s:s, s:f, s:f, s:i, s:b}", "name", f->name,
                                                  "section", f->section, "value", f->value, "best",
                                                  f->best, "n", f->n, "headline", f->headline));
        }
        (void)json_object_set_new(protocols, s2e_protocol_name((size_t)p), list);
    }
    return json_pack("{s:s, s:i, s:i, s:o}", "run", run->name, "answered", run->n, "draws", n_draws,
                     "protocols", protocols);
}

/* --- one sample -------------------------------------------------------------------------- */

static void write_quoted(s2_buffer *out, const char *name, const char *text)
{
    s2_buffer_printf(out, "%-10s ", name);
    for (; *text; text++) {
        if (*text == '\n')
            s2_buffer_printf(out, "\n%-10s ", "");
        else
            s2_buffer_append(out, text, 1);
    }
    s2_buffer_printf(out, "\n");
}

/* --- the command ------------------------------------------------------------------------- */

static s2p_status prepare(scoring *s, s2p_error *error)
{
    const score_options *o = s->options;
    char folder[S2_BUNDLED_PATH];
    s->task = s2e_task_find(o->task);
    if (!s->task) {
        char names[300] = "";
        for (size_t i = 0; s2e_task_at(i); i++) {
            const size_t n = strlen(names);
            (void)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                           s2e_task_at(i)->name);
        }
        return s2_fail(error, S2P_EINVAL, "--task: unknown task '%.60s'; known: %s", o->task,
                       names);
    }
    if (!o->data) TRY(s2_bundled_data(s->task->name, folder, error));
    TRY(s->task->read(o->data ? o->data : folder, &s->set, error));
    for (size_t i = 0; i < o->files.n; i++)
        TRY(s2e_answers_read(o->files.item[i], s->task->name, &s->set, &s->answers, error));
    if (s->answers.n_runs < 1)
        return s2_fail(error, S2P_EFORMAT, "%.200s: no answer to a sample of %s%s%s",
                       o->files.item[0], s->task->name,
                       s->answers.n_lost ? "; the first row: " : "", s->answers.lost);
    if (o->explain && s2e_set_find(&s->set, o->explain) < 0)
        return s2_fail(error, S2P_EINVAL, "--explain: no sample is called '%.100s'", o->explain);
    return S2P_OK;
}

static s2p_status write_all(scoring *s, s2_buffer *out, s2p_error *error)
{
    const bool is_json = s->options->output == S2_OUTPUT_JSON;
    json_t *runs = json_array();
    s2p_status st = runs ? S2P_OK : S2P_ENOMEM;
    for (int32_t r = 0, n_draws; r < s->answers.n_runs && st == S2P_OK; r += n_draws) {
        const s2e_run *run = &s->answers.run[r];
        n_draws = count_draws(&s->answers, r);
        st = judge_draws(s, r, n_draws, error);
        if (st == S2P_OK && s->options->explain) {
            /* What each protocol read, where, and by which rule. */
            const int32_t i = s2e_set_find(&s->set, s->options->explain);
            const s2e_sample *sample = &s->set.sample[i];
            const char *answer = run->answer[i];
            if (run->name[0]) write_quoted(out, "run", run->name);
            write_quoted(out, "question", sample->question);
            for (int32_t k = 0; k < sample->n_choices; k++)
                s2_buffer_printf(out, "%-10s %c. %s\n", "", sample->choice[k].letter,
                                 sample->choice[k].text);
            for (int32_t k = 0; k < sample->n_answers && k < 10; k++)
                write_quoted(out, k ? "" : "gold", sample->answer[k]);
            write_quoted(out, "answer", answer ? answer : "(none)");
            for (int p = 0; p < S2E_N_PROTOCOLS && answer; p++) {
                const s2e_verdict *v = &s->verdict[p][i];
                s2_buffer_printf(out, "%-10s %.3f  rule %s, read '%s'",
                                 s2e_protocol_name((size_t)p), (double)v->score, v->rule,
                                 v->extracted);
                if (v->span_length)
                    s2_buffer_printf(out, " from '%.*s' at byte %zu",
                                     (int)(v->span_length < 200 ? v->span_length : 200),
                                     answer + v->span_at, v->span_at);
                s2_buffer_printf(out, "\n");
            }
            s2_buffer_printf(out, "\n");
        } else if (st == S2P_OK && is_json)
            (void)json_array_append_new(runs, json_run(s, run, n_draws));
        else if (st == S2P_OK)
            write_run(s, run, n_draws, out);
        forget(s);
    }
    if (st == S2P_OK && is_json && !s->options->explain) {
        json_t *root =
            json_pack("{s:s, s:s, s:i, s:i, s:I, s:O}", "schema", "s2prune.score/1", "task",
                      s->task->name, "samples", s->set.n_samples, "problems", s->set.n_problems,
                      "strangers", (json_int_t)s->answers.n_strangers, "runs", runs);
        st = root ? s2_json_write(root, 17, out) : S2P_ENOMEM;
        s2_buffer_append(out, "\n", 1);
        json_decref(root);
    }
    json_decref(runs);
    return st == S2P_OK ? out->status : st;
}

static int score_run(const void *values)
{
    s2p_error error = { S2P_OK, "" };
    scoring *s = calloc(1, sizeof *s);
    if (!s) {
        s2_fail_memory(&error, sizeof *s, "the answers");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    s->options = values;
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2p_status st = prepare(s, &error);
    if (st == S2P_OK) st = write_all(s, &out, &error);
    int code = s2_report_print_made(st, &out, &error);
    const s2e_answers *a = &s->answers;
    if (code == S2_EXIT_OK) {
        for (int32_t i = 0; i < s->set.n_problems && i < 5; i++)
            eval_tell_problem(s->task->name, &s->set.problem[i]);
        if (s->set.n_problems)
            s2_report_tell("note: %d items of the data could not be used", s->set.n_problems);
        if (a->n_strangers)
            s2_report_tell(
                "note: %lld answers are for samples that are not in the data, the first for '%s'",
                (long long)a->n_strangers, a->stranger);
        if (a->n_lost)
            s2_report_tell("note: %lld rows are not answers, the first: %s", (long long)a->n_lost,
                           a->lost);
        if (a->n_twice)
            s2_report_tell("note: %lld answers occur twice; the first one counts",
                           (long long)a->n_twice);
        if (s->set.n_problems || a->n_strangers || a->n_lost) code = S2_EXIT_INCOMPLETE;
    }
    forget(s);
    s2e_answers_free(&s->answers);
    s2e_set_free(&s->set);
    free(s);
    return code;
}

/* clang-format off */
#define AT(member) .offset = offsetof(score_options, member)
static const s2_option option_table[] = {
    { .name = "--task", .label = "NAME", .type = S2_OPTION_TEXT, .is_required = true, .group = "Benchmark",
      .help = "benchmark: mmmu, gqa, scienceqa, textvqa, vizwiz, pope, mme, mmbench, ...", AT(task) },
    { .name = "--data-dir", .label = "DIR", .type = S2_OPTION_FILE, .group = "Benchmark",
      .help = "folder or file with the benchmark's data (default: the bundled data, for synth)", AT(data) },
    { .name = "--explain", .label = "ID", .type = S2_OPTION_TEXT, .group = "Output",
      .help = "show what each protocol read from the answer to this sample, and which rule it used", AT(explain) },
    { .name = "--sections", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "also print the figures for categories and groups", AT(sections) },
    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE, .choice = s2_output_name,
      .fallback = "text", .group = "Output", .help = "format of the figures", AT(output) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_score = {
    .name = "score",
    .summary = "score the answers of any program by four protocols",
    .usage = "--task NAME --data-dir DIR FILE... [--explain ID] [-o text|json]",
    .examples =
        "  s2prune score --task pope --data-dir LMUData POPE_answers.tsv\n"
        "  s2prune score --task textvqa --data-dir textvqa llava-v1.5-7b.jsonl --explain 34602\n"
        "  s2prune score --task synth runs/r1\n"
        "\nFILE is an answer file of LLaVA (jsonl), VLMEvalKit (tsv), lmms-eval (samples jsonl),\n"
        "S2Prune's release (per_sample.csv) or this program; the folder or results.sqlite of a "
        "run;\n"
        "or, for mmvet, a file of grades written by the benchmark's own grader.\n",
    .options = option_table,
    .operand = "a file of answers (FILE)",
    .min_operands = 1,
    .operand_offset = offsetof(score_options, files),
    .operand_role = { S2_FILE_INPUT, S2_FILE_INPUT, S2_FILE_INPUT },
    .size = sizeof(score_options),
    .run = score_run,
};
