/* verify_before_tower.c - PixelPrune: the authors' selections, and whole runs without what they drop.
 *
 * A list of cases names pictures; what is kept of each has to be equal. A run is a GGUF like those of
 * verify_hf.c: model, picture and setting, then merged rows, deepstack, positions, the first and the
 * last layer, logits and the answer. Its model stands in hf/ or families/ of a folder above it, or
 * of the folder of arrays; the pictures stand beside the cases, above them, or there. Pictures were
 * resized by Pillow 13.
 */
#include "verify/checks.h"

#include "engine/vision/towers/qwen_frame.h"
#include "verify/hf_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOLERANCE 1e-4 /* of the largest value, at least of 1 */
#define MAX_ABOVE 8    /* folders above a golden that are searched */

/* --- files ------------------------------------------------------------------------ */

/* Below `folder`, below its usual subfolders, and the same for the folders above it. */
static bool find_below(const char *folder, const char *const *below, size_t n_below,
                       const char *name, char out[HF_PATH_CAPACITY])
{
    char base[HF_PATH_CAPACITY];
    (void)snprintf(base, sizeof base, "%.3000s", folder);
    for (int depth = 0; depth <= MAX_ABOVE; depth++) {
        for (size_t i = 0; i < n_below; i++) {
            (void)snprintf(out, HF_PATH_CAPACITY, "%.3000s%s/%.500s", base, below[i], name);
            if (access(out, R_OK) == 0) return true;
        }
        const size_t n = strlen(base);
        if (n + 4 > 3000) return false;
        memcpy(base + n, "/..", 4);
    }
    return false;
}

/* A name in a golden file is data: it may not climb out of the folder. */
static bool is_inside(const char *name)
{
    return name && name[0] && name[0] != '/' && !strstr(name, "..");
}

static bool find_picture(const char *folder, const char *name, char out[HF_PATH_CAPACITY])
{
    static const char *const below[] = { "", "/pixelprune", "/before_tower/pixelprune" };
    return folder && is_inside(name) && find_below(folder, below, 3, name, out);
}

static bool find_model(const char *folder, const char *name, char out[HF_PATH_CAPACITY])
{
    static const char *const below[] = { "", "/hf", "/families" };
    return folder && is_inside(name) && find_below(folder, below, 3, name, out);
}

static bool load_picture(const char *path, s2_image *out)
{
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    return s2_image_load(path, S2_PIXELS_REFERENCE, &limits, out, NULL) == S2P_OK;
}

/* --- settings ---------------------------------------------------------------------- */

static bool read_words(const char *scan, const char *metric, s2p_pixelprune *out)
{
    static const char *const scans[] = { "pred_2d", "raster", "serpentine", "conncomp" };
    static const char *const metrics[] = { "max", "mae", "rmse" };
    bool has_scan = false, has_metric = false;
    for (int i = 0; i < 4; i++)
        if (scan && strcmp(scan, scans[i]) == 0) {
            out->scan = (s2p_scan)i;
            has_scan = true;
        }
    for (int i = 0; i < 3; i++)
        if (metric && strcmp(metric, metrics[i]) == 0) {
            out->metric = (s2p_distance)i;
            has_metric = true;
        }
    if (metric && strcmp(metric, "exact") == 0) { /* max with threshold 0 */
        has_metric = true;
        out->threshold = 0.0;
    }
    return has_scan && has_metric;
}

/* --- selections --------------------------------------------------------------------- */

static bool open_picture(const json_t *c, s2_verdict *verdict, s2_image *out)
{
    char path[HF_PATH_CAPACITY];
    const char *name = s2_json_string(c, "picture");
    for (size_t i = 0; i < 2 && verdict->arrays[i]; i++)
        if (find_picture(verdict->arrays[i], name, path) && load_picture(path, out)) return true;
    s2_malformed(verdict, "picture '%.100s' is not there", name ? name : "");
    return false;
}

