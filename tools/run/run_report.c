/* run_report.c - what a run did: JSON, the summary line, overlays. */
#include "run/run.h"

#include "ask/attempts.h"
#include "ask/kept.h"
#include "base/json.h"
#include "base/path.h"
#include "image/draw/overlay.h"
#include "report.h"
#include "terminal.h"

#include <stdio.h>
#include <string.h>

/* "12 ms", "2.1 s" */
static void put_time(char *out, size_t capacity, double ms)
{
    if (ms < 1.0)
        (void)snprintf(out, capacity, "%.2f ms", ms);
    else if (ms < 1000.0)
        (void)snprintf(out, capacity, "%.0f ms", ms);
    else
        (void)snprintf(out, capacity, "%.1f s", ms / 1e3);
}

/* The K all pictures share; 0 when they differ, or the method has no regions. */
static int32_t side_of(const s2a_answer *answer)
{
    for (int32_t p = 1; p < answer->n_parts; p++)
        if (!answer->part[p].is_tiles && answer->part[p].side != answer->part[0].side) return 0;
    return answer->n_parts > 0 ? answer->part[0].side : 0;
}

/* "s2prune, grid 5x5, after layer 0"; nothing was pruned: the method alone. */
static void put_method(const run_job *job, s2_buffer *out)
{
    const s2v_stats *t = &job->answer.stats;
    const int32_t side = side_of(&job->answer);
    char after[S2_AFTER_TEXT];
    char label[S2A_LABEL_SIZE];
    s2_buffer_printf(out, "%s", s2a_setting_label(&job->setting, label));
    if (t->image_tokens == t->tower_tokens) return;
    if (side > 0) s2_buffer_printf(out, ", grid %dx%d", side, side);
    s2_after_text(t->stage_after, t->n_stages, after);
    s2_buffer_printf(out, ", %s", after);
}

static void put_step(s2_buffer *out, const char *step, double ms)
{
    char time[32];
    put_time(time, sizeof time, ms);
    s2_buffer_printf(out, "%s%s %s", out->size > 0 ? " · " : "", step, time);
}

/* From the question to the first token, attempts that did not count included. */
static double first_token_ms(const s2a_answer *a)
{
    return a->stats.image_ms + a->stats.vision_ms + a->stats.prompt_ms + a->attempts.earlier_ms;
}

/* The same had every token gone through every layer, from the layers that were measured: those before the
 * first prune point saw them all. Where the method prunes before the decoder, by the number of rows. 0:
 * nothing was pruned, or a part of the prompt did not run. */
static double unpruned_ms(const run_job *job)
{
    const s2v_stats *t = &job->answer.stats;
    const int32_t n_layers = job->asker.info.n_layers;
    if (t->n_stages == 0 || t->image_tokens >= t->image_tokens_full || t->cached_tokens > 0)
        return 0.0;
    const int32_t n_before = t->stage_after[0] + 1;
    const double rows = (double)t->text_tokens + t->image_tokens_full;
    const double layers =
        n_before > 0 ? t->layer0_ms / n_before * n_layers : t->layers_ms * rows / t->prompt_tokens;
    return t->image_ms + t->vision_ms + layers;
}

/* Steps in their order; those a method does not have are left out. */
static void put_times(const run_job *job, s2_buffer *out)
{
    const s2v_stats *t = &job->answer.stats;
    const int32_t last = t->n_stages > 0 ? t->stage_after[0] : S2P_BEFORE_DECODER;
    char layers[32] = "layer 0";
    if (last > 0) (void)snprintf(layers, sizeof layers, "layers 0-%d", last);
    if (t->image_tokens_full > 0) {
        put_step(out, "image", t->image_ms);
        put_step(out, "vision", t->vision_ms);
        if (job->asker.info.tower_rounds) s2_buffer_printf(out, " (%s)", job->asker.info.kernels);
    }
    if (last >= 0) put_step(out, layers, t->layer0_ms);
    if (t->probe_ms > 0.0) put_step(out, "probe", t->probe_ms);
    if (t->image_tokens_full > 0) put_step(out, "select", t->select_ms);
    put_step(out, last >= 0 ? "other layers" : "layers", t->layers_ms);
    if (s2a_tokens_per_second(&job->answer) > 0.0)
        s2_buffer_printf(out, " · %.1f tok/s", s2a_tokens_per_second(&job->answer));
    s2_buffer_printf(out, " · KV %.2f MiB", (double)t->kv_total_bytes / (1 << 20));
    const s2v_engine_info *info = &job->asker.info;
    if (info->device_layers > 0 || info->device_tower)
        s2_buffer_printf(out, " · %s: %d of %d layers%s", info->device, info->device_layers,
                         info->n_layers, info->device_tower ? " and the tower" : "");
    put_step(out, "first token after", first_token_ms(&job->answer));
    if (unpruned_ms(job) > 0.0) {
        char time[32];
        put_time(time, sizeof time, unpruned_ms(job));
        s2_buffer_printf(out, " (all tokens: est. %s)", time);
    }
}

