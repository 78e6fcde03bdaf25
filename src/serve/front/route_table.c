/* route_table.c - all paths. Those that are not public need the key. */
#include "serve/front/api/door.h"

#include <string.h>

/* clang-format off */
static const s2_route routes[] = {
    { "GET",  "/health",                               true,  s2_handle_health, NULL },
    { "GET",  "/v1/health",                            true,  s2_handle_health, NULL },
    { "GET",  "/v1/models",                            false, s2_handle_models, NULL },
    { "GET",  "/v1/models/",                           false, s2_handle_model, NULL },
    { "GET",  "/models",                               false, s2_handle_models, NULL },
    { "POST", "/v1/chat/completions",                  false, s2_handle_chat, NULL },
    { "POST", "/chat/completions",                     false, s2_handle_chat, NULL },
    { "POST", "/v1/chat/completions/input_tokens",     false, s2_handle_count, NULL },
    { "POST", "/v1/completions",                       false, s2_handle_door, &s2_door_completions },
    { "POST", "/completions",                          false, s2_handle_door, &s2_door_completions },
    { "POST", "/completion",                           false, s2_handle_door, &s2_door_completion },
    { "POST", "/v1/responses",                         false, s2_handle_door, &s2_door_responses },
    { "POST", "/v1/responses/input_tokens",            false, s2_handle_count, &s2_door_responses },
    { "POST", "/responses",                            false, s2_handle_door, &s2_door_responses },
    { "POST", "/v1/messages",                          false, s2_handle_door, &s2_door_messages },
    { "POST", "/v1/messages/count_tokens",             false, s2_handle_count, &s2_door_messages_count },
    { "POST", "/api/chat",                             false, s2_handle_door, &s2_door_ollama_chat },
    { "POST", "/api/generate",                         false, s2_handle_door, &s2_door_ollama_generate },
    { "GET",  "/api/tags",                             false, s2_handle_ollama_tags, &s2_door_ollama_chat },
    { "POST", "/api/show",                             false, s2_handle_ollama_show, &s2_door_ollama_chat },
    { "GET",  "/api/version",                          false, s2_handle_ollama_version, &s2_door_ollama_chat },
    { "POST", "/v1/embeddings",                        false, s2_handle_embeddings, NULL },
    { "POST", "/embeddings",                           false, s2_handle_embeddings, NULL },
    { "POST", "/api/embed",                            false, s2_handle_embeddings, &s2_door_ollama_chat },
    { "POST", "/api/embeddings",                       false, s2_handle_embeddings, &s2_door_ollama_chat },
    { "GET",  "/v1/prune/methods",                     false, s2_handle_methods, NULL },
    { "POST", "/v1/prune/plan",                        false, s2_handle_plan, NULL },
    { "POST", "/v1/prune/compare",                     false, s2_handle_compare, NULL },
    { "GET",  "/v1/eval/runs",                         false, s2_handle_runs, NULL },
    { "GET",  "/v1/eval/runs/",                        false, s2_handle_run, NULL },
    { "POST", "/tokenize",                             false, s2_handle_tokenize, NULL },
    { "POST", "/detokenize",                           false, s2_handle_detokenize, NULL },
    { "POST", "/apply-template",                       false, s2_handle_template, NULL },
    { "GET",  "/props",                                false, s2_handle_props, NULL },
    { "GET",  "/slots",                                false, s2_handle_slots, NULL },
    { "GET",  "/metrics",                              false, s2_handle_metrics, NULL },
    { "POST", "/debug/crash",                          false, s2_handle_crash, NULL },
};
/* clang-format on */

#define N_ROUTES (sizeof routes / sizeof *routes)

const s2_route *s2_route_at(size_t index) { return index < N_ROUTES ? &routes[index] : NULL; }

/* A path that ends in '/' is followed by a name. */
static bool is_path(const char *path, const char *wanted, size_t n)
{
    const size_t length = strlen(path);
    if (path[length - 1] != '/') return length == n && memcmp(path, wanted, n) == 0;
    return n > length && memcmp(path, wanted, length) == 0 &&
           !memchr(wanted + length, '/', n - length);
}

const s2_route *s2_route_find(const char *method, const char *path, size_t n, const char **allow)
{
    *allow = NULL;
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    if (n > 1 && path[n - 1] == '/') n--; /* as many clients write it */
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (!is_path(routes[i].path, path, n)) continue;
        if (strcmp(routes[i].method, wanted) == 0) return &routes[i];
        *allow = routes[i].method;
    }
    return NULL;
}