void s2_check_pixelprune(const json_t *c, s2_verdict *verdict)
{
    s2_ints size = { NULL, 0 }, shape = { NULL, 0 }, selected = { NULL, 0 };
    s2_image picture = { .pixels = NULL }, resized = { .pixels = NULL };
    int32_t *keep = NULL, n_keep = 0;
    s2p_error error = { S2P_OK, "" };
    s2p_pixelprune options;
    s2p_pixelprune_init(&options);
    const json_t *threshold = json_object_get(c, "threshold"),
                 *anchored = json_object_get(c, "anchored"),
                 *skipped = json_object_get(c, "skip_ratio");
    if (json_is_number(threshold)) options.threshold = json_number_value(threshold);
    if (json_is_number(skipped)) options.skip_ratio = json_number_value(skipped);
    options.sliding = json_is_false(anchored);
    if (!read_words(s2_json_string(c, "method"), s2_json_string(c, "metric"), &options)) {
        s2_malformed(verdict, "unknown method or metric");
        return;
    }
    if (!s2_take_ints(c, "resized", &size, verdict) || !s2_take_ints(c, "grid", &shape, verdict) ||
        !s2_take_ints(c, "selected", &selected, verdict) || !open_picture(c, verdict, &picture))
        goto done;
    if (size.n != 2 || shape.n != 2 || size.data[0] < 1 || size.data[0] > 16384 ||
        size.data[1] < 1 || size.data[1] > 16384 || shape.data[0] < 1 || shape.data[1] < 1 ||
        shape.data[0] > S2P_MAX_SIDE || shape.data[1] > S2P_MAX_SIDE) {
        s2_malformed(verdict, "'resized' and 'grid' must be rows and columns");
        goto done;
    }
    const s2p_grid grid = { (int32_t)shape.data[0], (int32_t)shape.data[1] };
    keep = malloc((size_t)grid.rows * (size_t)grid.cols * sizeof *keep);
    s2p_status st =
        keep ? s2_image_resize_as(&picture.view, (int32_t)size.data[1], (int32_t)size.data[0],
                                  S2_RESIZE_PILLOW13, &resized, &error)
             : S2P_ENOMEM;
    if (st == S2P_OK) st = s2p_pixelprune_select(&resized.view, grid, &options, keep, &n_keep);
    if (st == S2P_OK)
        (void)s2_same_ints(verdict, "selected", &selected, keep, (size_t)n_keep);
    else
        s2_differs(verdict, "%s", error.message[0] ? error.message : s2p_status_text(st));
done:
    free(keep);
    free(size.data);
    free(shape.data);
    free(selected.data);
    s2_image_free(&picture);
    s2_image_free(&resized);
}

/* --- a whole run -------------------------------------------------------------------- */

