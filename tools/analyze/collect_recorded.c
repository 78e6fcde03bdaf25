/* collect_recorded.c - folders that `run --record` wrote: signals in .npy files, named in record.json. */
#define _XOPEN_SOURCE 700 /* scandir */
#include "analyze/analyze_command.h"

#include "analyze/sources/sources.h"
#include "base/json.h"
#include "base/path.h"
#include "plan/recorded.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_RECORD ((size_t)256 << 20)
#define MAX_FOLDERS 100000

typedef struct folders { /* what is open of them */
    analyze_context *context;
    char **path; /* [n] */
    int32_t n;
    s2_recorded recorded;
    s2_image picture;
    char method[48]; /* of the first */
} folders;

static void close_one(folders *f)
{
    s2_recorded_free(&f->recorded);
    s2_image_free(&f->picture);
    f->picture = (s2_image){ .pixels = NULL };
}

/* --- one recording ------------------------------------------------------------------------ */

/* The first selection of the first picture: its files lie in the folder itself. */
static const json_t *first_selection(const json_t *root)
{
    const json_t *list = json_object_get(root, "selections");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        int32_t picture, part, stage;
        if (s2_json_int(one, "picture", &picture) && s2_json_int(one, "part", &part) &&
            s2_json_int(one, "stage", &stage) && picture == 0 && part == 0 && stage == 0)
            return one;
    }
    return NULL;
}

static s2p_status read_selection(folders *f, const char *folder, const json_t *one,
                                 s2p_error *error)
{
    const json_t *tokens = json_object_get(one, "tokens");
    const json_int_t rows = json_integer_value(json_array_get(tokens, 0));
    const json_int_t cols = json_integer_value(json_array_get(tokens, 1));
    const char *method = s2_json_string(one, "method");
    if (rows < 1 || cols < 1 || rows > S2P_MAX_SIDE || cols > S2P_MAX_SIDE || !method)
        return s2_fail(error, S2P_EFORMAT, "'%.200s/record.json' has no grid or method", folder);
    if (!f->method[0]) (void)snprintf(f->method, sizeof f->method, "%.40s", method);
    const json_t *values = json_object_get(one, "values");
    f->recorded = (s2_recorded){ .grid = { (int32_t)rows, (int32_t)cols } };
    (void)s2_json_int(values, "image_start", &f->recorded.image_start);
    (void)s2_json_int(values, "n_after", &f->recorded.n_after);
    if (f->recorded.image_start < 0 || f->recorded.n_after < 0)
        return s2_fail(error, S2P_EFORMAT, "'%.200s/record.json' has a picture before the prompt",
                       folder);
    const char *field;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(one, "files"), field, value)
    {
        char path[4300];
        s2_image_limits limits;
        s2_image_limits_init(&limits);
        limits.max_bytes = 3 * (size_t)limits.max_pixels + 65536u; /* an array, with its header */
        (void)snprintf(path, sizeof path, "%.4000s/%.60s.npy", folder, field);
        const s2p_signal_id signal = s2_signal_named(field);
        if (strcmp(field, s2p_signal_at(S2P_PIXELS)->name) == 0)
            TRY(s2_picture_read(path, S2_PIXELS_REFERENCE, &limits, &f->picture, error));
        else if (signal < S2P_N_SIGNALS)
            TRY(s2_recorded_read(&f->recorded, signal, path, error));
    }
    return S2P_OK;
}

static s2p_status read_one(folders *f, int32_t index, s2p_error *error)
{
    char path[4300];
    json_t *root = NULL;
    close_one(f);
    (void)snprintf(path, sizeof path, "%.4000s/record.json", f->path[index]);
    TRY(s2_json_read_file(path, MAX_RECORD, &root, error));
    const json_t *one = first_selection(root);
    const s2p_status st = one ? read_selection(f, f->path[index], one, error)
                              : s2_fail(error, S2P_EFORMAT, "'%.200s' records no selection", path);
    json_decref(root);
    return st;
}

static s2p_status open_one(void *user, int32_t index, s2_recording *out, s2p_error *error)
{
    folders *f = user;
    TRY(read_one(f, index, error));
    *out = (s2_recording){ .grid = f->recorded.grid, .name = f->path[index] };
    s2_recorded_view(&f->recorded, &out->view);
    if (f->picture.pixels) out->view.image = &f->picture.view;
    return S2P_OK;
}

