/* products.h - rows of activations times quantized weights, on plain arrays: one table of variants.
 *
 * The weights stay in the blocks of formats.h. A product has two steps: rows are packed once, into the
 * layout and precision a variant multiplies with, then multiplied with every matrix that reads them.
 * In each variant a row's result depends on nothing but the row and the weights: not on the other
 * rows, nor on how outputs are shared among threads.
 *
 * Variants that cover all numbers of rows together are a family, for the same formats, and a machine
 * uses a set of families (table.c).
 * scalar_products.c is the reference: plain C, always built, what every variant is tested against.
 *
 *     const s2_cpu cpu = s2v_kernels_tested();
 *     const s2k_products *p = s2k_products_for(s2k_products_on(&cpu, true), S2K_Q6_K, n_rows);
 *     p->pack_rows(x, k, k, n_rows, 0, s2k_row_groups(p, n_rows), rows);
 *     p->product(&weights, rows, n_rows, first, last, out, n, scratch); // each thread
 */
#ifndef S2_KERNELS_PRODUCTS_H
#define S2_KERNELS_PRODUCTS_H

#include "kernels/cpu.h"
#include "kernels/decoder/formats.h"

#define S2K_ALIGN 64           /* of packed rows and of scratch */
#define S2K_GRAIN 32           /* `first` of a product is a multiple of this */
#define S2K_ANY_ROWS INT32_MAX /* no limit */
#define S2K_TAKES(format) (1u << (format))

typedef struct s2k_weights { /* [n][k] */
    s2k_format format;
    int32_t k, n;
    const void *data;
} s2k_weights;

typedef struct s2k_products {
    const char *name;
    bool (*runs)(const s2_cpu *cpu); /* the instructions are there */
    uint32_t formats;                /* S2K_TAKES of each */
    int32_t max_rows;                /* beyond this the next variant of the family is asked */
    int32_t group;                   /* rows that are packed in one step */
    int32_t padding; /* packed rows are filled up with zeros to a multiple of this */
    int32_t piece;   /* outputs a thread computes at a time; a multiple of S2K_GRAIN */

    /* With S = sum |x_i w_i| and L the largest |x_i| of each S2K_BLOCK inputs, an output is off by at
     * most product_error * S + row_error * sum L |w_i|. What is not finite affects its own row only. */
    double row_error, product_error;
    bool keeps_nan; /* a NaN in a row makes its outputs NaN; else they are unspecified */

    /* Bytes of m packed rows of k floats. */
    size_t (*rows_bytes)(int32_t k, int32_t m);
    /* Groups [first, last) of the rows into `out`. x: [m][k], pitch floats from a row to the next. */
    void (*pack_rows)(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                      int32_t last, void *out);
    /* Bytes a thread needs for a product; NULL: none. */
    size_t (*scratch)(int32_t k, int32_t m);
    /* out[row * pitch + output] of m packed rows and outputs [first, last). Threads may share the
     * outputs, each with its own scratch. */
    void (*product)(const s2k_weights *w, const void *rows, int32_t m, int32_t first, int32_t last,
                    float *out, ptrdiff_t pitch, void *scratch);
} s2k_products;

/* Steps of pack_rows for m rows. */
static inline int32_t s2k_row_groups(const s2k_products *p, int32_t m)
{
    return (m + p->padding - 1) / p->padding * p->padding / p->group;
}

#define S2K_FAMILY_MAX 4 /* variants of a family */
#define S2K_SET_MAX 3    /* families of a set */

typedef struct
    s2k_product_family { /* rising max_rows, NULL after the last; all take the same formats */
    const s2k_products *by_rows[S2K_FAMILY_MAX];
} s2k_product_family;

typedef struct
    s2k_product_set { /* families of different formats; one without variants after the last */
    s2k_product_family family[S2K_SET_MAX];
} s2k_product_set;

/* The set of this machine; NULL: it has none. is_packing_known: weights may be in the layout of ggml's
 * packing that formats.h describes. */
const s2k_product_set *s2k_products_on(const s2_cpu *cpu, bool is_packing_known);

/* How n_rows are packed and multiplied with weights of this format; NULL: ggml does. set may be NULL.
 * Rows that one variant packed can be multiplied with all its formats. */
const s2k_products *s2k_products_for(const s2k_product_set *set, s2k_format format, int32_t n_rows);

/* The most rows that n_rows can be multiplied with so that on every machine the result of each has the
 * bits it has among n_rows; S2K_ANY_ROWS: with any number. S2K_NO_FORMAT: of all formats. */
int32_t s2k_rows_with_same_bits(s2k_format format, int32_t n_rows);

/* Every variant that was compiled, the scalar reference first; NULL past the end. For tests. */
const s2k_products *s2k_products_at(size_t index);

#endif /* S2_KERNELS_PRODUCTS_H */
