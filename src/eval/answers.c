/* answers.c - which sample an answer is to. */
#include "eval/answers.h"

#include "base/file.h"
#include "eval/readers/rows.h"
#include "eval/run/run_folder.h"
#include "eval/run/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ID_CAPACITY 512

typedef struct reading {
    const s2e_set *set;
    s2e_answers *out;
    s2_names met; /* keys that stand for several samples, in the current run */
    int32_t *count;
    int32_t capacity;
} reading;

/* --- ids -------------------------------------------------------------------------------- */

/* How often a key was met before. */
static int32_t nth(reading *r, const char *key)
{
    bool is_new = false;
    const int32_t number = s2_names_add(&r->met, key, &is_new);
    if (number < 0) return 0;
    if (number >= r->capacity) {
        const int32_t capacity = r->capacity ? 2 * r->capacity : 1024;
        int32_t *grown = realloc(r->count, (size_t)capacity * sizeof *grown);
        if (!grown) return 0;
        r->count = grown;
        r->capacity = capacity;
    }
    if (is_new) r->count[number] = 0;
    return r->count[number]++;
}

/* Without the ending of a picture. */
static void without_ending(const char *id, char out[ID_CAPACITY])
{
    static const char *const endings[] = { ".jpg", ".png", ".jpeg" };
    (void)snprintf(out, ID_CAPACITY, "%.500s", id);
    char *dot = strrchr(out, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0) {
            *dot = '\0';
            return;
        }
}

static int32_t find(reading *r, const char *run, const char *id, const char *category)
{
    char stem[ID_CAPACITY], other[2 * ID_CAPACITY];
    const s2e_set *set = r->set;
    int32_t at = s2e_set_find(set, id);
    if (at >= 0) return at;
    without_ending(id, stem);
    if ((at = s2e_set_find(set, stem)) >= 0) return at;
    (void)snprintf(other, sizeof other, "v1_%s", stem); /* MM-Vet in LLaVA */
    if ((at = s2e_set_find(set, other)) >= 0) return at;
    if (strncmp(stem, "v1_", 3) == 0 && (at = s2e_set_find(set, stem + 3)) >= 0) return at;
    (void)snprintf(other, sizeof other, "%.200s/%s", category ? category : "", stem); /* POPE */
    if ((at = s2e_set_find(set, other)) >= 0) return at;
    (void)snprintf(other, sizeof other, "%s/0", stem); /* MME: two questions under one id */
    if (s2e_set_find(set, other) < 0) return -1;
    char key[2 * ID_CAPACITY];
    (void)snprintf(key, sizeof key, "%.127s %s", run, stem);
    (void)snprintf(other, sizeof other, "%s/%d", stem, nth(r, key));
    return s2e_set_find(set, other);
}

/* --- rows ------------------------------------------------------------------------------- */

static const char *first_text(const s2e_row *row, const s2e_value *inside, const char *const *names,
                              size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const s2e_value *value =
            inside ? s2e_value_member(inside, names[i]) : s2e_row_value(row, names[i]);
        const char *text = value ? s2e_value_text(value, row->arena) : NULL;
        if (text && *text) return text;
    }
    return NULL;
}

/* lmms-eval: the first text in lists of lists. */
static const char *deep_text(const s2e_row *row, const s2e_value *value)
{
    while (value && value->type == S2E_LIST && value->n > 0) value = &value->item[0];
    return value ? s2e_value_text(value, row->arena) : NULL;
}

static const char *text_of(const s2e_row *row)
{
    static const char *const names[] = { "raw_answer", "prediction", "text", "answer" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const s2e_value *value = s2e_row_value(row, names[i]);
        if (i == 0 && s2e_row_value(row, "resps")) value = s2e_row_value(row, "resps");
        if (value) {
            const char *text = deep_text(row, value);
            return text ? text : ""; /* nothing was said */
        }
    }
    return deep_text(row, s2e_row_value(row, "filtered_resps"));
}

static s2e_run *run_of(reading *r, const char *method, const char *budget, int64_t seed)
{
    char name[128];
    (void)snprintf(name, sizeof name, "%.60s%s%.40s", method ? method : "",
                   method && budget ? "/" : "", budget ? budget : "");
    s2e_answers *out = r->out;
    for (int32_t i = 0; i < out->n_runs; i++)
        if (strcmp(out->run[i].name, name) == 0 && out->run[i].seed == seed) return &out->run[i];
    if (out->n_runs == S2E_MAX_RUNS) return NULL;
    s2e_run *run = &out->run[out->n_runs];
    run->answer = calloc((size_t)r->set->n_samples + 1, sizeof *run->answer);
    if (!run->answer) return NULL;
    (void)snprintf(run->name, sizeof run->name, "%s", name);
    run->seed = seed;
    out->n_runs++;
    return run;
}

