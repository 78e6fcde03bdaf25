/* info_routes.c - health, models, properties, metrics. */
#include "serve/front/routes.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

bool s2_handle_health(s2_exchange *x, s2_http_error *error)
{
    s2_link_state state;
    s2_link_get_state(x->server->models.link[0], &state);
    const bool is_ready =
        x->server->models.n > 1 ? s2_models_are_ready(&x->server->models, NULL) : state.is_ready;
    const bool is_leaving = atomic_load(&x->server->is_leaving);
    if (is_ready && !is_leaving && !state.is_stuck) {
        s2_exchange_json(x, 200, json_pack("{s:s,s:s}", "status", "ok", "state", "ready"));
        return true;
    }
    if (is_leaving)
        (void)s2_http_fail(error, 503, NULL, "the server is shutting down");
    else if (state.is_failed)
        (void)s2_http_fail(error, 503, NULL, "the model cannot be loaded again");
    else if (state.is_stuck)
        (void)s2_http_fail(error, 503, NULL, "the engine is stuck");
    else if (state.has_been_ready)
        (void)s2_http_fail(error, 503, NULL, "the engine is restarting");
    else
        (void)s2_http_fail(error, 503, NULL, "the model is loading (%s, %.0f %%)", state.step,
                           100.0 * state.done);
    json_t *json = s2_http_error_json(error);
    json_object_set_new(json, "progress", json_real(state.done));
    json_object_set_new(json, "state",
                        json_string(state.is_failed  ? "failed"
                                    : state.is_stuck ? "stuck"
                                                     : "loading"));
    x->retry_after_s = 1;
    s2_exchange_json(x, 503, json);
    return true;
}

/* What clients read about the model of this name; hello NULL: it is virtual. */
static json_t *model_json(const json_t *hello, const char *name)
{
    static const char *const names[] = { "n_vocab", "n_ctx",    "n_ctx_train",
                                         "n_embd",  "n_params", "size" };
    json_t *model = json_pack("{s:s,s:s,s:I,s:s}", "id", name, "object", "model", "created",
                              (json_int_t)time(NULL), "owned_by", "s2prune");
    if (!hello) return model;
    json_t *meta = json_object();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        json_object_set(meta, names[k], json_object_get(hello, names[k]));
    json_object_set_new(model, "meta", meta);
    return model;
}

/* All models (wanted NULL), or the one of this name. */
static bool answer_models(s2_exchange *x, const char *wanted, s2_http_error *error)
{
    const s2_models *models = &x->server->models;
    s2_model_info info;
    s2_chat_context context;
    s2_models_context(models, 0, &info, &context);
    if (!context.model[0]) return s2_http_fail(error, 503, NULL, "the model is loading");
    json_t *list = json_array();
    char name[320];
    for (size_t i = 0; s2_model_at(&context, i, name, sizeof name); i++) {
        if (wanted && strcmp(name, wanted) != 0) continue;
        const int32_t index = s2_models_find(models, name);
        json_t *hello = strchr(name, '@') ? NULL : s2_link_hello(models->link[index]);
        json_t *model = model_json(hello, name);
        if (models->n > 1)
            json_object_set_new(model, "status",
                                json_pack("{s:s}", "value", s2_models_status(models, index)));
        json_array_append_new(list, model);
        json_decref(hello);
    }
    const bool is_known = !wanted || json_array_size(list) > 0;
    if (is_known)
        s2_exchange_json(x, 200,
                         wanted ? json_incref(json_array_get(list, 0))
                                : json_pack("{s:s,s:O}", "object", "list", "data", list));
    json_decref(list);
    return is_known || s2_http_fail(error, 404, "model",
                                    "unknown model '%.60s'; GET /v1/models lists them", wanted);
}

bool s2_handle_models(s2_exchange *x, s2_http_error *error)
{
    return answer_models(x, NULL, error);
}

bool s2_handle_model(s2_exchange *x, s2_http_error *error)
{
    char name[320];
    const char *at = x->target + strlen(x->route->path);
    if (!s2_target_decode(at, s2_target_path(at), name, sizeof name))
        return s2_http_fail(error, 400, NULL, "the name of the model is not valid in the path");
    return answer_models(x, name, error);
}

bool s2_handle_props(s2_exchange *x, s2_http_error *error)
{
    const s2_front_options *o = x->server->options;
    json_t *hello = s2_link_hello(x->server->models.link[0]);
    (void)error;
    json_t *json = json_pack(
        "{s:s,s:i,s:{s:b},s:{s:I,s:I,s:i,s:i},s:b,s:b,s:b,s:b,s:o}", "build_info", s2p_version(),
        "total_slots", o->n_parallel, "modalities", "vision", 1, "limits", "body_bytes",
        (json_int_t)o->max_body, "image_pixels", (json_int_t)o->max_image_pixels, "queue",
        o->n_queue, "images", S2_CHAT_MAX_PICTURES, "has_key", o->access.n_keys > 0, "has_tls",
        o->ssl_key != NULL, "is_open_without_tls",
        !o->unix_socket && !s2_host_is_loopback(o->host) && o->ssl_key == NULL, "has_results",
        o->results_dir != NULL, "model", hello ? json_copy(hello) : json_null());
    json_t *settings = json_object();
    json_object_set_new(settings, "n_ctx", json_copy(json_object_get(hello, "n_ctx")));
    json_object_set_new(json, "default_generation_settings", settings);
    json_decref(hello);
    s2_exchange_json(x, 200, json);
    return true;
}

