/* verify_hf.c - a whole model against Hugging Face: tower, layers, logits, kept tokens, answers.
 *
 * A golden is a GGUF of architecture "s2prune-golden". The model it was made with
 * stands in gguf/ beside it (an F32 pair and an F16 pair), the pictures too:
 * image_<x>_*.png are the sources, view_<x>*.png what the tower saw of them, which
 * tells the size they were stretched to. With the F32 pair and an F32 cache every
 * stored tensor is compared, with the F16 pair the kept tokens and the answer.
 */
#include "verify.h"

#include "engine/session.h"
#include "image/image.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_CAPACITY 4096
#define MAX_PICTURES 16
#define PATCH 14
#define TOLERANCE 1e-4     /* of the largest value, at least of 1 */
#define ERC_TOLERANCE 2e-5 /* relative */

typedef struct hf_case {
    s2_verdict *verdict;
    char folder[PATH_CAPACITY]; /* model and pictures */
    s2v_gguf *golden, *full;    /* the case, and the unpruned one that has its prompt */
    s2_image picture[MAX_PICTURES];
    s2p_image view[MAX_PICTURES];
    int32_t n_pictures;
    s2v_image_options size[MAX_PICTURES]; /* stretched to what the tower saw */
    int32_t budget[MAX_PICTURES], side[MAX_PICTURES];
    bool is_pruned;
    const char *pair; /* "f32" or "f16" */
} hf_case;

/* --- files beside the golden ---------------------------------------------------- */

/* The first file below `folder` whose name starts, contains and ends so, by name order. */
static bool find_file(const char *folder, const char *start, const char *part, const char *end,
                      bool has_mmproj, char out[PATH_CAPACITY])
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, NULL, alphasort);
    bool found = false;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        const size_t length = strlen(name), tail = strlen(end);
        const bool fits = strncmp(name, start, strlen(start)) == 0 && strstr(name, part) &&
                          length >= tail && strcmp(name + length - tail, end) == 0 &&
                          (strncmp(name, "mmproj", 6) == 0) == has_mmproj;
        if (fits && !found)
            found = snprintf(out, PATH_CAPACITY, "%s/%s", folder, name) < PATH_CAPACITY;
        free(entries[i]);
    }
    free(entries);
    return found;
}

/* Where gguf/ and the pictures are: beside the golden, else below `arrays` in a folder of the same
 * name. */
