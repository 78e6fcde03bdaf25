/* tower_cost.h - FLOPs of the vision tower by formula, a multiply-add counted as two. */
#ifndef S2_ASK_TOWER_COST_H
#define S2_ASK_TOWER_COST_H

#include <stdint.h>

typedef struct s2_tower_size {
    int32_t n_blocks, n_embd, n_ff;
    int32_t n_mlp;          /* matrices of a block's MLP: 3 with a gate, else 2 */
    int32_t n_whole;        /* blocks that attend to the whole picture; the others within windows */
    int32_t window;         /* patches of a window */
    int32_t merge;          /* patches that become one token */
    int32_t n_out;          /* width of a token, where the projector ends */
    int32_t projector_embd; /* width inside the projector */
    int32_t n_deepstack;    /* extra projectors, whose output decoder layers add */
    int32_t
        is_pooled; /* 1: the projector gets the mean of a token's patches instead of all; 0 or 1 */
} s2_tower_size;

/* Blocks and projector for one picture; without the embedding of the patches. */
double s2_tower_flops(const s2_tower_size *tower, int32_t visual);

#endif /* S2_ASK_TOWER_COST_H */
