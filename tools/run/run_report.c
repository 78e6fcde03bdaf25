/* run_report.c - what a run did: JSON, the summary line, overlays. */
#include "run/run_options.h"

#include "base/json.h"
#include "image/draw/overlay_svg.h"
#include "method_list.h"
#include "report.h"
#include "terminal.h"

#include <stdio.h>
#include <string.h>

static const char *method_of(const run_job *job)
{
    return job->prune.method ? job->prune.method : "full";
}

static size_t n_generated(const run_job *job)
{
    size_t n;
    (void)s2v_session_tokens(job->session, &n);
    return n;
}

static double tokens_per_second(const run_job *job)
{
    const size_t n = n_generated(job);
    return n > 1 && job->predicted_ms > 0.0 ? 1e3 * (double)(n - 1) / job->predicted_ms : 0.0;
}

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
static int32_t side_of(const run_job *job)
{
    int32_t side = 0;
    const s2p_plan *plan;
    for (int32_t i = 0; (plan = s2v_session_plan(job->session, i)); i++) {
        const int32_t one = s2p_plan_layout(plan).side;
        if (i > 0 && one != side) return 0;
        side = one;
    }
    return side;
}

/* "s2prune, grid 5x5, after layer 0"; nothing was pruned: the method alone. */
static void put_method(const run_job *job, s2_buffer *out)
{
    const s2v_stats *t = &job->stats;
    const int32_t side = side_of(job);
    char after[S2_AFTER_TEXT];
    s2_buffer_printf(out, "%s", method_of(job));
    if (job->prune.published) s2_buffer_printf(out, ", published");
    if (t->image_tokens == t->image_tokens_full) return;
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

/* Steps in their order; those a method does not have are left out. */
static void put_times(const run_job *job, s2_buffer *out)
{
    const s2v_stats *t = &job->stats;
    const int32_t last = t->n_stages > 0 ? t->stage_after[0] : S2P_BEFORE_DECODER;
    char layers[32] = "layer 0";
    if (last > 0) (void)snprintf(layers, sizeof layers, "layers 0-%d", last);
    put_step(out, "image", t->image_ms);
    put_step(out, "vision", t->vision_ms);
    if (last >= 0) put_step(out, layers, t->layer0_ms);
    if (t->probe_ms > 0.0) put_step(out, "probe", t->probe_ms);
    put_step(out, "select", t->select_ms);
    put_step(out, last >= 0 ? "other layers" : "layers", t->layers_ms);
    if (tokens_per_second(job) > 0.0)
        s2_buffer_printf(out, " · %.1f tok/s", tokens_per_second(job));
    s2_buffer_printf(out, " · KV %.2f MiB", (double)t->kv_total_bytes / (1 << 20));
}

void s2_run_summary(const run_job *job)
{
    s2_buffer method, times;
    s2_buffer_init(&method, S2_OUTPUT_MAX);
    s2_buffer_init(&times, S2_OUTPUT_MAX);
    put_method(job, &method);
    put_times(job, &times);
    if (method.status == S2P_OK && times.status == S2P_OK)
        (void)fprintf(stderr, "kept %d of %d visual tokens (%.*s)\n%.*s\n", job->stats.image_tokens,
                      job->stats.image_tokens_full, (int)method.size, (const char *)method.data,
                      (int)times.size, (const char *)times.data);
    s2_buffer_free(&times);
    s2_buffer_free(&method);
}

/* --- JSON ----------------------------------------------------------------------- */

static json_t *ints_of(const int32_t *value, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(array, json_integer(value[i]));
    return array;
}

static json_t *regions_of(const s2p_layout *l)
{
    json_t *array = json_array();
    for (int32_t g = 0; g < l->side * l->side; g++) {
        const s2p_rect r = l->region[g], p = l->support[g];
        json_array_append_new(array, json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:f,s:f,s:i}",
                                               "r0", r.row0, "r1", r.row1, "c0", r.col0, "c1",
                                               r.col1, "y0", p.row0, "y1", p.row1, "x0", p.col0,
                                               "x1", p.col1, "var", (double)l->raw[g], "score",
                                               (double)l->score[g], "budget", l->share[g]));
    }
    return array;
}

