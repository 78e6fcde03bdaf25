/* many.h - several sessions advance together: s2v_decode_many of s2vlm.h, and what s2v_prefill_many
 * shares with it. */
#ifndef S2_ENGINE_MANY_H
#define S2_ENGINE_MANY_H

#include "engine/decoder/draw.h"
#include "engine/engine.h"
#include "engine/backend/graph.h"

#define S2V_MANY_MAX 64 /* sessions in one pass, as s2vlm.h says */

typedef struct s2v_many { /* of the first session of a pass; all zero: it has not been the first */
    int32_t capacity;     /* rows the graph has nodes for */
    s2v_graph graph;
    int32_t id[S2V_MANY_MAX], position[4 * S2V_MANY_MAX]; /* its inputs */
} s2v_many;

void s2v_many_free(s2v_many *many);

/* Nodes of a graph of all layers in which n sessions attend on their own. */
static inline int32_t s2v_many_nodes(const s2v_engine *engine, int32_t n)
{
    const s2v_decoder_params *p = &engine->model.decoder.p;
    const int32_t of_experts = p->n_experts > 0 ? 36 + 2 * p->n_experts_used : 0;
    return (64 + of_experts + 40 * n) * p->n_layers + 1024;
}

/* Tokens id: I32 [span->n] through all layers; logits: out, [n_entries] of a row of each session. */
void s2v_many_draw(s2v_graph *graph, const s2v_model *model, struct ggml_tensor *id,
                   const s2v_span *span, struct ggml_tensor **logits);

/* Check the sessions: not too many, all different, of one engine. */
s2p_status s2v_many_check_count(size_t n, s2p_error *error);
s2p_status s2v_many_check(s2v_session *const *sessions, size_t n, s2p_error *error);

#endif /* S2_ENGINE_MANY_H */
