/* past.h - what the layers of a decoder remember of the rows they have seen.
 *
 * Sessions, forks, session files, the prefix cache and compaction use the functions below and look at
 * no tensor. What is behind them depends on the kind of the layer (decoder.h):
 *
 *     attention   a slot for each row: its key and its value, written after RoPE, so that a slot needs
 *                 no position. Any slots can be kept, and a snapshot can be of any run of them. Where
 *                 layers have windows, each slot has the position of its row: a window counts positions,
 *                 and rows may have left between two slots.
 *     delta net   a state of a fixed size that every row changes, F32 whatever the type of the slots.
 *                 No row can be taken out of it again: rows that leave are only not counted any more, and
 *                 a snapshot is of all rows, or of those there were at a mark.
 *
 * Layers count their rows separately, because pruning may leave early layers longer than later ones.
 * The context is what the last layer has room for. More rows may reach a layer before it: those of
 * pictures that are pruned behind it. Such a layer has wider memory until rows leave it, and as long
 * as the conversation lasts under methods that leave early layers whole.
 */
#ifndef S2_ENGINE_PAST_H
#define S2_ENGINE_PAST_H

#include "engine/backend/graph.h"
#include "engine/decoder/decoder.h"

typedef struct s2v_kv_types { /* of keys and of values */
    enum ggml_type k, v;
} s2v_kv_types;

typedef struct s2v_slots {     /* what a layer of attention remembers; for the files of decoder/ */
    struct ggml_tensor *k, *v; /* each [n_kv_heads * head_dim, slots] */
    int32_t n;                 /* filled, from the first */
    int32_t
        *pos; /* [slots] positions of the rows that are there, and as many to move them with; NULL:
                     no layer has a window. Owned */
    struct ggml_tensor *own[2];   /* keys and values in the memory every layer has: n_ctx slots */
    struct ggml_context *ctx;     /* of wider memory; NULL: there is none */
    ggml_backend_buffer_t buffer; /* of the same */
    struct ggml_tensor *state; /* instead of slots, F32 [s2v_delta_state]; NULL: there are slots */
    uint8_t *mark;             /* the state after n_mark rows; owned, NULL: none */
    int32_t n_mark;
} s2v_slots;

typedef struct s2v_past {
    int32_t n_ctx, n_layers;
    s2v_kv_types type;
    bool has_positions; /* some layers have windows */
    bool is_plain;      /* attention over it is drawn in its steps, not as one fused node */
    bool marks;         /* s2v_past_mark does something */
    s2v_slots *layer;   /* [n_layers] */
    struct ggml_context *ctx[2]; /* CPU, main device */
    ggml_backend_buffer_t buffer[2];
    s2v_traffic *traffic; /* borrowed */
} s2v_past;

/* value_type: S2V_KV_SAME for that of the keys. Both are in range. */
s2v_kv_types s2v_kv_types_of(s2v_kv_type key_type, s2v_kv_type value_type);

/* Room for n_ctx rows in every layer, on the device of the layer. */
s2p_status s2v_past_init(s2v_past *past, const s2v_decoder *decoder, const s2v_devices *devices,
                         int32_t n_ctx, s2v_kv_types type, s2p_error *error);
/* The same without memory, to measure graphs with. */
s2p_status s2v_past_outline(s2v_past *past, const s2v_decoder *decoder, const s2v_devices *devices,
                            int32_t n_ctx, s2v_kv_types type, s2p_error *error);
void s2v_past_free(s2v_past *past);
void s2v_past_clear(s2v_past *past); /* no layer remembers anything */

/* Bytes of a layer of attention with room for n_ctx rows; of layers [first, last), whatever they are. */
uint64_t s2v_past_layer_bytes(const s2v_decoder *decoder, int32_t n_ctx, s2v_kv_types type);
uint64_t s2v_past_bytes(const s2v_decoder *decoder, int32_t first, int32_t last, int32_t n_ctx,
                        s2v_kv_types type);

/* The same with room for more rows in the last layer; what the layers remember stays. */
s2p_status s2v_past_grow(s2v_past *past, const s2v_decoder *decoder, const s2v_devices *devices,
                         int32_t n_ctx, s2p_error *error);

