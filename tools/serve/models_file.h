/* models_file.h - the file of `serve --models`: names, files and defaults of several models.
 *
 *     { "models": [ { "name": "small", "model": "small.gguf", "mmproj": "mmproj-small.gguf",
 *                     "pinned": true, "defaults": { "budget": 32, "ctx-size": 4096 } }, ... ] }
 */
#ifndef S2_TOOLS_MODELS_FILE_H
#define S2_TOOLS_MODELS_FILE_H

#include "base/pool.h"
#include "serve/front/front.h"

/* Fills out->model and n_models. argv: how the engine of a server of one model is started; each model adds its
 * own words. memory_mib 0: most of the memory of this machine. The rest belongs to the pool. */
s2p_status s2_models_file_read(const char *path, char *const *argv, int32_t memory_mib,
                               s2_pool *pool, s2_front_options *out, s2p_error *error);

#endif /* S2_TOOLS_MODELS_FILE_H */
