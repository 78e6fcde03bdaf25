/* analyze_steps.c - trials from answers, pictures or a model; results into a folder. */
#include "analyze/analyze_command.h"

#include "analyze/rasterize.h"
#include "analyze/sources/sources.h"
#include "asking/tower_size.h"
#include "base/path.h"
#include "base/sha256.h"
#include "eval/figure/plot.h"
#include "eval/run/run_folder.h"
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FILES 100000

/* --- opening ------------------------------------------------------------------------------ */

static s2p_status read_shard(const char *text, int32_t *shard, int32_t *n, s2p_error *error)
{
    char *end;
    if (!text) return S2P_OK;
    const long i = strtol(text, &end, 10);
    const long all = *end == '/' ? strtol(end + 1, &end, 10) : 0;
    if (*end || all < 1 || all > 10000 || i < 1 || i > all)
        return s2_fail(error, S2P_EINVAL, "--shard '%.40s' is not of the form 1/4 to 4/4", text);
    *shard = (int32_t)i - 1;
    *n = (int32_t)all;
    return S2P_OK;
}

/* --data-dir may be the folder of the task or one that holds it under its name. */
static s2p_status read_task(analyze_context *context, const char *name, s2p_error *error)
{
    const char *data = context->options->data;
    analyze_task *out = &context->task[context->n_tasks];
    char folder[S2_BUNDLED_PATH];
    struct stat info;
    *out = (analyze_task){ .task = s2e_task_find(name) };
    if (!out->task) return s2_fail(error, S2P_EINVAL, "--tasks: unknown task '%.60s'", name);
    for (int32_t i = 0; i < context->n_tasks; i++)
        if (context->task[i].task == out->task)
            return s2_fail(error, S2P_EINVAL, "--tasks names '%s' twice", name);
    if (!data)
        TRY(s2_bundled_data(out->task->name, folder, error));
    else if (snprintf(folder, sizeof folder, "%s/%s", data, out->task->name) >= (int)sizeof folder)
        return s2_fail(error, S2P_ELIMIT, "--data-dir is too long");
    else if (stat(folder, &info) != 0)
        (void)snprintf(folder, sizeof folder, "%s", data);
    TRY(out->task->read(folder, &out->set, error));
    context->n_tasks++;
    return S2P_OK;
}

static s2p_status read_tasks(analyze_context *context, s2p_error *error)
{
    const char *list = context->options->tasks ? context->options->tasks : "synth";
    s2a_item item;
    while (s2a_next_item(&list, &item)) {
        char name[S2E_NAME];
        if (context->n_tasks == S2E_MAX_TASKS)
            return s2_fail(error, S2P_ELIMIT, "more than %d tasks", S2E_MAX_TASKS);
        (void)snprintf(name, sizeof name, "%.*s", (int)(item.n < 40 ? item.n : 40), item.text);
        TRY(read_task(context, name, error));
    }
    return S2P_OK;
}

s2p_status s2_analyze_open(analyze_context *context, const analyze_options *options,
                           s2p_error *error)
{
    context->options = options;
    context->ask = options->ask;
    if (context->ask.preset == S2_PRESET_DOCUMENT && !context->ask.before_tower)
        context->ask.before_tower = "pixelprune";
    if (!context->ask.image_size) context->ask.preset = S2_PRESET_PAPER;
    context->ask.max_image_pixels = (int64_t)1 << 25;
    TRY(read_shard(options->shard, &context->shard, &context->n_shards, error));
    context->n_seeds = options->images || options->recorded || options->runs.n ? 1 : options->seeds;
    const int n_instead = !!options->images + !!options->runs.n + !!options->recorded;
    if (n_instead > 1 || (n_instead && options->shard))
        return s2_fail(error, S2P_EINVAL,
                       "--images, --run and --recorded replace the model: use only one of them, "
                       "without --shard");
    if (options->runs.n) TRY(s2_collect_run_open(context, error));
    if (n_instead == 0) {
        TRY(read_tasks(context, error));
        context->protocol = (s2e_protocol)options->protocol;
        TRY(s2_asker_prepare(&context->asker, &context->ask, error));
        s2_asker_see_whole(&context->asker);
    }
    const s2p_status st = s2e_run_folder_make(options->out, error);
    context->is_unwritten = st != S2P_OK;
    TRY(st);
    if (snprintf(context->answers_path, sizeof context->answers_path, "%s/answers.jsonl",
                 options->out) >= (int)sizeof context->answers_path)
        return s2_fail(error, S2P_ELIMIT, "--out is too long");
    s2_progress_start(&context->asker.progress, (s2_progress_form)options->ask.progress,
                      options->ask.quiet);
    return S2P_OK;
}

