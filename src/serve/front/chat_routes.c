/* chat_routes.c - parse the body, make a job of it, submit it to the engine. */
#include "serve/front/api/door.h"

#include "base/clock.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_PICTURE ((size_t)20 << 20)
#define MAX_TOKEN_LIST 65536

/* --- on the engine thread ------------------------------------------------------------ */

static s2_exchange *exchange_of(s2_link_job *job)
{
    return (s2_exchange *)(void *)((char *)job - offsetof(s2_exchange, job));
}

static void on_frame(s2_link_job *job, const s2_frame *frame)
{
    s2_exchange *x = exchange_of(job);
    pthread_mutex_lock(&x->lock);
    if ((frame->type == S2_FRAME_TEXT || frame->type == S2_FRAME_TOKENS) &&
        x->record.first_ms == 0.0)
        x->record.first_ms = s2_now_ms();
    if (!x->is_done && !x->is_gone) x->receive(x, frame);
    s2_exchange_wake(x);
    pthread_mutex_unlock(&x->lock);
}

static void on_end(s2_link_job *job, s2_job_end how)
{
    s2_exchange *x = exchange_of(job);
    s2_http_error error;
    const char *id = x->record.id;
    pthread_mutex_lock(&x->lock);
    x->record.started_ms = job->started_ms;
    x->record.ended_ms = s2_now_ms();
    if (how == S2_JOB_ANSWERED) s2_histograms_add(&x->server->histograms, &x->record);
    if (how == S2_JOB_LOST) {
        s2_link_state state;
        s2_link_get_state(x->link, &state);
        (void)s2_http_fail(
            &error, 500, NULL, "%s (id %s)",
            state.why[0] ? state.why : "the engine crashed while it processed this request", id);
        char line[128];
        (void)snprintf(line, sizeof line, "request %s was lost in the crash", id);
        x->server->options->log(line);
    } else if (how == S2_JOB_STUCK) {
        s2_link_state state;
        s2_link_get_state(x->link, &state);
        (void)s2_http_fail(&error, 503, NULL, "%s and is being restarted (id %s)",
                           state.why[0] ? state.why : "the engine was stuck", id);
        error.retry_after_s = 5;
    } else if (how == S2_JOB_FAILED) {
        (void)s2_http_fail(&error, 503, "model",
                           "the model could not be loaded; the log of the server says why");
    } else if (how == S2_JOB_STOPPED) {
        (void)s2_http_fail(&error, 503, NULL, "the server is shutting down");
    } else {
        (void)s2_http_fail(&error, 500, NULL, "the request was cancelled (id %s)", id);
    }
    s2_exchange_break(x, &error);
    s2_exchange_wake(x);
    pthread_mutex_unlock(&x->lock);
    s2_exchange_release(x);
}

/* --- submitting ------------------------------------------------------------------------------- */

/* x->job.frame, x->job.is_quick and x->receive are filled. */
static bool submit(s2_exchange *x, s2_http_error *error)
{
    s2_link_state state;
    s2_link_get_state(x->link, &state);
    if (!state.is_ready && !state.has_been_ready && x->server->models.n == 1) {
        (void)s2_http_fail(error, 503, NULL, "the model is loading (%s, %.0f %%)", state.step,
                           100.0 * state.done);
        error->retry_after_s = 2;
        return false;
    }
    if (x->job.frame.status != S2P_OK) return s2_http_fail(error, 503, NULL, "out of memory");
    x->job.receive = on_frame;
    x->job.end = on_end;
    x->has_job = true;
    x->asked_ms = x->sent_ms = x->record.queued_ms = s2_now_ms();
    atomic_fetch_add(&x->n_references, 1);
    const s2p_status st = s2_link_submit(x->link, &x->job);
    if (st == S2P_OK) {
        s2_connection_wait(&x->server->connections, x->connection, x);
        return true;
    }
    x->has_job = false;
    s2_exchange_release(x);
    if (st == S2P_EIO) {
        (void)s2_http_fail(error, 503, NULL,
                           "the model cannot be loaded again; the log of the server says why");
        error->retry_after_s = 5;
        return false;
    }
    (void)s2_http_fail(error, 429, NULL, "too many requests: %d are waiting; try again later",
                       state.n_queued);
    error->retry_after_s = 1 + state.n_queued / (x->server->options->n_parallel + 1);
    return false;
}

/* What is cached for the holder of one key is not found with another; without keys all are one. */
static void salt(const s2_exchange *x, json_t *job)
{
    if (x->salt) json_object_set_new(job, "salt", json_integer((json_int_t)x->salt));
}

static bool submit_json(s2_exchange *x, json_t *job, s2_http_error *error)
{
    const s2_chat_request request = { .job = job };
    salt(x, job);
    s2_chat_request_encode(&request, true, &x->job.frame);
    json_decref(job);
    x->job.is_quick = true;
    x->receive = s2_plain_receive;
    return submit(x, error);
}

