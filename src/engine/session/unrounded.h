/* unrounded.h - the prompt's keys and values as they were computed, while a method looks on.
 *
 * A cache of F16 or Q8_0 rounds keys and values. Would the layers a method reads
 * attend to what comes back, its choice would depend on the type of the cache. So up
 * to its last prune point the prompt's rows attend to unrounded keys and values:
 *
 *     all rows in one chunk     those of the chunk, straight from the products
 *     several chunks, or        a copy of one layer's, F32, held while that layer runs
 *     slots of earlier turns    and until its attention is read; the layers then run
 *                               one by one
 *
 * The cache is written as ever and everything after the prefill reads it. So does the
 * question of a method that does not see it: its rows run the same whether what stands
 * before them was computed or is remembered (prefix.h). Slots of earlier turns are what
 * the cache made of them.
 */
#ifndef S2_ENGINE_UNROUNDED_H
#define S2_ENGINE_UNROUNDED_H

#include "engine/decoder/kv.h"

struct s2v_session;

typedef struct s2v_unrounded { /* all zero: every row reads the cache */
    int32_t n_layers;          /* layers before this one attend to unrounded keys and values */
    bool with_question;        /* the question's rows too */
    int32_t n_held;            /* 1 + the layer whose keys and values are held; 0: of none */
    int32_t capacity;          /* slots */
    struct ggml_context *ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor *k, *v; /* F32 [n_kv_heads * head_dim, capacity] */
} s2v_unrounded;

/* For the layers [0, n_layers) of the prefill under way; not needed where the cache is F32. */
void s2v_unrounded_start(struct s2v_session *session, int32_t n_layers, bool with_question);
void s2v_unrounded_end(s2v_unrounded *unrounded);

/* The most that is held at a time: one layer of a full context, 0 where the cache is F32. */
uint64_t s2v_unrounded_bytes(const s2v_decoder *decoder, int32_t n_ctx, s2v_kv_types cache);

/* Whether `row` of the prompt attends to unrounded keys and values in `layer`, and whether the
 * layer's have to be held for that. */
bool s2v_unrounded_row(const struct s2v_session *session, int32_t layer, int32_t row);
bool s2v_unrounded_is_held(const struct s2v_session *session, int32_t layer);

/* Before the first chunk of `layer`: room for the slots it has and all rows, on its device, and the
 * former in it. */
s2p_status s2v_unrounded_hold(struct s2v_session *session, int32_t layer, s2p_error *error);

/* Keys of a layer, [n_kv_heads * head_dim, at least n_slots]: those held, else the cache. */
struct ggml_tensor *s2v_unrounded_keys(const struct s2v_session *session, int32_t layer);

#endif /* S2_ENGINE_UNROUNDED_H */
