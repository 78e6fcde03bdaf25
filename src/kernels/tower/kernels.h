/* kernels.h - the arithmetic of a vision tower on plain arrays: products, norms, attention.
 *
 * A tower is four kinds of work: rows times a weight matrix (90 % of the time), attention inside
 * windows or over the whole picture, norms, and small things at the edges of these. Here each is
 * one call that reads rows and writes rows, with the small things folded in: the norm happens while
 * rows are packed for a product, bias, activation and residual while its sums are still in the
 * first-level cache, the rotation of queries and keys while attention lays them out.
 *
 * scalar.c is the reference: plain loops, always built, tested against double arithmetic. A variant is
 * its own file, compiled for its own instructions, and a row of the table. Which rows this machine
 * executes is asked once (cpuid.h); nothing here is global, allocates, or knows ggml.
 *
 * Weights are packed once, into panels of as many outputs as the inner loop keeps sums for:
 *     [panel][k][columns]      a panel is read from front to back and never again for these rows
 * The float32 variants keep the type of the file (F32, F16 or BF16) in the packing and widen a
 * block of a panel when it enters the first-level cache: a packed copy is as large as what it
 * replaces, and the product is exact in the weights; quantized weights become F32. The bf16 variants
 * store BF16, int8 one byte, q8 one byte and a step for every 32 of them.
 *
 *     const s2v_kernels *k = s2v_kernels_choose(S2V_PRECISION_F32);
 *     s2v_packed w = { 3420, 1280, 2, true, k->stored(S2V_ELEMENT_F16), NULL }; // gate and up
 *     s2v_source source = { { gate, up }, 2, { S2V_ELEMENT_F16, S2V_ELEMENT_F16 } };
 *     w.data = aligned_alloc(S2V_KERNEL_ALIGN, k->packed_bytes(&w));
 *     k->pack(&w, &source, 0, k->n_panels(&w));
 *     k->product(&(s2v_product){ .weights = &w, .x = h, ... }, part, scratch);   // each thread
 */
#ifndef S2_ENGINE_TOWER_KERNELS_H
#define S2_ENGINE_TOWER_KERNELS_H

#include "kernels/cpu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define S2V_KERNEL_ALIGN 64 /* of packed weights and of scratch; nothing else needs alignment */

typedef enum s2v_element {
    S2V_ELEMENT_F32,
    S2V_ELEMENT_F16,
    S2V_ELEMENT_BF16,
    S2V_ELEMENT_I8,
    S2V_ELEMENT_Q8_0, /* from here on quantized as GGUF files have it, see quants.h */
    S2V_ELEMENT_Q4_0,
    S2V_ELEMENT_Q4_1,
    S2V_ELEMENT_Q5_0,
    S2V_ELEMENT_Q5_1,
    S2V_ELEMENT_Q4_K,
    S2V_ELEMENT_Q5_K,
    S2V_ELEMENT_Q6_K,
    S2V_N_ELEMENTS
} s2v_element;

typedef enum s2v_precision {
    S2V_PRECISION_F32,
    S2V_PRECISION_BF16,
    S2V_PRECISION_Q8, /* bytes, a step for every 32 inputs: what Q8_0 files hold */
    S2V_PRECISION_INT8
} s2v_precision;

/* --- weights ------------------------------------------------------------------------------- */

/* Up to three matrices [n][k] with the same shape, rows without gaps: one below the other (queries,
 * keys and values in one product), or the two of a gated layer side by side (is_pair: gate, up). */
typedef struct s2v_source {
    const void *part[3];
    int32_t n_parts;
    s2v_element type[3]; /* of each part. F32, F16 or BF16, or quantized where k is whole blocks and
                            table->takes_quants */
} s2v_source;