static json_t *plan_json(const s2p_plan *plan)
{
    int32_t n;
    const int32_t *keep = s2p_plan_keep(plan, &n);
    const s2p_layout l = s2p_plan_layout(plan);
    return json_pack("{s:[i,i],s:i,s:o,s:o}", "tokens", l.grid.rows, l.grid.cols, "grid", l.side,
                     "kept", ints_of(keep, (size_t)n), "regions", regions_of(&l));
}

/* A picture seen in tiles too has a second grid. */
static json_t *images_of(const run_job *job)
{
    json_t *array = json_array();
    const s2p_plan *plan, *tiles;
    for (int32_t i = 0; (plan = s2v_session_plan(job->session, i)); i++) {
        json_t *image = plan_json(plan);
        if (image && (tiles = s2v_session_tile_plan(job->session, i)))
            json_object_set_new(image, "tiles", plan_json(tiles));
        json_array_append_new(array, image);
    }
    return array;
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
    const s2v_prune_options *p = &job->prune;
    const int32_t n_tokens = tokens_of(s2v_session_plan(job->session, 0)) +
                             tokens_of(s2v_session_tile_plan(job->session, 0));
    if (!(p->budget_percent > 0.0) || n_tokens == 0) return p->budget;
    return s2_budget_tokens((s2_budget){ 0, p->budget_percent }, n_tokens);
}

static json_t *prune_of(const run_job *job)
{
    const s2v_stats *t = &job->stats;
    json_t *prune =
        json_pack("{s:s,s:s,s:i,s:o,s:o,s:o}", "method", method_of(job), "mode",
                  s2_mode_name((size_t)job->prune.published), "budget", budget_of(job), "after",
                  ints_of(t->stage_after, (size_t)t->n_stages), "left",
                  ints_of(t->stage_tokens, (size_t)t->n_stages), "images", images_of(job));
    if (prune && job->prune.budget_percent > 0.0)
        json_object_set_new(prune, "budget_percent", json_real(job->prune.budget_percent));
    return prune;
}

static json_t *timings_of(const run_job *job)
{
    const s2v_stats *t = &job->stats;
    return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "image_ms", t->image_ms, "vision_ms",
                     t->vision_ms, "layer0_ms", t->layer0_ms, "probe_ms", t->probe_ms, "select_ms",
                     t->select_ms, "layers_ms", t->layers_ms, "prompt_ms", t->prompt_ms,
                     "predicted_ms", job->predicted_ms, "predicted_per_second",
                     tokens_per_second(job));
}

void s2_run_json(const run_job *job, s2_buffer *out)
{
    const s2v_stats *t = &job->stats;
    size_t n;
    const int32_t *tokens = s2v_session_tokens(job->session, &n);
    json_t *root = json_pack(
        "{s:s,s:o,s:o,s:s,s:{s:i,s:i,s:i,s:i,s:i,s:i},s:o,s:{s:I,s:I,s:I},s:f,s:o}", "schema",
        "s2prune.run/1", "text",
        json_stringn(job->answer.data ? (const char *)job->answer.data : "", job->answer.size),
        "tokens", ints_of(tokens, n), "finish_reason", job->stopped ? "stop" : "length", "usage",
        "prompt_tokens", t->prompt_tokens, "text_tokens", t->text_tokens, "image_tokens_full",
        t->image_tokens_full, "image_tokens", t->image_tokens, "completion_tokens", (int)n,
        "cached_tokens", 0, "timings", timings_of(job), "kv", "visual_bytes",
        (json_int_t)t->kv_visual_bytes, "visual_bytes_paper", (json_int_t)t->kv_visual_bytes_paper,
        "total_bytes", (json_int_t)t->kv_total_bytes, "flops", t->flops, "prune", prune_of(job));
    if (!root || s2_json_write(root, 9, out) != S2P_OK) out->status = S2P_ENOMEM;
    s2_buffer_append(out, "\n", 1);
    json_decref(root);
}

/* --- pictures -------------------------------------------------------------------- */

/* The first picture of the last turn, whose plans the session has; below 0: not at hand any more.
 */
static int32_t first_shown(const run_job *job)
{
    int32_t n_plans = 0;
    while (s2v_session_plan(job->session, n_plans)) n_plans++;
    return job->n_pictures - n_plans;
}

