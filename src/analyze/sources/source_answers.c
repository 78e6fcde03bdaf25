/* source_answers.c - a file that grows by a line for each answer, so that work that was stopped goes
 * on where it was, and one analysis uses what another has asked.
 */
#include "analyze/sources/sources.h"

#include "base/file.h"
#include "base/json.h"
#include "base/names.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES ((size_t)1 << 30)

/* --- reading ------------------------------------------------------------------------------ */

typedef struct line { /* of an answer; strings borrowed */
    const char *task, *image, *question, *setting, *answer;
    const json_t *answers; /* of all runs; NULL: there is one */
    int32_t seed;          /* which run a line of eval is */
    double score;
    s2p_grid grid;
    int32_t *kept; /* owned */
    size_t n_kept;
    char made[S2_LABEL_SIZE];       /* the key of a setting told in another way */
    double first_ms, flops, n_used; /* 0: not there */
} line;

/* A line of `s2prune eval --samples` names method and budget, and a seed. */
static bool make_key(const json_t *root, line *out)
{
    const char *method = s2_json_string(root, "method"), *mode = s2_json_string(root, "mode");
    int32_t budget, seed;
    char count[16] = "-";
    if (!method || !s2_json_int(root, "budget", &budget) || !s2_json_int(root, "seed", &seed))
        return false;
    if (budget > 0) (void)snprintf(count, sizeof count, "%d", budget);
    (void)snprintf(out->made, sizeof out->made, "%.32s/%s/0/%s/%s%s", method, count,
                   s2p_allocator_name(0), s2p_selector_name(0), mode ? "/published" : "");
    if (seed < 0 || json_object_get(root, "budget_percent")) out->made[0] = '\0';
    out->setting = out->made;
    out->seed = seed;
    return true;
}

static bool read_line(const json_t *root, const s2_trials *t, line *out)
{
    const char *model = s2_json_string(root, "model"), *task = s2_json_string(root, "task");
    const char *run = s2_json_string(root, "run");
    const json_t *tokens = json_object_get(root, "tokens"), *score = json_object_get(root, "score");
    *out = (line){ .task = task,
                   .answers = json_object_get(root, "answers"),
                   .image = s2_json_string(root, "image"),
                   .question = s2_json_string(root, "question"),
                   .setting = s2_json_string(root, "setting"),
                   .answer = s2_json_string(root, "answer") };
    if (!task || !out->image || !out->question || !json_is_number(score)) return false;
    if (!out->setting ? !make_key(root, out) : !model || !run) return false;
    out->score = json_number_value(score);
    const struct {
        const char *name;
        double *value;
    } costs[] = { { "first_ms", &out->first_ms },
                  { "flops", &out->flops },
                  { "used", &out->n_used } };
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        const double value = json_number_value(json_object_get(root, costs[i].name));
        if (value > 0.0 && value < 1e30) *costs[i].value = value;
    }
    if (!(out->score >= 0.0 && out->score <= 1.0)) return false;
    if ((model && strcmp(model, t->model) != 0) || (run && strcmp(run, t->run) != 0))
        out->image = NULL;
    if (json_array_size(tokens) != 2) return true;
    const json_int_t rows = json_integer_value(json_array_get(tokens, 0));
    const json_int_t cols = json_integer_value(json_array_get(tokens, 1));
    if (rows < 1 || cols < 1 || rows > S2P_MAX_SIDE || cols > S2P_MAX_SIDE) return false;
    out->grid = (s2p_grid){ (int32_t)rows, (int32_t)cols };
    out->kept = s2_json_ints(json_object_get(root, "kept"), &out->n_kept);
    return out->n_kept <= (size_t)(rows * cols);
}

/* Questions by task, picture and text. A benchmark may ask the same twice, as POPE's samplings do: one
 * answer then serves all of them. */
typedef struct index {
    s2_names keys;
    int32_t *first; /* [n_questions] of a key; -1: none */
    int32_t *next;  /* [n_questions] the next question with the same key; -1: none */
} index;

#define MAX_KEY ((size_t)1 << 21)

static int32_t add_key(index *x, const char *task, const char *image, const char *question,
                       bool is_new)
{
    s2_buffer key;
    s2_buffer_init(&key, MAX_KEY);
    s2_buffer_printf(&key, "%s\n%s\n", task, image);
    s2_buffer_append(&key, question, strlen(question) + 1);
    const char *text = (const char *)key.data;
    const int32_t n = key.status != S2P_OK ? -1
                      : is_new             ? s2_names_add(&x->keys, text, NULL)
                                           : s2_names_find(&x->keys, text);
    s2_buffer_free(&key);
    return n;
}