typedef struct s2v_packed {
    int32_t n, k;     /* outputs of one part, inputs */
    int32_t n_parts;  /* as in the source */
    bool is_pair;     /* two parts, activation S2V_SWIGLU, n outputs */
    s2v_element type; /* how elements are stored: table->stored() of the source's type, or of F32
                         where its parts differ */
    void *data;       /* table->packed_bytes(), aligned */
} s2v_packed;

/* Columns of the result. */
static inline int32_t s2v_packed_outputs(const s2v_packed *w)
{
    return w->is_pair ? w->n : w->n * w->n_parts;
}

/* --- products ------------------------------------------------------------------------------- */

typedef enum s2v_norm { S2V_NORM_NONE, S2V_NORM_RMS, S2V_NORM_LAYER } s2v_norm;

/* x / sqrt(mean(x^2) + eps) * weight, or (x - mean) / sqrt(var + eps) * weight + bias. Rows are
 * normalized in pieces of `width`, which divides k: the merger of Qwen2.5-VL reads four patches as
 * one row, each with its own norm. weight, bias: [width]. */
typedef struct s2v_norm_of {
    s2v_norm kind;
    int32_t width;
    const float *weight, *bias; /* bias: LayerNorm only */
    float eps;
} s2v_norm_of;

typedef enum s2v_activation {
    S2V_LINEAR,
    S2V_GELU_ERF,   /* 0.5 z (1 + erf(z / sqrt 2)) */
    S2V_GELU_TANH,  /* 0.5 z (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))) */
    S2V_GELU_QUICK, /* z / (1 + exp(-1.702 z)) */
    S2V_SWIGLU      /* g / (1 + exp(-g)) * u of a pair */
} s2v_activation;

/* out = residual + activation(norm(x) . weights + bias). The residual may be `out` itself. */
typedef struct s2v_product {
    const s2v_packed *weights;
    const float *x; /* [m][k], x_pitch floats from one row to the next */
    ptrdiff_t x_pitch;
    s2v_norm_of norm;
    const float *bias, *bias_up; /* [outputs] or NULL; bias_up: of the second matrix of a pair */
    s2v_activation activation;
    const float *residual; /* [m][outputs] or NULL */
    ptrdiff_t residual_pitch;
    float *out; /* [m][outputs]; may not overlap x */
    ptrdiff_t out_pitch;
} s2v_product;

/* The rows and columns of the result one call computes: m0 < m1, n0 < n1. n0 is a multiple of
 * table->columns. Parts of one product may run at the same time, each with its own scratch; every
 * part packs its own rows, so split rows first. */
typedef struct s2v_share {
    int32_t m0, m1, n0, n1;
} s2v_share;

/* --- attention ------------------------------------------------------------------------------ */

#define S2V_MAX_HEAD 128

/* softmax(scale q k^T) v for sequences that see themselves only: sequence i is rows
 * [start[i], start[i + 1]). Heads lie side by side in a row, `dim` (at most S2V_MAX_HEAD, even)
 * floats each. cos and sin: NULL, or [rows][dim / 2] of the rotation applied to q and k:
 *     y[i] = x[i] cos[i] - x[i + dim/2] sin[i],  y[i + dim/2] = x[i] sin[i] + x[i + dim/2] cos[i] */
typedef struct s2v_attention {
    const float *q, *k, *v; /* of row 0 */
    ptrdiff_t pitch;        /* floats from one row to the next, the same for all three */
    const int32_t *start;   /* [n_sequences + 1], rising */
    int32_t n_sequences, n_heads, dim;
    int32_t n_splits; /* >= 1: queries of a sequence are cut into this many units of work */
    float scale;
    const float *cos, *sin;
    float *out; /* of row 0; heads side by side, may not overlap the inputs */
    ptrdiff_t out_pitch;
} s2v_attention;

/* Work is dealt out in units: unit = (sequence * n_heads + head) * n_splits + split. */
static inline int32_t s2v_attention_units(const s2v_attention *a)
{
    return a->n_sequences * a->n_heads * a->n_splits;
}