/* Layers [first, last) have room for n more rows each, in wider memory where their own has not. */
s2p_status s2v_past_make_room(s2v_past *past, int32_t first, int32_t last, int32_t n,
                              s2p_error *error);

/* Bytes of wider memory a layer would take for n more rows, 0: it has room; and of what it has. */
uint64_t s2v_past_wider_bytes(const s2v_past *past, int32_t layer, int64_t n);
uint64_t s2v_past_wider_held(const s2v_past *past, int32_t layer);

/* Give back wider memory of layers whose rows fit their own again (s2v_past_keep). */
void s2v_past_narrow(s2v_past *past);

/* Rows a layer remembers; the layers from `first` on, below `last`, that remember the same rows as
 * `first`: the end of the run. */
int32_t s2v_past_length(const s2v_past *past, int32_t layer);
int32_t s2v_past_alike(const s2v_past *past, int32_t first, int32_t last);

/* Layers [first, last) have run on n more rows (draw.h writes them behind those there). pos: [n],
 * their positions; NULL: they are not known yet. */
void s2v_past_append(s2v_past *past, int32_t first, int32_t last, int32_t n, const int32_t *pos);

/* Layer `layer` moved the keys of all slots by so many positions (s2v_draw_shift). */
void s2v_past_shift(s2v_past *past, int32_t layer, int32_t by);

/* Whether a row at `pos` sees some slot of a layer no more, because it is outside of its window. */
bool s2v_past_is_cut(const s2v_past *past, int32_t layer, int32_t window, int32_t pos);

/* Of the last n_rows rows of layers [first, last) keep those in index, I32 [n], in its order; list: the
 * same numbers. Drawn
 * into the graph, counted at once. Where the graph fails the past has to be cleared. Rows in wider memory
 * go to the layer's own if those kept fit; once the graph is computed, s2v_past_narrow frees the former. */
void s2v_past_keep(s2v_past *past, s2v_graph *graph, int32_t first, int32_t last, int32_t n_rows,
                   struct ggml_tensor *index, const int32_t *list);

/* Bytes of a snapshot of n rows of a layer: of slots n times that of one, of a state always the same but
 * that 0 rows take none; and of the layer where that is most. */
size_t s2v_past_snapshot_bytes(const s2v_past *past, int32_t layer, int32_t n);
size_t s2v_past_largest_snapshot(const s2v_past *past);
size_t s2v_past_slot_bytes(const s2v_past *past);  /* of one row in a layer of attention */
size_t s2v_past_state_bytes(const s2v_past *past); /* of a state; 0: there are none */
bool s2v_past_is_state(const s2v_past *past, int32_t layer);

/* The states of layers [first, last) as they are, beside them, for snapshots of as many rows: where rows
 * follow that a snapshot is not to have. Only while past->marks, until it is unmarked; where there is no
 * memory nothing is marked, and s2v_past_has is false. */
void s2v_past_mark(s2v_past *past, int32_t first, int32_t last);
void s2v_past_unmark(s2v_past *past);
bool s2v_past_has(const s2v_past *past, int32_t layer,
                  int32_t n); /* a snapshot of the first n rows */

/* Rows [first, first + n) of a layer as bytes. Restored, the layer remembers these rows and no others;
 * extended, it remembers them behind those there, which a state cannot: only an empty one is extended. It
 * has room for them (s2v_past_make_room); a layer that is restored has room for n_ctx rows at least. */
void s2v_past_snapshot(const s2v_past *past, int32_t layer, int32_t first, int32_t n, uint8_t *out);
void s2v_past_restore(s2v_past *past, int32_t layer, int32_t n, const uint8_t *from);
void s2v_past_extend(s2v_past *past, int32_t layer, int32_t n, const uint8_t *from);

/* For the files of decoder/: rows [first, first + n) of a tensor of slots. */
struct ggml_tensor *s2v_slots_view(struct ggml_context *ctx, struct ggml_tensor *slots,
                                   int32_t first, int32_t n);

#endif /* S2_ENGINE_PAST_H */
