/* eval_estimate.c - one sample of each task stands for all of them.
 *
 * Times are those of a first sample: the tower once for each picture, the prompt read whole for
 * every answer. Further questions about a picture find much of it computed, so this is rather too
 * much than too little.
 */
#include "eval/eval_command.h"

#include "base/json.h"
#include "eval/run/fingerprint.h"
#include "report.h"

#include <stdio.h>
#include <string.h>

#define ROW_BYTES 150.0 /* of the numbers and the index of a row */
#define FILES \
    3.5 /* the folder of a run over the texts in its store: pages, per_sample.csv,
                           the page with its samples (tests/eval/check_runs.py measures it) */

#define FIXED_BYTES \
    80e3 /* of documents that do not grow with the answers: styles, script, curves */

typedef struct estimate { /* of one task, all its answers of this shard */
    int64_t n_samples, n_pictures, n_answers;
    double read, written; /* tokens: prompts after pruning; the limit of every answer */
    double seconds, bytes;
    double answers_each; /* answers one asked sample stands for */
    double pictures_each;
    const char *failure; /* in `sentence` */
    char sentence[256];
} estimate;

static size_t length(const char *text) { return text ? strlen(text) : 0; }

static s2p_status add_row(const s2e_record *r, void *user, s2p_error *error)
{
    (void)error;
    estimate *e = user;
    if (r->failure) {
        (void)snprintf(e->sentence, sizeof e->sentence, "%s/%s: %.200s", r->method, r->budget,
                       r->failure);
        e->failure = e->sentence;
        return S2P_OK;
    }
    const size_t text = length(r->sample) + length(r->text) + length(r->grids) + length(r->kept) +
                        length(r->regions);
    e->read += e->answers_each * r->sequence_pruned;
    e->seconds += 1e-3 * (e->answers_each * (r->prompt_ms + r->generate_ms) +
                          e->pictures_each * (r->image_ms + r->vision_ms));
    e->bytes += FILES * e->answers_each * ((double)text + ROW_BYTES);
    return S2P_OK;
}

static json_t *json_of(const s2e_task *task, const estimate *e)
{
    json_t *o =
        json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "task", task->name, "samples",
                  (json_int_t)e->n_samples, "pictures", (json_int_t)e->n_pictures, "answers",
                  (json_int_t)e->n_answers, "tokens_read", e->read, "tokens_written_at_most",
                  e->written, "seconds", e->seconds, "bytes", e->bytes);
    if (o && e->failure) (void)json_object_set_new(o, "failure", json_string(e->failure));
    return o;
}

static void write_line(const char *name, const estimate *e, s2_buffer *out)
{
    const long s = (long)(e->seconds + 0.5);
    s2_buffer_printf(out, "%-12s %9lld %9lld %9lld %14.0f %14.0f %4ld:%02ld:%02ld %9.1f\n", name,
                     (long long)e->n_samples, (long long)e->n_pictures, (long long)e->n_answers,
                     e->read, e->written, s / 3600, s / 60 % 60, s % 60, e->bytes / 1e6);
    if (e->failure) s2_buffer_printf(out, "%-12s   the first sample failed: %s\n", "", e->failure);
}

/* Counts of a whole task, before its set is cut. */
static estimate count(const eval_context *context, const s2e_evaluation *work, int32_t task)
{
    s2e_evaluation alone = *work;
    alone.task = &work->task[task];
    alone.n_tasks = 1;
    const s2e_set *set = alone.task->set;
    estimate e = { .n_samples = set->n_samples,
                   .n_pictures = set->n_pictures,
                   .n_answers = s2e_evaluation_answers(&alone) };
    int64_t n_runs = 0;
    for (int32_t i = 0; i < context->n_settings; i++)
        n_runs += s2e_column_of(&context->setting[i], context->options->seeds, false).n_seeds;
    e.written = (double)e.n_answers * alone.task->predict;
    e.answers_each = (double)e.n_answers / (double)n_runs;
    e.pictures_each = (double)e.n_pictures / context->shard.n;
    return e;
}

static s2p_status measure(eval_context *context, estimate *e, s2p_error *error)
{
    s2e_asking asking[S2E_MAX_TASKS];
    s2e_evaluation work = eval_work(context, asking);
    for (int32_t t = 0; t < context->data.n; t++) e[t] = count(context, &work, t);
    TRY(s2e_store_open(NULL, S2E_STORE_WRITE, &context->store, error));
    TRY(eval_open_model(context, error));
    for (int32_t t = 0; t < context->data.n; t++) s2e_set_limit(&context->data.set[t], 1);
    context->shard = (s2e_shard){ 0, 1, NULL };
    work = eval_work(context, asking);
    work.keeps_selections = true;
    TRY(s2e_evaluate(&work, error));
    for (int32_t t = 0; t < context->data.n; t++) {
        const s2e_record which = { .task = context->data.task[t]->name, .seed = -1 };
        TRY(s2e_store_walk(context->store, &which, add_row, &e[t], error));
    }
    return S2P_OK;
}

int eval_estimate(eval_context *context)
{
    s2p_error error = { S2P_OK, "" };
    estimate e[S2E_MAX_TASKS], all = { .n_samples = 0 };
    s2_buffer out;
    s2p_status st = measure(context, e, &error);
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    const bool is_json = context->options->output == 1;
    json_t *tasks = json_array();
    if (!is_json)
        s2_buffer_printf(&out, "%-12s %9s %9s %9s %14s %14s %10s %9s\n", "task", "samples",
                         "pictures", "answers", "tokens read", "written up to", "time", "MB");
    for (int32_t t = 0; st == S2P_OK && t < context->data.n; t++) {
        all.n_samples += e[t].n_samples;
        all.n_pictures += e[t].n_pictures;
        all.n_answers += e[t].n_answers;
        all.read += e[t].read;
        all.written += e[t].written;
        all.seconds += e[t].seconds;
        if (t == 0) e[t].bytes += FIXED_BYTES;
        all.bytes += e[t].bytes;
        if (is_json)
            (void)json_array_append_new(tasks, json_of(context->data.task[t], &e[t]));
        else
            write_line(context->data.task[t]->name, &e[t], &out);
    }
    if (!is_json && context->data.n > 1) write_line("all", &all, &out);
    if (is_json) {
        json_t *root = json_pack("{s:s, s:I, s:f, s:f, s:O}", "schema", "s2prune.eval-estimate/1",
                                 "answers", (json_int_t)all.n_answers, "seconds", all.seconds,
                                 "bytes", all.bytes, "tasks", tasks);
        if (st == S2P_OK) st = root ? s2_json_write(root, 9, &out) : S2P_ENOMEM;
        s2_buffer_append(&out, "\n", 1);
        json_decref(root);
    }
    json_decref(tasks);
    return s2_report_print_made(st, &out, &error);
}
