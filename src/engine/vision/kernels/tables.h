/* tables.h - the variants, for the file that chooses among them and for tests. */
#ifndef S2_ENGINE_TOWER_TABLES_H
#define S2_ENGINE_TOWER_TABLES_H

#include "engine/vision/kernels/kernels.h"

extern const s2v_kernels s2v_kernels_scalar;
extern const s2v_kernels s2v_kernels_avx2, s2v_kernels_avx512, s2v_kernels_avx512_bf16,
    s2v_kernels_amx_bf16;

#endif /* S2_ENGINE_TOWER_TABLES_H */
