/* loading.c - find the files, read their rows, put samples together. */
#include "eval/tasks/loading.h"

#include "base/file.h"
#include "base/path.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_CAPACITY 8192
#define MAX_LINES_BYTES ((size_t)4 << 20)
#define MAX_BESIDE ((size_t)1 << 30)

/* A sample whose picture is another row's, which may come later. */
struct s2e_pending {
    int32_t sample;
    int64_t row;
    char file[128], index[S2E_REFERENCE_MAX + 1];
};

/* --- rows: texts ------------------------------------------------------------------ */

static bool is_missing(const char *text) { return !text || !*text || strcmp(text, "nan") == 0; }

const char *s2e_first_text(const s2e_row *row, const char *columns)
{
    char name[64];
    for (const char *at = columns; *at;) {
        const size_t n = strcspn(at, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)n, at);
        const char *text = s2e_row_text(row, name);
        if (text && *text) return text;
        at += n + (at[n] == ' ');
    }
    return NULL;
}

s2p_status s2e_need_text(const s2e_row *row, const char *columns, const char **out,
                         s2p_error *error)
{
    *out = s2e_first_text(row, columns);
    return *out ? S2P_OK : s2_fail(error, S2P_EFORMAT, "no text in column %s", columns);
}

s2p_status s2e_draft_id(s2e_draft *d, const char *format, const char *id, s2p_error *error)
{
    if (!id || !*id) return s2_fail(error, S2P_EFORMAT, "no id");
    const char *hole = strstr(format, "%s");
    const int n =
        snprintf(d->id, sizeof d->id, "%.*s%s%s", (int)(hole - format), format, id, hole + 2);
    if (n < 0 || (size_t)n >= sizeof d->id)
        return s2_fail(error, S2P_ELIMIT, "an id of %d bytes", n);
    d->sample.id = d->id;
    return S2P_OK;
}

void s2e_draft_answer(s2e_draft *d, const char *answer)
{
    if (answer && d->sample.n_answers < S2E_MAX_ANSWERS) d->answer[d->sample.n_answers++] = answer;
}

void s2e_draft_category(s2e_draft *d, const char *category)
{
    if (is_missing(category)) return;
    for (int32_t i = 0; i < d->sample.n_categories; i++)
        if (strcmp(d->category[i], category) == 0) return;
    if (d->sample.n_categories < S2E_MAX_DRAFT_CATEGORIES)
        d->category[d->sample.n_categories++] = category;
}

void s2e_draft_categories(s2e_draft *d, const s2e_row *row, const char *text)
{
    for (const char *at = text ? text : ""; *at;) {
        at += strspn(at, ", ");
        size_t n = strcspn(at, ",");
        const size_t next = n;
        while (n > 0 && at[n - 1] == ' ') n--;
        if (n) s2e_draft_category(d, s2e_arena_text(row->arena, at, n));
        at += next;
    }
}

void s2e_draft_choice(s2e_draft *d, const char *text)
{
    const int32_t n = d->sample.n_choices;
    if (text && n < S2E_MAX_CHOICES)
        d->choice[d->sample.n_choices++] = (s2e_choice){ (char)('A' + n), text };
}

void s2e_draft_lettered(s2e_draft *d, const s2e_row *row)
{
    for (char letter = 'A'; letter <= 'Z'; letter++) {
        const char column[] = { letter, 0 }, *text = s2e_row_text(row, column);
        if (!is_missing(text)) d->choice[d->sample.n_choices++] = (s2e_choice){ letter, text };
    }
}

/* The items of a list as texts; objects by their member "answer". */
static s2p_status list_of(const s2e_row *row, const char *column, const s2e_value **list,
                          s2p_error *error)
{
    s2p_error inner = { S2P_OK, "" };
    const s2p_status st = s2e_row_list(row, column, list, &inner);
    if (st != S2P_OK || (*list && (*list)->n > S2E_MAX_ANSWERS))
        return s2_fail(error, S2P_EFORMAT, "column %s is not a list of at most %d", column,
                       S2E_MAX_ANSWERS);
    return S2P_OK;
}