static void compare(hf_case *c, const char *name, const float *got, size_t n)
{
    size_t n_stored;
    double worst = 0.0, largest = 1.0;
    const float *expected = s2_hf_floats(c->golden, name, &n_stored);
    if (!expected) return;
    if (n != n_stored) {
        s2_differs(c->verdict, "%s: expected %zu values, got %zu", name, n_stored, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const double d = fabs((double)expected[i] - (double)got[i]);
        if (fabs((double)expected[i]) > largest) largest = fabs((double)expected[i]);
        if (!(d <= worst)) worst = d; /* NaN sticks */
    }
    const double allowed = TOLERANCE * c->verdict->where->slack * largest;
    if (!(worst <= allowed))
        s2_differs(c->verdict, "%s: off by %.3g, allowed %.3g", name, worst, allowed);
}

static void compare_ints(hf_case *c, const char *name, const int32_t *got, size_t n)
{
    size_t n_stored;
    const int32_t *expected = s2_hf_ints(c->golden, name, &n_stored);
    if (!expected || (n == n_stored && memcmp(expected, got, n * sizeof *got) == 0)) return;
    s2_differs(c->verdict, "%s: other values (%zu, expected %zu)", name, n, n_stored);
}

static void tap(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                void *user)
{
    char tensor[32];
    const size_t n = (size_t)rows * (size_t)cols;
    if (strcmp(name, "vis.merged") == 0)
        compare(user, name, data, n);
    else if (strcmp(name, "vis.deepstack") == 0 || strcmp(name, "h") == 0) {
        (void)snprintf(tensor, sizeof tensor, "%s%d", name, index);
        compare(user, tensor, data, n);
    }
}

/* Where the rows stand, and which of the whole prompt they are. */
static void compare_rows(hf_case *c, const s2v_session *session)
{
    const s2v_rows *rows = &session->rows;
    const size_t n = (size_t)rows->n;
    size_t n_span;
    const int32_t *span = s2_hf_ints(c->golden, "image_span", &n_span);
    int32_t *list = malloc(3 * n * sizeof *list);
    if (!list || !span || n_span != 2) {
        s2_malformed(c->verdict, "the case has no image_span");
        free(list);
        return;
    }
    for (size_t p = 0; p < 3; p++) memcpy(list + p * n, rows->pos[p], n * sizeof *list);
    compare_ints(c, "position_ids", list, 3 * n);
    int32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        list[i] = rows->token[i] >= 0 ? span[0] + rows->token[i] : at;
        at = list[i] + 1;
        const bool ends = i + 1 < n && rows->token[i] >= 0 && rows->token[i + 1] < 0;
        if (ends) at = span[0] + span[1];
    }
    compare_ints(c, "kept_seq", list, n);
    int64_t next;
    if (s2v_gguf_int(c->golden, "case.next_pos", &next))
        (void)s2_same_number(c->verdict, "next_pos", next, session->next_pos);
}

/* Lengths of the windows, in any order: attention inside does not depend on it. */
static void compare_windows(hf_case *c, const s2v_model *model)
{
    size_t n_stored;
    const int32_t *starts = s2_hf_ints(c->golden, "vis.cu_window_seqlens", &n_stored);
    s2v_frame frame;
    int64_t stored[S2V_WINDOW_KINDS] = { 0 }, got[S2V_WINDOW_KINDS] = { 0 };
    if (!starts || model->arch->frame(model, &c->view[0], &c->size[0], S2V_FRAMING_BASE, &frame,
                                      NULL) != S2P_OK)
        return;
    const s2v_windows *w = &((const qwen_order *)frame.own)->windows;
    const int32_t per_token = model->tower.merge * model->tower.merge;
    for (size_t i = 1; i < n_stored; i++) {
        const int32_t tokens = (starts[i] - starts[i - 1]) / per_token;
        if (tokens >= 1 && tokens <= S2V_WINDOW_KINDS) stored[tokens - 1]++;
    }
    for (int32_t k = 0; k < S2V_WINDOW_KINDS; k++) {
        const int32_t tokens = w->patches[k] / per_token;
        if (tokens >= 1 && tokens <= S2V_WINDOW_KINDS) got[tokens - 1] += w->count[k];
    }
    for (int32_t k = 0; k < S2V_WINDOW_KINDS; k++)
        if (stored[k] != got[k])
            s2_differs(c->verdict, "windows of %d tokens: expected %lld, got %lld", k + 1,
                       (long long)stored[k], (long long)got[k]);
    s2v_frame_free(&frame);
}

static void compare_answer(hf_case *c, s2v_session *session, bool is_exact)
{
    size_t n_stored = 0, n_logits = 0, n;
    const int32_t *tokens = s2_hf_ints(c->golden, "tokens", &n_stored);
    const float *logits = s2_hf_floats(c->golden, "step_logits", &n_logits);
    const size_t width = (size_t)session->engine->model.decoder.p.n_vocab;
    float *all = tokens ? malloc(n_stored * width * sizeof *all) : NULL;
    s2p_error error = { S2P_OK, "" };
    for (size_t i = 0; all && i < n_stored; i++) {
        char text[S2V_TEXT_BYTES];
        int done;
        if (s2v_session_next(session, text, sizeof text, &done, &error) != S2P_OK) {
            s2_differs(c->verdict, "token %zu: %s", i, error.message);
            break;
        }
        memcpy(all + i * width, s2v_session_logits(session), width * sizeof *all);
    }
    if (all && logits && is_exact) compare(c, "step_logits", all, n_stored * width);
    const int32_t *got = s2v_session_tokens(session, &n);
    if (tokens) compare_ints(c, "tokens", got, n < n_stored ? n : n_stored);
    free(all);
}

