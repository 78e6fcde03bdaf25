/* models.h - the engine processes of a server, one for each model.
 *
 * A server of one model keeps it loaded. A server of several loads a model when a request names it, and
 * unloads the one that was used least recently where the memory limit leaves no room; pinned ones stay.
 * Requests wait in the queue of their model meanwhile.
 */
#ifndef S2_SERVE_MODELS_H
#define S2_SERVE_MODELS_H

#include "serve/front/chat_request.h"
#include "serve/front/front.h"
#include "serve/front/link.h"

typedef struct s2_models {
    const s2_front_options *options;
    int32_t n;
    s2_link *link[S2_FRONT_MAX_MODELS];
    const char *name[S2_FRONT_MAX_MODELS]; /* "" for the only one: the engine names it */
    double loaded_ms[S2_FRONT_MAX_MODELS]; /* when it was last told to load */
} s2_models;

s2p_status s2_models_start(s2_models *models, const s2_front_options *options, s2p_error *error);
void s2_models_stop(s2_models *models); /* ends every job */

/* Loads and unloads, as requests are waiting; often, from one thread. */
void s2_models_tick(s2_models *models);

/* All pinned models are loaded. false with *error filled: one cannot be. */
bool s2_models_are_ready(const s2_models *models, s2p_error *error);

/* Sums over all models; the rest as that of the first. */
void s2_models_state(const s2_models *models, s2_link_state *out);
int32_t s2_models_loaded(const s2_models *models);

/* The model of this name, also "NAME@virtual"; the first model if there is no such name. */
int32_t s2_models_find(const s2_models *models, const char *name);

/* What requests that name this model are checked against; the names of `info` are borrowed. */
void s2_models_context(const s2_models *models, int32_t index, s2_model_info *info,
                       s2_chat_context *out);

/* "loaded", "loading", "unloading" or "unloaded". */
const char *s2_models_status(const s2_models *models, int32_t index);

#endif /* S2_SERVE_MODELS_H */