void s2_analyze_close(analyze_context *context)
{
    if (context->answers) (void)fclose(context->answers);
    for (int32_t i = 0; i < context->n_recordings; i++) free(context->recordings[i]);
    free(context->recordings);
    for (int32_t i = 0; i < context->n_runs; i++) {
        s2e_store_close(context->run[i].store);
        json_decref(context->run[i].values);
    }
    for (int32_t i = 0; i < context->n_tasks; i++) s2e_set_free(&context->task[i].set);
    s2_asker_close(&context->asker);
}

int s2_analyze_report_error(const analyze_context *context, s2p_status status,
                            const s2p_error *error)
{
    const int code = s2_report_error(status, error);
    return context && context->is_unwritten ? S2_EXIT_RESOURCES : code;
}

/* --- asking --------------------------------------------------------------------------------- */

static s2p_status keep_answer(const s2_trials *trials, int32_t setting, int32_t question,
                              void *user, s2p_error *error)
{
    analyze_context *context = user;
    const s2p_status st = s2_answers_append(context->answers, trials, setting, question, error);
    context->is_unwritten = st == S2P_EIO;
    return st;
}

static void show(double done, void *user)
{
    analyze_context *context = user;
    (void)s2_progress_show(&context->asker.progress, context->step, done);
    if (done >= 1.0) s2_progress_clear(&context->asker.progress);
}

static void tell_failure(const char *why, void *user)
{
    (void)user;
    s2_report_line("failed", why);
}

static s2p_status open_model(analyze_context *context, s2p_error *error)
{
    if (context->is_asker_open) return S2P_OK;
    s2v_session_options session = s2_ask_session_options(&context->ask);
    session.keep_attention = 1;         /* some method will want it */
    context->asker.shows_notes = false; /* one for each question would be too many */
    context->asker.hides_steps = true;
    TRY(s2_asker_open(&context->asker, &session, error));
    context->is_asker_open = true;
    context->answers = s2_answers_open(context->answers_path, error);
    context->is_unwritten = !context->answers;
    return context->answers ? S2P_OK : S2P_EIO;
}

static s2p_status ask_rest(analyze_context *context, s2_trials *trials, s2p_error *error)
{
    const s2_model_watch watch = { keep_answer, show, context, tell_failure };
    s2_tower_size tower;
    TRY(open_model(context, error));
    const bool has_tower = s2_asker_tower_size(&context->asker, &tower);
    const s2_source_model source = { .session = context->asker.session,
                                     .image_options = &context->asker.image_options[0],
                                     .predict = context->options->predict,
                                     .n_vocab = context->asker.info.n_vocab,
                                     .shard = context->shard,
                                     .n_shards = context->n_shards,
                                     .tower = has_tower ? &tower : NULL,
                                     .watch = &watch };
    return s2_source_ask(&source, trials, error);
}

static int32_t count_missing(const s2_trials *t)
{
    int32_t n = 0;
    for (int32_t s = 0; s < t->n_settings; s++)
        for (int32_t q = 0; q < t->n_questions; q++) n += !s2_trial_is_done(s2_trial_at(t, s, q));
    return n;
}

static s2p_status read_answers(analyze_context *context, const char *path, s2_trials *trials,
                               s2p_error *error)
{
    int32_t n_filled, n_bad;
    TRY(s2_answers_read(path, trials, &n_filled, &n_bad, error));
    if (n_bad && !context->options->ask.quiet)
        s2_report_tell("note: %s: %d lines are not answers", path, n_bad);
    return S2P_OK;
}