bool s2_handle_slots(s2_exchange *x, s2_http_error *error)
{
    s2_link_state state;
    s2_models_state(&x->server->models, &state);
    (void)error;
    json_t *slots = json_array();
    for (int32_t i = 0; i < x->server->options->n_parallel; i++)
        json_array_append_new(
            slots, json_pack("{s:i,s:b}", "id", i, "is_processing", i < state.n_running));
    s2_exchange_json(x, 200, slots);
    return true;
}

/* --- metrics ------------------------------------------------------------------------------ */

static void put_metric(s2_buffer *out, const char *name, const char *type, const char *help,
                       double value)
{
    s2_buffer_printf(out, "# HELP s2prune_%s %s\n# TYPE s2prune_%s %s\ns2prune_%s %.17g\n", name,
                     help, name, type, name, value);
}

bool s2_handle_metrics(s2_exchange *x, s2_http_error *error)
{
    s2_server *s = x->server;
    s2_link_state state;
    s2_models_state(&s->models, &state);
    if (!s->options->has_metrics)
        return s2_http_fail(error, 404, NULL,
                            "metrics are disabled; start the server with --metrics");
    s2_buffer out;
    s2_buffer_init(&out, 65536);
    put_metric(&out, "requests_total", "counter", "Requests received.",
               (double)atomic_load(&s->n_requests));
    s2_buffer_printf(&out, "# HELP s2prune_answers_total Answers by status class.\n"
                           "# TYPE s2prune_answers_total counter\n");
    for (int i = 2; i < S2_N_STATUS / 100; i++)
        s2_buffer_printf(&out, "s2prune_answers_total{status=\"%dxx\"} %llu\n", i,
                         (unsigned long long)atomic_load(&s->n_answers[i]));
    put_metric(&out, "prompt_tokens_total", "counter", "Prompt tokens after pruning.",
               (double)atomic_load(&s->n_prompt_tokens));
    put_metric(&out, "cached_tokens_total", "counter", "Prompt tokens found in the cache.",
               (double)atomic_load(&s->n_cached));
    put_metric(&out, "image_tokens_full_total", "counter", "Visual tokens before pruning.",
               (double)atomic_load(&s->n_image_tokens_full));
    put_metric(&out, "image_tokens_total", "counter", "Visual tokens after pruning.",
               (double)atomic_load(&s->n_image_tokens));
    put_metric(&out, "generated_tokens_total", "counter", "Tokens generated.",
               (double)atomic_load(&s->n_generated));
    put_metric(&out, "tower_runs_total", "counter", "Pictures the vision tower ran for.",
               (double)atomic_load(&s->n_towers));
    put_metric(&out, "decode_passes_total", "counter",
               "Passes over the weights for the next tokens of answers.",
               (double)atomic_load(&s->n_passes));
    put_metric(&out, "decode_tokens_total", "counter", "Tokens generated by these passes.",
               (double)atomic_load(&s->n_pass_tokens));
    put_metric(&out, "requests_running", "gauge", "Requests in the engine.", state.n_running);
    put_metric(&out, "requests_queued", "gauge", "Requests waiting.", state.n_queued);
    put_metric(&out, "requests_refused_total", "counter",
               "Requests refused because the queue was full.", (double)state.n_refused);
    put_metric(&out, "engine_starts_total", "counter", "Times the engine was started.",
               (double)state.n_starts);
    put_metric(&out, "engine_deaths_total", "counter", "Times the engine process ended.",
               (double)state.n_deaths);
    put_metric(&out, "models_loaded", "gauge", "Models that are loaded.",
               s2_models_loaded(&s->models));
    put_metric(&out, "connections", "gauge", "Open connections.",
               (double)atomic_load(&s->connections.n));
    put_metric(&out, "connections_reaped_total", "counter",
               "Connections closed for being too slow.",
               (double)atomic_load(&s->connections.n_reaped));
    put_metric(&out, "uptime_seconds", "gauge", "Seconds since the server started.",
               (s2_now_ms() - s->started_ms) / 1e3);
    s2_histograms_write(&s->histograms, &out);
    s2_exchange_text(x, 200, "text/plain; version=0.0.4", out.data, out.size);
    s2_buffer_free(&out);
    return true;
}
