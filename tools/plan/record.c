/* record.c - a method's view into files, and the `select` command that reads them.
 *
 * A signal is written under its name in the table of signals, and read back under it (recorded.c).
 * Pixels are written as the method saw them (padded, rotated upright), so no policy of reading
 * pictures comes in between.
 */
#include "plan/record.h"

#include "base/path.h"
#include "method_list.h"
#include "plan/recorded.h"
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MAX_BYTES ((size_t)64 << 10)
#define COMMAND_MAX_BYTES ((size_t)1 << 20)

/* --- the folder --------------------------------------------------------------------- */

static void remember(s2_record *r, const char *path)
{
    if (r->n_made == r->made_capacity) {
        const size_t capacity = r->made_capacity ? 2 * r->made_capacity : 64;
        char **made = realloc(r->made, capacity * sizeof *made);
        if (!made) return; /* it will not be removed, and that is all */
        r->made = made;
        r->made_capacity = capacity;
    }
    char *copy = strdup(path);
    if (copy) r->made[r->n_made++] = copy;
}

s2p_status s2_record_open(s2_record *record, const char *folder, s2p_error *error)
{
    bool is_new = true;
    json_t *name = json_string(folder); /* it stands in record.json, which is UTF-8 */
    json_decref(name);
    if (!name) return s2_fail(error, S2P_EINVAL, "--record: the folder's name is not UTF-8");
    int code = s2_make_parents(folder);
    if (code == 0 && mkdir(folder, 0777) != 0) code = errno;
    if (code != 0) {
        if (code != EEXIST)
            return s2_fail(error, S2P_EIO, "--record: cannot make the folder '%.200s': %s", folder,
                           strerror(code));
        DIR *directory = opendir(folder);
        if (!directory)
            return s2_fail(error, errno == ENOTDIR ? S2P_EINVAL : S2P_EIO, "--record '%.200s': %s",
                           folder, strerror(errno));
        const struct dirent *entry;
        bool is_empty = true;
        while (is_empty && (entry = readdir(directory)))
            is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        (void)closedir(directory);
        if (!is_empty)
            return s2_fail(error, S2P_EINVAL,
                           "--record '%.200s' is not empty; name a new folder, or empty this one",
                           folder);
        is_new = false;
    }
    *record = (s2_record){ .folder = folder, .selections = json_array() };
    if (is_new) remember(record, folder);
    if (record->selections) return S2P_OK;
    s2_record_close(record);
    return s2_fail_memory(error, sizeof(json_t), "the record");
}

void s2_record_close(s2_record *record)
{
    json_decref(record->selections);
    while (record->n_made > 0) { /* what is inside a folder came after it */
        char *path = record->made[--record->n_made];
        if (!record->is_finished && unlink(path) != 0) (void)rmdir(path);
        free(path);
    }
    free(record->made);
}

/* --- one selection ------------------------------------------------------------------- */

typedef struct selection { /* one selection being written */
    s2_record *record;
    const s2v_selection *made;
    uint32_t seen;  /* signals the method looked at */
    json_t *files;  /* field: path below the folder */
    json_t *values; /* what --set takes */
} selection;

static void fail(s2_record *r, s2p_status status, const s2p_error *error)
{
    if (r->code == S2_EXIT_OK) r->code = s2_report_error(status, error);
}

/* An array as `field`.npy; rows of `n_row` bytes stand `stride` bytes apart. */
static void write_array(selection *s, const char *field, s2_array shape, const void *data,
                        size_t n_rows, size_t n_row, ptrdiff_t stride)
{
    if (s->record->code != S2_EXIT_OK) return;
    s2_buffer below, path, bytes;
    s2_buffer_init(&below, PATH_MAX_BYTES);
    s2_buffer_init(&path, PATH_MAX_BYTES);
    s2_buffer_init(&bytes, SIZE_MAX);
    /* "picture-1/part-1/stage-2/", made on the way; "" for the first of all. */
    const struct {
        const char *name;
        int32_t number;
    } level[] = { { "picture", s->made->picture },
                  { "part", s->made->part },
                  { "stage", s->made->view->stage } };
    for (size_t i = 0; i < sizeof level / sizeof *level; i++) {
        if (level[i].number == 0) continue;
        s2_buffer_printf(&below, "%s-%d", level[i].name, level[i].number);
        s2_buffer whole;
        s2_buffer_init(&whole, PATH_MAX_BYTES);
        s2_buffer_printf(&whole, "%s/%.*s", s->record->folder, (int)below.size,
                         (const char *)below.data);
        s2_buffer_append(&whole, "", 1);
        const bool is_made = whole.status == S2P_OK && mkdir((const char *)whole.data, 0777) == 0;
        if (is_made) remember(s->record, (const char *)whole.data);
        if (whole.status == S2P_OK && !is_made && errno != EEXIST) {
            s2p_error error = { S2P_OK, "" };
            s2_fail(&error, S2P_EIO, "--record: cannot make the folder '%.200s': %s",
                    (const char *)whole.data, strerror(errno));
            if (s->record->code == S2_EXIT_OK) s->record->code = s2_report_no_folder(&error);
        }
        s2_buffer_free(&whole);
        s2_buffer_append(&below, "/", 1);
    }
    s2_buffer_printf(&below, "%s.npy", field);
    s2_buffer_append(&below, "", 1);
    s2_buffer_printf(&path, "%s/%s", s->record->folder, below.data ? (const char *)below.data : "");
    s2_buffer_append(&path, "", 1);
    (void)s2_npy_format(&shape, &bytes); /* the header: it has no data yet */
    for (size_t i = 0; i < n_rows; i++)
        s2_buffer_append(&bytes, (const char *)data + (ptrdiff_t)i * stride, n_row);
    if (s->record->code == S2_EXIT_OK && below.status == S2P_OK && path.status == S2P_OK) {
        s->record->code = s2_report_save((const char *)path.data, &bytes);
        if (s->record->code == S2_EXIT_OK) remember(s->record, (const char *)path.data);
        (void)json_object_set_new(s->files, field, json_string((const char *)below.data));
    } else {
        fail(s->record, S2P_ENOMEM, NULL);
    }
    s2_buffer_free(&bytes);
    s2_buffer_free(&path);
    s2_buffer_free(&below);
}

