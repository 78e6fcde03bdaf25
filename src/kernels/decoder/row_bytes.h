/* row_bytes.h - a row as bytes_avx2.c packs it, which nibbles_vnni.c multiplies too. */
#ifndef S2_KERNELS_ROW_BYTES_H
#define S2_KERNELS_ROW_BYTES_H

#include "kernels/decoder/products.h"

typedef struct row_block { /* S2K_BLOCK values of a row */
    float step;            /* value = step * byte */
    int8_t byte[S2K_BLOCK];
    int16_t sum[16]; /* of 16 bytes each */
} row_block;

extern const s2k_products s2k_bytes_avx2;

#endif /* S2_KERNELS_ROW_BYTES_H */
