/* session.h - the struct of a session, for the files that use it. */
#ifndef S2_ENGINE_SESSION_H
#define S2_ENGINE_SESSION_H

#include "engine/engine.h"
#include "engine/options.h"
#include "engine/decoder/probe.h"
#include "engine/decoder/sight.h"
#include "engine/session/guided.h"
#include "engine/session/many.h"
#include "engine/session/plans.h"
#include "engine/session/progress.h"
#include "engine/session/thoughts.h"
#include "engine/vision/last_frame.h"
#include "text/sample.h"

/* name: as in prompt/trace.h. data: [rows][cols]. */
typedef void (*s2v_trace_callback)(const char *name, int32_t index, const float *data, int32_t rows,
                                   int32_t cols, void *user);

typedef struct s2v_trace {
    s2v_trace_callback show; /* NULL: not traced */
    void *user;
    bool attention; /* "k_rope" and "attn" as well: slow */
    bool masks;     /* dropped rows stay, but are masked for all other rows */
} s2v_trace;

struct s2v_session {
    s2v_engine *engine;
    s2v_session_options options;
    uint64_t taken_bytes;                 /* of engine->session_bytes */
    uint64_t compute_bytes, device_bytes; /* of them, and of the device, for graphs and rows */
    uint64_t prompt_bytes;                /* of engine->session_bytes, until the prefill is over */
    bool grows;                           /* n_ctx was 0: the context grows when it is full */
    s2v_backends backends;
    s2v_traffic traffic;
    s2v_graph graph;
    s2v_past past;
    s2v_rows rows;
    s2v_unrounded unrounded; /* while a method reads a layer */
    bool erc_deepstack;      /* ERC counts what is added after the layer as well */

    s2v_plans plans; /* of the last prefill */
    s2v_last_frame last_frame;
    uint64_t last_salt; /* of the prompt that set it */
    int32_t next_pos;   /* of the next text token, as if nothing had been pruned */
    int32_t pending;    /* picked but not yet in the cache; -1: none */

    bool has_logits;
    float *logits;       /* [n_vocab] */
    int32_t position[4]; /* of one token: an input of the graph being drawn */

    s2v_many many;           /* if it is the first of a joint pass */
    s2v_row_masks row_masks; /* what a token sees: an input of the graph being drawn */

    s2v_sampler *sampler;
    s2v_thoughts thoughts; /* of the answer */
    s2v_guided guided;     /* options.sampling.constraint */
    s2v_stop *stop;        /* options.stop */
    s2v_logit_bias *bias;  /* options.sampling.bias; owned, NULL: none */
    s2v_detokenizer detokenizer;
    s2_buffer text, shown; /* of one token; the part that is not a stop string */
    size_t n_carried;      /* bytes of text from before, still to be fed to `stop` */
    s2v_tokens generated;

    s2v_progress progress;
    bool is_busy; /* inside a prefill: a callback may be running */
    s2v_recorder recorder;
    void *recorder_user;
    s2v_trace trace;
};

/* Nodes of a session's largest graph: each layer's, and text between pictures. */
static inline int32_t s2v_session_nodes(const s2v_engine *engine)
{
    const s2v_decoder_params *p = &engine->model.decoder.p;
    return (80 + (p->n_experts > 0 ? 36 + 2 * p->n_experts_used : 0)) * p->n_layers + 1024;
}

/* Its rows and its decoder, for the functions of probe.h. */
static inline s2v_probed s2v_session_probed(s2v_session *session)
{
    return (s2v_probed){ .decoder = &session->engine->model.decoder,
                         .graph = &session->graph,
                         .past = &session->past,
                         .rows = &session->rows,
                         .unrounded = &session->unrounded,
                         .n_batch = session->options.n_batch };
}

/* Whether it uses the engine's cache. */
static inline bool s2v_session_remembers(const s2v_session *session)
{
    return session->engine->cache && !session->options.no_cache;
}

#endif /* S2_ENGINE_SESSION_H */
