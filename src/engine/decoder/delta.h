/* delta.h - draw a gated delta net: how a layer without keys mixes rows. */
#ifndef S2_ENGINE_DELTA_H
#define S2_ENGINE_DELTA_H

#include "engine/decoder/draw.h"

/* Normed rows x [n_embd, n] through layer i, as draw.h draws them: all rows of one session or of several.
 * Changes what the layer remembers in place. is_last_only: what comes out is of the last row, with entries
 * of the last of each; all rows change the state. past: NULL with span->entry. */
struct ggml_tensor *s2v_draw_delta_net(s2v_graph *graph, const s2v_decoder_params *p,
                                       const s2v_layer *layer, int32_t i, const s2v_past *past,
                                       struct ggml_tensor *x, const s2v_span *span,
                                       bool is_last_only);

#endif /* S2_ENGINE_DELTA_H */