/* Each picture was shown smaller, so that the tower makes fewer tokens. */
static bool is_resized(const run_job *job)
{
    return s2p_method_about(s2a_setting_method(&job->setting))->resizes;
}

static int32_t tokens_of(const s2p_plan *plan)
{
    if (!plan) return 0;
    const s2p_grid grid = s2p_plan_layout(plan).grid;
    return grid.rows * grid.cols;
}

/* A share is one of the first picture. */
static int32_t budget_of(const run_job *job)
{
    const s2a_answer *a = &job->answer;
    s2a_budget budget = job->setting.budget;
    if (a->attempts.n > 0) {
        const s2v_budget last = a->attempts.list[a->attempts.n - 1].budget;
        budget = (s2a_budget){ .tokens = last.tokens, .percent = last.percent };
    }
    int32_t n_tokens = tokens_of(s2v_session_plan(job->asker.session, 0)) +
                       tokens_of(s2v_session_tile_plan(job->asker.session, 0));
    if (is_resized(job)) n_tokens = a->stats.image_tokens_full; /* the plan is of the smaller one */
    return n_tokens > 0 ? s2a_budget_tokens(budget, n_tokens) : budget.tokens;
}

#define FEW 0.15 /* of a picture's tokens: below this a note says so */

/* "asked again: with 64 tokens the least likely of the first 3 tokens had 41 % (below 80 %); 52 ms" */
static void note_attempts(const run_job *job)
{
    const s2a_answer *a = &job->answer;
    char line[512], time[32], cost[32];
    const double least = 100.0 * s2a_min_confidence(&job->setting);
    for (int32_t i = 0; i + 1 < a->attempts.n; i++) {
        put_time(time, sizeof time, a->attempts.list[i].ms);
        put_time(cost, sizeof cost, a->attempts.list[i + 1].ms);
        (void)snprintf(line, sizeof line,
                       "asked again: with %d visual token%s (%s) the least likely of the first %d "
                       "tokens had %.1f %%, below %.1f %%; with %d tokens: %s",
                       a->attempts.list[i].image_tokens,
                       a->attempts.list[i].image_tokens == 1 ? "" : "s", time,
                       S2A_CONFIDENCE_TOKENS, 100.0 * a->attempts.list[i].confidence, least,
                       a->attempts.list[i + 1].image_tokens, cost);
        s2_report_line("note", line);
    }
    const s2v_stats *t = &a->stats;
    const bool is_sure = job->setting.budget.n_more > 0 && a->attempts.n > 0 &&
                         100.0 * a->attempts.list[a->attempts.n - 1].confidence >= least;
    const int32_t n_all = is_resized(job) ? t->image_tokens_full : t->tower_tokens;
    if (t->image_tokens >= FEW * n_all || is_sure) return;
    (void)snprintf(line, sizeof line,
                   "only %.2g %% of the visual tokens are kept; small text suffers first: --budget "
                   "auto keeps a third, --budget 100%% all",
                   100.0 * t->image_tokens / t->image_tokens_full);
    s2_report_line("note", line);
}

/* With -v: how each picture was seen. */
static void show_pictures(const run_job *job)
{
    const s2v_engine_info *info = &job->asker.info;
    const int32_t side = info->patch_size * (info->merge_size > 1 ? info->merge_size : 1);
    int32_t n_plans = 0;
    while (s2v_session_plan(job->asker.session, n_plans)) n_plans++;
    const int32_t first = job->asker.n_pictures - n_plans;
    for (int32_t i = 0; first >= 0 && i < n_plans; i++) {
        const s2p_plan *tiles = s2v_session_tile_plan(job->asker.session, i);
        const s2p_grid grid = s2p_plan_layout(s2v_session_plan(job->asker.session, i)).grid;
        const s2p_image *view = &job->asker.view[first + i];
        char line[512], more[64] = "";
        const int32_t width = grid.cols * side, height = grid.rows * side;
        if (tiles) {
            const s2p_grid t = s2p_plan_layout(tiles).grid;
            (void)snprintf(more, sizeof more, " and tiles of %dx%d", t.rows, t.cols);
        }
        (void)snprintf(line, sizeof line, "%.200s, %dx%d pixels, %s %dx%d: %dx%d tokens%s",
                       job->asker.picture_name[first + i], view->width, view->height,
                       (int64_t)width * height < (int64_t)view->width * view->height ? "reduced to"
                                                                                     : "seen as",
                       width, height, grid.rows, grid.cols, more);
        s2_report_line("picture", line);
    }
}

