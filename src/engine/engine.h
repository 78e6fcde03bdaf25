/* engine.h - what an engine holds: a loaded model, read-only once it is open, and counters. */
#ifndef S2_ENGINE_ENGINE_H
#define S2_ENGINE_ENGINE_H

#include "constrain/constraint.h"
#include "engine/cache/cache.h"
#include "engine/vision/arch.h"
#include "text/tokenizer.h"

#include <stdatomic.h>

typedef struct s2v_offload { /* what lives on the main device */
    int32_t n_layers;        /* of the decoder, from the last */
    bool tower;              /* and its projector */
} s2v_offload;

typedef struct s2v_identity { /* identity.h; zeros without a cache */
    uint8_t tower[32];        /* the mmproj and what computes with it */
    uint8_t model[32];        /* both files */
} s2v_identity;

struct s2v_engine {
    s2v_engine_options options; /* callbacks and their user; the paths are not kept */
    s2v_devices devices;
    s2v_gguf *text, *mmproj; /* mapped weights point into them */
    s2v_weights *weights;
    s2v_offload offload;
    s2v_model model;
    s2v_tokenizer *tokenizer;
    char name[128];
    char tower_kernels[64]; /* of the tower's products, or "ggml" */
    int tower_rounds;       /* they are not exact */
    uint64_t n_parameters;
    s2v_cache *cache; /* NULL: nothing is remembered */
    s2v_identity identity;
    _Atomic(s2c_vocabulary *)
        vocabulary; /* for constraints; NULL until the first (answer_constraint.h) */
    atomic_uint_fast64_t session_bytes; /* of this machine, counted for all sessions (memory.h) */
    int memory_fd; /* what the system has available: a sandbox forbids to open it later; -1: unknown */
};

/* An engine without weights and without a cache, of which sizes can be asked and graphs drawn, and
 * nothing computed. */
s2p_status s2v_engine_outline(s2v_engine **out, const s2v_engine_options *options,
                              s2p_error *error);

#endif /* S2_ENGINE_ENGINE_H */
