/* unrounded.h - the prompt's keys and values as they were computed, while a method reads layers.
 *
 * A past of F16 or Q8_0 rounds keys and values. If the layers a method reads attended to the rounded
 * ones, its selection would depend on the type of the cache. So up to the method's last prune point the
 * prompt's rows attend to unrounded keys and values:
 *
 *     all rows in one chunk     those of the chunk, straight from the products
 *     several chunks, or        a copy of one layer's, F32, held while that layer runs
 *     rows of earlier turns     and until its attention is read; the layers then run
 *                               one by one
 *
 * The past is written as usual, and everything after the prefill reads it. So does the question of a
 * method that does not read it: its rows run the same whether the rows before them were computed or
 * come from the prefix cache. Rows of earlier turns are as the past rounded them.
 */
#ifndef S2_ENGINE_UNROUNDED_H
#define S2_ENGINE_UNROUNDED_H

#include "engine/decoder/past.h"
#include "engine/decoder/rows.h"

typedef struct s2v_unrounded { /* all zero: every row reads the past */
    int32_t n_layers;          /* layers before this one attend to unrounded keys and values */
    bool with_question;        /* the question's rows too */
    int32_t n_held;            /* 1 + the layer whose keys and values are held; 0: none is */
    int32_t capacity;          /* slots */
    struct ggml_context *ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor *k, *v; /* F32 [n_kv_heads * head_dim, capacity] */
} s2v_unrounded;

/* For layers [0, n_layers) of the prefill that begins; does nothing where the past is F32. */
void s2v_unrounded_start(s2v_unrounded *unrounded, s2v_kv_types past, int32_t n_layers,
                         bool with_question);
void s2v_unrounded_end(s2v_unrounded *unrounded);

/* The most that is held at a time: one layer of a full context, 0 where the past is F32. */
uint64_t s2v_unrounded_bytes(const s2v_decoder *decoder, int32_t n_ctx, s2v_kv_types past);

/* Whether `row` of the prompt attends to unrounded keys and values in `layer`; and whether those of the
 * layer have to be held for that, with chunks of n_batch rows. */
bool s2v_unrounded_row(const s2v_unrounded *unrounded, const s2v_rows *rows, int32_t layer,
                       int32_t row);
bool s2v_unrounded_is_held(const s2v_unrounded *unrounded, const s2v_rows *rows,
                           const s2v_past *past, int32_t layer, int32_t n_batch);

/* Before the first chunk of `layer`: room on its device for what it remembers and n_rows more, and a
 * copy of the former. */
s2p_status s2v_unrounded_hold(s2v_unrounded *unrounded, const s2v_past *past, s2v_graph *graph,
                              int32_t layer, int32_t n_rows, s2p_error *error);

#endif /* S2_ENGINE_UNROUNDED_H */