static void free_index(index *x)
{
    s2_names_free(&x->keys);
    free(x->first);
    free(x->next);
}

static bool make_index(const s2_trials *t, index *x)
{
    const size_t n = (size_t)t->n_questions + 1;
    *x = (index){ .first = malloc(n * sizeof *x->first), .next = malloc(n * sizeof *x->next) };
    bool is_made = x->first && x->next;
    for (int32_t q = 0; is_made && q < t->n_questions; q++) x->first[q] = x->next[q] = -1;
    for (int32_t q = t->n_questions - 1; is_made && q >= 0; q--) {
        const int32_t key =
            add_key(x, s2_trial_part_of(t, q)->name, t->picture[t->question[q].picture].file,
                    t->question[q].text, true);
        is_made = key >= 0;
        if (!is_made) break;
        x->next[q] = x->first[key];
        x->first[key] = q;
    }
    if (!is_made) free_index(x);
    return is_made;
}

static int32_t find_setting(const s2_trials *t, const char *key)
{
    char own[S2_LABEL_SIZE];
    for (int32_t s = 0; s < t->n_settings; s++)
        if (strcmp(s2_setting_key(&t->setting[s], own), key) == 0) return s;
    return -1;
}

/* Lines of eval come seed by seed: the trial is done with the last. */
static s2p_status add_seed(s2_trials *t, int32_t setting, int32_t question, const line *l,
                           int32_t n_runs)
{
    s2_trial *trial = s2_trial_at(t, setting, question);
    if (l->seed >= n_runs) return S2P_OK;
    if (trial->n_runs != n_runs)
        TRY(s2_trial_fill(t, setting, question, NAN, l->answer, (s2p_grid){ 0, 0 }, NULL, 0, NULL));
    TRY(s2_trial_add_run(t, setting, question, l->seed, n_runs, l->answer, NULL));
    bool is_done = true;
    for (int32_t i = 0; i < n_runs; i++) is_done = is_done && trial->run[i].answer;
    if (is_done) trial->score = (float)l->score; /* s2_trials_judge has the mean */
    return S2P_OK;
}

/* 1: used, 0: not of use, -1: not an answer. */
static int fill_one(s2_trials *t, int32_t setting, int32_t question, const line *l)
{
    const int32_t n_runs = s2a_draws(&t->setting[setting]) && t->n_seeds > 1 ? t->n_seeds : 1;
    const bool is_judged = s2_trial_part_of(t, question)->task != NULL;
    if (l->setting == l->made && n_runs > 1 && is_judged)
        return l->answer && add_seed(t, setting, question, l, n_runs) == S2P_OK ? 1 : -1;
    if (l->seed > 0) return 0;
    if (is_judged && n_runs > 1 && json_array_size(l->answers) != (size_t)n_runs) return 0;
    if (s2_trial_fill(t, setting, question, (float)l->score, l->answer, l->grid, l->kept,
                      (int32_t)l->n_kept, NULL) != S2P_OK)
        return -1;
    s2_trial *trial = s2_trial_at(t, setting, question);
    trial->first_ms = l->first_ms;
    trial->flops = l->flops;
    trial->n_used = l->n_used < S2P_MAX_TOKENS ? (int32_t)l->n_used : 0;
    for (int32_t i = 0; i < n_runs && is_judged; i++) {
        const char *answer =
            n_runs > 1 ? json_string_value(json_array_get(l->answers, (size_t)i)) : l->answer;
        if (s2_trial_add_run(t, setting, question, i, n_runs, answer, NULL) != S2P_OK) return -1;
    }
    return 1;
}

static void use_line(const char *text, size_t n, index *x, s2_trials *t, int32_t *n_filled,
                     int32_t *n_bad)
{
    json_t *root = NULL;
    line l = { .kept = NULL };
    if (s2_json_parse(text, n, "answer", &root, NULL) != S2P_OK || !read_line(root, t, &l)) {
        (*n_bad)++;
    } else if (l.image) {
        const int32_t s = find_setting(t, l.setting);
        const int32_t key = s < 0 ? -1 : add_key(x, l.task, l.image, l.question, false);
        int how = 0;
        for (int32_t q = key < 0 ? -1 : x->first[key]; q >= 0 && how >= 0; q = x->next[q])
            how = fill_one(t, s, q, &l);
        *n_filled += how > 0;
        *n_bad += how < 0;
    }
    free(l.kept);
    json_decref(root);
}