static s2e_run *run_of_row(reading *r, const s2e_row *row)
{
    static const char *const methods[] = { "method" }, *const budgets[] = { "budget" };
    return run_of(r, first_text(row, NULL, methods, 1), first_text(row, NULL, budgets, 1), 0);
}

static void lose(s2e_answers *out, const char *sentence)
{
    if (out->n_lost++ == 0) (void)snprintf(out->lost, sizeof out->lost, "%.250s", sentence);
}

static s2p_status fail_runs(s2p_error *error)
{
    return s2_fail(error, S2P_ELIMIT, "more than %d methods and budgets", S2E_MAX_RUNS);
}

/* The first answer counts. */
static s2p_status put(reading *r, s2e_run *run, int32_t at, const char *id, const char *text,
                      s2p_error *error)
{
    s2e_answers *out = r->out;
    if (at < 0) {
        if (out->n_strangers++ == 0)
            (void)snprintf(out->stranger, sizeof out->stranger, "%.120s", id ? id : "doc_id");
        return S2P_OK;
    }
    if (run->answer[at]) {
        out->n_twice++;
        return S2P_OK;
    }
    run->answer[at] = s2_pool_copy(&out->pool, text);
    run->n++;
    return run->answer[at] ? S2P_OK : s2_fail_memory(error, strlen(text), "an answer");
}

/* MM-Vet's grader: {"v1_0": {"model": ..., "content": [...], "score": [0.7, ...]}}, a score each
 * time it was asked. Negative: this row has no such thing. */
static float grade_of(const s2e_row *row)
{
    const s2e_value *score = s2e_row_value(row, "score");
    double sum = 0.0;
    if (!s2e_row_value(row, "content") || !score || score->type != S2E_LIST || score->n < 1)
        return -1.0f;
    for (size_t i = 0; i < score->n; i++) {
        const char *text = s2e_value_text(&score->item[i], row->arena);
        char *end = NULL;
        const double one = text ? strtod(text, &end) : -1.0;
        if (!end || *end || !(one >= 0.0 && one <= 1.0)) return -1.0f;
        sum += one;
    }
    return (float)(sum / (double)score->n);
}

static s2p_status put_grade(reading *r, s2e_run *run, int32_t at, float grade, s2p_error *error)
{
    const int32_t n = r->set->n_samples;
    if (!run->grade) {
        run->grade = malloc(((size_t)n + 1) * sizeof *run->grade);
        if (!run->grade) return s2_fail_memory(error, (size_t)n * sizeof *run->grade, "the grades");
        for (int32_t i = 0; i < n; i++) run->grade[i] = -1.0f;
    }
    if (at >= 0 && run->grade[at] < 0.0f) run->grade[at] = grade;
    return S2P_OK;
}

static s2p_status take(reading *r, const s2e_row *row, s2p_error *error)
{
    static const char *const ids[] = { "sample_id",   "sample",     "index",
                                       "question_id", "questionId", "id" },
                             *const categories[] = { "category" };
    s2e_answers *out = r->out;
    const s2e_value *doc = s2e_row_value(row, "doc");
    const char *id =
        first_text(row, doc && doc->type == S2E_STRUCT ? doc : NULL, ids, sizeof ids / sizeof *ids);
    const char *category =
        first_text(row, doc && doc->type == S2E_STRUCT ? doc : NULL, categories, 1);
    const float grade = grade_of(row);
    const char *text = grade >= 0.0f ? "" : text_of(row);
    int64_t number;
    if (!text || (!id && !s2e_row_int(row, "doc_id", &number))) {
        s2p_error why;
        (void)s2e_row_fail(row, &why, S2P_EFORMAT, "no %s", text ? "id" : "answer");
        lose(out, why.message);
        return S2P_OK;
    }
    s2e_run *run = run_of_row(r, row);
    if (!run) return fail_runs(error);
    const int32_t at = id ? find(r, run->name, id, category) : s2e_set_at_row(r->set, number);
    if (grade >= 0.0f) TRY(put_grade(r, run, at, grade, error));
    return put(r, run, at, id, text, error);
}

