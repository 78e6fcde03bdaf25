/* ollama_info.c - what clients of Ollama ask about the server: its models and its version. */
#include "serve/front/api/door.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static json_t *details_of(const json_t *hello)
{
    const char *family = s2_json_string(hello, "architecture");
    char size[32];
    (void)snprintf(size, sizeof size, "%.1fB",
                   json_number_value(json_object_get(hello, "n_params")) / 1e9);
    return json_pack("{s:s,s:s,s:s,s:[s],s:s,s:s}", "parent_model", "", "format", "gguf", "family",
                     family ? family : "", "families", family ? family : "", "parameter_size", size,
                     "quantization_level", "");
}

bool s2_handle_ollama_version(s2_exchange *x, s2_http_error *error)
{
    (void)error;
    s2_exchange_json(x, 200, json_pack("{s:s}", "version", s2p_version()));
    return true;
}

bool s2_handle_ollama_tags(s2_exchange *x, s2_http_error *error)
{
    const s2_models *models = &x->server->models;
    s2_model_info info;
    s2_chat_context context;
    s2_models_context(models, 0, &info, &context);
    if (!context.model[0]) return s2_http_fail(error, 503, NULL, "the model is loading");
    json_t *list = json_array();
    char name[320], when[40] = "";
    const time_t now = time(NULL);
    struct tm date;
    if (gmtime_r(&now, &date)) (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &date);
    for (size_t i = 0; s2_model_at(&context, i, name, sizeof name); i++) {
        json_t *hello = s2_link_hello(models->link[s2_models_find(models, name)]);
        json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:I,s:s,s:o}", "name", name, "model",
                                              name, "modified_at", when, "size",
                                              json_integer_value(json_object_get(hello, "size")),
                                              "digest", "", "details", details_of(hello)));
        json_decref(hello);
    }
    s2_exchange_json(x, 200, json_pack("{s:o}", "models", list));
    return true;
}

bool s2_handle_ollama_show(s2_exchange *x, s2_http_error *error)
{
    s2_body body;
    if (!s2_body_read(x->body.data, x->body.size, &body, error)) return false;
    const char *wanted = s2_json_string(body.json, "model");
    if (!wanted) wanted = s2_json_string(body.json, "name");
    const s2_models *models = &x->server->models;
    s2_model_info info;
    s2_chat_context context;
    s2_models_context(models, 0, &info, &context);
    json_t *hello = s2_link_hello(models->link[s2_models_find(models, wanted)]);
    char name[320];
    bool is_known = false;
    for (size_t i = 0; wanted && context.model[0] && s2_model_at(&context, i, name, sizeof name);
         i++) {
        const size_t n = strlen(name);
        is_known |= strncmp(wanted, name, n) == 0 &&
                    (wanted[n] == '\0' || strcmp(wanted + n, ":latest") == 0);
    }
    if (is_known) {
        const char *family = s2_json_string(hello, "architecture");
        json_t *about = json_pack(
            "{s:s,s:O?,s:O?,s:O?}", "general.architecture", family ? family : "",
            "general.parameter_count", json_object_get(hello, "n_params"), "context_length",
            json_object_get(hello, "n_ctx"), "embedding_length", json_object_get(hello, "n_embd"));
        s2_exchange_json(x, 200,
                         json_pack("{s:s,s:s,s:s,s:o,s:o,s:[s,s]}", "modelfile", "", "parameters",
                                   "", "template", "", "details", details_of(hello), "model_info",
                                   about, "capabilities", "completion", "vision"));
    } else if (!context.model[0]) {
        (void)s2_http_fail(error, 503, NULL, "the model is loading");
    } else {
        (void)s2_http_fail(error, 404, "model", "model '%.60s' not found", wanted ? wanted : "");
    }
    json_decref(hello);
    s2_body_free(&body);
    return is_known;
}

bool s2_handle_embeddings(s2_exchange *x, s2_http_error *error)
{
    (void)x;
    return s2_http_fail(error, 400, NULL,
                        "this server makes no embeddings: its models answer questions about "
                        "pictures; use a server with an embedding model");
}