s2p_status s2_answers_parse(const char *text, size_t n, s2_trials *trials, int32_t *n_filled,
                            int32_t *n_bad)
{
    index x;
    *n_filled = *n_bad = 0;
    if (!make_index(trials, &x)) return S2P_ENOMEM;
    for (const char *at = text, *stop = text + n; at < stop;) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        const size_t length = end ? (size_t)(end - at) : (size_t)(stop - at);
        if (length > 0) use_line(at, length, &x, trials, n_filled, n_bad);
        at += length + 1;
    }
    free_index(&x);
    return S2P_OK;
}

s2p_status s2_answers_read(const char *path, s2_trials *trials, int32_t *n_filled, int32_t *n_bad,
                           s2p_error *error)
{
    *n_filled = *n_bad = 0;
    struct stat info;
    if (stat(path, &info) != 0 && errno == ENOENT) return S2P_OK;
    s2_buffer text;
    s2_buffer_init(&text, MAX_BYTES);
    s2p_status st = s2_file_read(path, &text, error);
    if (st == S2P_OK && text.size) {
        st = s2_answers_parse((const char *)text.data, text.size, trials, n_filled, n_bad);
        if (st != S2P_OK) st = s2_fail_memory(error, text.size, "the answers");
    }
    s2_buffer_free(&text);
    return st;
}

/* --- writing --------------------------------------------------------------------------------- */

FILE *s2_answers_open(const char *path, s2p_error *error)
{
    int fd;
    if (s2_file_open(path, S2_FILE_OWN_APPEND, &fd, error) != S2P_OK) return NULL;
    FILE *file = fdopen(fd, "ab+");
    if (!file) {
        (void)close(fd);
        (void)s2_fail(error, S2P_EIO, "cannot write '%.300s': %s", path, strerror(errno));
        return NULL;
    }
    if (fseek(file, -1, SEEK_END) == 0 && fgetc(file) != '\n') (void)fputc('\n', file);
    return file;
}

s2p_status s2_answers_append(FILE *file, const s2_trials *t, int32_t setting, int32_t question,
                             s2p_error *error)
{
    const s2_trial *trial = s2_trial_at(t, setting, question);
    const s2_trial_question *q = &t->question[question];
    char key[S2_LABEL_SIZE];
    s2_buffer text;
    s2_buffer_init(&text, MAX_BYTES);
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s*, s:f}", "model", t->model, "run", t->run,
                  "task", s2_trial_part_of(t, question)->name, "image", t->picture[q->picture].file,
                  "question", q->text, "setting", s2_setting_key(&t->setting[setting], key),
                  "answer", trial->answer, "score", (double)trial->score);
    if (root && trial->kept) {
        json_object_set_new(root, "tokens",
                            json_pack("[i, i]", t->picture[q->picture].grid.rows,
                                      t->picture[q->picture].grid.cols));
        json_object_set_new(root, "kept", s2_json_of_ints(trial->kept, (size_t)trial->n_kept));
    }
    if (root && trial->first_ms > 0.0) {
        json_object_set_new(root, "first_ms", json_real(trial->first_ms));
        json_object_set_new(root, "flops", json_real(trial->flops));
        json_object_set_new(root, "used", json_integer(trial->n_used));
    }
    if (root && trial->n_runs > 1) {
        json_t *list = json_array();
        for (int32_t i = 0; i < trial->n_runs; i++)
            json_array_append_new(list, json_string(trial->run[i].answer));
        json_object_set_new(root, "answers", list);
    }
    s2p_status st = root ? s2_json_write(root, 9, &text) : S2P_ENOMEM;
    json_decref(root);
    s2_buffer_append(&text, "\n", 1);
    if (st != S2P_OK || text.status != S2P_OK) {
        st = s2_fail(error, S2P_ENOMEM, "no memory for an answer");
    } else if (fwrite(text.data, 1, text.size, file) != text.size || fflush(file) != 0) {
        st = s2_fail(error, S2P_EIO, "cannot write an answer: %s", strerror(errno));
    }
    s2_buffer_free(&text);
    return st;
}