static void find_folder(const char *path, const char *arrays, char out[PATH_CAPACITY])
{
    char unused[PATH_CAPACITY], models[PATH_CAPACITY];
    const char *slash = strrchr(path, '/');
    (void)snprintf(out, PATH_CAPACITY, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    const char *name = strrchr(out, '/') ? strrchr(out, '/') + 1 : out;
    char own[1024];
    (void)snprintf(own, sizeof own, "%.1000s", name);
    (void)snprintf(models, sizeof models, "%.4000s/gguf", out);
    if (!arrays || find_file(models, "", "", ".gguf", false, unused)) return;
    for (int i = 0; i < 2; i++) {
        char folder[PATH_CAPACITY];
        (void)snprintf(folder, sizeof folder, "%.2000s%s/%.1000s", arrays, i ? "/hf" : "", own);
        (void)snprintf(models, sizeof models, "%.4000s/gguf", folder);
        if (!find_file(models, "", "", ".gguf", false, unused)) continue;
        memcpy(out, folder, sizeof folder);
        return;
    }
}

static bool has_text(const s2v_gguf *file, const char *key, char *out, size_t capacity)
{
    s2v_text text;
    if (!s2v_gguf_string(file, key, &text) || text.size >= capacity) return false;
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return true;
}

/* The picture seen as `grid` patches: a view of that size names it by the letters after "view_". */
static bool find_picture(hf_case *c, int32_t rows, int32_t cols, int32_t i)
{
    struct dirent **entries = NULL;
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    const int n = scandir(c->folder, &entries, NULL, alphasort);
    char path[PATH_CAPACITY], start[32] = "";
    for (int e = 0; e < n; e++) {
        const char *name = entries[e]->d_name;
        s2_image view;
        if (!start[0] && strncmp(name, "view_", 5) == 0 &&
            snprintf(path, sizeof path, "%s/%s", c->folder, name) < PATH_CAPACITY &&
            s2_image_load(path, S2_PIXELS_REFERENCE, &limits, &view, NULL) == S2P_OK) {
            if (view.view.width == cols * PATCH && view.view.height == rows * PATCH)
                (void)snprintf(start, sizeof start, "image_%.*s_",
                               (int)strcspn(name + 5, "0123456789_."), name + 5);
            s2_image_free(&view);
        }
        free(entries[e]);
    }
    free(entries);
    if (!start[0] || !find_file(c->folder, start, "", ".png", false, path)) return false;
    if (s2_image_load(path, S2_PIXELS_REFERENCE, &limits, &c->picture[i], NULL) != S2P_OK)
        return false;
    c->view[i] = c->picture[i].view;
    c->size[i] = (s2v_image_options){ .width = cols * PATCH, .height = rows * PATCH };
    c->n_pictures = i + 1;
    return true;
}

/* --- comparing ------------------------------------------------------------------- */

static const float *floats(const s2v_gguf *file, const char *name, size_t *n)
{
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(file, name);
    if (!t || t->type != GGML_TYPE_F32 || (uintptr_t)t->data % sizeof(float) != 0) return NULL;
    *n = (size_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
    return (const float *)(const void *)t->data;
}

static const int32_t *ints(const s2v_gguf *file, const char *name, size_t *n)
{
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(file, name);
    if (!t || t->type != GGML_TYPE_I32 || (uintptr_t)t->data % sizeof(int32_t) != 0) return NULL;
    *n = (size_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
    return (const int32_t *)(const void *)t->data;
}

/* expected: the rows `first..` of the stored tensor. A tensor that is not stored is not compared.
 */
static void compare(hf_case *c, const char *name, size_t first, const float *got, size_t n)
{
    size_t n_stored;
    const float *expected = floats(c->golden, name, &n_stored);
    if (!expected) return;
    if (first + n > n_stored) {
        s2_differs(c->verdict, "%s: expected %zu values, got %zu", name, n_stored, first + n);
        return;
    }
    double worst = 0.0, largest = 1.0;
    for (size_t i = 0; i < n; i++) {
        const double e = (double)expected[first + i], d = fabs(e - (double)got[i]);
        if (fabs(e) > largest) largest = fabs(e);
        if (!(d <= worst)) worst = d; /* NaN sticks */
    }
    if (!(worst <= TOLERANCE * largest))
        s2_differs(c->verdict, "%s: off by %.3g, allowed %.3g", name, worst, TOLERANCE * largest);
}

typedef struct tap_state {
    hf_case *c;
    size_t seen; /* values of vis.merged of the pictures before */
} tap_state;

static void tap(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                void *user)
{
    tap_state *state = user;
    const size_t n = (size_t)rows * (size_t)cols;
    char tensor[32];
    if (strcmp(name, "vis.merged") == 0) {
        compare(state->c, name, state->seen, data, n);
        state->seen += n;
    } else if (strcmp(name, "h") == 0 && (index > 1 || !state->c->is_pruned)) {
        (void)snprintf(tensor, sizeof tensor, "h%d", index);
        size_t n_stored;
        if (floats(state->c->golden, tensor, &n_stored) && n_stored == n)
            compare(state->c, tensor, 0, data, n);
    } else if (strcmp(name, "erc") == 0) {
        (void)snprintf(tensor, sizeof tensor, "img%d.erc", index);
        size_t n_stored;
        const float *expected = floats(state->c->golden, tensor, &n_stored);
        for (size_t i = 0; expected && i < n && i < n_stored; i++)
            if (!(fabsf(expected[i] - data[i]) <= (float)ERC_TOLERANCE * fabsf(expected[i]))) {
                s2_differs(state->c->verdict, "%s: expected %.9g at %zu, got %.9g", tensor,
                           (double)expected[i], i, (double)data[i]);
                break;
            }
    }
}

static void compare_kept(hf_case *c, const s2v_session *session)
{
    for (int32_t i = 0; i < c->n_pictures; i++) {
        char name[32];
        size_t n_stored;
        int32_t n;
        (void)snprintf(name, sizeof name, "img%d.kept", i);
        const int32_t *expected = ints(c->golden, name, &n_stored);
        const int32_t *got = s2p_plan_keep(s2v_session_plan(session, i), &n);
        if (!expected || (size_t)n != n_stored ||
            memcmp(expected, got, n_stored * sizeof *got) != 0)
            s2_differs(c->verdict, "%s (%s pair): other tokens kept", name, c->pair);
    }
}

static void compare_answer(hf_case *c, s2v_session *session)
{
    size_t n_stored, n = 0;
    s2p_error error = { S2P_OK, "" };
    const int32_t *expected = ints(c->golden, "tokens", &n_stored), *got;
    for (size_t i = 0; expected && i < n_stored; i++) {
        int done;
        char text[64];
        if (s2v_session_next(session, text, sizeof text, &done, &error) != S2P_OK) {
            s2_differs(c->verdict, "token %zu: %s", i, error.message);
            return;
        }
    }
    got = s2v_session_tokens(session, &n);
    for (size_t i = 0; expected && i < n_stored; i++)
        if (expected[i] != got[i]) {
            s2_differs(c->verdict, "tokens (%s pair): expected %d at %zu, got %d", c->pair,
                       expected[i], i, got[i]);
            return;
        }
}

/* --- running --------------------------------------------------------------------- */

static void run_session(hf_case *c, s2v_engine *engine, const char *prompt)
{
    s2v_session_options options;
    s2v_session_options_init(&options);
    options.kv_type = S2V_KV_F32;
    options.ignore_eos = 1;
    s2p_error error = { S2P_OK, "" };
    s2v_session *session;
    if (s2v_session_create(&session, engine, &options, &error) != S2P_OK) {
        s2_differs(c->verdict, "%s", error.message);
        return;
    }
    tap_state state = { c, 0 };
    const bool is_exact = strcmp(c->pair, "f32") == 0;
    if (is_exact) s2v_session_set_tap(session, tap, &state);
    const s2v_prompt p = {
        .raw = prompt, .images = c->view, .n_images = c->n_pictures, .image_options = c->size
    };
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    if (c->is_pruned) {
        prune.method = "s2prune";
        prune.image_budget = c->budget;
        prune.image_side = c->side;
    }
    if (s2v_session_prefill(session, &p, &prune, NULL, &error) != S2P_OK) {
        s2_differs(c->verdict, "%s", error.message);
    } else {
        s2v_engine_info info;
        s2v_engine_get_info(engine, &info);
        if (is_exact)
            compare(c, "logits_last", 0, s2v_session_logits(session), (size_t)info.n_vocab);
        if (c->is_pruned) compare_kept(c, session);
        compare_answer(c, session);
    }
    s2v_session_free(session);
}

static s2p_status run_pair(hf_case *c, const char *pair, s2p_error *error)
{
    char folder[PATH_CAPACITY], model[PATH_CAPACITY], mmproj[PATH_CAPACITY], end[16], prompt[4096];
    (void)snprintf(folder, sizeof folder, "%.4000s/gguf", c->folder);
    (void)snprintf(end, sizeof end, "%s.gguf", pair);
    c->pair = pair;
    if (!find_file(folder, "", "", end, false, model) ||
        !find_file(folder, "mmproj", "", end, true, mmproj))
        return s2_fail(error, S2P_EIO, "no %s pair in gguf/", pair);
    if (!has_text(c->full, "case.prompt", prompt, sizeof prompt))
        return s2_fail(error, S2P_EFORMAT, "the case has no prompt");
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = model;
    options.mmproj_path = mmproj;
    s2v_engine *engine;
    const s2p_status st = s2v_engine_open(&engine, &options, error);
    if (st != S2P_OK) return st;
    run_session(c, engine, prompt);
    s2v_engine_close(engine);
    return S2P_OK;
}

/* Pictures, sizes and budgets of the case. */
static bool read_case(hf_case *c)
{
    size_t n_grid;
    const int32_t *grid = ints(c->full, "image_grid_thw", &n_grid);
    if (!grid || n_grid < 3 || n_grid % 3 != 0 || n_grid / 3 > MAX_PICTURES) {
        s2_malformed(c->verdict, "no image_grid_thw");
        return false;
    }
    for (int32_t i = 0; i < (int32_t)(n_grid / 3); i++) {
        const int32_t rows = grid[3 * i + 1], cols = grid[3 * i + 2];
        if (rows < 1 || cols < 1 || rows > 4096 || cols > 4096 || !find_picture(c, rows, cols, i)) {
            s2_malformed(c->verdict, "no picture beside it was seen as %dx%d patches", rows, cols);
            return false;
        }
    }
    for (int32_t i = 0; c->is_pruned && i < c->n_pictures; i++) {
        char key[32];
        int64_t budget, side;
        (void)snprintf(key, sizeof key, "img%d.B", i);
        if (!s2v_gguf_int(c->golden, key, &budget)) budget = 0;
        (void)snprintf(key, sizeof key, "img%d.K", i);
        if (!s2v_gguf_int(c->golden, key, &side)) side = 0;
        if (budget < 1 || budget > 1 << 20 || side < 1 || side > 4096) {
            s2_malformed(c->verdict, "picture %d has no budget", i);
            return false;
        }
        c->budget[i] = (int32_t)budget;
        c->side[i] = (int32_t)side;
    }
    return true;
}

/* --- pixel values ---------------------------------------------------------------- */

/* Row r of the reference: merge groups in raster order, 2x2 patches inside, [c][t][y][x]. */
static void compare_patch(hf_case *c, const s2v_frame *f, int32_t row_width, int32_t r,
                          const float *expected)
{
    const int32_t at = f->raster[r / 4] * 4 + r % 4, area = PATCH * PATCH;
    const float *got = f->patches + (ptrdiff_t)at * row_width;
    for (int32_t ch = 0; ch < 3; ch++)
        for (int32_t t = 0; t < 2; t++)
            for (int32_t i = 0; i < area; i++)
                if (!(fabsf(expected[(ch * 2 + t) * area + i] - got[ch * area + i]) <= 1e-6f)) {
                    s2_differs(c->verdict, "pixel_values: row %d differs", r);
                    return;
                }
}

static void check_view(hf_case *c, const s2v_model *model, const char *name)
{
    char key[80], path[PATH_CAPACITY], start[80];
    size_t n_rows = 0, n_values = 0;
    (void)snprintf(key, sizeof key, "%s.rows", name);
    const int32_t *rows = ints(c->golden, key, &n_rows);
    (void)snprintf(key, sizeof key, "%s.pixel_values", name);
    const float *values = floats(c->golden, key, &n_values);
    (void)snprintf(start, sizeof start, "view_%s", name);
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2_image view;
    s2v_frame frame;
    if (!rows || !values || n_values != n_rows * 6 * PATCH * PATCH ||
        !find_file(c->folder, start, "", ".png", false, path) ||
        s2_image_load(path, S2_PIXELS_REFERENCE, &limits, &view, NULL) != S2P_OK) {
        s2_malformed(c->verdict, "%s: no rows, pixel values or picture", name);
        return;
    }
    const s2v_image_options size = { .width = view.view.width, .height = view.view.height };
    if (model->arch->frame(model, &view.view, &size, &frame, NULL) == S2P_OK) {
        for (size_t i = 0; i < n_rows; i++)
            if (rows[i] >= 0 && rows[i] < frame.n_patches)
                compare_patch(c, &frame, model->vision.patch_row, rows[i],
                              values + i * 6 * PATCH * PATCH);
            else
                s2_malformed(c->verdict, "%s: row %d is outside the picture", name, rows[i]);
        s2v_frame_free(&frame);
    } else {
        s2_differs(c->verdict, "%s: refused", name);
    }
    s2_image_free(&view);
}

static s2p_status check_preprocess(hf_case *c, s2p_error *error)
{
    char folder[PATH_CAPACITY], model[PATH_CAPACITY], mmproj[PATH_CAPACITY];
    (void)snprintf(folder, sizeof folder, "%.4000s/gguf", c->folder);
    if (!find_file(folder, "", "", "f32.gguf", false, model) ||
        !find_file(folder, "mmproj", "", "f32.gguf", true, mmproj))
        return s2_fail(error, S2P_EIO, "no f32 pair in gguf/");
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = model;
    options.mmproj_path = mmproj;
    s2v_engine *engine;
    const s2p_status st = s2v_engine_open(&engine, &options, error);
    if (st != S2P_OK) return st;
    static const char suffix[] = ".pixel_values";
    for (size_t i = 0; i < s2v_gguf_n_tensors(c->golden); i++) {
        const s2v_text name = s2v_gguf_tensor_at(c->golden, i)->name;
        const size_t n = name.size - (sizeof suffix - 1);
        char view[64];
        if (name.size < sizeof suffix || n >= sizeof view ||
            memcmp(name.data + n, suffix, sizeof suffix - 1) != 0)
            continue;
        memcpy(view, name.data, n);
        view[n] = '\0';
        check_view(c, &engine->model, view);
    }
    s2v_engine_close(engine);
    return S2P_OK;
}

/* --- one file ---------------------------------------------------------------------- */

static s2p_status check_case(hf_case *c, const char *path, s2p_error *error)
{
    char name[64], full[PATH_CAPACITY];
    if (!has_text(c->golden, "case.name", name, sizeof name)) return check_preprocess(c, error);
    c->is_pruned = s2v_gguf_find_tensor(c->golden, "img0.kept") != NULL;
    const int folder = strrchr(path, '/') ? (int)(strrchr(path, '/') - path) + 1 : 0;
    (void)snprintf(full, sizeof full, "%.*sfull_%s.gguf", folder, path, name);
    s2p_status st = s2v_gguf_open(&c->full, c->is_pruned ? full : path, error);
    if (st == S2P_EIO && c->is_pruned) { /* the prompt may stand with the model */
        (void)snprintf(full, sizeof full, "%.3900s/full_%s.gguf", c->folder, name);
        st = s2v_gguf_open(&c->full, full, error);
    }
    if (st == S2P_OK && s2v_gguf_find_tensor(c->full, "image_grid_thw") && !read_case(c))
        return S2P_OK;
    if (st == S2P_OK) st = run_pair(c, "f32", error);
    if (st == S2P_OK) st = run_pair(c, "f16", error);
    return st;
}

s2p_status s2_check_hf(const char *path, const char *arrays, s2_verdict *verdict, s2p_error *error)
{
    *verdict = (s2_verdict){ .n_cases = 1, .label = "case" };
    s2_buffer_init(&verdict->lines, 4096);
    hf_case c = { .verdict = verdict };
    find_folder(path, arrays, c.folder);
    s2p_status st = s2v_gguf_open(&c.golden, path, error);
    if (st == S2P_OK) st = check_case(&c, path, error);
    if (st != S2P_OK && st != S2P_EUNSUPPORTED) s2_malformed(verdict, "%s", error->message);
    verdict->n_failed = verdict->case_failed;
    for (int32_t i = 0; i < c.n_pictures; i++) s2_image_free(&c.picture[i]);
    s2v_gguf_close(c.full);
    s2v_gguf_close(c.golden);
    return st == S2P_EUNSUPPORTED ? st : S2P_OK;
}

bool s2_is_hf_golden(const char *path)
{
    s2v_gguf *file;
    char arch[32];
    if (s2v_gguf_open(&file, path, NULL) != S2P_OK) return false;
    const bool is_ours = has_text(file, "general.architecture", arch, sizeof arch) &&
                         strcmp(arch, "s2prune-golden") == 0;
    s2v_gguf_close(file);
    return is_ours;
}