static void run_pair(hf_case *c, s2v_engine *engine, const char *prompt)
{
    const bool is_exact = strcmp(c->pair, "f32") == 0;
    s2v_session_options options;
    s2v_session_options_init(&options);
    options.kv_type = S2V_KV_F32;
    options.sampling.ignore_eos = 1;
    s2p_error error = { S2P_OK, "" };
    s2v_session *session;
    if (s2v_session_create(&session, engine, &options, &error) != S2P_OK) {
        s2_differs(c->verdict, "%s", error.message);
        return;
    }
    if (is_exact) s2v_session_set_trace(session, tap, c);
    const s2v_prompt p = { .size = sizeof(s2v_prompt),
                           .raw = prompt,
                           .images = c->view,
                           .n_images = 1,
                           .image_options = c->size };
    if (s2v_session_prefill(session, &p, NULL, NULL, &error) != S2P_OK) {
        s2_differs(c->verdict, "%s", error.message);
    } else {
        int32_t n_kept;
        const int32_t *kept = s2p_plan_keep(s2v_session_plan(session, 0), &n_kept);
        compare_ints(c, "kept", kept, (size_t)n_kept);
        if (is_exact) {
            compare(c, "logits_last", s2v_session_logits(session),
                    (size_t)engine->model.decoder.p.n_vocab);
            compare_rows(c, session);
            compare_windows(c, &engine->model);
        }
        compare_answer(c, session, is_exact);
    }
    s2v_session_free(session);
}

static bool read_float(const s2v_gguf *file, const char *key, double *out)
{
    char text[32]; /* 0.01 was stored as a float; the shortest number that is this float is meant */
    const s2v_gguf_key *found = s2v_gguf_find_key(file, key);
    double value;
    if (!found || !s2v_gguf_item_float(found, 0, &value) || !isfinite(value)) return false;
    (void)snprintf(text, sizeof text, "%.6g", value);
    *out = strtod(text, NULL);
    return true;
}

static bool read_run(hf_case *c, char *prompt, size_t capacity, char *model, size_t n_model)
{
    char scan[32], metric[32];
    size_t n_grid, patch = (size_t)c->patch;
    const int32_t *grid = s2_hf_ints(c->golden, "image_grid_thw", &n_grid);
    s2v_image_options_init(&c->size[0]);
    c->size[0].resize = S2V_RESIZE_PILLOW13;
    s2p_pixelprune_init(&c->size[0].pixelprune);
    c->size[0].before_tower = 1;
    bool anchored = true;
    const s2v_gguf_key *key = s2v_gguf_find_key(c->golden, "case.anchored");
    if (key) (void)s2v_gguf_item_bool(key, 0, &anchored);
    c->size[0].pixelprune.sliding = !anchored;
    if (grid && n_grid == 3 && grid[1] > 0 && grid[2] > 0 && grid[1] < 4096 && grid[2] < 4096) {
        c->size[0].width = grid[2] * (int32_t)patch;
        c->size[0].height = grid[1] * (int32_t)patch;
    }
    return c->size[0].width > 0 && s2_hf_text(c->golden, "case.prompt", prompt, capacity) &&
           s2_hf_text(c->golden, "case.model", model, n_model) &&
           s2_hf_text(c->golden, "case.method", scan, sizeof scan) &&
           s2_hf_text(c->golden, "case.metric", metric, sizeof metric) &&
           read_float(c->golden, "case.threshold", &c->size[0].pixelprune.threshold) &&
           read_words(scan, metric, &c->size[0].pixelprune);
}

