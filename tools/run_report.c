/* run_report.c - what a run did: JSON, the summary line, overlays. */
#include "run_options.h"

#include "base/json.h"
#include "engine/session.h"
#include "image/overlay.h"
#include "prune/method.h"
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

void s2_run_summary(const run_job *job)
{
    const s2v_stats *t = &job->stats;
    char image[32], vision[32], first[32], select[32], rest[32], speed[48] = "";
    put_time(image, sizeof image, t->image_ms);
    put_time(vision, sizeof vision, t->vision_ms);
    put_time(first, sizeof first, t->layer0_ms);
    put_time(select, sizeof select, t->select_ms);
    put_time(rest, sizeof rest, t->layers_ms);
    if (tokens_per_second(job) > 0.0)
        (void)snprintf(speed, sizeof speed, " · %.1f tok/s", tokens_per_second(job));
    (void)fprintf(
        stderr,
        "kept %d of %d visual tokens (%s) · image %s · vision %s · layer 0 %s · select %s · "
        "layers %s%s · KV %.2f MiB\n",
        t->image_tokens, t->image_tokens_full, method_of(job), image, vision, first, select, rest,
        speed, (double)t->kv_total_bytes / (1 << 20));
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

static json_t *images_of(const run_job *job)
{
    json_t *array = json_array();
    const s2p_plan *plan;
    for (int32_t i = 0; (plan = s2v_session_plan(job->session, i)); i++) {
        int32_t n;
        const int32_t *keep = s2p_plan_keep(plan, &n);
        const s2p_layout l = s2p_plan_layout(plan);
        json_array_append_new(
            array, json_pack("{s:[i,i],s:i,s:o,s:o}", "tokens", l.grid.rows, l.grid.cols, "grid",
                             l.side, "kept", ints_of(keep, (size_t)n), "regions", regions_of(&l)));
    }
    return array;
}

static json_t *timings_of(const run_job *job)
{
    const s2v_stats *t = &job->stats;
    return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "image_ms", t->image_ms, "vision_ms",
                     t->vision_ms, "layer0_ms", t->layer0_ms, "select_ms", t->select_ms,
                     "layers_ms", t->layers_ms, "prompt_ms", t->prompt_ms, "predicted_ms",
                     job->predicted_ms, "predicted_per_second", tokens_per_second(job));
}

void s2_run_json(const run_job *job, s2_buffer *out)
{
    const s2v_stats *t = &job->stats;
    size_t n;
    const int32_t *tokens = s2v_session_tokens(job->session, &n);
    json_t *root = json_pack(
        "{s:s,s:o,s:o,s:s,s:{s:i,s:i,s:i,s:i,s:i,s:i},s:o,s:{s:I,s:I,s:I},s:f,s:{s:s,s:i,s:o}}",
        "schema", "s2prune.run/1", "text",
        json_stringn(job->answer.data ? (const char *)job->answer.data : "", job->answer.size),
        "tokens", ints_of(tokens, n), "finish_reason", job->stopped ? "stop" : "length", "usage",
        "prompt_tokens", t->prompt_tokens, "text_tokens", t->text_tokens, "image_tokens_full",
        t->image_tokens_full, "image_tokens", t->image_tokens, "completion_tokens", (int)n,
        "cached_tokens", 0, "timings", timings_of(job), "kv", "visual_bytes",
        (json_int_t)t->kv_visual_bytes, "visual_bytes_paper", (json_int_t)t->kv_visual_bytes_paper,
        "total_bytes", (json_int_t)t->kv_total_bytes, "flops", t->flops, "prune", "method",
        method_of(job), "budget", job->prune.budget, "images", images_of(job));
    if (!root || s2_json_write(root, 9, out) != S2P_OK) out->status = S2P_ENOMEM;
    s2_buffer_append(out, "\n", 1);
    json_decref(root);
}

/* --- pictures -------------------------------------------------------------------- */

/* A picture the tower saw in a square is shown in one. */
static const s2p_image *shown_picture(const run_job *job, int32_t index, const s2p_image *source,
                                      s2_image *squared)
{
    if (s2v_session_view(job->session, index) != S2V_VIEW_SQUARE) return source;
    const s2v_model *model = &job->session->engine->model;
    return s2v_square(model, source, squared, NULL) == S2P_OK ? &squared->view : source;
}

static bool overlay_of(const run_job *job, int32_t index, s2p_layout *layout, char *caption,
                       size_t capacity, s2_image *squared, s2_overlay *out)
{
    *squared = (s2_image){ .pixels = NULL };
    const s2p_plan *plan = s2v_session_plan(job->session, index);
    const int32_t first = job->n_pictures; /* plans are of the last turn's pictures */
    int32_t n_plans = 0, n_keep;
    while (s2v_session_plan(job->session, n_plans)) n_plans++;
    if (!plan || first < n_plans) return false;
    *layout = s2p_plan_layout(plan);
    const int32_t *keep = s2p_plan_keep(plan, &n_keep);
    (void)snprintf(caption, capacity, "%s: %d of %dx%d tokens kept", method_of(job), n_keep,
                   layout->grid.rows, layout->grid.cols);
    const s2p_image *source = &job->view[first - n_plans + index];
    *out = (s2_overlay){ .picture = shown_picture(job, index, source, squared),
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

int s2_run_show(const run_job *job, int32_t index)
{
    s2p_layout layout;
    char caption[128];
    s2_image squared;
    s2_overlay overlay;
    const s2_display display = s2_terminal_display(job->options->display);
    if (display == S2_DISPLAY_NONE ||
        !overlay_of(job, index, &layout, caption, sizeof caption, &squared, &overlay))
        return S2_EXIT_OK;
    s2p_error error = { S2P_OK, "" };
    s2_buffer bytes;
    s2_buffer_init(&bytes, S2_OUTPUT_MAX);
    s2_image drawn = { .pixels = NULL };
    s2p_status st = s2_overlay_draw(&overlay, &drawn, &error);
    if (st == S2P_OK)
        st = s2_display_render(&drawn.view, display, s2_terminal_columns(), &bytes, &error);
    if (st == S2P_OK) /* the answer owns standard output */
        (void)fwrite(bytes.data, 1, bytes.size, stderr);
    s2_image_free(&drawn);
    s2_image_free(&squared);
    s2_buffer_free(&bytes);
    return st == S2P_OK ? S2_EXIT_OK : s2_report_error(st, &error);
}
