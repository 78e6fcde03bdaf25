/* tower_choice.h - which kernels the vision tower computes with, and in which precision.
 *
 *     s2v_tower_choice choice;
 *     s2v_tower_choose(&choice, options, mmproj, error);        // before weights are loaded for them
 *     s2v_tower_check(&choice, options, what_the_tower_got, error);
 */
#ifndef S2_ENGINE_TOWER_CHOICE_H
#define S2_ENGINE_TOWER_CHOICE_H

#include "base/error.h"
#include "kernels/tower/kernels.h"
#include "gguf/gguf.h"
#include "s2vlm.h"

typedef struct s2v_tower_choice {
    s2v_precision precision;
    const s2v_kernels *kernels; /* NULL: ggml's operators */
    const s2v_kernels
        *quant_kernels; /* of quantized matrices; NULL: a tower that has one is ggml's */
} s2v_tower_choice;

s2p_status s2v_tower_choose(s2v_tower_choice *out, const s2v_engine_options *options,
                            const s2v_gguf *mmproj, s2p_error *error);

/* An error if kernels requested by name are not possible; a note if the precision differs from the request.
 * used: the kernels that the tower's weights were laid out for, NULL for ggml's operators. */
s2p_status s2v_tower_check(const s2v_tower_choice *choice, const s2v_engine_options *options,
                           const s2v_kernels *used, s2p_error *error);

#endif /* S2_ENGINE_TOWER_CHOICE_H */
