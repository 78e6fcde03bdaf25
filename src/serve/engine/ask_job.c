/* ask_job.c - messages, pictures, how tokens are drawn, what is pruned. */
#include "serve/engine/jobs.h"

#include "base/clock.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

s2p_status s2_job_picture(const s2_job_parts *parts, size_t index, const s2_engine_setup *setup,
                          s2_image *out, s2p_error *error)
{
    s2p_error why = { S2P_OK, "" };
    if (index >= parts->n_blobs)
        return s2_fail(error, S2P_EFORMAT, "image %zu is missing", index + 1);
    const s2p_status st = s2_image_decode(parts->blob[index].data, parts->blob[index].n,
                                          setup->pixels, &setup->limits, out, &why);
    return st == S2P_OK ? st : s2_fail(error, st, "image %zu: %s", index + 1, why.message);
}

static s2p_status read_messages(const json_t *array, s2_ask_job *out, s2p_error *error)
{
    static const char *const roles[] = {
        [S2V_SYSTEM] = "system", [S2V_USER] = "user",      [S2V_ASSISTANT] = "assistant",
        [S2V_TOOLS] = "tools",   [S2V_TOOL_CALL] = "call", [S2V_TOOL] = "tool"
    };
    out->n_messages = json_array_size(array);
    if (out->n_messages == 0) return s2_fail(error, S2P_EFORMAT, "there are no messages");
    out->message = s2_pool_take(&out->pool, out->n_messages * sizeof *out->message);
    if (!out->message) return s2_fail(error, S2P_ENOMEM, "no memory for the messages");
    int32_t n_pictures = 0;
    for (size_t i = 0; i < out->n_messages; i++) {
        const json_t *one = json_array_get(array, i);
        const char *role = s2_json_string(one, "role"), *text = s2_json_string(one, "text");
        int32_t n = 0, k = 0;
        (void)s2_json_int(one, "images", &n);
        while (k < S2V_TOOL && (!role || strcmp(role, roles[k]) != 0)) k++;
        if (!role || !text || n < 0)
            return s2_fail(error, S2P_EFORMAT, "message %zu has neither role nor content", i);
        out->message[i] = (s2v_message){ .role = (s2v_role)k, .text = text, .n_images = n };
        n_pictures += n;
    }
    return n_pictures == out->n_pictures
               ? S2P_OK
               : s2_fail(error, S2P_EFORMAT, "%d images received, but the messages refer to %d",
                         out->n_pictures, n_pictures);
}

/* Their sizes, from the headers. */
static s2p_status measure_pictures(const s2_job_parts *parts, const json_t *json,
                                   const s2_engine_setup *setup, s2_ask_job *out, s2p_error *error)
{
    const json_t *details = json_object_get(json, "details");
    const size_t n = s2_job_pictures(parts, json);
    if (n > S2_SERVE_MAX_PICTURES)
        return s2_fail(error, S2P_ELIMIT, "%zu images in one request; the limit is %d", n,
                       S2_SERVE_MAX_PICTURES);
    for (size_t i = 0; i < n; i++) {
        s2p_error why = { S2P_OK, "" };
        s2_size size;
        const s2p_status st = s2_image_measure(parts->blob[i].data, parts->blob[i].n, &size, &why);
        if (st != S2P_OK) return s2_fail(error, st, "image %zu: %s", i + 1, why.message);
        out->n_pictures++;
        out->view[i] = (s2p_image){ .width = size.width, .height = size.height };
        out->option[i] = setup->open.image[0];
        const char *detail = json_string_value(json_array_get(details, i));
        out->image_budget[i].tokens = detail ? s2a_detail_budget(setup->detail_map, detail) : 0;
        out->has_details |= out->image_budget[i].tokens > 0;
    }
    for (int32_t i = 0; i < out->n_pictures; i++)
        out->is_usual[i] = out->image_budget[i].tokens == 0;
    return S2P_OK;
}

/* Refuses what is far beyond the context; the prefill counts exactly, with the pictures as they are shown
 * and what boxes leave of them. */
static s2p_status check_room(s2_ask_job *job, const s2v_engine *engine, s2p_error *error)
{
    const s2a_prune_request *setting = &job->setting[0];
    const int64_t n_ctx = job->session.n_ctx;
    s2v_count count;
    if (job->n_pictures == 0 || job->is_compare || setting->boxes.n > 0) return S2P_OK;
    const s2v_prune_options prune = s2_ask_job_prune(job, setting, 0);
    const s2v_prompt prompt = s2_ask_job_prompt(job, setting);
    if (s2v_engine_count(engine, &prompt, &prune, &count, NULL) != S2P_OK) return S2P_OK;
    if (count.image_tokens < 0 ||
        (int64_t)count.text_tokens + count.image_tokens <= n_ctx + n_ctx / 8)
        return S2P_OK;
    job->n_counted = count.text_tokens + count.image_tokens;
    return s2_fail(error, S2P_ELIMIT,
                   "%d tokens of text and %d of pictures are more than the context of %d: use "
                   "fewer pictures or a smaller budget",
                   count.text_tokens, count.image_tokens, job->session.n_ctx);
}

