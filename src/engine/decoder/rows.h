/* rows.h - the rows of the prompt being prefilled: hidden states on the device of the first layer, and
 * five numbers each, which only this file moves.
 */
#ifndef S2_ENGINE_ROWS_H
#define S2_ENGINE_ROWS_H

#include "engine/backend/graph.h"
#include "engine/decoder/decoder.h"

#define S2V_UNITS_OF_A_PICTURE 2 /* S2V_MAX_PARTS of vision/frame.h */

typedef struct s2v_rows {
    int32_t n, capacity;
    int32_t n_tail; /* of them the last: the question after the pictures, or 0. They run in chunks
                       of their own, so that no bit of a row before depends on them */
    struct ggml_context *ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor *hidden; /* F32 [n_embd, capacity], all layers long */
    struct ggml_tensor
        *deepstack;       /* F32 [n_embd, capacity, n_deepstack] what the first layers add, 0
                                      for text; NULL: the model adds nothing */
    bool has_deepstack;   /* and this prompt has pictures */
    s2v_traffic *traffic; /* borrowed */
    int32_t *unit;        /* [n] S2V_UNITS_OF_A_PICTURE * picture + part of the row, -1 for text */
    int32_t *token;       /* [n] which token of that part's grid it is; -1 for text */
    int32_t *pos[3];      /* [n] time, row, column */
    uint8_t *masked;      /* [n] rows no other row sees, for tests; NULL: none. Owned */
    int32_t *position;    /* scratch: an input of the graph being drawn, 4 planes */
    ggml_fp16_t *mask[2]; /* scratch: what rows see, without a window and with one (sight.h) */
    size_t n_mask[2];
} s2v_rows;

/* Room for n rows and n_spare more. traffic: borrowed as long as the rows. */
s2p_status s2v_rows_reserve(s2v_rows *rows, const s2v_decoder *decoder, const s2v_devices *devices,
                            s2v_traffic *traffic, int32_t n, int32_t n_spare, s2p_error *error);
void s2v_rows_free(s2v_rows *rows);

/* Hidden states of rows [first, first + n), for a graph. */
struct ggml_tensor *s2v_rows_view(struct ggml_context *ctx, const s2v_rows *rows, int32_t first,
                                  int32_t n);

/* The same read back or written. data: [n][n_embd]. */
void s2v_rows_get(const s2v_rows *rows, int32_t first, int32_t n, float *data);
void s2v_rows_set(const s2v_rows *rows, int32_t first, int32_t n, const float *data);

/* What layer `layer` adds to rows [first, first + n), for a graph; and the same read or written. */
struct ggml_tensor *s2v_rows_deepstack(struct ggml_context *ctx, const s2v_rows *rows,
                                       int32_t layer, int32_t first, int32_t n);
void s2v_rows_deepstack_get(const s2v_rows *rows, int32_t layer, int32_t first, int32_t n,
                            float *data);
void s2v_rows_deepstack_set(const s2v_rows *rows, int32_t layer, int32_t first, int32_t n,
                            const float *data);

/* Nothing is added to any row; has_pictures: until their rows are written. */
void s2v_rows_deepstack_clear(s2v_rows *rows, bool has_pictures);

/* Those of the listed rows. */
void s2v_rows_read(const s2v_rows *rows, const int32_t *row, int32_t n, float *data);
void s2v_rows_write(const s2v_rows *rows, const int32_t *row, int32_t n, const float *data);

/* Row i becomes what row keep[i] was, for i below n, except for its hidden state. -1 is a padding row:
 * the unit of the row before it, token -1, position -1. */
void s2v_rows_move(s2v_rows *rows, const int32_t *keep, int32_t n);

/* One-dimensional positions first, first + 1, ... of all rows. */
void s2v_rows_number(s2v_rows *rows, int32_t first);

/* Only the last n_tail rows stay, without hidden states. */
void s2v_rows_cut(s2v_rows *rows);

/* An input of the graph being drawn, at most one: positions of rows [first, first + n), as s2v_span wants
 * them. */
struct ggml_tensor *s2v_rows_positions(const s2v_rows *rows, s2v_graph *graph, int32_t n_planes,
                                       int32_t first, int32_t n);

#endif /* S2_ENGINE_ROWS_H */
