/* eval_questions.c - `eval questions`: what a run would ask, a line of JSON each, for a loop in another language; and what is
 * written of its tasks into the store of a run (fingerprint.h). */
#include "asking/interrupt.h"
#include "base/json.h"
#include "base/sha256.h"
#include "eval/eval_command.h"
#include "eval/judging.h"
#include "eval/run/fingerprint.h"
#include "image/base64.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROMPT ((size_t)1 << 20)
#define MAX_PICTURE ((size_t)1 << 30)

typedef struct lines {
    const eval_options *options;
    s2_buffer prompt, bytes, text, line;
} lines;

/* A file by its path; one inside a table as base64. */
static s2p_status picture_json(lines *l, const s2e_set *set, int32_t index, json_t **out,
                               s2p_error *error)
{
    const s2e_picture *picture = &set->picture[index];
    char path[8192];
    if (picture->file) {
        const bool is_whole = picture->file[0] == '/';
        (void)snprintf(path, sizeof path, "%s%s%s", is_whole ? "" : set->folder,
                       is_whole ? "" : "/", picture->file);
        *out = json_pack("{s:s}", "file", path);
        return *out ? S2P_OK : s2_fail(error, S2P_EFORMAT, "a path is not UTF-8");
    }
    l->bytes.size = l->text.size = 0;
    TRY(s2e_set_picture_bytes(set, index, &l->bytes, error));
    s2_base64_append(&l->text, l->bytes.data, l->bytes.size);
    if (l->text.status != S2P_OK) return s2_fail_memory(error, l->bytes.size, "a picture");
    *out = json_pack("{s:s#}", "base64", (const char *)l->text.data, (int)l->text.size);
    return *out ? S2P_OK : s2_fail_memory(error, l->text.size, "a picture");
}

static const char *stop_of(const s2e_task *task, s2e_protocol protocol)
{
    if (protocol != S2E_PAPER) return NULL;
    return task->stops == s2e_stops_at_letter   ? "letter"
           : task->stops == s2e_stops_at_yes_no ? "yes-no"
                                                : NULL;
}

static s2p_status write_question(lines *l, const s2e_task *task, const s2e_set *set,
                                 const s2e_sample *sample, s2p_error *error)
{
    const s2e_protocol protocol = (s2e_protocol)l->options->protocol;
    const int32_t predict = l->options->predict > 0 ? l->options->predict : task->predict[protocol];
    l->prompt.size = 0;
    TRY(task->prompt(sample, protocol, &l->prompt, error));
    s2_buffer_append(&l->prompt, "", 1);
    if (l->prompt.status != S2P_OK)
        return s2_fail(error, l->prompt.status, "the prompt is too long");
    json_t *pictures = json_array();
    s2p_status st = pictures ? S2P_OK : S2P_ENOMEM;
    for (int32_t i = 0; st == S2P_OK && i < sample->n_pictures; i++) {
        json_t *one = NULL;
        st = picture_json(l, set, sample->picture[i], &one, error);
        if (st == S2P_OK && json_array_append_new(pictures, one) != 0) st = S2P_ENOMEM;
    }
    json_t *line = NULL;
    if (st == S2P_OK)
        line = json_pack("{s:s, s:s, s:s, s:i, s:s, s:i, s:s?, s:b, s:O}", "schema",
                         "s2prune.question/1", "task", task->name, "id", sample->id, "group",
                         s2e_first_picture(sample), "prompt", (const char *)l->prompt.data,
                         "predict", predict, "stop", stop_of(task, protocol), "repeats",
                         s2e_looks_for_repeats(task, protocol), "pictures", pictures);
    json_decref(pictures);
    if (st == S2P_OK && !line)
        st = s2_fail(error, S2P_EFORMAT, "sample '%.100s' of %s is not UTF-8", sample->id,
                     task->name);
    l->line.size = 0;
    if (st == S2P_OK) st = s2_json_write(line, 17, &l->line);
    json_decref(line);
    s2_buffer_append(&l->line, "\n", 1);
    if (st == S2P_OK && fwrite(l->line.data, 1, l->line.size, stdout) != l->line.size)
        st = s2_fail(error, S2P_EIO, "cannot write to standard output");
    return st;
}

static int show_nothing(double done, void *user)
{
    (void)done;
    (void)user;
    return s2_interrupted();
}

