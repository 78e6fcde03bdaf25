/* model_info.h - what the engine said about its model. */
#ifndef S2_SERVE_MODEL_INFO_H
#define S2_SERVE_MODEL_INFO_H

#include "serve/front/server.h"

typedef struct s2_model_info {
    char model[200], ggml[48]; /* "" before the engine said hello */
    int32_t n_ctx;
} s2_model_info;

void s2_model_info_get(s2_server *server, s2_model_info *out);

#endif /* S2_SERVE_MODEL_INFO_H */