void s2_run_summary(const run_job *job)
{
    const s2v_stats *t = &job->answer.stats;
    s2_buffer out, times;
    if (job->options->ask.is_verbose && t->image_tokens_full > 0) show_pictures(job);
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2_buffer_init(&times, S2_OUTPUT_MAX);
    if (t->image_tokens_full > 0) {
        s2_buffer_printf(&out, "kept %d of %d visual tokens (", t->image_tokens,
                         t->image_tokens_full);
        put_method(job, &out);
        if (is_resized(job) && s2v_session_plan(job->asker.session, 0) && /* the nearest grid */
            !s2v_session_plan(job->asker.session, 1))
            s2_buffer_printf(&out, ", budget %d", budget_of(job));
        s2_buffer_printf(&out, ")");
        if (job->setting.has_before)
            s2_buffer_printf(&out, "; %d of %d entered the tower", t->tower_tokens,
                             t->image_tokens_full);
    }
    if (job->is_later)
        s2_buffer_printf(&out, "%s%d tokens of the conversation were in the cache, %d are new",
                         t->image_tokens_full > 0 ? "; " : "", t->cached_tokens, t->prompt_tokens);
    else if (t->image_tokens_full == 0)
        s2_buffer_printf(&out, "%d tokens, no picture", t->prompt_tokens);
    else if (t->cached_tokens > 0)
        s2_buffer_printf(&out, "; only %d of %d prompt tokens were new",
                         t->prompt_tokens - t->cached_tokens, t->prompt_tokens);
    else if (t->saved_ms > 0.0)
        s2_buffer_printf(&out, "; the vision tower's output was cached");
    if (t->saved_ms >= 1000.0)
        s2_buffer_printf(&out, ", %.1f s saved", t->saved_ms / 1000.0);
    else if (t->saved_ms >= 0.5)
        s2_buffer_printf(&out, ", %.0f ms saved", t->saved_ms);
    put_times(job, &times);
    if (out.status == S2P_OK && times.status == S2P_OK)
        (void)fprintf(stderr, "%.*s\n%.*s\n", (int)out.size, (const char *)out.data,
                      (int)times.size, (const char *)times.data);
    note_attempts(job);
    s2_buffer_free(&times);
    s2_buffer_free(&out);
}

/* --- JSON ----------------------------------------------------------------------- */

static json_t *regions_of(const s2p_layout *l)
{
    json_t *array = json_array();
    for (int32_t g = 0; g < l->side * l->side; g++)
        json_array_append_new(array, s2a_region_json(l, g));
    return array;
}

static json_t *plan_json(const s2p_plan *plan)
{
    int32_t n;
    const int32_t *keep = s2p_plan_keep(plan, &n);
    const s2p_layout l = s2p_plan_layout(plan);
    return json_pack("{s:[i,i],s:i,s:o,s:o}", "tokens", l.grid.rows, l.grid.cols, "grid", l.side,
                     "kept", s2_json_of_ints(keep, (size_t)n), "regions", regions_of(&l));
}

/* A picture seen in tiles too has a second grid. */
static json_t *images_of(const run_job *job)
{
    json_t *array = json_array();
    const s2p_plan *plan, *tiles;
    for (int32_t i = 0; (plan = s2v_session_plan(job->asker.session, i)); i++) {
        json_t *image = plan_json(plan);
        int32_t n_entered;
        const int32_t *entered = s2v_session_tower_tokens(job->asker.session, i, &n_entered);
        if (image && job->setting.has_before)
            json_object_set_new(image, "skipped",
                                s2a_skipped_json(s2p_plan_layout(plan).grid, entered, n_entered));
        if (image && (tiles = s2v_session_tile_plan(job->asker.session, i)))
            json_object_set_new(image, "tiles", plan_json(tiles));
        json_array_append_new(array, image);
    }
    return array;
}