static bool encode_and_submit(s2_exchange *x, const s2_chat_request *request, s2_http_error *error)
{
    salt(x, request->job);
    s2_chat_request_encode(request, x->job.is_quick, &x->job.frame);
    return submit(x, error);
}

/* Now, or after the remote pictures have been fetched. */
static bool send_request(s2_exchange *x, s2_chat_request *request, s2_http_error *error)
{
    return request->n_remote > 0 ? s2_remote_job_start(x, request, encode_and_submit, error)
                                 : encode_and_submit(x, request, error);
}

/* Which engine a request goes to, by its field model, and what it is checked against. */
static void choose_model(s2_exchange *x, const s2_body *body, s2_model_info *info,
                         s2_chat_context *out)
{
    const s2_models *models = &x->server->models;
    const int32_t index = s2_models_find(models, s2_json_string(body->json, "model"));
    x->link = models->link[index];
    s2_models_context(models, index, info, out);
    out->max_picture_bytes = MAX_PICTURE;
    out->media_path = x->server->options->media_path;
    out->image_hosts = x->server->options->image_hosts;
}

/* --- chat -------------------------------------------------------------------------------- */

typedef enum ask_kind { ASK_CHAT, ASK_COUNT, ASK_COMPARE, ASK_TEMPLATE, ASK_DOOR } ask_kind;

/* The body of a door becomes that of a chat; *own keeps what the client sent. */
static bool translate(s2_exchange *x, const s2_door *door, s2_body *body, json_t **own,
                      s2_http_error *error)
{
    json_t *chat = json_object();
    if (!chat) return s2_http_fail(error, 503, NULL, "out of memory");
    const bool is_fine =
        door->read(body->json, chat, error) && s2_left_fields_check(body->json, chat, error);
    if (door->repeats && (x->chat.repeated = json_object()))
        s2_door_take_all(body->json, door->repeats, x->chat.repeated);
    *own = body->json;
    body->json = chat;
    body->text.size = 0; /* of another API: schemas are not where a chat has them */
    return is_fine;
}

static bool handle_ask(s2_exchange *x, ask_kind kind, s2_http_error *error)
{
    s2_body body;
    s2_chat_request request = { .job = NULL };
    s2_model_info info;
    s2_chat_context context;
    const s2_door *door = kind == ASK_DOOR || kind == ASK_COUNT ? x->route->door : NULL;
    json_t *own = NULL;
    if (!(door && door->takes_base64 ? s2_body_read_base64
                                     : s2_body_read)(x->body.data, x->body.size, &body, error))
        return false;
    bool is_fine = !door || translate(x, door, &body, &own, error);
    choose_model(x, &body, &info, &context);
    if (is_fine) {
        is_fine = s2_chat_request_read(&body, &context, kind == ASK_COMPARE, &request, error);
        if (!is_fine && own) s2_door_rename(own, error);
    }
    json_decref(own);
    if (is_fine && request.n_answers > 1 && door && !door->has_choices)
        is_fine = s2_http_fail(error, 400, "n", "n must be 1 here");
    if (is_fine && (kind == ASK_COUNT || kind == ASK_TEMPLATE)) { /* of the prompt alone */
        request.n_answers = 1;
        json_object_del(json_object_get(request.job, "sampling"), "n");
    }
    if (is_fine) {
        s2_chat_answer *c = &x->chat;
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        c->created = (int64_t)now.tv_sec;
        (void)snprintf(c->id, sizeof c->id, "%s%llx%05lx%04llx", door ? door->id : "chatcmpl-",
                       (unsigned long long)now.tv_sec, (unsigned long)(now.tv_nsec / 1000),
                       (unsigned long long)(atomic_load(&x->server->n_requests) & 0xFFFF));
        (void)snprintf(c->model, sizeof c->model, "%s", request.model);
        (void)snprintf(c->fingerprint, sizeof c->fingerprint, "s2prune-%s-ggml-%.40s",
                       s2p_version(), info.ggml);
        c->includes_usage = request.includes_usage;
        c->wants_progress = request.wants_progress;
        c->has_logprobs = request.has_logprobs;
        c->has_tools = request.has_tools;
        c->streams = request.streams;
        c->n_choices = x->job.n_answers = request.n_answers;
        for (int32_t i = 0; i < c->n_choices; i++)
            (void)snprintf(c->choice[i].id, sizeof c->choice[i].id, i > 0 ? "%s_%d" : "%s", c->id,
                           (int)i);
        if (door && json_is_true(json_object_get(body.json, "raw_prompt")))
            json_object_set_new(request.job, "raw", json_true());
        if (kind == ASK_COUNT)
            json_object_set_new(json_object_get(request.job, "sampling"), "max_tokens",
                                json_integer(0));
        if (kind == ASK_TEMPLATE) json_object_set_new(request.job, "kind", json_string("template"));
        const bool is_answer = kind == ASK_CHAT || kind == ASK_DOOR;
        x->may_stream = kind == ASK_COMPARE || (is_answer && request.streams);
        x->job.is_quick = kind == ASK_TEMPLATE;
        x->receive = kind == ASK_DOOR       ? s2_door_receive
                     : kind == ASK_COMPARE  ? s2_compare_receive
                     : kind == ASK_COUNT    ? s2_count_receive
                     : kind == ASK_TEMPLATE ? s2_plain_receive
                     : request.streams      ? s2_chat_receive_stream
                                            : s2_chat_receive_whole;
    }
    s2_body_free(&body);
    s2_buffer_free(&x->body); /* pictures were copied out */
    is_fine = is_fine && send_request(x, &request, error);
    s2_chat_request_free(&request);
    return is_fine;
}

