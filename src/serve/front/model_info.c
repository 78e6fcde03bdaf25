/* model_info.c - three fields of hello. */
#include "serve/front/model_info.h"

#include <stdio.h>

void s2_model_info_get(s2_server *server, s2_model_info *out)
{
    json_t *hello = s2_link_hello(server->link);
    const char *model = s2_json_string(hello, "model"), *ggml = s2_json_string(hello, "ggml");
    *out = (s2_model_info){ .n_ctx = 1 << 20 };
    (void)snprintf(out->model, sizeof out->model, "%s", model ? model : "");
    (void)snprintf(out->ggml, sizeof out->ggml, "%s", ggml ? ggml : "");
    (void)s2_json_int(hello, "n_ctx", &out->n_ctx);
    json_decref(hello);
}
