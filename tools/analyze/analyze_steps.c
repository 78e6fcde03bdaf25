/* analyze_steps.c - trials from answers, pictures or a model; results into a folder. */
#include "analyze/analyze_command.h"

#include "analyze/sources.h"
#include "base/path.h"
#include "base/sha256.h"
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

s2p_status s2_analyze_open(analyze_context *context, const analyze_options *options,
                           s2p_error *error)
{
    context->options = options;
    context->ask = options->ask;
    if (!context->ask.image_size) context->ask.preset = 1;
    context->ask.max_image_pixels = (int64_t)1 << 25;
    TRY(read_shard(options->shard, &context->shard, &context->n_shards, error));
    context->n_seeds = options->images || options->recorded || options->run ? 1 : options->seeds;
    const int n_instead = !!options->images + !!options->run + !!options->recorded;
    if (n_instead > 1 || (n_instead && options->shard))
        return s2_fail(error, S2P_EINVAL,
                       "--images, --run and --recorded each stand for the model, one at a time and "
                       "without --shard");
    if (options->run) TRY(s2_collect_run_open(context, error));
    if (n_instead == 0) {
        /* --data-dir may be the folder of the task or one that holds it under its name. */
        const analyze_options *o = context->options;
        char folder[S2_BUNDLED_PATH];
        struct stat info;
        context->task = s2e_task_find(o->tasks);
        if (!context->task)
            return s2_fail(error, S2P_EINVAL, "--tasks: unknown task '%.60s'", o->tasks);
        if (!o->data)
            TRY(s2_bundled_data(context->task->name, folder, error));
        else if (snprintf(folder, sizeof folder, "%s/%s", o->data, context->task->name) >=
                 (int)sizeof folder)
            return s2_fail(error, S2P_ELIMIT, "--data-dir is too long");
        else if (stat(folder, &info) != 0)
            (void)snprintf(folder, sizeof folder, "%s", o->data);
        TRY(context->task->read(folder, &context->set, error));
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
    s2e_store_close(context->store);
    json_decref(context->values);
    s2e_set_free(&context->set);
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
    const s2_model_watch watch = { keep_answer, show, context };
    TRY(open_model(context, error));
    const s2_source_model source = { .session = context->asker.session,
                                     .image_options = &context->asker.image_options[0],
                                     .task = context->task,
                                     .set = &context->set,
                                     .n_seeds = context->options->seeds,
                                     .predict = context->options->predict,
                                     .shard = context->shard,
                                     .n_shards = context->n_shards,
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

static s2p_status collect_answers(analyze_context *context, const s2_analysis *analysis,
                                  const s2a_setting *setting, int32_t n, s2_trials *trials,
                                  s2p_error *error)
{
    const analyze_options *o = context->options;
    const int32_t per = o->per_picture < 0 ? analysis->per_picture : o->per_picture;
    TRY(s2_source_task(context->task, &context->set, per, o->n_pictures, trials, error));
    (void)snprintf(trials->model, sizeof trials->model, "%s", s2_base_name(context->asker.model));
    /* What may change an answer and is neither question nor setting, in a few letters. */
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
    if (!s2_ask_is_fused(&context->ask)) s2_buffer_printf(&text, " plain");
    for (size_t i = 0; i < context->ask.set.n; i++)
        s2_buffer_printf(&text, " %s", context->ask.set.item[i]);
    s2_sha256(text.data, text.size, digest);
    s2_sha256_hex(digest, hex);
    (void)snprintf(trials->run, sizeof trials->run, "%.12s", hex);
    s2_buffer_free(&text);
    TRY(s2_trials_set(trials, setting, n, error));
    TRY(read_answers(context, context->answers_path, trials, error));
    for (size_t i = 0; i < o->answers.n; i++)
        TRY(read_answers(context, o->answers.item[i], trials, error));
    return count_missing(trials) ? ask_rest(context, trials, error) : S2P_OK;
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
    (void)snprintf(trials->task, sizeof trials->task, "%.60s", s2_base_name(o->images));
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
    if (o->run) return s2_collect_run(context, analysis, trials, error);
    if (o->recorded) return s2_collect_recorded(context, analysis, trials, error);
    if (analysis->settings && !o->methods)
        TRY(analysis->settings(&base, budgets, setting, &n, error));
    else
        TRY(s2_ask_settings(&context->ask, o->methods ? o->methods : usual, budgets, setting, &n,
                            error));
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
    return S2P_OK;
}

/* --- results ------------------------------------------------------------------------------------- */

void s2_analyze_describe(const analyze_context *context, const s2_trials *t, s2_buffer *out)
{
    const analyze_options *o = context->options;
    s2_buffer_printf(out, "program: s2prune %s (ggml %s)\n", s2p_version(), s2v_backend_version());
    const bool has_answers = !o->images && !o->recorded;
    if (has_answers) s2_buffer_printf(out, "model: %s\n", t->model);
    if (o->run) s2_buffer_printf(out, "answers: %s\n", o->run);
    s2_buffer_printf(out, "data: %s, %d pictures, %d questions\n", t->task, t->n_pictures,
                     has_answers ? t->n_questions : 0);
    s2_buffer_printf(out, "tokens of a picture: %dx%d\n", t->grid.rows, t->grid.cols);
    s2_buffer_printf(out,
                     "runs of a method that draws: %d; intervals: 95 %%, 2000 draws of "
                     "pictures, seed 1\n",
                     context->n_seeds);
}

s2p_status s2_analyze_save(analyze_context *context, const s2_study *study, const char *title,
                           const char *settings, s2p_error *error)
{
    const char *folder = context->options->out;
    const s2p_status st = s2_study_save(study, folder, title, settings, error);
    context->is_unwritten = st == S2P_EIO;
    TRY(st);
    for (int32_t i = 0; i < study->n; i++) {
        if (study->item[i]->kind != S2_STUDY_FIGURE) continue;
        if (s2_rasterize(folder, study->item[i]->name)) continue;
        if (!context->options->ask.quiet)
            s2_report_tell("note: no PNG of the figures: rsvg-convert is not installed");
        break;
    }
    return S2P_OK;
}
