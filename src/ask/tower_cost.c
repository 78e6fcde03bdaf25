/* tower_cost.c - blocks, attention within windows or the whole picture, projectors. */
#include "ask/tower_cost.h"

double s2_tower_flops(const s2_tower_size *t, int32_t visual)
{
    const double n = (double)visual * t->merge, d = t->n_embd, inner = t->projector_embd;
    const double rows = 2.0 * n * (4.0 * d * d + (double)t->n_mlp * d * t->n_ff);
    const double attention =
        4.0 * n * d * (t->n_whole * n + (t->n_blocks - t->n_whole) * (double)t->window);
    const double wide = t->is_pooled ? d : d * t->merge;
    const double projector = 2.0 * visual * (wide * inner + inner * t->n_out);
    return t->n_blocks * rows + attention + (1 + t->n_deepstack) * projector;
}