static const char *item_text(const s2e_row *row, const s2e_value *item)
{
    const s2e_value *inner = s2e_value_member(item, "answer");
    return s2e_value_text(inner ? inner : item, row->arena);
}

s2p_status s2e_draft_answers(s2e_draft *d, const s2e_row *row, const char *column, s2p_error *error)
{
    const s2e_value *list, *value = s2e_row_value(row, column);
    const char *text = value ? s2e_value_text(value, row->arena) : NULL;
    if (text && text[strspn(text, " ")] != '[') { /* one answer, as it is */
        s2e_draft_answer(d, text);
        return S2P_OK;
    }
    if (list_of(row, column, &list, error) != S2P_OK) {
        if (!text) return S2P_EFORMAT;
        s2e_draft_answer(d, text); /* it only begins like a list */
        return S2P_OK;
    }
    for (size_t i = 0; list && i < list->n; i++) {
        const char *answer = item_text(row, &list->item[i]);
        if (!answer)
            return s2_fail(error, S2P_EFORMAT, "answer %zu of column %s is not text", i, column);
        s2e_draft_answer(d, answer);
    }
    if (d->sample.n_answers < 1) return s2_fail(error, S2P_EFORMAT, "no answer in %s", column);
    return S2P_OK;
}

s2p_status s2e_draft_choices(s2e_draft *d, const s2e_row *row, const char *column, s2p_error *error)
{
    const s2e_value *list;
    TRY(list_of(row, column, &list, error));
    if (list && list->n > S2E_MAX_CHOICES)
        return s2_fail(error, S2P_EFORMAT, "%zu choices; at most %d", list->n, S2E_MAX_CHOICES);
    for (size_t i = 0; list && i < list->n; i++) {
        const char *text = s2e_value_text(&list->item[i], row->arena);
        if (!text) return s2_fail(error, S2P_EFORMAT, "choice %zu is not text", i);
        s2e_draft_choice(d, text);
    }
    return S2P_OK;
}

void s2e_draft_extra(s2e_draft *d, const char *name, const char *text)
{
    if (!text) return;
    if (!d->extra) d->extra = json_object();
    (void)json_object_set_new(d->extra, name, json_string(text));
}

/* --- pictures --------------------------------------------------------------------- */

static s2p_status add_place(s2e_loading *l, s2e_draft *d, const s2e_place *place, s2p_error *error)
{
    s2e_set *set = l->set;
    char key[S2_SHA256_HEX + 64];
    if (place->sha256[0])
        (void)snprintf(key, sizeof key, "%s", place->sha256);
    else
        (void)snprintf(key, sizeof key, "%llu+%llu+%llu", (unsigned long long)place->page,
                       (unsigned long long)place->at, (unsigned long long)place->n);
    if (d->sample.n_pictures == S2E_MAX_PICTURES)
        return s2_fail(error, S2P_ELIMIT, "more than %d pictures", S2E_MAX_PICTURES);
    s2e_picture picture = { .heterogeneity = -1.0 };
    if (s2_names_find(&set->pictures_seen, key) < 0) { /* a copy that outlives the rows */
        s2e_place *copy = s2_pool_take(&set->pool, sizeof *copy);
        const char *path = s2_pool_copy(&set->pool, place->path);
        if (!copy || !path) return s2_fail_memory(error, sizeof *copy, "a picture");
        *copy = *place;
        copy->path = path;
        picture.place = copy;
        memcpy(picture.sha256, place->sha256, sizeof picture.sha256);
    }
    TRY(s2e_set_add_picture(set, key, &picture, &d->picture[d->sample.n_pictures], error));
    d->sample.n_pictures++;
    return S2P_OK;
}

s2p_status s2e_draft_pictures(s2e_loading *l, s2e_draft *d, const s2e_row *row, const char *column,
                              s2p_error *error)
{
    const s2e_value *value = s2e_row_value(row, column);
    const s2e_place *place[S2E_MAX_PICTURES];
    const size_t n = value ? s2e_value_places(value, place, S2E_MAX_PICTURES) : 0;
    if (n > S2E_MAX_PICTURES)
        return s2_fail(error, S2P_ELIMIT, "%zu pictures; at most %d", n, S2E_MAX_PICTURES);
    for (size_t i = 0; i < n; i++) TRY(add_place(l, d, place[i], error));
    if (n > 0) return S2P_OK;
    const char *text = value ? s2e_value_text(value, row->arena) : NULL;
    if (is_missing(text) || strlen(text) > S2E_REFERENCE_MAX)
        return s2_fail(error, S2P_EFORMAT, "no picture in column %s", column);
    d->reference = text;
    return S2P_OK;
}