static s2p_status open_engine(hf_case *c, s2v_engine **out, s2p_error *error)
{
    char folder[HF_PATH_CAPACITY], model[HF_PATH_CAPACITY], mmproj[HF_PATH_CAPACITY], end[16];
    (void)snprintf(folder, sizeof folder, "%.4000s/gguf", c->folder);
    (void)snprintf(end, sizeof end, "%s.gguf", c->pair);
    if (!s2_hf_find_file(folder, "", end, false, model) ||
        !s2_hf_find_file(folder, "mmproj", end, true, mmproj))
        return s2_fail(error, S2P_EIO, "no %s pair in gguf/", c->pair);
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = model;
    options.mmproj_path = mmproj;
    s2_verdict_place(c->verdict, &options);
    return s2v_engine_open(out, &options, error);
}

/* The golden's own folder comes first, then the folder of arrays. */
static s2p_status check_run(hf_case *c, const char *path, const char *arrays, s2p_error *error)
{
    static const char *const pairs[] = { "f32", "f16" };
    char prompt[4096], model[64], picture[128], beside[HF_PATH_CAPACITY], file[HF_PATH_CAPACITY];
    const char *slash = strrchr(path, '/');
    (void)snprintf(beside, sizeof beside, "%.*s", slash ? (int)(slash - path) : 1,
                   slash ? path : ".");
    if (!s2_hf_text(c->golden, "case.model", model, sizeof model) ||
        !s2_hf_text(c->golden, "case.picture", picture, sizeof picture))
        return s2_fail(error, S2P_EFORMAT, "the case names no model or no picture");
    if (!find_model(beside, model, c->folder) && !find_model(arrays, model, c->folder))
        return s2_fail(error, S2P_EUNSUPPORTED, "no folder '%s' with its model; give --arrays",
                       model);
    s2_hf_read_tower(c);
    if (!read_run(c, prompt, sizeof prompt, model, sizeof model))
        return s2_fail(error, S2P_EFORMAT, "the case lacks its prompt, grid or setting");
    if ((!find_picture(beside, picture, file) && !find_picture(arrays, picture, file)) ||
        !load_picture(file, &c->picture[0]))
        return s2_fail(error, S2P_EIO, "picture '%s' is not there", picture);
    c->view[0] = c->picture[0].view;
    c->n_pictures = 1;
    for (size_t i = 0; i < 2; i++) {
        s2v_engine *engine;
        c->pair = pairs[i];
        const s2p_status st = open_engine(c, &engine, error);
        if (st != S2P_OK) return st;
        run_pair(c, engine, prompt);
        s2v_engine_close(engine);
    }
    return S2P_OK;
}

bool s2_is_before_tower_golden(const char *path)
{
    s2v_gguf *file;
    if (s2v_gguf_open(&file, path, NULL) != S2P_OK) return false;
    const bool is_ours = s2v_gguf_find_key(file, "case.picture") &&
                         s2v_gguf_find_key(file, "case.method") &&
                         s2v_gguf_find_tensor(file, "kept");
    s2v_gguf_close(file);
    return is_ours;
}

s2p_status s2_check_before_tower(const char *path, const char *arrays, s2_verdict *verdict,
                                 s2p_error *error)
{
    *verdict = (s2_verdict){ .n_cases = 1, .label = "case", .where = verdict->where };
    s2_buffer_init(&verdict->lines, 4096);
    hf_case c = { .verdict = verdict };
    s2p_status st = s2v_gguf_open(&c.golden, path, error);
    if (st == S2P_OK) st = check_run(&c, path, arrays, error);
    if (st != S2P_OK && st != S2P_EUNSUPPORTED) s2_malformed(verdict, "%s", error->message);
    verdict->n_failed = verdict->case_failed;
    s2_image_free(&c.picture[0]);
    s2v_gguf_close(c.golden);
    return st == S2P_EUNSUPPORTED ? st : S2P_OK;
}
