/* record.c - a method's view into files, and the `select` command that reads them.
 *
 * recorded.c decides under which name an array is read back. Pixels are written as the method saw
 * them (padded, turned upright), so no policy of reading pictures comes in between. The method runs
 * once more on each view, because the hook comes before the choice: same view, same tokens.
 */
#include "record.h"

#include "method_list.h"
#include "recorded.h"
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_MAX_BYTES ((size_t)64 << 10)
#define COMMAND_MAX_BYTES ((size_t)1 << 20)

/* --- the folder --------------------------------------------------------------------- */

static s2p_status check_empty(const char *folder, s2p_error *error)
{
    DIR *directory = opendir(folder);
    if (!directory)
        return s2_fail(error, errno == ENOTDIR ? S2P_EINVAL : S2P_EIO, "--record '%.200s': %s",
                       folder, strerror(errno));
    const struct dirent *entry;
    bool is_empty = true;
    while (is_empty && (entry = readdir(directory)))
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    (void)closedir(directory);
    if (is_empty) return S2P_OK;
    return s2_fail(error, S2P_EINVAL,
                   "--record '%.200s' is not empty; name a new folder, or empty this one", folder);
}

s2p_status s2_record_open(s2_record *record, const char *folder, s2p_error *error)
{
    s2p_status st = S2P_OK;
    json_t *name = json_string(folder); /* it stands in record.json, which is UTF-8 */
    json_decref(name);
    if (!name) return s2_fail(error, S2P_EINVAL, "--record: the folder's name is not UTF-8");
    if (mkdir(folder, 0777) != 0) {
        if (errno != EEXIST)
            return s2_fail(error, S2P_EIO, "--record: cannot make the folder '%.200s': %s", folder,
                           strerror(errno));
        st = check_empty(folder, error);
    }
    if (st != S2P_OK) return st;
    *record = (s2_record){ .folder = folder, .selections = json_array() };
    return record->selections ? S2P_OK : s2_fail_memory(error, sizeof(json_t), "the record");
}

void s2_record_close(s2_record *record) { json_decref(record->selections); }

/* --- one selection ------------------------------------------------------------------- */

typedef struct selection { /* one view on its way */
    s2_record *record;
    const s2p_method *method;
    const s2p_view *view;
    s2p_grid grid;
    int32_t picture, part;
    s2p_plan *plan;
    json_t *files;  /* field: path below the folder */
    json_t *values; /* what --set takes */
} selection;

static void fail(s2_record *r, s2p_status status, const s2p_error *error)
{
    if (r->code == S2_EXIT_OK) r->code = s2_report_error(status, error);
}

/* "picture-1/part-1/stage-2/", made on the way; "" for the first of all. */
static void enter_folder(const selection *s, s2_buffer *path)
{
    const struct {
        const char *name;
        int32_t number;
    } level[] = { { "picture", s->picture }, { "part", s->part }, { "stage", s->view->stage } };
    for (size_t i = 0; i < sizeof level / sizeof *level; i++) {
        if (level[i].number == 0) continue;
        s2_buffer_printf(path, "%s-%d", level[i].name, level[i].number);
        s2_buffer whole;
        s2_buffer_init(&whole, PATH_MAX_BYTES);
        s2_buffer_printf(&whole, "%s/%.*s", s->record->folder, (int)path->size,
                         (const char *)path->data);
        s2_buffer_append(&whole, "", 1);
        if (whole.status == S2P_OK && mkdir((const char *)whole.data, 0777) != 0 &&
            errno != EEXIST) {
            s2p_error error = { S2P_OK, "" };
            s2_fail(&error, S2P_EIO, "--record: cannot make the folder '%.200s': %s",
                    (const char *)whole.data, strerror(errno));
            fail(s->record, S2P_EIO, &error);
        }
        s2_buffer_free(&whole);
        s2_buffer_append(path, "/", 1);
    }
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
    enter_folder(s, &below);
    s2_buffer_printf(&below, "%s.npy", field);
    s2_buffer_append(&below, "", 1);
    s2_buffer_printf(&path, "%s/%s", s->record->folder, below.data ? (const char *)below.data : "");
    s2_buffer_append(&path, "", 1);
    (void)s2_npy_format(&shape, &bytes); /* the header: it has no data yet */
    for (size_t i = 0; i < n_rows; i++)
        s2_buffer_append(&bytes, (const char *)data + (ptrdiff_t)i * stride, n_row);
    if (s->record->code == S2_EXIT_OK && below.status == S2P_OK && path.status == S2P_OK) {
        s->record->code = s2_report_save((const char *)path.data, &bytes);
        (void)json_object_set_new(s->files, field, json_string((const char *)below.data));
    } else {
        fail(s->record, S2P_ENOMEM, NULL);
    }
    s2_buffer_free(&bytes);
    s2_buffer_free(&path);
    s2_buffer_free(&below);
}

static void write_floats(selection *s, const s2_shown *shown)
{
    s2_array shape = { .type = S2_F32, .n_dims = shown->n_dims, .shape = { 1, 1, 1, 1 } };
    size_t n = sizeof(float);
    for (int32_t d = 0; d < shown->n_dims; d++) {
        shape.shape[d] = shown->shape[d];
        n *= (size_t)shown->shape[d];
    }
    write_array(s, s2_field_name(shown->field), shape, shown->data, 1, n, 0);
}