static bool climbs_out(const char *name)
{
    if (name[0] == '/' || name[0] == '\0') return true;
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return true;
    return false;
}

s2p_status s2e_draft_file(s2e_loading *l, s2e_draft *d, const char *folders, const char *name,
                          s2p_error *error)
{
    char path[PATH_CAPACITY];
    if (!name || climbs_out(name))
        return s2_fail(error, S2P_EFORMAT, "'%.100s' is not a picture below the folder",
                       name ? name : "");
    if (d->sample.n_pictures == S2E_MAX_PICTURES)
        return s2_fail(error, S2P_ELIMIT, "more than %d pictures", S2E_MAX_PICTURES);
    for (const char *at = folders;; at++) {
        const int n = (int)strcspn(at, "|");
        (void)snprintf(path, sizeof path, "%.4000s/%.*s%s%.3000s", l->folder, n, at, n ? "/" : "",
                       name);
        if (access(path, R_OK) == 0) break;
        at += n;
        if (!*at) return s2_fail(error, S2P_EFORMAT, "the picture '%.200s' does not exist", name);
    }
    const char *file = path + strlen(l->folder) + 1;
    const s2e_picture picture = { .file = file, .heterogeneity = -1.0 };
    TRY(s2e_set_add_picture(l->set, file, &picture, &d->picture[d->sample.n_pictures], error));
    d->sample.n_pictures++;
    return S2P_OK;
}

int32_t s2e_nth(s2e_loading *l, const char *key)
{
    bool is_new = false;
    const int32_t number = s2_names_add(&l->counts, key, &is_new);
    if (number < 0) return 0;
    if (number >= l->count_capacity) {
        const int32_t capacity = l->count_capacity ? 2 * l->count_capacity : 1024;
        int32_t *grown = realloc(l->count, (size_t)capacity * sizeof *grown);
        if (!grown) return 0;
        l->count = grown;
        l->count_capacity = capacity;
    }
    if (is_new) l->count[number] = 0;
    return l->count[number]++;
}

s2p_status s2e_read_beside(const s2e_loading *l, const char *name, json_t **out, s2p_error *error)
{
    char *path = s2_path_in(l->folder, name);
    if (!path) return s2_fail_memory(error, strlen(name), "a path");
    const s2p_status st = s2_json_read_file(path, MAX_BESIDE, out, error);
    free(path);
    return st;
}

/* --- one row, then all -------------------------------------------------------------- */

static s2p_status keep_pending(s2e_loading *l, const s2e_draft *d, const char *file, int64_t row,
                               s2p_error *error)
{
    if (l->n_pending == l->pending_capacity) {
        const int32_t capacity = l->pending_capacity ? 2 * l->pending_capacity : 256;
        struct s2e_pending *grown = realloc(l->pending, (size_t)capacity * sizeof *grown);
        if (!grown) return s2_fail_memory(error, (size_t)capacity * sizeof *grown, "the rows");
        l->pending = grown;
        l->pending_capacity = capacity;
    }
    struct s2e_pending *p = &l->pending[l->n_pending++];
    p->sample = l->set->n_samples - 1;
    p->row = row;
    (void)snprintf(p->file, sizeof p->file, "%.120s", file);
    (void)snprintf(p->index, sizeof p->index, "%s", d->reference);
    return S2P_OK;
}

static void start_draft(s2e_draft *d)
{
    *d = (s2e_draft){ .extra = NULL };
    d->sample.answer = d->answer;
    d->sample.choice = d->choice;
    d->sample.category = d->category;
    d->sample.picture = d->picture;
}