/* Parameters that were set, by name; NULL when none was. */
static json_t *parameters_of(const run_job *job)
{
    const s2p_method *method = s2a_setting_method(&job->setting);
    s2p_parameters own;
    s2p_parameters_init(method, &own);
    json_t *object = NULL;
    const s2p_parameter *row;
    for (size_t i = 0; (row = s2p_method_parameter(method, i)); i++) {
        const double value = job->setting.parameters.value[i];
        if (value == own.value[i]) continue;
        if (!object) object = json_object();
        json_object_set_new(object, row->name,
                            row->is_integer ? json_integer((json_int_t)value) : json_real(value));
    }
    return object;
}

static json_t *prune_of(const run_job *job)
{
    const s2v_stats *t = &job->answer.stats;
    char label[S2A_LABEL_SIZE];
    json_t *prune = json_pack(
        "{s:s,s:s,s:s,s:i,s:o,s:o,s:o}", "method", job->setting.method, "setting",
        s2a_setting_label(&job->setting, label), "mode", s2_mode_name(job->setting.published),
        "budget", budget_of(job), "after", s2_json_of_ints(t->stage_after, (size_t)t->n_stages),
        "left", s2_json_of_ints(t->stage_tokens, (size_t)t->n_stages), "images", images_of(job));
    json_t *parameters = parameters_of(job);
    if (prune) s2a_attempts_add(&job->setting, &job->answer.attempts, prune);
    if (prune && job->setting.budget.percent > 0.0)
        json_object_set_new(prune, "budget_percent", json_real(job->setting.budget.percent));
    if (prune && parameters) json_object_set(prune, "parameters", parameters);
    if (prune)
        json_object_set_new(prune, "positions",
                            json_string(s2a_positions_name(job->setting.is_renumbered)));
    char before[S2P_PIXELPRUNE_TEXT];
    if (prune && job->setting.has_before) {
        json_object_set_new(prune, "before_tower",
                            json_string(s2p_pixelprune_text(&job->setting.before, before)));
        json_object_set_new(prune, "tower_tokens", json_integer(t->tower_tokens));
    }
    json_decref(parameters);
    return prune;
}

static json_t *timings_of(const run_job *job)
{
    const s2v_stats *t = &job->answer.stats;
    json_t *timings = json_pack(
        "{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:s,s:f,s:f}", "image_ms", t->image_ms, "vision_ms",
        t->vision_ms, "layer0_ms", t->layer0_ms, "probe_ms", t->probe_ms, "select_ms", t->select_ms,
        "layers_ms", t->layers_ms, "prompt_ms", t->prompt_ms, "predicted_ms",
        job->answer.generate_ms, "predicted_per_second", s2a_tokens_per_second(&job->answer),
        "tower", job->asker.info.kernels, "first_token_ms", first_token_ms(&job->answer),
        "total_ms", first_token_ms(&job->answer) + job->answer.generate_ms);
    const double full = unpruned_ms(job);
    if (timings)
        json_object_set_new(timings, "first_token_full_ms_estimated",
                            full > 0.0 ? json_real(full) : json_null());
    return timings;
}

/* Where the model ran, and what crossed to it and back since it was opened. */
static json_t *device_of(const run_job *job)
{
    const s2v_engine_info *info = &job->asker.info;
    uint64_t up, down;
    s2v_session_get_traffic(job->asker.session, &up, &down);
    return json_pack("{s:s,s:i,s:b,s:I,s:I}", "name", info->device, "layers", info->device_layers,
                     "tower", info->device_tower, "bytes_up", (json_int_t)up, "bytes_down",
                     (json_int_t)down);
}

