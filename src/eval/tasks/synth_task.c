/* synth_task.c - the bundled benchmark: drawn pictures, short answers, exact match.
 *
 * eval.json next to images/ is a list of pictures, each with its questions:
 *
 *     [{"image": "images/0000.jpg", "heterogeneity": 1.9,
 *       "questions": [{"category": "color", "question": "...", "answer": "red"}, ...]}, ...]
 *
 * Other members (seed, boxes, texts, shapes) are for people. models/train makes more of these.
 */
#include "base/path.h"
#include "eval/judging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)64 << 20)
#define MAX_PICTURES 100000
#define MAX_QUESTIONS 1000000

/* The order of the table; a set may bring categories of its own. */
static const char *const known_category[] = { "exist",    "color",    "shape",     "count",
                                              "position", "relation", "read_word", "read_num" };

/* A file below the folder, not one elsewhere. */
static bool stays_inside(const char *path)
{
    if (!path || path[0] == '/' || path[0] == '\0') return false;
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return false;
    return true;
}

static s2p_status check_counts(const json_t *source, s2p_error *error)
{
    size_t n_questions = 0;
    const size_t n_pictures = json_array_size(source);
    for (size_t i = 0; i < n_pictures; i++)
        n_questions += json_array_size(json_object_get(json_array_get(source, i), "questions"));
    if (n_pictures < 1 || n_questions < 1)
        return s2_fail(error, S2P_EFORMAT, "eval.json holds no questions");
    if (n_pictures > MAX_PICTURES || n_questions > MAX_QUESTIONS)
        return s2_fail(error, S2P_ELIMIT,
                       "eval.json holds %zu questions on %zu pictures; at most "
                       "%d on %d",
                       n_questions, n_pictures, MAX_QUESTIONS, MAX_PICTURES);
    return S2P_OK;
}

static s2p_status add_question(s2e_set *set, int32_t picture, size_t number, const json_t *q,
                               s2p_error *error)
{
    char id[48];
    (void)snprintf(id, sizeof id, "%04d-%zu", picture, number);
    const char *category = s2_json_string(q, "category"), *answer = s2_json_string(q, "answer");
    const s2e_sample draft = { .id = id,
                               .question = s2_json_string(q, "question"),
                               .answer = &answer,
                               .n_answers = 1,
                               .category = &category,
                               .n_categories = 1,
                               .picture = &picture,
                               .n_pictures = 1 };
    if (!category || !draft.question || !answer)
        return s2_fail(error, S2P_EFORMAT,
                       "eval.json, picture %d: a question lacks its category, "
                       "text or answer",
                       picture);
    return s2e_set_add(set, &draft, NULL, error);
}

static s2p_status add_picture(s2e_set *set, const json_t *item, s2p_error *error)
{
    const json_t *questions = json_object_get(item, "questions");
    const json_t *h = json_object_get(item, "heterogeneity");
    const s2e_picture picture = { .file = s2_json_string(item, "image"),
                                  .heterogeneity =
                                      json_is_number(h) ? json_number_value(h) : -1.0 };
    if (!stays_inside(picture.file) || !json_is_array(questions))
        return s2_fail(error, S2P_EFORMAT,
                       "eval.json, picture %d: no image below the folder, or no questions",
                       set->n_pictures);
    int32_t number;
    TRY(s2e_set_add_picture(set, NULL, &picture, &number, error));
    for (size_t i = 0; i < json_array_size(questions); i++)
        TRY(add_question(set, number, i, json_array_get(questions, i), error));
    return S2P_OK;
}

static s2p_status read_synth(const char *folder, s2e_set *out, s2p_error *error)
{
    json_t *source = NULL;
    s2p_status st = s2e_set_start(out, folder, error);
    char *path = st == S2P_OK ? s2_path_in(folder, "eval.json") : NULL;
    if (st == S2P_OK && !path) st = s2_fail_memory(error, strlen(folder), "a path");
    if (st == S2P_OK) st = s2_json_read_file(path, MAX_BYTES, &source, error);
    if (st == S2P_OK) st = check_counts(source, error);
    for (size_t i = 0; i < sizeof known_category / sizeof *known_category; i++)
        (void)s2e_set_category(out, known_category[i]);
    for (size_t i = 0; st == S2P_OK && i < json_array_size(source); i++)
        st = add_picture(out, json_array_get(source, i), error);
    if (st == S2P_OK) st = s2e_set_finish(out, error);
    if (st != S2P_OK) s2e_set_free(out);
    json_decref(source);
    free(path);
    return st;
}

static s2p_status prompt_synth(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                               s2p_error *error)
{
    (void)protocol, (void)error;
    s2_buffer_append(out, sample->question, strlen(sample->question));
    return out->status;
}

/* The whole answer, spaces around it aside: "red" is right, "red circle" is not. */
static s2p_status judge_synth(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                              const char *answer, s2e_verdict *out, s2p_error *error)
{
    (void)protocol, (void)draws;
    const char *space = " \t\r\n", *text = answer + strspn(answer, space);
    size_t n = strlen(text);
    while (n > 0 && strchr(space, text[n - 1])) n--;
    const char *expected = sample->answer[0];
    out->rule = "exact";
    out->score = n == strlen(expected) && memcmp(text, expected, n) == 0 ? 1.0f : 0.0f;
    out->span_at = (size_t)(text - answer);
    out->span_length = n;
    out->extracted = strndup(text, n);
    return out->extracted ? S2P_OK : s2_fail_memory(error, n, "an answer");
}

static s2p_status aggregate_synth(const s2e_set *set, s2e_protocol protocol,
                                  const s2e_verdict *verdict, s2e_figures *out, s2p_error *error)
{
    (void)protocol;
    return s2e_figures_of_categories(set, verdict, "accuracy", out, error);
}

const s2e_task task_synth = {
    .name = "synth",
    .title = "Synth",
    .summary = "drawn scenes: reading, existence, colour, shape, counting, relation, position",
    .read = read_synth,
    .prompt = prompt_synth,
    .predict = { 16, 16, 16, 16 },
    .judge = judge_synth,
    .aggregate = aggregate_synth,
};