/* Add what a row or line made of the draft, which is `st` so far. */
static s2p_status use_draft(s2e_loading *l, s2e_draft *d, s2p_status st, bool skip,
                            const char *file, int64_t row, s2p_error *error)
{
    json_t *extra = d->extra;
    if (st != S2P_OK || skip) {
        json_decref(extra);
        return st;
    }
    if (d->reference) { /* a place for it, filled when all rows are known */
        d->sample.n_pictures = 1;
        d->picture[0] = 0;
    }
    st = s2e_set_add(l->set, &d->sample, extra, error);
    if (st == S2P_OK && d->reference) st = keep_pending(l, d, file, row, error);
    if (st == S2P_OK && !d->reference && d->index && d->sample.n_pictures > 0)
        st = s2e_references_add(l->references, d->index, d->picture[0], error);
    return st;
}

/* What is wrong with one item is noted and done with; the rest is told. */
static s2p_status note(s2e_loading *l, s2p_status st, const char *file, int64_t row,
                       const s2p_error *wrong, s2p_error *error)
{
    if (st == S2P_OK) return S2P_OK;
    if (!s2e_row_is_lost(st)) return s2_fail(error, st, "%s", wrong->message);
    s2e_set_note(l->set, file, row, wrong->message);
    return S2P_OK;
}

/* Calls `use` with every row that can be read. */
static s2p_status each_row(s2e_loading *l, const char *path, const s2e_rows_options *options,
                           s2p_status (*use)(s2e_loading *, const s2e_row *, void *, s2p_error *),
                           void *user, s2p_error *error)
{
    s2e_rows *rows = NULL;
    s2e_row row;
    l->file = s2_base_name(path);
    s2p_status st = s2e_rows_open(path, options, &rows, error);
    for (bool end = false; st == S2P_OK && !end;) {
        s2p_error wrong = { S2P_OK, "" };
        st = s2e_rows_next(rows, &row, &end, &wrong);
        const bool is_read = st == S2P_OK;
        if (is_read && !end) st = use(l, &row, user, &wrong);
        st = note(l, st, is_read ? row.file : l->file, is_read ? row.number : 0, &wrong, error);
    }
    s2e_rows_close(rows);
    return st;
}

static s2p_status use_row(s2e_loading *l, const s2e_row *row, void *user, s2p_error *error)
{
    s2e_draft *d = user;
    s2p_status st = S2P_OK;
    bool more = true;
    for (int32_t part = 0; more && st == S2P_OK; part++) {
        bool skip = false;
        start_draft(d);
        d->part = part;
        st = l->layout->row(l, row, d, &skip, error);
        more = d->more;
        st = use_draft(l, d, st, skip, row->file, row->number, error);
    }
    return st;
}

static s2p_status read_lines(s2e_loading *l, const char *path, s2e_draft *d, s2p_error *error)
{
    s2_buffer text;
    s2_buffer_init(&text, MAX_LINES_BYTES);
    l->file = s2_base_name(path);
    s2p_error wrong = { S2P_OK, "" };
    s2p_status st = s2_file_read(path, &text, &wrong);
    s2_buffer_append(&text, "\n", 2); /* and a NUL */
    if (st == S2P_OK) st = text.status;
    st = note(l, st == S2P_EIO ? S2P_EFORMAT : st, l->file, 0, &wrong, error);
    int64_t number = 1;
    for (char *line = (char *)text.data, *next; st == S2P_OK && line && *line; line = next) {
        const size_t n = strcspn(line, "\n");
        next = line + n + (line[n] == '\n');
        line[n] = '\0';
        if (n > 0 && line[n - 1] == '\r') line[n - 1] = '\0';
        bool skip = false;
        start_draft(d);
        wrong = (s2p_error){ S2P_OK, "" };
        st = s2e_text_is_clean(line, strlen(line))
                 ? l->layout->line(l, path, number, line, d, &skip, &wrong)
                 : s2_fail(&wrong, S2P_EFORMAT, "not UTF-8");
        st = use_draft(l, d, st, skip, l->file, number, &wrong);
        st = note(l, st, l->file, number++, &wrong, error);
    }
    s2_buffer_free(&text);
    return st;
}

