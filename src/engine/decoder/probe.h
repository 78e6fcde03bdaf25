/* probe.h - what pruning methods look at inside the decoder, computed beside its own work.
 *
 * Queries and keys of a layer follow from its input, so they are computed in a
 * graph of their own before the layer runs; attention of a few rows needs the
 * cache too, so it is computed after. The model itself stays on fused attention,
 * and nothing is computed that nobody asked for.
 */
#ifndef S2_ENGINE_PROBE_H
#define S2_ENGINE_PROBE_H

#include "engine/decoder/unrounded.h"
#include "prune/method.h"

typedef struct s2v_probed { /* the decoder and the rows that are looked at; all borrowed */
    const s2v_decoder *decoder;
    s2v_graph *graph;
    const s2v_past *past;
    s2v_rows *rows;
    const s2v_unrounded *unrounded;
    int32_t n_batch; /* rows of a graph at most */
} s2v_probed;

typedef struct s2v_decoder_request {
    uint32_t needs;           /* S2P_NEED_LAST_QUERY, _MEAN_QUERY, _PLAIN_KEY, _ROTATED_KEY, and
                                 _LAST_ATTN or _QUERY_ATTN for `query`; others are ignored */
    int32_t first_query;      /* rows from here on are asked for with _QUERY_ATTN; with _LAST_ATTN
                                 alone it is rows.n - 1 */
    const int32_t *mean_rows; /* [n_means] a mean query runs over the rows before each of these */
    int32_t n_means;
} s2v_decoder_request;

typedef struct s2v_decoder_probe { /* of one layer; owned floats, NULL where not asked for */
    float *last_query;             /* [n_heads][head_dim] of the last row, no rotation */
    float *mean_query;             /* [n_means][n_heads][head_dim] no rotation */
    float *plain_key;              /* [rows.n][n_kv_heads][head_dim] no rotation */
    float *rotated_key;            /* [rows.n][n_kv_heads][head_dim] */
    float *query;                  /* [rows.n - first_query][n_heads][head_dim] rotated */
} s2v_decoder_probe;

/* Queries and keys of `layer`, from the rows as they stand: call it before the layer runs. */
s2p_status s2v_decoder_probe_layer(const s2v_probed *on, int32_t layer,
                                   const s2v_decoder_request *request, s2v_decoder_probe *out,
                                   s2p_error *error);
void s2v_decoder_probe_free(s2v_decoder_probe *probe);

/* Attention of rows [first_query, rows.n) once `layer` has run, mean over heads, to each row of the
 * prompt; the softmax runs over every slot the row sees. query: s2v_decoder_probe.query of that layer. out:
 * [rows.n - first_query][rows.n]. */
s2p_status s2v_decoder_probe_attention(const s2v_probed *on, int32_t layer, const float *query,
                                       int32_t first_query, float *out, s2p_error *error);

/* All rows as they stand, through the final norm. out: [rows.n][n_embd]. */
s2p_status s2v_decoder_probe_normed(const s2v_probed *on, float *out, s2p_error *error);

#endif /* S2_ENGINE_PROBE_H */
