/* tables.h - the variants, for the file that chooses among them and for tests. */
#ifndef S2_ENGINE_TOWER_TABLES_H
#define S2_ENGINE_TOWER_TABLES_H

#include "kernels/tower/kernels.h"

extern const s2v_kernels s2v_kernels_scalar, s2v_kernels_scalar_q8;
/* x86-64 */
extern const s2v_kernels s2v_kernels_avx2, s2v_kernels_avx512;
extern const s2v_kernels s2v_kernels_avx2_bf16, s2v_kernels_avx512_bf16, s2v_kernels_amx_bf16;
extern const s2v_kernels s2v_kernels_avx2_int8, s2v_kernels_avx_vnni, s2v_kernels_avx512_vnni;
extern const s2v_kernels s2v_kernels_amx_int8;
extern const s2v_kernels s2v_kernels_avx2_q8, s2v_kernels_avxvnni_q8, s2v_kernels_avx512_q8;
extern const s2v_kernels s2v_kernels_amx_q8;
/* 64-bit Arm */
extern const s2v_kernels s2v_kernels_neon, s2v_kernels_neon_bf16, s2v_kernels_neon_int8;
extern const s2v_kernels s2v_kernels_neon_q8, s2v_kernels_neon_i8mm_q8;

#endif /* S2_ENGINE_TOWER_TABLES_H */