static s2p_status read_file(s2e_loading *l, const char *path, s2p_error *error)
{
    s2e_rows_options options;
    s2e_rows_options_init(&options);
    options.member = l->layout->member;
    options.key = l->layout->key;
    s2e_draft *draft = malloc(sizeof *draft);
    if (!draft) return s2_fail_memory(error, sizeof *draft, "a row");
    const s2p_status st = l->layout->line ? read_lines(l, path, draft, error)
                                          : each_row(l, path, &options, use_row, draft, error);
    free(draft);
    return st;
}

/* Give rows the pictures of the rows they name; those without are dropped. */
static void resolve(s2e_loading *l)
{
    s2e_set *set = l->set;
    for (int32_t i = l->n_pending; i-- > 0;) { /* from the last, so that numbers stay */
        const struct s2e_pending *p = &l->pending[i];
        const int32_t picture = s2e_references_find(l->references, p->index);
        if (picture >= 0) {
            s2e_set_give_picture(set, p->sample, picture);
            continue;
        }
        char sentence[160];
        (void)snprintf(sentence, sizeof sentence, "no row '%.64s' has the picture", p->index);
        s2e_set_note(set, p->file, p->row, sentence);
        s2e_set_drop(set, p->sample);
    }
}

/* --- which files --------------------------------------------------------------------- */

/* The files of one alternative below the folder; shards of one table once. */
static void list_files(const char *folder, const char *pattern, size_t n, glob_t *out)
{
    char path[PATH_CAPACITY];
    (void)snprintf(path, sizeof path, "%.4000s/%.*s", folder, (int)n, pattern);
    if (glob(path, 0, NULL, out) != 0) out->gl_pathc = 0;
}

/* "-00001-of-00003" and later stand for the same table as its first shard. */
static bool is_later_shard(const char *path)
{
    const char *of = strstr(s2_base_name(path), "-of-");
    if (!of || of - s2_base_name(path) < 5) return false;
    return strspn(of - 5, "0123456789") == 5 && strncmp(of - 5, "00000", 5) != 0;
}

/* Call `read` with every file the alternatives name: those of the first that is there. */
static s2p_status each_file(s2e_loading *l, const char *files, bool *is_there,
                            s2p_status (*begin)(s2e_loading *, s2p_error *),
                            s2p_status (*read)(s2e_loading *, const char *, s2p_error *),
                            s2p_error *error)
{
    for (const char *at = files; *at && !*is_there;) {
        const size_t n = strcspn(at, "|");
        glob_t found = { .gl_pathc = 0 };
        list_files(l->folder, at, n, &found);
        *is_there = found.gl_pathc > 0;
        s2p_status st = *is_there && begin ? begin(l, error) : S2P_OK;
        for (size_t i = 0; i < found.gl_pathc && st == S2P_OK; i++)
            if (!is_later_shard(found.gl_pathv[i])) st = read(l, found.gl_pathv[i], error);
        globfree(&found);
        TRY(st);
        at += n + (at[n] == '|');
    }
    return S2P_OK;
}

typedef struct picture_table {
    const char *key, *column;
    s2e_draft draft;
} picture_table;

static s2p_status use_picture(s2e_loading *l, const s2e_row *row, void *user, s2p_error *error)
{
    picture_table *t = user;
    const char *name;
    start_draft(&t->draft);
    TRY(s2e_need_text(row, t->key, &name, error));
    TRY(s2e_draft_pictures(l, &t->draft, row, t->column, error));
    if (t->draft.sample.n_pictures < 1) return s2_fail(error, S2P_EFORMAT, "no picture");
    return s2e_references_add(l->references, name, t->draft.picture[0], error);
}

static s2p_status read_picture_table(s2e_loading *l, const char *path, s2p_error *error)
{
    return each_row(l, path, NULL, use_picture, l->user, error);
}

s2p_status s2e_load_pictures(s2e_loading *l, const char *files, const char *key, const char *column,
                             s2p_error *error)
{
    bool is_there = false;
    picture_table *table = malloc(sizeof *table);
    if (!table) return s2_fail_memory(error, sizeof *table, "the pictures");
    table->key = key;
    table->column = column;
    l->user = table;
    s2p_status st = each_file(l, files, &is_there, NULL, read_picture_table, error);
    free(table);
    l->user = NULL;
    if (st == S2P_OK && !is_there)
        st = s2_fail(error, S2P_EIO, "%.200s holds no %.*s", l->folder, (int)strcspn(files, "|"),
                     files);
    return st;
}

