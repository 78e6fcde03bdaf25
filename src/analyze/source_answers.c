/* source_answers.c - a file that grows by a line for each answer, so that work that was stopped goes
 * on where it was, and one analysis uses what another has asked.
 */
#include "analyze/sources.h"

#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 30)

/* --- reading ------------------------------------------------------------------------------ */

typedef struct line { /* of an answer; strings borrowed */
    const char *image, *question, *setting, *answer;
    double score;
    s2p_grid grid;
    int32_t *kept; /* owned */
    size_t n_kept;
    char made[S2_LABEL_SIZE]; /* the key of a setting told in another way */
} line;

/* A line of `s2prune eval --samples` names method and budget, and a seed: the first counts. */
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
    if (seed != 0 || json_object_get(root, "budget_percent")) out->made[0] = '\0';
    out->setting = out->made;
    return true;
}

static bool read_line(const json_t *root, const s2_trials *t, line *out)
{
    const char *model = s2_json_string(root, "model"), *task = s2_json_string(root, "task");
    const char *run = s2_json_string(root, "run");
    const json_t *tokens = json_object_get(root, "tokens"), *score = json_object_get(root, "score");
    *out = (line){ .image = s2_json_string(root, "image"),
                   .question = s2_json_string(root, "question"),
                   .setting = s2_json_string(root, "setting"),
                   .answer = s2_json_string(root, "answer") };
    if (!task || !out->image || !out->question || !json_is_number(score)) return false;
    if (!out->setting ? !make_key(root, out) : !model || !run) return false;
    out->score = json_number_value(score);
    if (!(out->score >= 0.0 && out->score <= 1.0)) return false;
    if ((model && strcmp(model, t->model) != 0) || (run && strcmp(run, t->run) != 0) ||
        strcmp(task, t->task) != 0)
        out->image = NULL;
    if (json_array_size(tokens) != 2) return true;
    const json_int_t rows = json_integer_value(json_array_get(tokens, 0));
    const json_int_t cols = json_integer_value(json_array_get(tokens, 1));
    if (rows < 1 || cols < 1 || rows > S2P_MAX_SIDE || cols > S2P_MAX_SIDE) return false;
    out->grid = (s2p_grid){ (int32_t)rows, (int32_t)cols };
    out->kept = s2_json_ints(json_object_get(root, "kept"), &out->n_kept);
    return out->n_kept <= (size_t)(rows * cols);
}

/* The question a line is about; -1: none of ours. */
static int32_t find_question(const s2_trials *t, const line *l)
{
    for (int32_t q = 0; l->image && q < t->n_questions; q++)
        if (strcmp(t->picture[t->question[q].picture].file, l->image) == 0 &&
            strcmp(t->question[q].text, l->question) == 0)
            return q;
    return -1;
}

static int32_t find_setting(const s2_trials *t, const char *key)
{
    char own[S2_LABEL_SIZE];
    for (int32_t s = 0; s < t->n_settings; s++)
        if (strcmp(s2_setting_key(&t->setting[s], own), key) == 0) return s;
    return -1;
}

static void use_line(const char *text, size_t n, s2_trials *t, int32_t *n_filled, int32_t *n_bad)
{
    json_t *root = NULL;
    line l = { .kept = NULL };
    if (s2_json_parse(text, n, "answer", &root, NULL) != S2P_OK || !read_line(root, t, &l)) {
        (*n_bad)++;
    } else {
        const int32_t s = find_setting(t, l.setting), q = s < 0 ? -1 : find_question(t, &l);
        if (q >= 0 && s2_trial_fill(t, s, q, (float)l.score, l.answer, l.grid, l.kept,
                                    (int32_t)l.n_kept, NULL) == S2P_OK)
            (*n_filled)++;
        else if (q >= 0)
            (*n_bad)++;
    }
    free(l.kept);
    json_decref(root);
}

void s2_answers_parse(const char *text, size_t n, s2_trials *trials, int32_t *n_filled,
                      int32_t *n_bad)
{
    *n_filled = *n_bad = 0;
    for (const char *at = text, *stop = text + n; at < stop;) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        const size_t length = end ? (size_t)(end - at) : (size_t)(stop - at);
        if (length > 0) use_line(at, length, trials, n_filled, n_bad);
        at += length + 1;
    }
}

s2p_status s2_answers_read(const char *path, s2_trials *trials, int32_t *n_filled, int32_t *n_bad,
                           s2p_error *error)
{
    *n_filled = *n_bad = 0;
    FILE *probe = fopen(path, "rb");
    if (!probe && errno == ENOENT) return S2P_OK;
    if (probe) (void)fclose(probe);
    s2_buffer text;
    s2_buffer_init(&text, MAX_BYTES);
    const s2p_status st = s2_file_read(path, &text, error);
    if (st == S2P_OK && text.size)
        s2_answers_parse((const char *)text.data, text.size, trials, n_filled, n_bad);
    s2_buffer_free(&text);
    return st;
}

/* --- writing --------------------------------------------------------------------------------- */

FILE *s2_answers_open(const char *path, s2p_error *error)
{
    FILE *file = fopen(path, "ab+");
    if (!file) {
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
                  "task", t->task, "image", t->picture[q->picture].file, "question", q->text,
                  "setting", s2_setting_key(&t->setting[setting], key), "answer", trial->answer,
                  "score", (double)trial->score);
    if (root && trial->kept) {
        json_object_set_new(root, "tokens", json_pack("[i, i]", t->grid.rows, t->grid.cols));
        json_object_set_new(root, "kept", s2_json_of_ints(trial->kept, (size_t)trial->n_kept));
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
