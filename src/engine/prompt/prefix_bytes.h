/* prefix_bytes.h - the state after the start of a prompt, as one block of bytes.
 *
 *     head      counts; the selections, for the statistics
 *     layers    for each layer the number of slots when it ran and the number left
 *     plans     the plan of each unit (prune/plan_bytes.h)
 *     slots     of each layer keys, then values: those left; where slots had left after it ran
 *               (S2Prune: layer 0) all it had when it ran before them, which the question has to see.
 *               Of a layer with a state that, as it is before the question
 */
#ifndef S2_ENGINE_PREFIX_BYTES_H
#define S2_ENGINE_PREFIX_BYTES_H

#include "s2vlm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct s2v_prefix_head { /* a multiple of 8 bytes without gaps */
    char kind[8];
    uint64_t slot_bytes;   /* of a key and a value */
    uint64_t state_bytes;  /* of a state; 0: there are none */
    uint64_t n_plan_bytes; /* of all plans */
    double made_ms;        /* the time to compute it, including the tower */
    int32_t n_layers, n_plans, image_tokens, n_stages;
    int32_t stage_after[S2V_MAX_STAGES], stage_tokens[S2V_MAX_STAGES];
} s2v_prefix_head;

typedef struct s2v_prefix_layer {
    int32_t n_ran, n_left; /* slots */
    int32_t has_ran;       /* both are stored: slots were removed after the layer ran */
    int32_t is_state;
} s2v_prefix_layer;

typedef struct s2v_prefix_parts { /* of a block, borrowed */
    s2v_prefix_head head;
    const s2v_prefix_layer *layer; /* [n_layers] */
    const uint64_t *plan_bytes;    /* [n_plans] */
    const uint8_t *plans, *slots;
} s2v_prefix_parts;

/* Bytes of a block; 0: too many. */
size_t s2v_prefix_n_bytes(const s2v_prefix_head *head, const s2v_prefix_layer *layer);

/* Put head and layers into the block; where plan_bytes, plans and slots go. */
typedef struct s2v_prefix_places {
    uint64_t *plan_bytes;
    uint8_t *plans, *slots;
} s2v_prefix_places;
s2v_prefix_places s2v_prefix_begin(uint8_t *bytes, const s2v_prefix_head *head,
                                   const s2v_prefix_layer *layer);

/* False unless the n bytes are a valid block with these numbers of layers and plans, and these row and
 * state sizes. bytes: aligned to 8. */
bool s2v_prefix_parse(const uint8_t *bytes, size_t n, int32_t n_layers, int32_t n_plans,
                      uint64_t slot_bytes, uint64_t state_bytes, s2v_prefix_parts *out);

#endif /* S2_ENGINE_PREFIX_BYTES_H */