/* What one setting of a comparison wants blank is blank for all: it must not come back in the row beside. */
static s2p_status apply_boxes(s2_job_mask_source *masks, s2_ask_job *job, char param[S2_JSON_PARAM],
                              s2p_error *error)
{
    for (int32_t s = 0; s < job->n_settings; s++) {
        const s2a_boxes *boxes = &job->setting[s].boxes;
        if (boxes->n == 0) continue;
        (void)snprintf(param, S2_JSON_PARAM, job->is_compare ? "settings" : "prune");
        TRY(s2a_boxes_check(boxes, job->n_pictures, error));
        for (int32_t i = 0; i < job->n_pictures; i++)
            TRY(s2a_boxes_apply(boxes, i, &job->picture[i], s2_job_mask, masks, &job->region[s][i],
                                error));
    }
    return S2P_OK;
}

static s2p_status read_sampling(const json_t *object, const s2_engine_setup *setup, s2_ask_job *out,
                                s2p_error *error)
{
    out->session = setup->session;
    s2v_sampling *s = &out->session.sampling;
    const struct {
        const char *name;
        float *value;
    } reals[] = { { "temperature", &s->temperature },
                  { "top_p", &s->top_p },
                  { "min_p", &s->min_p },
                  { "repeat_penalty", &s->repeat_penalty },
                  { "presence_penalty", &s->presence_penalty },
                  { "frequency_penalty", &s->frequency_penalty } };
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        const json_t *value = json_object_get(object, reals[i].name);
        if (json_is_number(value)) *reals[i].value = (float)json_number_value(value);
    }
    (void)s2_json_int(object, "top_k", &s->top_k);
    (void)s2_json_int(object, "repeat_last_n", &s->penalty_window);
    const json_t *seed = json_object_get(object, "seed");
    if (json_is_integer(seed)) s->seed = (uint64_t)json_integer_value(seed);
    if (json_is_true(json_object_get(object, "ignore_eos"))) s->ignore_eos = 1;
    const json_t *stop = json_object_get(object, "stop");
    if (json_array_size(stop) > S2_SERVE_MAX_STOPS)
        return s2_fail(error, S2P_ELIMIT, "%zu stop strings; the limit is %d",
                       json_array_size(stop), S2_SERVE_MAX_STOPS);
    for (size_t i = 0; i < json_array_size(stop); i++)
        out->stop[i] = json_string_value(json_array_get(stop, i));
    if (json_array_size(stop) > 0) {
        s->stop = out->stop;
        s->n_stop = json_array_size(stop);
    }
    out->n_predict = setup->n_predict;
    out->has_predict = s2_json_int(object, "max_tokens", &out->n_predict) && out->n_predict >= 0;
    out->n_answers = 1;
    (void)s2_json_int(object, "n", &out->n_answers);
    if (out->n_answers < 1 || out->n_answers > S2_SERVE_MAX_ANSWERS)
        return s2_fail(error, S2P_ELIMIT, "%d answers to one prompt (limit %d)", out->n_answers,
                       S2_SERVE_MAX_ANSWERS);
    out->n_top = -1;
    (void)s2_json_int(object, "top_logprobs", &out->n_top);
    return S2P_OK;
}

/* "settings" of a comparison, or the one "prune" object. */
static s2p_status read_settings(const json_t *json, const s2_engine_setup *setup, s2_ask_job *out,
                                char param[S2_JSON_PARAM], s2p_error *error)
{
    const json_t *list = json_object_get(json, "settings");
    const json_t *seed_value = json_object_get(json_object_get(json, "sampling"), "seed");
    const uint64_t seed = (uint64_t)json_integer_value(seed_value);
    out->is_compare = json_is_array(list);
    const size_t n = out->is_compare ? json_array_size(list) : 1;
    if (n < 1 || n > S2_SERVE_MAX_SETTINGS)
        return s2_fail(error, S2P_ELIMIT, "%zu settings to compare; the limit is %d", n,
                       S2_SERVE_MAX_SETTINGS);
    for (size_t i = 0; i < n; i++) {
        char path[32] = "prune.";
        if (out->is_compare) (void)snprintf(path, sizeof path, "settings[%zu].", i);
        const json_t *object =
            out->is_compare ? json_array_get(list, i) : json_object_get(json, "prune");
        out->n_settings++;
        TRY(s2a_prune_read(object, path, s2_json_string(json, "virtual"), &setup->setting,
                           json_is_integer(seed_value) ? &seed : NULL, &out->setting[i], param,
                           error));
        TRY(s2_job_masks_add(json, (int32_t)i, &out->setting[i].boxes, error));
    }
    return S2P_OK;
}

/* A budget of 0 is no thoughts. */
static void read_reasoning(const json_t *json, const s2_engine_setup *setup, s2_ask_job *out)
{
    const json_t *thinks = json_object_get(json, "reasoning");
    int32_t budget = setup->thought_budget > 0 ? setup->thought_budget : -1;
    (void)s2_json_int(json, "reasoning_budget", &budget);
    out->thinks = (thinks ? json_is_true(thinks) : setup->thinks) && budget != 0;
    out->thought_budget = budget > 0 ? budget : 0;
    out->thoughts_in_text = json_is_true(json_object_get(json, "reasoning_in_text"));
}