/* --- stores -------------------------------------------------------------------------------- */

/* What the model saw of the sample's pictures. */
static s2p_status put_grids(reading *r, s2e_run *run, int32_t at, const char *grids,
                            s2p_error *error)
{
    if (!run->grids) run->grids = calloc((size_t)r->set->n_samples + 1, sizeof *run->grids);
    const char *copy = run->grids ? s2_pool_copy(&r->out->pool, grids) : NULL;
    if (!copy) return s2_fail_memory(error, strlen(grids), "the answers");
    if (!run->grids[at]) run->grids[at] = copy;
    return S2P_OK;
}

static s2p_status take_record(const s2e_record *record, void *user, s2p_error *error)
{
    reading *r = user;
    s2e_run *run = run_of(r, record->method,
                          strcmp(record->budget, "-") == 0 ? NULL : record->budget, record->seed);
    if (!run) return fail_runs(error);
    if (record->failure) {
        s2p_error why;
        (void)s2_fail(&why, S2P_EFORMAT, "%s %s, sample %.60s: %.120s", record->method,
                      record->budget, record->sample, record->failure);
        lose(r->out, why.message);
        return S2P_OK;
    }
    const int32_t at = s2e_set_find(r->set, record->sample);
    TRY(put(r, run, at, record->sample, record->text, error));
    return at < 0 || !record->grids ? S2P_OK : put_grids(r, run, at, record->grids, error);
}

static s2p_status read_store(const char *path, const char *task, reading *r, s2p_error *error)
{
    s2e_store *store;
    TRY(s2e_store_open(path, S2E_STORE_READ, &store, error));
    const s2e_record which = { .task = task, .seed = -1 };
    const s2p_status st = s2e_store_walk(store, &which, take_record, r, error);
    s2e_store_close(store);
    return st;
}

/* The whole run where there is one, else its shards. */
static s2p_status read_folder(const char *path, const char *task, reading *r, s2p_error *error)
{
    s2e_run_file *file;
    size_t n;
    TRY(s2e_run_folder_list(path, &file, &n, error));
    s2p_status st = S2P_OK;
    if (n == 0) st = s2_fail(error, S2P_EINVAL, "'%.150s' holds no run", path);
    const size_t first = n > 0 && file[n - 1].n == 1 ? n - 1 : 0;
    for (size_t i = first; i < n && st == S2P_OK; i++)
        st = read_store(file[i].path, task, r, error);
    free(file);
    return st;
}

static bool is_store(const char *path)
{
    char head[16] = "";
    FILE *file = s2_file_stream(path);
    const size_t n = file ? fread(head, 1, sizeof head, file) : 0;
    if (file) (void)fclose(file);
    return n == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0;
}

static s2p_status read_rows(const char *path, reading *r, s2p_error *error)
{
    s2e_rows *rows;
    s2e_row row;
    s2e_rows_options options;
    s2p_error why = { S2P_OK, "" };
    s2e_rows_options_init(&options);
    options.unhashed = true;
    TRY(s2e_rows_open(path, &options, &rows, error));
    s2p_status st = S2P_OK;
    for (bool end = false; st == S2P_OK && !end;) {
        st = s2e_rows_next(rows, &row, &end, &why);
        if (s2e_row_is_lost(st)) {
            lose(r->out, why.message);
            st = S2P_OK;
        } else if (st != S2P_OK) {
            st = s2_fail(error, st, "%s", why.message);
        } else if (!end) {
            st = take(r, &row, error);
        }
    }
    s2e_rows_close(rows);
    return st;
}

s2p_status s2e_answers_read(const char *path, const char *task, const s2e_set *set,
                            s2e_answers *out, s2p_error *error)
{
    struct stat info;
    reading r = { .set = set, .out = out };
    const bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    const s2p_status st = is_folder        ? read_folder(path, task, &r, error)
                          : is_store(path) ? read_store(path, task, &r, error)
                                           : read_rows(path, &r, error);
    s2_names_free(&r.met);
    free(r.count);
    return st;
}

void s2e_answers_free(s2e_answers *answers)
{
    for (int32_t i = 0; i < answers->n_runs; i++) {
        free(answers->run[i].answer);
        free(answers->run[i].grade);
        free(answers->run[i].grids);
    }
    s2_pool_free(&answers->pool);
    *answers = (s2e_answers){ .n_runs = 0 };
}