bool s2_handle_chat(s2_exchange *x, s2_http_error *error) { return handle_ask(x, ASK_CHAT, error); }

bool s2_handle_door(s2_exchange *x, s2_http_error *error) { return handle_ask(x, ASK_DOOR, error); }

bool s2_handle_count(s2_exchange *x, s2_http_error *error)
{
    return handle_ask(x, ASK_COUNT, error);
}

bool s2_handle_compare(s2_exchange *x, s2_http_error *error)
{
    return handle_ask(x, ASK_COMPARE, error);
}

bool s2_handle_template(s2_exchange *x, s2_http_error *error)
{
    return handle_ask(x, ASK_TEMPLATE, error);
}

/* --- plans and methods --------------------------------------------------------------------- */

bool s2_handle_plan(s2_exchange *x, s2_http_error *error)
{
    char format[16];
    s2_body body;
    s2_chat_request request = { .job = NULL };
    s2_target_query(x->target, "format", format, sizeof format);
    if (format[0] && strcmp(format, "json") != 0 && strcmp(format, "svg") != 0 &&
        strcmp(format, "png") != 0)
        return s2_http_fail(error, 400, "format", "format must be json, svg or png");
    if (!s2_body_read(x->body.data, x->body.size, &body, error)) return false;
    s2_model_info info;
    s2_chat_context context;
    choose_model(x, &body, &info, &context);
    bool is_fine =
        s2_plan_request_read(&body, &context, format[0] ? format : "json", &request, error);
    x->job.is_quick = true;
    x->receive = s2_plain_receive;
    x->result_type = strcmp(format, "svg") == 0   ? "image/svg+xml"
                     : strcmp(format, "png") == 0 ? "image/png"
                                                  : "application/json";
    s2_body_free(&body);
    is_fine = is_fine && send_request(x, &request, error);
    s2_chat_request_free(&request);
    return is_fine;
}

bool s2_handle_methods(s2_exchange *x, s2_http_error *error)
{
    return submit_json(x, json_pack("{s:s}", "kind", "methods"), error);
}

bool s2_handle_crash(s2_exchange *x, s2_http_error *error)
{
    if (!x->server->options->may_crash) return s2_http_fail(error, 404, NULL, "unknown path");
    return submit_json(x, json_pack("{s:s}", "kind", "crash"), error);
}

static s2_link *link_of(const s2_exchange *x, const s2_body *body)
{
    const s2_models *models = &x->server->models;
    return models->link[s2_models_find(models, s2_json_string(body->json, "model"))];
}

/* --- text -------------------------------------------------------------------------------- */

bool s2_handle_tokenize(s2_exchange *x, s2_http_error *error)
{
    s2_body body;
    if (!s2_body_read(x->body.data, x->body.size, &body, error)) return false;
    x->link = link_of(x, &body);
    json_t *content = json_object_get(body.json, "content");
    bool is_fine = json_is_string(content) && !s2_body_is_cut(content);
    if (is_fine)
        is_fine = submit_json(x,
                              json_pack("{s:s,s:O,s:b}", "kind", "tokenize", "content", content,
                                        "parse_special",
                                        json_is_true(json_object_get(body.json, "parse_special"))),
                              error);
    else
        (void)s2_http_fail(error, 400, "content", "content must be a string");
    s2_body_free(&body);
    return is_fine;
}

bool s2_handle_detokenize(s2_exchange *x, s2_http_error *error)
{
    s2_body body;
    if (!s2_body_read(x->body.data, x->body.size, &body, error)) return false;
    x->link = link_of(x, &body);
    json_t *tokens = json_object_get(body.json, "tokens");
    bool is_fine = json_is_array(tokens) && json_array_size(tokens) <= MAX_TOKEN_LIST;
    for (size_t i = 0; is_fine && i < json_array_size(tokens); i++)
        is_fine = json_is_integer(json_array_get(tokens, i));
    if (is_fine)
        is_fine =
            submit_json(x, json_pack("{s:s,s:O}", "kind", "detokenize", "tokens", tokens), error);
    else
        (void)s2_http_fail(error, 400, "tokens", "tokens must be a list of at most %d integers",
                           MAX_TOKEN_LIST);
    s2_body_free(&body);
    return is_fine;
}