static int64_t bytes_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (int64_t)info.st_size : -1;
}

/* Every question of a real benchmark: its number is quoted for all of them, and pairs and rotated copies
 * belong together. A few of the bundled one, and of any where only the kept tokens count. */
static int32_t per_picture(const analyze_options *o, const s2_analysis *analysis,
                           const s2e_task *task)
{
    if (o->per_picture >= 0) return o->per_picture;
    return analysis->takes_pictures || strcmp(task->name, "synth") == 0 ? analysis->per_picture : 0;
}

static s2p_status collect_questions(analyze_context *context, const s2_analysis *analysis,
                                    s2_trials *trials, s2p_error *error)
{
    const analyze_options *o = context->options;
    for (int32_t i = 0; i < context->n_tasks; i++) {
        const analyze_task *task = &context->task[i];
        const s2_source_questions questions = { .task = task->task,
                                                .set = &task->set,
                                                .protocol = context->protocol,
                                                .per_picture = per_picture(o, analysis, task->task),
                                                .n_pictures = o->n_pictures };
        if (s2_analyze_has(context, task->task)) TRY(s2_source_task(&questions, trials, error));
    }
    if (trials->n_questions > 0) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "%s has no questions about a picture",
                   context->only ? context->only : context->task[0].task->name);
}

/* What may change an answer and is neither question nor setting, in a few letters. */
static void name_run(const analyze_context *context, bool is_by_layer, s2_trials *trials)
{
    const analyze_options *o = context->options;
    const s2v_image_options *image = &context->asker.image_options[0];
    s2_buffer text;
    uint8_t digest[32];
    char hex[S2_SHA256_HEX];
    s2_buffer_init(&text, (size_t)1 << 20);
    s2_buffer_printf(&text, "%lld %lld %d %d %lld %lld %d %d %d %d %s %d %d %d",
                     (long long)bytes_of(context->asker.model),
                     (long long)bytes_of(context->asker.mmproj), image->width, image->height,
                     (long long)image->min_pixels, (long long)image->max_pixels,
                     (int)image->framing, image->structure_from_resized, context->ask.kv_type,
                     context->ask.tower, context->ask.kernels ? context->ask.kernels : "",
                     context->ask.gpu_layers, o->seeds, o->predict);
    if (context->ask.kv_type_v > 0) s2_buffer_printf(&text, " v%d", context->ask.kv_type_v);
    /* A label leaves out the layer that is the method's own, which in a hybrid model moves to another. */
    if (is_by_layer) s2_buffer_printf(&text, " layers");
    if (!s2_ask_is_fused(&context->ask)) s2_buffer_printf(&text, " plain");
    for (size_t i = 0; i < context->ask.set.n; i++)
        s2_buffer_printf(&text, " %s", context->ask.set.item[i]);
    for (int32_t i = 0; i < context->asker.owns.n; i++)
        s2_buffer_printf(&text, " %s", s2a_own_identity(context->asker.owns.own[i]));
    s2_sha256(text.data, text.size, digest);
    s2_sha256_hex(digest, hex);
    (void)snprintf(trials->run, sizeof trials->run, "%.12s", hex);
    s2_buffer_free(&text);
}

static s2p_status collect_answers(analyze_context *context, const s2_analysis *analysis,
                                  const s2a_setting *setting, int32_t n, s2_trials *trials,
                                  s2p_error *error)
{
    const analyze_options *o = context->options;
    TRY(collect_questions(context, analysis, trials, error));
    (void)snprintf(trials->model, sizeof trials->model, "%s", s2_base_name(context->asker.model));
    trials->n_seeds = o->seeds;
    name_run(context, analysis->is_by_layer, trials);
    TRY(s2_trials_set(trials, setting, n, error));
    TRY(read_answers(context, context->answers_path, trials, error));
    for (size_t i = 0; i < o->answers.n; i++)
        TRY(read_answers(context, o->answers.item[i], trials, error));
    return count_missing(trials) ? ask_rest(context, trials, error)
                                 : s2_trials_judge(trials, error);
}

/* --- pictures alone ------------------------------------------------------------------------------ */

