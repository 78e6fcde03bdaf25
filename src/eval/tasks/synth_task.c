/* synth_task.c - the bundled benchmark: drawn pictures, short answers, exact match.
 *
 * eval.json beside images/ is a list of pictures, each with its questions:
 *
 *     [{"image": "images/0000.jpg", "heterogeneity": 1.9,
 *       "questions": [{"category": "color", "question": "...", "answer": "red"}, ...]}, ...]
 *
 * Other members (seed, boxes, texts, shapes) are for people. models/train makes more of these.
 */
#include "eval/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)64 << 20)
#define MAX_PICTURES 100000
#define MAX_QUESTIONS 1000000

/* The order of the table; a set may bring categories of its own. */
static const char *const known_category[] = { "exist",    "color",    "shape",     "count",
                                              "position", "relation", "read_word", "read_num" };

static int32_t category_index(s2e_set *set, const char *name)
{
    for (int32_t i = 0; i < set->n_categories; i++)
        if (strcmp(set->category[i], name) == 0) return i;
    if (set->n_categories == S2E_MAX_CATEGORIES) return -1;
    set->category[set->n_categories] = name;
    return set->n_categories++;
}

/* A file below the folder, not one elsewhere. */
static bool stays_inside(const char *path)
{
    if (!path || path[0] == '/' || path[0] == '\0') return false;
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return false;
    return true;
}

static s2p_status count(s2e_set *set, s2p_error *error)
{
    size_t n_questions = 0;
    const size_t n_pictures = json_array_size(set->source);
    for (size_t i = 0; i < n_pictures; i++)
        n_questions +=
            json_array_size(json_object_get(json_array_get(set->source, i), "questions"));
    if (n_pictures < 1 || n_questions < 1)
        return s2_fail(error, S2P_EFORMAT, "eval.json holds no questions");
    if (n_pictures > MAX_PICTURES || n_questions > MAX_QUESTIONS)
        return s2_fail(error, S2P_ELIMIT,
                       "eval.json holds %zu questions on %zu pictures; at most "
                       "%d on %d",
                       n_questions, n_pictures, MAX_QUESTIONS, MAX_PICTURES);
    set->picture = calloc(n_pictures, sizeof *set->picture);
    set->question = calloc(n_questions, sizeof *set->question);
    return set->picture && set->question
               ? S2P_OK
               : s2_fail_memory(error, n_questions * sizeof *set->question, "the questions");
}

static s2p_status add_question(s2e_set *set, const json_t *q, s2p_error *error)
{
    const char *category = s2_json_string(q, "category");
    s2e_question *out = &set->question[set->n_questions];
    out->text = s2_json_string(q, "question");
    out->answer = s2_json_string(q, "answer");
    out->picture = set->n_pictures;
    if (!category || !out->text || !out->answer)
        return s2_fail(error, S2P_EFORMAT,
                       "eval.json, picture %d: a question lacks its category, "
                       "text or answer",
                       set->n_pictures);
    out->category = category_index(set, category);
    if (out->category < 0)
        return s2_fail(error, S2P_ELIMIT, "eval.json holds more than %d categories",
                       S2E_MAX_CATEGORIES);
    set->n_questions++;
    return S2P_OK;
}

static s2p_status add_picture(s2e_set *set, const json_t *item, s2p_error *error)
{
    const json_t *questions = json_object_get(item, "questions");
    const json_t *h = json_object_get(item, "heterogeneity");
    s2e_picture *picture = &set->picture[set->n_pictures];
    picture->file = s2_json_string(item, "image");
    picture->heterogeneity = json_is_number(h) ? json_number_value(h) : -1.0;
    if (!stays_inside(picture->file) || !json_is_array(questions))
        return s2_fail(error, S2P_EFORMAT,
                       "eval.json, picture %d: no image below the folder, or no questions",
                       set->n_pictures);
    s2p_status st = S2P_OK;
    for (size_t i = 0; st == S2P_OK && i < json_array_size(questions); i++)
        st = add_question(set, json_array_get(questions, i), error);
    set->n_pictures++;
    return st;
}

static s2p_status read_synth(const char *folder, s2e_set *out, s2p_error *error)
{
    char path[sizeof out->folder + 16];
    *out = (s2e_set){ .source = NULL };
    if (strlen(folder) >= sizeof out->folder)
        return s2_fail(error, S2P_ELIMIT, "the path of the data is too long");
    (void)snprintf(out->folder, sizeof out->folder, "%s", folder);
    (void)snprintf(path, sizeof path, "%s/eval.json", folder);
    s2p_status st = s2_json_read_file(path, MAX_BYTES, &out->source, error);
    if (st == S2P_OK) st = count(out, error);
    for (size_t i = 0; i < sizeof known_category / sizeof *known_category; i++)
        (void)category_index(out, known_category[i]);
    for (size_t i = 0; st == S2P_OK && i < json_array_size(out->source); i++)
        st = add_picture(out, json_array_get(out->source, i), error);
    if (st != S2P_OK) s2e_set_free(out);
    return st;
}

/* The whole answer, spaces around it aside: "red" is right, "red circle" is not. */
static float score_exact(const s2e_question *question, const char *answer)
{
    const char *space = " \t\r\n";
    answer += strspn(answer, space);
    size_t n = strlen(answer);
    while (n > 0 && strchr(space, answer[n - 1])) n--;
    return n == strlen(question->answer) && memcmp(answer, question->answer, n) == 0 ? 1.0f : 0.0f;
}

const s2e_task task_synth = {
    .name = "synth",
    .summary = "drawn scenes: reading, existence, colour, shape, counting, relation, position",
    .read = read_synth,
    .score = score_exact,
};