/* The layout a single file is of: by its name, else by how its name ends. */
static const s2e_layout *layout_of(const char *file, const s2e_layout *layouts)
{
    const char *ending = strrchr(file, '.');
    const s2e_layout *by_ending = NULL;
    for (const s2e_layout *layout = layouts; layout->files; layout++)
        for (const char *at = layout->files; *at;) {
            const size_t n = strcspn(at, "|");
            char pattern[256];
            (void)snprintf(pattern, sizeof pattern, "%.*s", (int)n, at);
            if (strcmp(s2_base_name(pattern), file) == 0) return layout;
            const char *dot = strrchr(pattern, '.');
            if (!by_ending && ending && dot && strcmp(dot, ending) == 0) by_ending = layout;
            at += n + (at[n] == '|');
        }
    return by_ending;
}

static s2p_status load_file(s2e_loading *l, const char *path, const s2e_layout *layouts,
                            s2p_error *error)
{
    l->layout = layout_of(s2_base_name(path), layouts);
    if (!l->layout)
        return s2_fail(error, S2P_EFORMAT, "%.200s: files of this benchmark have other endings",
                       s2_base_name(path));
    if (l->layout->start) TRY(l->layout->start(l, error));
    return read_file(l, path, error);
}

static s2p_status load_folder(s2e_loading *l, const s2e_layout *layouts, s2p_error *error)
{
    bool is_there = false;
    for (const s2e_layout *layout = layouts; layout->files && !is_there; layout++) {
        l->layout = layout;
        TRY(each_file(l, layout->files, &is_there, layout->start, read_file, error));
    }
    if (is_there) return S2P_OK;
    char names[400] = "";
    for (const s2e_layout *layout = layouts; layout->files; layout++) {
        const size_t n = strlen(names);
        (void)snprintf(names + n, sizeof names - n, "%s%.*s", n ? ", " : "",
                       (int)strcspn(layout->files, "|"), layout->files);
    }
    return s2_fail(error, S2P_EIO, "%.200s holds none of %s", l->folder, names);
}

s2p_status s2e_load(const char *path, const s2e_layout *layouts, s2e_set *out, s2p_error *error)
{
    struct stat info;
    *out = (s2e_set){ .n_samples = 0 };
    if (stat(path, &info) != 0)
        return s2_fail(error, S2P_EIO, "cannot open '%.200s': %s", path, strerror(errno));
    const bool is_file = S_ISREG(info.st_mode);
    const size_t n = is_file ? (size_t)(s2_base_name(path) - path) : strlen(path);
    char folder[sizeof out->folder];
    if (n >= sizeof folder) return s2_fail(error, S2P_ELIMIT, "the path of the data is too long");
    (void)snprintf(folder, sizeof folder, "%.*s", (int)n, path);
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/') folder[--end] = '\0';
    if (!end) (void)snprintf(folder, sizeof folder, ".");
    s2e_loading l = { .set = out, .folder = folder };
    s2p_status st = s2e_set_start(out, folder, error);
    if (st == S2P_OK) st = s2e_references_create(&l.references, error);
    if (st == S2P_OK)
        st = is_file ? load_file(&l, path, layouts, error) : load_folder(&l, layouts, error);
    if (st == S2P_OK) resolve(&l);
    if (st == S2P_OK && out->n_samples < 1)
        st = s2_fail(error, S2P_EFORMAT,
                     "%.200s holds no sample that can be used; %d problems%s%.300s", path,
                     out->n_problems, out->n_problems ? ", the first: " : "",
                     out->n_problems ? out->problem[0].sentence : "");
    if (st == S2P_OK) st = s2e_set_finish(out, error);
    if (st != S2P_OK) s2e_set_free(out);
    s2e_references_free(l.references);
    s2_names_free(&l.counts);
    json_decref(l.beside);
    free(l.pending);
    free(l.count);
    return st;
}