void s2_run_json(const run_job *job, s2_buffer *out)
{
    const s2v_stats *t = &job->answer.stats;
    const s2a_answer *a = &job->answer;
    json_t *root = json_pack(
        "{s:s,s:o,s:o,s:s,s:{s:i,s:i,s:i,s:i,s:i,s:i},s:o,s:{s:I,s:I,s:I},s:f,s:o,s:o}", "schema",
        "s2prune.run/1", "text", json_string(a->text), "tokens",
        s2_json_of_ints(a->token, (size_t)a->n_tokens), "finish_reason",
        job->is_interrupted ? "interrupted"
        : a->is_stopped     ? "stop"
                            : "length",
        "usage", "prompt_tokens", t->prompt_tokens, "text_tokens", t->text_tokens,
        "image_tokens_full", t->image_tokens_full, "image_tokens", t->image_tokens,
        "completion_tokens", a->n_tokens, "cached_tokens", t->cached_tokens, "timings",
        timings_of(job), "kv", "visual_bytes", (json_int_t)t->kv_visual_bytes, "visual_bytes_paper",
        (json_int_t)t->kv_visual_bytes_paper, "total_bytes", (json_int_t)t->kv_total_bytes, "flops",
        t->flops, "prune", prune_of(job), "device", device_of(job));
    json_t *names = json_array();
    for (int32_t i = 0; i < job->asker.n_pictures; i++) {
        json_t *name = json_string(job->asker.picture_name[i]);
        json_array_append_new(names, name ? name : json_null()); /* bytes that are no text */
    }
    if (root && a->thoughts) json_object_set_new(root, "reasoning", json_string(a->thoughts));
    if (root) {
        json_object_set_new(root, "model", json_string(job->asker.info.name));
        json_object_set_new(root, "question", json_string(job->question));
        json_object_set(root, "pictures", names);
    }
    json_decref(names);
    if (!root || s2_json_write(root, 9, out) != S2P_OK) out->status = S2P_ENOMEM;
    s2_buffer_append(out, "\n", 1);
    json_decref(root);
}

/* --- pictures -------------------------------------------------------------------- */

s2p_status s2_run_overlay_name(const char *source, const char *path, s2p_error *error)
{
    if (s2_path_has_suffix(path, ".png") || s2_path_has_suffix(path, ".svg")) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "%s '%.200s': the name ends in .png or .svg", source, path);
}

static int save_kept(const s2_kept *kept, const char *path)
{
    const bool is_svg = s2_path_has_suffix(path, ".svg");
    s2p_error error = { S2P_OK, "" };
    s2_buffer bytes;
    s2_buffer_init(&bytes, S2_OUTPUT_MAX);
    s2_image drawn = { .pixels = NULL };
    const s2p_status st = is_svg ? s2_overlay_svg(&kept->overlay, &bytes, &error)
                                 : s2_overlay_draw(&kept->overlay, &drawn, &error);
    const int code = st != S2P_OK ? s2_report_error(st, &error)
                     : is_svg     ? s2_report_save(path, &bytes)
                                  : s2_report_save_png(path, &drawn.view);
    s2_image_free(&drawn);
    s2_buffer_free(&bytes);
    return code;
}

const char *s2_run_tiles_name(const char *path, char *out, size_t capacity)
{
    const char *dot = strrchr(path, '.');
    (void)snprintf(out, capacity, "%.*s-tiles%s", dot ? (int)(dot - path) : (int)strlen(path), path,
                   dot ? dot : "");
    return out;
}

int s2_run_overlay(const run_job *job, int32_t index, const char *path)
{
    s2_kept kept;
    char name[S2_OVERLAY_NAME];
    if (!s2_kept_make(&job->asker, index, false, job->setting.method, &kept)) {
        s2_report_line("error", "there is no picture to draw kept tokens on");
        return S2_EXIT_FAILURE;
    }
    int code = save_kept(&kept, path);
    s2_kept_free(&kept);
    if (code != S2_EXIT_OK || !s2_kept_make(&job->asker, index, true, job->setting.method, &kept))
        return code;
    code = save_kept(&kept, s2_run_tiles_name(path, name, sizeof name));
    s2_kept_free(&kept);
    return code;
}

static int show(const run_job *job, int32_t index, s2_display display)
{
    s2p_error error = { S2P_OK, "" };
    s2_image drawn;
    s2p_status st = s2_kept_draw(&job->asker, index, job->setting.method, &drawn, &error);
    if (st == S2P_OK && drawn.pixels) st = s2_terminal_show(&drawn.view, display, &error);
    s2_image_free(&drawn);
    return st == S2P_OK ? S2_EXIT_OK : s2_report_error(st, &error);
}

int s2_run_show(const run_job *job, int32_t index)
{
    const s2_display display = s2_terminal_display(job->options->display);
    return display == S2_DISPLAY_NONE ? S2_EXIT_OK : show(job, index, display);
}

int s2_run_show_now(const run_job *job, int32_t index)
{
    s2_display display = s2_terminal_display(job->options->display);
    if (display == S2_DISPLAY_NONE) display = s2_terminal_display(0);
    return show(job, index, display == S2_DISPLAY_NONE ? S2_DISPLAY_ASCII : display);
}