static void write_signal(selection *s, size_t id)
{
    const s2p_signal_info *info = s2p_signal_at(id);
    const s2p_signal *signal = &s->made->view->signal[id];
    s2_array shape = { .type = S2_F32,
                       .n_dims = (int32_t)strlen(info->shape),
                       .shape = { 1, 1, 1, 1 } };
    size_t n = sizeof(float);
    for (int32_t d = 0; d < shape.n_dims; d++) {
        shape.shape[d] = signal->shape[d];
        n *= (size_t)signal->shape[d];
    }
    write_array(s, info->name, shape, signal->data, 1, n, 0);
}

static void write_picture(selection *s)
{
    const s2p_image *image = s->made->view->image;
    write_array(
        s, s2p_signal_at(S2P_PIXELS)->name,
        (s2_array){ .type = S2_U8, .n_dims = 3, .shape = { image->height, image->width, 3, 1 } },
        image->pixels, (size_t)image->height, 3 * (size_t)image->width, image->stride);
}

static void write_files(selection *s)
{
    const s2p_view *view = s->made->view;
    const uint32_t at_hand = s->seen & ~s2p_view_missing(view, s->seen);
    for (size_t id = S2P_PIXELS + 1; id < S2P_N_SIGNALS; id++)
        if (at_hand >> id & 1) write_signal(s, id);
    if (at_hand & S2P_NEED_PIXELS) write_picture(s);
    if (view->alive)
        write_array(s, "alive",
                    (s2_array){ .type = S2_I32, .n_dims = 1, .shape = { view->n_alive, 1, 1, 1 } },
                    view->alive, 1, (size_t)view->n_alive * sizeof *view->alive, 0);
}

/* --- the command that repeats it ------------------------------------------------------- */

static void add_word(json_t *list, const char *word)
{
    (void)json_array_append_new(list, json_string(word));
}

static void add_option(json_t *list, const char *name, const char *format, ...) S2_PRINTF(3, 4);
static void add_option(json_t *list, const char *name, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_word(list, name);
    add_word(list, text);
}

static json_t *command_of(const selection *s)
{
    const s2p_view *view = s->made->view;
    const s2p_grid grid = s->made->grid;
    const int32_t n_tokens = grid.rows * grid.cols;
    json_t *list = json_array();
    add_word(list, "s2prune");
    add_word(list, "select");
    add_option(list, "--method", "%s", s2p_method_about(s->made->method)->name);
    if (view->mode == S2P_MODE_PUBLISHED) add_option(list, "--mode", "published");
    add_option(list, "--budget", "%d", view->budget < n_tokens ? view->budget : n_tokens);
    add_option(list, "--tokens", "%dx%d", grid.rows, grid.cols);
    const s2p_choice *choice = &s->made->view->choice;
    const s2p_image *image = s->made->view->image;
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    if (choice->side > 0) add_option(list, "--grid", "%d", choice->side);
    if (choice->allocator && strcmp(choice->allocator, s2p_allocator_find(NULL)->name) != 0)
        add_option(list, "--allocator", "%s", choice->allocator);
    if (choice->selector && strcmp(choice->selector, s2p_selector_find(NULL)->name) != 0)
        add_option(list, "--selector", "%s", choice->selector);
    if (choice->seed > 0) add_option(list, "--seed", "%llu", (unsigned long long)choice->seed);
    if (image && (int64_t)image->width * image->height > limits.max_pixels)
        add_option(list, "--max-image-pixels", "%lld", (long long)image->width * image->height);
    const char *field;
    json_t *value;
    json_object_foreach(s->values, field, value)
        add_option(list, "--set", "%s=%.17g", field, json_number_value(value));
    json_object_foreach(s->files, field, value)
    {
        add_word(list, "--in");
        (void)json_array_append_new(
            list, json_sprintf("%s=%s/%s", field, s->record->folder, json_string_value(value)));
    }
    add_option(list, "-o", "json");
    return list;
}