static void set_value(selection *s, const char *name, int32_t value)
{
    (void)json_object_set_new(s->values, name, json_integer(value));
}

static void take_values(selection *s)
{
    const s2p_taps *t = &s->view->taps;
    if (s->method->n_stages > 1) set_value(s, "stage", s->view->stage);
    if (!(s->method->needs & S2P_NEED_ROTATED_KEY)) return;
    set_value(s, "image_start", t->first_row);
    set_value(s, "n_after", t->n_prompt - t->first_row - s->grid.rows * s->grid.cols);
}

static void write_files(selection *s)
{
    const s2p_view *view = s->view;
    const s2p_image *image = view->signals.image;
    s2_shown shown[S2_N_FIELDS];
    const int32_t n = s2_recorded_fields(s->method, view, s->grid, shown);
    for (int32_t i = 0; i < n; i++) write_floats(s, &shown[i]);
    if (image && (s2p_method_needs(s->method, &view->choice) & S2P_NEED_PIXELS))
        write_array(s, "image",
                    (s2_array){ .type = S2_U8,
                                .n_dims = 3,
                                .shape = { image->height, image->width, 3, 1 } },
                    image->pixels, (size_t)image->height, 3 * (size_t)image->width, image->stride);
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

static void add_choice(json_t *list, const selection *s, const s2p_choice *choice)
{
    const s2p_image *image = s->view->signals.image;
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
}

static json_t *command_of(const selection *s, const s2p_choice *choice)
{
    const s2p_view *view = s->view;
    const int32_t n_tokens = s->grid.rows * s->grid.cols;
    json_t *list = json_array();
    add_word(list, "s2prune");
    add_word(list, "select");
    add_option(list, "--method", "%s", s->method->name);
    if (view->mode == S2P_MODE_PUBLISHED) add_option(list, "--mode", "published");
    add_option(list, "--budget", "%d", view->budget < n_tokens ? view->budget : n_tokens);
    add_option(list, "--tokens", "%dx%d", s->grid.rows, s->grid.cols);
    add_choice(list, s, choice);
    const char *field;
    json_t *value;
    json_object_foreach(s->values, field, value)
        add_option(list, "--set", "%s=%d", field, (int)json_integer_value(value));
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

/* As the engine does it: a picture too small to measure has its budget spread evenly. What is
 * refused here the engine refuses too, a moment later and in the same words. */
static s2p_status choose(selection *s, s2p_choice *choice, s2p_error *error)
{
    s2p_view view = *s->view;
    s2p_status st = s2p_plan_create(&s->plan, s->grid);
    if (st != S2P_OK) return s2_fail(error, st, "--record: %s", s2p_status_text(st));
    st = s2p_method_run(s->method, &view, s->plan, error);
    if (st == S2P_EUNSUPPORTED && (s2p_method_needs(s->method, &view.choice) & S2P_NEED_PIXELS)) {
        *error = (s2p_error){ S2P_OK, "" };
        choice->allocator = view.choice.allocator = "uniform";
        st = s2p_method_run(s->method, &view, s->plan, error);
    }
    return st;
}

static json_t *kept_of(const selection *s)
{
    int32_t n;
    const int32_t *keep = s2p_plan_keep(s->plan, &n);
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++) (void)json_array_append_new(list, json_integer(keep[i]));
    return list;
}

static void describe(selection *s, const s2p_choice *choice)
{
    const s2p_view *view = s->view;
    json_t *argv = command_of(s, choice);
    json_t *one =
        json_pack("{s:i,s:i,s:i,s:s,s:s,s:i,s:[i,i],s:O,s:O,s:o,s:o,s:o}", "picture", s->picture,
                  "part", s->part, "stage", view->stage, "method", s->method->name, "mode",
                  s2_mode_name((size_t)view->mode), "budget", view->budget, "tokens", s->grid.rows,
                  s->grid.cols, "values", s->values, "files", s->files, "kept", kept_of(s),
                  "command", shell_line(argv), "argv", argv);
    if (!one || json_array_append_new(s->record->selections, one) != 0)
        fail(s->record, S2P_ENOMEM, NULL);
}

void s2_record_view(const s2v_choice *made, void *user)
{
    s2_record *record = user;
    const s2p_method *method = made->method;
    const s2p_view *view = made->view;
    const s2p_grid grid = made->grid;
    const int32_t picture = made->picture, part = made->part;
    if (record->code != S2_EXIT_OK) return;
    selection s = { record, method, view, grid, picture, part, NULL, json_object(), json_object() };
    s2p_choice choice = view->choice;
    if (choose(&s, &choice, &record->refused) == S2P_OK) {
        take_values(&s);
        write_files(&s);
        if (record->code == S2_EXIT_OK) describe(&s, &choice);
    }
    json_decref(s.values);
    json_decref(s.files);
    s2p_plan_free(s.plan);
}

int s2_record_finish(s2_record *record, const int32_t *after, int32_t n_stages)
{
    if (record->refused.status != S2P_OK) fail(record, record->refused.status, &record->refused);
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
    if (record->code == S2_EXIT_OK) record->code = s2_report_save((const char *)path.data, &out);
    s2_buffer_free(&out);
    s2_buffer_free(&path);
    json_decref(root);
    return record->code;
}