/* cos and sin of Qwen2.5-VL's rotation in two dimensions: the first half of the dim / 2 angles
 * rotates with pos_a (row), the second with pos_b (column), each from 1 down by base^(-4 / dim).
 * Angles are multiplied up one by one in float32, as ggml does. dim: a multiple of 4. */
void s2v_rotation(const int32_t *pos_a, const int32_t *pos_b, int32_t n, int32_t dim, float base,
                  float *cos, float *sin);

/* --- the table -------------------------------------------------------------------------------
 *
 * Bounds, for finite input without overflow, S = sum |x_i w_i| of one output, u = 2^-24:
 *   F32   |error of a sum| <= (k + 8) u S; k partial sums are the worst case, a few u S the usual
 *   BF16  <= (2^-7.9 + k u) S: both factors rounded to 8 bits; denormals count as zero
 *   Q8    <= half a step of each rounded factor besides: see q8_text.h
 *   INT8  <= half a step of each factor besides: see int8_text.h
 * and of attention, with T = scale max sum |q_i k_i| of a query:
 *   F32   |error| <= (8 + 4 max |scores|) n u max |v|
 *   BF16  <= (exp(2^-6.9 T) - 1 + 2^-7) max |v| besides: queries, keys, values, weights are rounded
 * exp is exact to 2 u of its argument's rounding. A NaN in a row makes that row of
 * a product NaN, as does one in a weight its column.
 */
typedef struct s2v_kernels {
    const char *name;                   /* what --kernels accepts */
    const char *needs;                  /* for people */
    s2v_precision precision, attention; /* of products, of attention: F32 or BF16 */
    bool is_stand_in;      /* rounds as a unit does that is not here, no faster: only by name */
    int32_t rows, columns; /* the grain of work: parts of whole multiples waste nothing */
    int32_t block_rows;    /* rows for which the weights are read once: the largest useful part */
    int32_t block;         /* Q8, INT8: inputs of a row that share a step; else 0 */
    bool takes_quants;     /* a source may be quantized; INT8 alone does not take it */

    s2v_element (*stored)(s2v_element source);
    int32_t (*n_panels)(const s2v_packed *w);
    size_t (*packed_bytes)(const s2v_packed *w); /* everything but data is set */
    /* Panels [first, last) of w->data. Panels may be packed at the same time by several threads. */
    void (*pack)(const s2v_packed *w, const s2v_source *source, int32_t first, int32_t last);

    size_t (*product_scratch)(const s2v_packed *w); /* bytes, for each thread */
    void (*product)(const s2v_product *product, s2v_share part, void *scratch);

    /* The norm alone: out may be x. */
    void (*norm)(const s2v_norm_of *norm, const float *x, int32_t k, float *out);
    /* The rotation alone, of one head: out may be x. cos, sin: [dim / 2]. */
    void (*rotate)(const float *x, int32_t dim, const float *cos, const float *sin, float *out);

    size_t (*attention_scratch)(const s2v_attention *a);
    void (*attend)(const s2v_attention *a, int32_t unit0, int32_t unit1, void *scratch);
} s2v_kernels;

/* The features of this machine, with AMX only where the tables for it pass a self-test. */
s2_cpu s2v_kernels_tested(void);

/* Every table that runs on this machine, slowest first within a precision; NULL past the end. */
const s2v_kernels *s2v_kernels_at(size_t index);

/* The fastest of a precision, or of the nearest more exact one: never NULL, never a stand-in. */
const s2v_kernels *s2v_kernels_choose(s2v_precision precision);

/* The BF16 table that is known to be faster than float32 on this machine; NULL: none is. */
const s2v_kernels *s2v_kernels_gaining(void);

/* By name; NULL: no such table, or it does not run here. */
const s2v_kernels *s2v_kernels_find(const char *name);

#endif /* S2_ENGINE_TOWER_KERNELS_H */