/* One line a POSIX shell takes apart into the same words. */
static json_t *shell_line(const json_t *list)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";
    s2_buffer line;
    s2_buffer_init(&line, COMMAND_MAX_BYTES);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        const bool is_plain = word && *word && word[strspn(word, plain)] == '\0';
        s2_buffer_printf(&line, "%s%s", i > 0 ? " " : "", is_plain ? word : "'");
        for (const char *c = word; !is_plain && c && *c; c++)
            s2_buffer_printf(&line, *c == '\'' ? "'\\''" : "%c", *c);
        if (!is_plain) s2_buffer_append(&line, "'", 1);
    }
    json_t *text = line.status == S2P_OK ? json_stringn((const char *)line.data, line.size) : NULL;
    s2_buffer_free(&line);
    return text;
}

/* --- what it kept ------------------------------------------------------------------------ */

static json_t *kept_of(const s2p_plan *plan)
{
    int32_t n;
    const int32_t *keep = s2p_plan_keep(plan, &n);
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++) (void)json_array_append_new(list, json_integer(keep[i]));
    return list;
}

static void describe(selection *s)
{
    const s2v_selection *made = s->made;
    json_t *argv = command_of(s);
    json_t *one = json_pack(
        "{s:i,s:i,s:i,s:s,s:s,s:i,s:[i,i],s:O,s:O,s:o,s:o,s:o}", "picture", made->picture, "part",
        made->part, "stage", made->view->stage, "method", s2p_method_about(made->method)->name,
        "mode", s2_mode_name((size_t)made->view->mode), "budget", made->view->budget, "tokens",
        made->grid.rows, made->grid.cols, "values", s->values, "files", s->files, "kept",
        kept_of(made->plan), "command", shell_line(argv), "argv", argv);
    if (!one || json_array_append_new(s->record->selections, one) != 0)
        fail(s->record, S2P_ENOMEM, NULL);
}

void s2_record_view(const s2v_selection *made, void *user)
{
    s2_record *record = user;
    if (record->code != S2_EXIT_OK || !made->plan) return;
    selection s = { .record = record,
                    .made = made,
                    .seen = s2p_method_needs(made->method, &made->view->choice) |
                            s2p_method_about(made->method)->takes,
                    .files = json_object(),
                    .values = json_object() };
    /* What --set takes: the stage, where the picture stands in the prompt, parameters that are not the
     * method's own. */
    const s2p_method *method = s.made->method;
    const s2p_view *view = s.made->view;
    if (s2p_method_about(method)->n_stages > 1)
        (void)json_object_set_new(s.values, "stage", json_integer(view->stage));
    for (size_t id = 0; id < S2P_N_SIGNALS; id++) {
        const char *shape = s2p_signal_at(id)->shape, *prompt = strchr(shape, 'L');
        if (!prompt || !(s.seen >> id & 1)) continue;
        const int32_t n_prompt = view->signal[id].shape[prompt - shape];
        const int32_t n_tokens = s.made->grid.rows * s.made->grid.cols;
        (void)json_object_set_new(s.values, "image_start", json_integer(view->first_row));
        (void)json_object_set_new(s.values, "n_after",
                                  json_integer(n_prompt - view->first_row - n_tokens));
    }
    for (size_t i = 0; view->parameters && s2p_method_parameter(method, i); i++) {
        const s2p_parameter *p = s2p_method_parameter(method, i);
        const double value = view->parameters->value[i];
        if (value == p->fallback) continue;
        (void)json_object_set_new(
            s.values, p->name, p->is_integer ? json_integer((json_int_t)value) : json_real(value));
    }
    write_files(&s);
    if (record->code == S2_EXIT_OK) describe(&s);
    json_decref(s.values);
    json_decref(s.files);
}

int s2_record_finish(s2_record *record, const int32_t *after, int32_t n_stages)
{
    if (record->code != S2_EXIT_OK) return record->code;
    json_t *layers = json_array();
    for (int32_t i = 0; i < n_stages; i++)
        (void)json_array_append_new(layers, json_integer(after[i]));
    json_t *root = json_pack("{s:s,s:o,s:O}", "schema", "s2prune.record/1", "after", layers,
                             "selections", record->selections);
    s2_buffer path, out;
    s2_buffer_init(&path, PATH_MAX_BYTES);
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2_buffer_printf(&path, "%s/record.json", record->folder);
    s2_buffer_append(&path, "", 1);
    if (!root || path.status != S2P_OK || s2_json_write(root, 9, &out) != S2P_OK)
        fail(record, S2P_ENOMEM, NULL);
    s2_buffer_append(&out, "\n", 1);
    if (record->code == S2_EXIT_OK) {
        record->code = s2_report_save((const char *)path.data, &out);
        record->is_finished = record->code == S2_EXIT_OK;
    }
    if (record->is_finished) s2_report_wrote(record->folder);
    s2_buffer_free(&out);
    s2_buffer_free(&path);
    json_decref(root);
    return record->code;
}