static int is_picture(const struct dirent *entry)
{
    static const char *const suffixes[] = { ".jpg", ".jpeg", ".png", ".webp", ".JPG", ".PNG" };
    const char *dot = strrchr(entry->d_name, '.');
    for (size_t i = 0; dot && i < sizeof suffixes / sizeof *suffixes; i++)
        if (strcmp(dot, suffixes[i]) == 0) return 1;
    return 0;
}

static s2p_status collect_pictures(analyze_context *context, const s2a_setting *setting, int32_t n,
                                   s2_trials *trials, s2p_error *error)
{
    const analyze_options *o = context->options;
    struct dirent **entries = NULL;
    int n_files = scandir(o->images, &entries, is_picture, alphasort);
    if (n_files < 0)
        return s2_fail(error, S2P_EIO, "cannot read the folder '%.300s': %s", o->images,
                       strerror(errno));
    const int n_found = n_files;
    if (o->n_pictures > 0 && n_files > o->n_pictures) n_files = o->n_pictures;
    char **file = calloc((size_t)n_files + 1, sizeof *file);
    s2p_status st = S2P_OK;
    if (!file || n_files > MAX_FILES)
        st = s2_fail(error, S2P_ELIMIT, "%d pictures; at most %d", n_files, MAX_FILES);
    for (int i = 0; i < n_files && st == S2P_OK; i++) {
        file[i] = s2_path_in(o->images, entries[i]->d_name);
        if (!file[i]) st = s2_fail_memory(error, 4096, "a name");
    }
    if (st == S2P_OK && n_files == 0)
        st = s2_fail(error, S2P_EINVAL, "no pictures in '%.300s'", o->images);
    s2_trial_part part = { .task = NULL };
    (void)snprintf(part.name, sizeof part.name, "%.60s", s2_base_name(o->images));
    if (st == S2P_OK) st = s2_trials_add_part(trials, &part, error);
    if (st == S2P_OK)
        st = s2_source_pictures((const char *const *)file, n_files,
                                (s2p_grid){ o->tokens.first, o->tokens.second }, setting, n, show,
                                context, trials, error);
    for (int i = 0; file && i < n_files; i++) free(file[i]);
    for (int i = 0; i < n_found; i++) free(entries[i]);
    free(entries);
    free(file);
    return st;
}

/* Nobody shall take some of the questions for all of them. */
static void tell_extent(const analyze_context *context, const s2_trials *trials)
{
    char extent[S2_NAMES_SIZE];
    if (context->options->ask.quiet || !s2_trials_extent(trials, extent)[0]) return;
    s2_report_tell("note: %s; use --per-picture 0 without --pictures for all", extent);
}

s2p_status s2_analyze_collect(analyze_context *context, const s2_analysis *analysis,
                              s2_trials *trials, bool *is_complete, s2p_error *error)
{
    const analyze_options *o = context->options;
    s2a_setting setting[S2A_MAX_SETTINGS];
    int32_t n;
    const char *budgets = o->budgets ? o->budgets : analysis->budgets;
    const s2a_setting base = s2_ask_setting(&context->ask);
    const char *usual = o->images ? "uniform,equal-density,s2prune" : analysis->methods;
    context->step = analysis->name;
    *is_complete = true;
    if (o->runs.n) {
        TRY(s2_collect_run(context, trials, error));
        tell_extent(context, trials);
        return S2P_OK;
    }
    if (o->recorded) return s2_collect_recorded(context, analysis, trials, error);
    const bool has_variants = s2_ask_has_variants(&context->ask);
    if (analysis->settings && !o->methods && !has_variants)
        TRY(analysis->settings(&base, budgets, setting, &n, error));
    else
        TRY(s2_ask_settings(&context->ask, o->images ? NULL : &context->asker.owns,
                            o->methods     ? o->methods
                            : has_variants ? NULL
                                           : usual,
                            budgets, setting, &n, error));
    if (analysis->is_by_layer && !o->images) {
        TRY(open_model(context, error));
        TRY(s2_analysis_spread(setting, &n, context->asker.info.n_layers, error));
    }
    if (o->images && !analysis->takes_pictures)
        return s2_fail(error, S2P_EINVAL, "%s needs answers; pictures alone have none",
                       analysis->name);
    for (int32_t i = 0; o->images && i < n; i++) /* without a decoder there is no ERC */
        if (!o->ask.selector) setting[i].choice.selector = "centre";
    if (o->images)
        TRY(collect_pictures(context, setting, n, trials, error));
    else
        TRY(collect_answers(context, analysis, setting, n, trials, error));
    *is_complete = count_missing(trials) == 0;
    tell_extent(context, trials);
    return S2P_OK;
}

