/* route_table.c - all paths. Those that are not public need the key. */
#include "serve/front/routes.h"

#include <string.h>

/* clang-format off */
static const s2_route routes[] = {
    { "GET",  "/health",                               true,  s2_handle_health },
    { "GET",  "/v1/health",                            true,  s2_handle_health },
    { "GET",  "/v1/models",                            false, s2_handle_models },
    { "GET",  "/v1/models/",                           false, s2_handle_model },
    { "GET",  "/models",                               false, s2_handle_models },
    { "POST", "/v1/chat/completions",                  false, s2_handle_chat },
    { "POST", "/chat/completions",                     false, s2_handle_chat },
    { "POST", "/v1/chat/completions/input_tokens",     false, s2_handle_count },
    { "GET",  "/v1/prune/methods",                     false, s2_handle_methods },
    { "POST", "/v1/prune/plan",                        false, s2_handle_plan },
    { "POST", "/v1/prune/compare",                     false, s2_handle_compare },
    { "GET",  "/v1/eval/runs",                         false, s2_handle_runs },
    { "GET",  "/v1/eval/runs/",                        false, s2_handle_run },
    { "POST", "/tokenize",                             false, s2_handle_tokenize },
    { "POST", "/detokenize",                           false, s2_handle_detokenize },
    { "POST", "/apply-template",                       false, s2_handle_template },
    { "GET",  "/props",                                false, s2_handle_props },
    { "GET",  "/slots",                                false, s2_handle_slots },
    { "GET",  "/metrics",                              false, s2_handle_metrics },
    { "POST", "/debug/crash",                          false, s2_handle_crash },
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