const s2p_image *s2_run_seen(const run_job *job, int32_t index, s2_image *squared)
{
    *squared = (s2_image){ .pixels = NULL };
    const s2p_image *source = &job->view[first_shown(job) + index];
    if (s2v_session_framing(job->session, index) != S2V_FRAMING_SQUARE) return source;
    int32_t width, height;
    s2p_status st = s2v_session_seen(job->session, index, source, &width, &height, NULL, NULL);
    if (st == S2P_OK) st = s2_image_create(width, height, squared, NULL);
    if (st != S2P_OK) return source;
    st = s2v_session_seen(job->session, index, source, &width, &height, squared->pixels, NULL);
    return st == S2P_OK ? &squared->view : source;
}

static bool overlay_of(const run_job *job, int32_t index, s2p_layout *layout, char *caption,
                       size_t capacity, s2_image *squared, s2_overlay *out)
{
    *squared = (s2_image){ .pixels = NULL };
    const s2p_plan *plan = s2v_session_plan(job->session, index);
    int32_t n_keep;
    if (!plan || first_shown(job) < 0) return false;
    *layout = s2p_plan_layout(plan);
    const int32_t *keep = s2p_plan_keep(plan, &n_keep);
    (void)snprintf(caption, capacity, "%s: %d of %dx%d tokens kept", method_of(job), n_keep,
                   layout->grid.rows, layout->grid.cols);
    *out = (s2_overlay){ .picture = s2_run_seen(job, index, squared),
                         .layout = layout,
                         .keep = keep,
                         .n_keep = n_keep,
                         .caption = caption };
    return true;
}

int s2_run_overlay(const run_job *job, int32_t index, const char *path)
{
    s2p_layout layout;
    char caption[128];
    s2_image squared;
    s2_overlay overlay;
    if (!overlay_of(job, index, &layout, caption, sizeof caption, &squared, &overlay))
        return S2_EXIT_OK;
    const size_t n = strlen(path);
    const bool is_svg = n > 4 && strcmp(path + n - 4, ".svg") == 0;
    s2p_error error = { S2P_OK, "" };
    s2_buffer bytes;
    s2_buffer_init(&bytes, S2_OUTPUT_MAX);
    s2_image drawn = { .pixels = NULL };
    s2p_status st = is_svg ? s2_overlay_svg(&overlay, &bytes, &error)
                           : s2_overlay_draw(&overlay, &drawn, &error);
    if (st == S2P_OK && !is_svg) st = s2_png_encode(&drawn.view, &bytes, &error);
    const int code = st == S2P_OK ? s2_report_save(path, &bytes) : s2_report_error(st, &error);
    s2_image_free(&drawn);
    s2_image_free(&squared);
    s2_buffer_free(&bytes);
    return code;
}

s2p_status s2_run_draw(const run_job *job, int32_t index, s2_image *out, s2p_error *error)
{
    s2p_layout layout;
    char caption[128];
    s2_image squared;
    s2_overlay overlay;
    *out = (s2_image){ .pixels = NULL };
    if (!overlay_of(job, index, &layout, caption, sizeof caption, &squared, &overlay))
        return S2P_OK;
    const s2p_status st = s2_overlay_draw(&overlay, out, error);
    s2_image_free(&squared);
    return st;
}

int s2_run_show(const run_job *job, int32_t index)
{
    const s2_display display = s2_terminal_display(job->options->display);
    if (display == S2_DISPLAY_NONE) return S2_EXIT_OK;
    s2p_error error = { S2P_OK, "" };
    s2_buffer bytes;
    s2_buffer_init(&bytes, S2_OUTPUT_MAX);
    s2_image drawn;
    s2p_status st = s2_run_draw(job, index, &drawn, &error);
    if (st == S2P_OK && drawn.pixels)
        st = s2_display_render(&drawn.view, display, s2_terminal_columns(), &bytes, &error);
    if (st == S2P_OK) /* the answer owns standard output */
        (void)fwrite(bytes.data, 1, bytes.size, stderr);
    s2_image_free(&drawn);
    s2_buffer_free(&bytes);
    return st == S2P_OK ? S2_EXIT_OK : s2_report_error(st, &error);
}