static s2p_status write_fingerprint(lines *l, const eval_data *data, s2p_error *error)
{
    const s2e_protocol protocol = (s2e_protocol)l->options->protocol;
    char names[S2E_MAX_TASKS * S2E_NAME] = "", key[S2E_NAME + 32], hash[2][S2_SHA256_HEX];
    json_t *root = json_object();
    s2p_status st = root ? S2P_OK : s2_fail_memory(error, 64, "the fingerprint");
    bool is_whole = root != NULL;
    for (int32_t i = 0; st == S2P_OK && i < data->n; i++) {
        const int32_t asked = l->options->predict;
        const size_t n = strlen(names);
        (void)snprintf(names + n, sizeof names - n, "%s%s", i ? "," : "", data->task[i]->name);
        st = s2e_set_hash(&data->set[i], show_nothing, NULL, hash[0], error);
        if (st == S2P_OK)
            st = s2e_prompts_hash(data->task[i], &data->set[i], protocol, hash[1], error);
        (void)snprintf(key, sizeof key, S2E_IS "task.%s", data->task[i]->name);
        json_t *text =
            json_sprintf("{\"samples\":%d,\"predict\":%d,\"data\":\"%s\",\"prompts\":\"%s\"}",
                         (int)data->set[i].n_samples,
                         (int)(asked > 0 ? asked : data->task[i]->predict[protocol]),
                         st == S2P_OK ? hash[0] : "", st == S2P_OK ? hash[1] : "");
        is_whole &= json_object_set_new(root, key, text) == 0;
        (void)snprintf(key, sizeof key, S2E_ABOUT "data.%s", data->task[i]->name);
        is_whole &= json_object_set_new(root, key, json_string(data->folder[i])) == 0;
    }
    if (is_whole)
        is_whole =
            json_object_set_new(root, S2E_IS "program", json_string(s2p_version())) == 0 &&
            json_object_set_new(root, S2E_IS "protocol",
                                json_string(s2e_protocol_name((size_t)protocol))) == 0 &&
            json_object_set_new(root, S2E_IS "tasks", json_string(names)) == 0 &&
            json_object_set_new(root, S2E_IS "limit", json_sprintf("%d", l->options->limit)) == 0;
    if (st == S2P_OK && !is_whole)
        st = s2_fail(error, S2P_EFORMAT, "the folder of the data is not UTF-8");
    if (st == S2P_OK) st = s2_json_write(root, 17, &l->line);
    json_decref(root);
    s2_buffer_append(&l->line, "\n", 1);
    if (st == S2P_OK && fwrite(l->line.data, 1, l->line.size, stdout) != l->line.size)
        st = s2_fail(error, S2P_EIO, "cannot write to standard output");
    return st;
}

int eval_questions(const eval_options *o)
{
    s2p_error error = { S2P_OK, "" };
    eval_data *data = calloc(1, sizeof *data);
    lines l = { .options = o };
    s2_buffer_init(&l.prompt, MAX_PROMPT);
    s2_buffer_init(&l.bytes, MAX_PICTURE);
    s2_buffer_init(&l.text, 2 * MAX_PICTURE);
    s2_buffer_init(&l.line, 4 * MAX_PICTURE);
    s2p_status st = data ? S2P_OK : s2_fail_memory(&error, sizeof *data, "the data");
    const char *tasks = o->tasks;
    s2a_item item;
    while (st == S2P_OK && s2a_next_item(&tasks, &item)) {
        char name[S2E_NAME + 64];
        (void)snprintf(name, sizeof name, "%.*s", (int)(item.n < 100 ? item.n : 100), item.text);
        st = eval_data_add(data, name, o->data, o->limit, &error);
    }
    if (st == S2P_OK && o->fingerprint) st = write_fingerprint(&l, data, &error);
    for (int32_t t = 0; st == S2P_OK && !o->fingerprint && t < data->n; t++)
        for (int32_t i = 0; st == S2P_OK && i < data->set[t].n_samples; i++)
            st = write_question(&l, data->task[t], &data->set[t], &data->set[t].sample[i], &error);
    if (st == S2P_OK && fflush(stdout) != 0)
        st = s2_fail(&error, S2P_EIO, "cannot write to standard output");
    int code = st == S2P_OK ? S2_EXIT_OK : s2_report_error(st, &error);
    if (st == S2P_OK && eval_data_problems(data, o->ask.quiet) > 0) code = S2_EXIT_INCOMPLETE;
    s2_buffer_free(&l.prompt);
    s2_buffer_free(&l.bytes);
    s2_buffer_free(&l.text);
    s2_buffer_free(&l.line);
    if (data) eval_data_free(data);
    free(data);
    return code;
}