s2p_status s2_analyze_draw(const s2_analysis *analysis, const s2_trials *trials, s2_study *study,
                           s2p_error *error)
{
    const int32_t first = study->n;
    char extent[S2_NAMES_SIZE], sentence[S2_NAMES_SIZE + 8];
    TRY(analysis->run(trials, study, error));
    if (!s2_trials_extent(trials, extent)[0]) return S2P_OK;
    (void)snprintf(sentence, sizeof sentence, "%s.", extent);
    s2_study_extend(study, first, sentence);
    return S2P_OK;
}

/* --- results ------------------------------------------------------------------------------------- */

void s2_analyze_describe(const analyze_context *context, const s2_trials *t, bool has_more,
                         s2_buffer *out)
{
    const analyze_options *o = context->options;
    s2_buffer_printf(out, "program: s2prune %s (ggml %s)\n", s2p_version(), s2v_backend_version());
    const bool has_answers = !o->images && !o->recorded;
    if (has_answers) s2_buffer_printf(out, "model: %s\n", t->model);
    for (size_t i = 0; i < o->runs.n; i++) s2_buffer_printf(out, "answers: %s\n", o->runs.item[i]);
    for (int32_t p = 0; p < t->n_parts; p++) {
        int32_t n_pictures = 0, n_questions = 0;
        for (int32_t i = 0; i < t->n_pictures; i++) n_pictures += t->picture[i].part == p;
        for (int32_t q = 0; q < t->n_questions; q++)
            n_questions += s2_trial_part_of(t, q) == &t->part[p];
        s2_buffer_printf(out, "data: %s, %d pictures, %d", t->part[p].name, n_pictures,
                         !has_answers ? 0
                         : has_more   ? t->part[p].n_all
                                      : n_questions);
        if (n_questions < t->part[p].n_all && !has_more)
            s2_buffer_printf(out, " of %d", t->part[p].n_all);
        s2_buffer_printf(out, " questions%s\n",
                         has_more ? "; captions say how many were asked" : "");
    }
    if (t->has_grids)
        s2_buffer_printf(out, "tokens of a picture: not the same for all\n");
    else
        s2_buffer_printf(out, "tokens of a picture: %dx%d\n", t->grid.rows, t->grid.cols);
    s2_buffer_printf(out,
                     "runs of a method that draws: %d; intervals: 95 %%, 2000 draws of "
                     "pictures, seed 1\n",
                     context->n_seeds);
}

const char *s2_analyze_width_name(size_t index)
{
    static const char *const names[] = { "page", "column" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

double s2_analyze_width(const analyze_options *options)
{
    return options->width == 1 ? S2_PLOT_COLUMN : S2_PLOT_PAGE;
}

s2p_status s2_analyze_save(analyze_context *context, const s2_study *study, const char *name,
                           const char *title, const char *settings, s2p_error *error)
{
    const char *folder = context->options->out;
    s2_study_report_name(folder, title, name, context->report);
    const s2p_status st = s2_study_save(study, folder, context->report, title, settings, error);
    context->is_unwritten = st == S2P_EIO;
    TRY(st);
    TRY(s2_analyze_manifest(context, settings, error));
    for (int32_t i = 0; i < study->n; i++) {
        if (study->item[i]->kind != S2_STUDY_FIGURE) continue;
        if (s2_rasterize(folder, study->item[i]->name)) continue;
        if (!context->options->ask.quiet)
            s2_report_tell("note: no PNG and PDF of the figures: rsvg-convert (librsvg2-bin) is "
                           "not installed");
        break;
    }
    return S2P_OK;
}