s2p_status s2_ask_job_read(const s2_job_parts *parts, json_t *json, const s2_engine_setup *setup,
                           const s2v_engine *engine, s2_ask_job *out, char param[S2_JSON_PARAM],
                           s2p_error *error)
{
    const json_t *sampling = json_object_get(json, "sampling");
    *out = (s2_ask_job){ .json = json_incref(json) };
    param[0] = '\0';
    out->wants_progress = json_is_true(json_object_get(json, "progress"));
    out->is_raw = json_is_true(json_object_get(json, "raw"));
    read_reasoning(json, setup, out);
    out->salt = (uint64_t)json_integer_value(json_object_get(json, "salt"));
    TRY(read_settings(json, setup, out, param, error));
    (void)snprintf(param, S2_JSON_PARAM, "stop");
    TRY(read_sampling(sampling, setup, out, error));
    (void)snprintf(param, S2_JSON_PARAM, "logit_bias");
    TRY(s2_ask_job_bias(json_object_get(sampling, "bias"), engine, out, error));
    (void)snprintf(param, S2_JSON_PARAM, "messages");
    TRY(measure_pictures(parts, json, setup, out, error));
    TRY(read_messages(json_object_get(json, "messages"), out, error));
    param[0] = '\0';
    return check_room(out, engine, error);
}

s2p_status s2_ask_job_decode(const s2_job_parts *parts, const s2_engine_setup *setup,
                             const atomic_bool *is_cancelled, s2_ask_job *job,
                             char param[S2_JSON_PARAM], s2p_error *error)
{
    const double start = s2_now_ms();
    (void)snprintf(param, S2_JSON_PARAM, "messages");
    for (int32_t i = 0; i < job->n_pictures; i++) {
        if (atomic_load(is_cancelled))
            return s2_fail(error, S2P_ECANCELLED, "the client has disconnected");
        TRY(s2_job_picture(parts, (size_t)i, setup, &job->picture[i], error));
        job->view[i] = job->picture[i].view;
    }
    job->image_ms = s2_now_ms() - start;
    s2_job_mask_source masks = { parts, job->json, setup, is_cancelled };
    return apply_boxes(&masks, job, param, error);
}

void s2_ask_job_free(s2_ask_job *job)
{
    for (int32_t i = 0; i < job->n_pictures; i++) s2_image_free(&job->picture[i]);
    for (int32_t s = 0; s < job->n_settings; s++) {
        s2a_prune_request_free(&job->setting[s]);
        for (int32_t i = 0; i < job->n_pictures; i++) s2a_regions_free(&job->region[s][i]);
    }
    s2_pool_free(&job->pool);
    json_decref(job->json);
    *job = (s2_ask_job){ .json = NULL };
}

s2v_prune_options s2_ask_job_prune(s2_ask_job *job, const s2a_prune_request *setting, int32_t step)
{
    const bool by_detail = job->has_details && !setting->has_budget;
    const s2v_budget budget = s2a_budget_step(setting->setting.budget, step);
    for (int32_t i = 0; by_detail && i < job->n_pictures; i++)
        if (job->is_usual[i]) job->image_budget[i] = budget;
    s2v_prune_options prune = s2a_prune_options(
        &setting->setting, &(s2a_limits){ .image_budget = by_detail ? job->image_budget : NULL });
    prune.budget = budget;
    prune.keep = setting->keep;
    prune.n_keep = setting->n_keep;
    if (setting->keep) prune.budget = (s2v_budget){ .tokens = setting->n_keep };
    return prune;
}

bool s2_ask_job_has_steps(const s2_ask_job *job, const s2a_prune_request *setting)
{
    bool is_any = !job->has_details || setting->has_budget;
    for (int32_t i = 0; i < job->n_pictures; i++) is_any |= job->is_usual[i];
    return is_any && job->n_answers == 1 && job->n_pictures > 0 &&
           setting->setting.budget.n_more > 0 && !s2a_keeps_all(&setting->setting) &&
           !setting->keep;
}

s2v_prompt s2_ask_job_prompt(s2_ask_job *job, const s2a_prune_request *setting)
{
    for (int32_t i = 0; i < job->n_pictures; i++) {
        job->option[i].before_tower = setting->setting.has_before;
        job->option[i].pixelprune = setting->setting.before;
        job->option[i].regions = job->region[setting - job->setting][i].region;
        job->option[i].n_regions = job->region[setting - job->setting][i].n;
    }
    return (s2v_prompt){ .size = sizeof(s2v_prompt),
                         .messages = job->is_raw ? NULL : job->message,
                         .n_messages = job->is_raw ? 0 : job->n_messages,
                         .raw = job->is_raw ? job->message[job->n_messages - 1].text : NULL,
                         .images = job->view,
                         .n_images = job->n_pictures,
                         .image_options = job->option,
                         .n_answer = job->has_predict ? job->n_predict : 0,
                         .cache_salt = job->salt,
                         .reasoning = job->thinks,
                         .reasoning_budget = job->thought_budget };
}