static void show(double done, void *user)
{
    analyze_context *context = ((folders *)user)->context;
    (void)s2_progress_show(&context->asker.progress, context->step, done);
    if (done >= 1.0) s2_progress_clear(&context->asker.progress);
}

/* --- the folder of folders ------------------------------------------------------------------ */

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static bool is_recording(const char *folder)
{
    char path[4300];
    (void)snprintf(path, sizeof path, "%.4000s/record.json", folder);
    return access(path, R_OK) == 0;
}

static s2p_status list(folders *f, const char *folder, s2p_error *error)
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, is_visible, alphasort);
    if (n < 0)
        return s2_fail(error, S2P_EIO, "cannot read the folder '%.300s': %s", folder,
                       strerror(errno));
    f->path = calloc((size_t)n + 2, sizeof *f->path);
    s2p_status st = f->path ? S2P_OK : s2_fail_memory(error, (size_t)n * 8, "the names");
    if (st == S2P_OK && is_recording(folder)) f->path[f->n++] = strdup(folder);
    for (int i = 0; i < n; i++) {
        char *path = st == S2P_OK ? s2_path_in(folder, entries[i]->d_name) : NULL;
        if (path && is_recording(path) && f->n < MAX_FOLDERS)
            f->path[f->n++] = path;
        else
            free(path);
        free(entries[i]);
    }
    free(entries);
    if (st == S2P_OK && f->n == 0)
        st = s2_fail(error, S2P_EINVAL, "no record.json in '%.200s' or the folders in it", folder);
    for (int32_t i = 0; i < f->n; i++)
        if (!f->path[i]) st = s2_fail_memory(error, 4096, "a name");
    const int32_t most = f->context->options->n_pictures;
    for (; st == S2P_OK && most > 0 && f->n > most;) free(f->path[--f->n]);
    return st;
}

/* Pixels as the method saw them, for who draws; none where none were recorded. */
static s2p_status load_picture(const void *source, int32_t index, s2_image *out, s2p_error *error)
{
    folders one = { .path = (char **)(uintptr_t)source };
    const s2p_status st = read_one(&one, index, error);
    *out = one.picture;
    one.picture = (s2_image){ .pixels = NULL };
    close_one(&one);
    if (st == S2P_OK && !out->pixels)
        return s2_fail(error, S2P_EUNSUPPORTED, "the recording has no pixels");
    return st;
}

s2p_status s2_collect_recorded(analyze_context *context, const s2_analysis *analysis,
                               s2_trials *trials, s2p_error *error)
{
    if (!analysis->takes_pictures)
        return s2_fail(error, S2P_EINVAL, "%s needs answers; recordings have none", analysis->name);
    const analyze_options *o = context->options;
    folders f = { .context = context };
    s2a_setting setting[S2A_MAX_SETTINGS];
    int32_t n = 0;
    char usual[80]; /* the method that was recorded, where none is asked for */
    s2p_status st = list(&f, o->recorded, error);
    if (st == S2P_OK) st = read_one(&f, 0, error);
    (void)snprintf(usual, sizeof usual, "%s%s", strcmp(f.method, "uniform") ? "uniform," : "",
                   f.method);
    if (st == S2P_OK)
        st = s2_ask_settings(&context->ask, NULL,
                             o->methods || s2_ask_has_variants(&context->ask) ? o->methods : usual,
                             o->budgets ? o->budgets : analysis->budgets, setting, &n, error);
    const s2_recordings recordings = { .n = f.n, .open = open_one, .progress = show, .user = &f };
    s2_trial_part part = { .load = load_picture, .source = f.path };
    (void)snprintf(part.name, sizeof part.name, "%.60s", s2_base_name(o->recorded));
    if (st == S2P_OK) st = s2_trials_add_part(trials, &part, error);
    if (st == S2P_OK) st = s2_source_recorded(&recordings, setting, n, trials, error);
    for (int32_t i = 0; st == S2P_OK && i < trials->n_pictures; i++) {
        char *name = strdup(s2_base_name(f.path[i]));
        if (!name) st = s2_fail_memory(error, 64, "a name");
        free(trials->picture[i].file);
        trials->picture[i].file = name;
    }
    close_one(&f);
    context->recordings = f.path; /* pictures are read from them as long as the trials live */
    context->n_recordings = f.n;
    return st;
}
