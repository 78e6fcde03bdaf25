/* tower_cases.h - what every table of tower kernels must do, as plain C.
 *
 * Used by the cmocka test and by the check that runs on another CPU. A promise is a function that
 * returns NULL, or a sentence saying where it was broken. Results are compared with double
 * arithmetic on the operands as the table's precision rounds them, within the float32 bound of
 * kernels.h, so that one element left out shows at every precision. Inputs and outputs touch
 * pages nobody may touch, and rows start where no vector would like them to.
 */
#ifndef TESTS_TOWER_CASES_H
#define TESTS_TOWER_CASES_H

#include "base/random.h"
#include "kernels/tower/source.h"
#include "kernels/tower/kernels.h"
#include "fenced.h"
#include "tower_round.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define UNIT 0x1p-24

__attribute__((format(printf, 2, 3))) static inline const char *
broken_promise(const s2v_kernels *t, const char *format, ...)
{
    static char text[300];
    va_list arguments;
    va_start(arguments, format);
    const int n = snprintf(text, sizeof text, "%s: ", t->name);
    vsnprintf(text + n, sizeof text - (size_t)n, format, arguments);
    va_end(arguments);
    return text;
}

static inline int32_t draw(s2_random *random, int32_t below)
{
    return (int32_t)s2_random_below(random, (uint32_t)below);
}

/* Kinds of numbers: 0 about 1, 1 wide in size, 2 with denormals, 3 mostly zero, 4 halfway between
 * two BF16. */
static inline float draw_float(s2_random *random, int kind)
{
    const float x = (float)(draw(random, 2000001) - 1000000) * 1e-6f;
    switch (kind) {
    case 1:
        return ldexpf(x, draw(random, 24) - 12);
    case 2:
        return draw(random, 4) ? x : x * 0x1p-130f;
    case 3:
        return draw(random, 8) ? 0.0f : x;
    case 4:
        return s2v_float_of_bits((s2v_bits_of_float(x) & 0xffff0000u) | 0x8000u);
    default:
        return x;
    }
}

static inline void fill_floats(float *p, size_t n, int kind, s2_random *random)
{
    for (size_t i = 0; i < n; i++) p[i] = draw_float(random, kind);
}

/* Numbers as F32, F16 or BF16; BF16 has the range of a float, so its bits are those of one. */
static inline void fill_elements(void *p, s2v_element type, size_t n, int kind, s2_random *random)
{
    for (size_t i = 0; i < n; i++) {
        const float f = draw_float(random, kind);
        /* a sign, an exponent around 2^-1, ten bits; every eighth a denormal */
        const int exponent = draw(random, 8) ? 10 + draw(random, 5) : 0;
        const uint16_t f16 =
            (uint16_t)(draw(random, 2) << 15 | exponent << 10 | draw(random, 1024));
        const uint16_t bf16 = s2v_bf16_of_float(f);
        if (type == S2V_ELEMENT_F32) memcpy((char *)p + 4 * i, &f, 4);
        if (type == S2V_ELEMENT_F16) memcpy((char *)p + 2 * i, &f16, 2);
        if (type == S2V_ELEMENT_BF16) memcpy((char *)p + 2 * i, &bf16, 2);
    }
}

/* Rows of a quantized type: any bits, steps of a usual size. */
static inline void fill_quants(void *p, s2v_element type, size_t n_blocks, s2_random *random)
{
    const size_t size = s2v_quant_bytes(type);
    const size_t step = type == S2V_ELEMENT_Q6_K ? 208 : 0;
    const bool has_min = type == S2V_ELEMENT_Q4_1 || type == S2V_ELEMENT_Q5_1 ||
                         type == S2V_ELEMENT_Q4_K || type == S2V_ELEMENT_Q5_K;
    for (size_t b = 0; b < n_blocks; b++) {
        uint8_t *block = (uint8_t *)p + b * size;
        for (size_t i = 0; i < size; i++) block[i] = (uint8_t)draw(random, 256);
        for (size_t at = step; at <= step + (has_min ? 2 : 0); at += 2) {
            const int exponent = draw(random, 8) ? 4 + draw(random, 6) : 0;
            const int f16 = draw(random, 2) << 15 | exponent << 10 | draw(random, 1024);
            block[at] = (uint8_t)f16;
            block[at + 1] = (uint8_t)(f16 >> 8);
        }
    }
}

/* --- products -------------------------------------------------------------------------------- */

#define MAX_M 230
#define MAX_N 120
#define MAX_K 1400

typedef struct product_case {
    int32_t m, n, k, n_parts, kind;
    bool is_pair, is_in_place;
    s2v_product p;
    s2v_packed packed;
    s2v_source source;
    double *row;    /* [k] normalised, as the precision has it */
    double *weight; /* [n_parts * n][k] as the precision has it */
} product_case;

typedef struct arena { /* fenced arrays handed out one after the other */
    fenced space[16];
    int n;
} arena;

static inline void *arena_take(arena *a, size_t n_bytes, bool at_end)
{
    a->space[a->n] = fenced_create(n_bytes ? n_bytes : 1);
    return fenced_bytes(a->space[a->n++], n_bytes, at_end);
}

static inline void arena_free(arena *a)
{
    while (a->n > 0) fenced_free(a->space[--a->n]);
}

static inline void *aligned_bytes(size_t n)
{
    void *p = aligned_alloc(S2V_KERNEL_ALIGN,
                            (n + S2V_KERNEL_ALIGN) / S2V_KERNEL_ALIGN * S2V_KERNEL_ALIGN);
    if (!p) abort();
    return p;
}

/* Sizes, types and what is fused, all at random; odd ones often. */
static inline void draw_product(product_case *c, const s2v_kernels *t, arena *a, s2_random *random)
{
    static const int32_t usual[] = { 1, 3, 8, 15, 16, 17, 31, 32, 33, 64 };
    *c = (product_case){ .kind = draw(random, 5) };
    c->m = draw(random, 4) ? 1 + draw(random, 40) : 1 + draw(random, MAX_M);
    c->n = draw(random, 2) ? usual[draw(random, 10)] : 1 + draw(random, MAX_N);
    c->k = draw(random, 2) ? usual[draw(random, 10)] : 1 + draw(random, MAX_K);
    c->is_pair = draw(random, 3) == 0;
    c->n_parts = c->is_pair ? 2 : 1 + draw(random, 3);
    const bool at_end = draw(random, 2), is_quantized = t->takes_quants && draw(random, 2);
    if (is_quantized) c->k = (c->k + 255) / 256 * 256;
    const size_t n = (size_t)c->n, k = (size_t)c->k, m = (size_t)c->m;

    c->source = (s2v_source){ .n_parts = c->n_parts };
    for (int i = 0; i < c->n_parts; i++) { /* often all of one type */
        s2v_element type =
            i > 0 && draw(random, 3) ? c->source.type[0] : (s2v_element)draw(random, 3);
        if (is_quantized && (i == 0 || draw(random, 3) == 0))
            type =
                (s2v_element)(S2V_ELEMENT_Q8_0 + draw(random, S2V_N_ELEMENTS - S2V_ELEMENT_Q8_0));
        const size_t blocks = n * k / (size_t)s2v_quant_weights(type);
        void *part = arena_take(a, blocks * s2v_quant_bytes(type), at_end);
        if (s2v_is_quantized(type))
            fill_quants(part, type, blocks, random);
        else
            fill_elements(part, type, blocks, c->kind, random);
        c->source.part[i] = part;
        c->source.type[i] = type;
    }
    const bool is_one = s2v_source_is(&c->source, c->source.type[0]);
    const s2v_element stored = t->stored(is_one ? c->source.type[0] : S2V_ELEMENT_F32);
    c->packed = (s2v_packed){ c->n, c->k, c->n_parts, c->is_pair, stored, NULL };
    c->packed.data = aligned_bytes(t->packed_bytes(&c->packed));
    const int32_t outputs = s2v_packed_outputs(&c->packed), half = t->n_panels(&c->packed) / 2;
    t->pack(&c->packed, &c->source, half, t->n_panels(&c->packed));
    t->pack(&c->packed, &c->source, 0, half);

    s2v_product *p = &c->p;
    p->weights = &c->packed;
    p->x_pitch = c->k + draw(random, 3);
    float *x = arena_take(a, (((m - 1) * (size_t)p->x_pitch) + k) * 4, at_end);
    fill_floats(x, (m - 1) * (size_t)p->x_pitch + k, c->kind, random);
    p->x = x;
    p->activation = c->is_pair ? S2V_SWIGLU : (s2v_activation)draw(random, 4);
    if (draw(random, 4)) {
        float *bias = arena_take(a, (size_t)outputs * 4, at_end);
        fill_floats(bias, (size_t)outputs, 0, random);
        p->bias = bias;
    }
    if (c->is_pair && draw(random, 4)) {
        float *bias = arena_take(a, (size_t)outputs * 4, at_end);
        fill_floats(bias, (size_t)outputs, 0, random);
        p->bias_up = bias;
    }
    p->out_pitch = outputs + draw(random, 3);
    const size_t n_out = (m - 1) * (size_t)p->out_pitch + (size_t)outputs;
    p->out = arena_take(a, n_out * 4, at_end);
    for (size_t i = 0; i < n_out; i++) p->out[i] = -77.0f;
    if (draw(random, 2)) {
        p->residual_pitch = p->out_pitch;
        float *residual = arena_take(a, n_out * 4, at_end);
        fill_floats(residual, n_out, 0, random);
        p->residual = residual;
        c->is_in_place = draw(random, 2);
    }
    p->norm.kind = (s2v_norm)draw(random, 3);
    if (p->norm.kind != S2V_NORM_NONE) {
        p->norm.width = c->k % 4 == 0 && draw(random, 2) ? c->k / 4 : c->k;
        float *w = arena_take(a, (size_t)p->norm.width * 4, at_end);
        float *b = arena_take(a, (size_t)p->norm.width * 4, at_end);
        fill_floats(w, (size_t)p->norm.width, 0, random);
        fill_floats(b, (size_t)p->norm.width, 0, random);
        p->norm.weight = w;
        p->norm.bias = b;
        p->norm.eps = 1e-6f;
    }
    c->row = malloc(k * sizeof *c->row);
    c->weight = malloc(n * (size_t)c->n_parts * k * sizeof *c->weight);
    if (!c->row || !c->weight) abort();
    float *row = malloc(k * sizeof *row);
    if (!row) abort();
    for (int32_t r = 0; r < c->n * c->n_parts; r++) {
        const void *from = s2v_source_row(&c->source, c->n, c->k, r);
        const s2v_element type = s2v_source_type(&c->source, c->n, r);
        for (int32_t i = 0; i < c->k; i++) s2v_inputs(from, type, i, 1, c->k, row + i);
        const bool is_exact = t->precision == S2V_PRECISION_Q8 &&
                              (type == S2V_ELEMENT_Q8_0 || type == S2V_ELEMENT_Q4_0);
        round_weights(is_exact ? S2V_PRECISION_F32 : t->precision, row, c->k,
                      c->weight + (ptrdiff_t)r * c->k);
    }
    free(row);
}

static inline void free_product(product_case *c, arena *a)
{
    free(c->packed.data);
    free(c->row);
    free(c->weight);
    arena_free(a);
}

/* In double. Returns how far a float32 norm may be off, as a share of the largest output. */
static inline double norm_row(const s2v_norm_of *norm, const float *x, int32_t k, double *out)
{
    for (int32_t i = 0; i < k; i++) out[i] = (double)x[i];
    if (norm->kind == S2V_NORM_NONE) return 0.0;
    double worst = 0.0;
    for (int32_t first = 0; first < k; first += norm->width) {
        double mean = 0, size = 0, square = 0;
        for (int32_t i = first; i < first + norm->width; i++) {
            mean += (double)x[i] / norm->width;
            size += fabs((double)x[i]) / norm->width;
        }
        if (norm->kind == S2V_NORM_RMS) mean = 0;
        for (int32_t i = first; i < first + norm->width; i++)
            square += ((double)x[i] - mean) * ((double)x[i] - mean) / norm->width;
        const double factor = 1.0 / sqrt(square + (double)norm->eps);
        for (int32_t i = 0; i < norm->width; i++) {
            out[first + i] = ((double)x[first + i] - mean) * factor * (double)norm->weight[i];
            if (norm->kind == S2V_NORM_LAYER) out[first + i] += (double)norm->bias[i];
        }
        worst = fmax(worst, factor * (size + sqrt(square)));
    }
    return 64 * UNIT * fmax(1.0, worst);
}

/* Value and error of the activation, given those of its arguments. */
static inline double activation_of(s2v_activation kind, double z, double up, double z_error,
                                   double up_error, double *error)
{
    double y = z, slope = 1.13;
    if (kind == S2V_GELU_ERF) y = 0.5 * z * (1 + erf(z / sqrt(2.0)));
    if (kind == S2V_GELU_TANH)
        y = 0.5 * z * (1 + tanh(0.7978845608028654 * (z + 0.044715 * z * z * z)));
    if (kind == S2V_GELU_QUICK) y = z / (1 + exp(-1.702 * z));
    if (kind == S2V_LINEAR) slope = 1;
    *error = slope * z_error;
    if (kind == S2V_SWIGLU) {
        y = z / (1 + exp(-z));
        *error = (slope * z_error + 100 * UNIT * fabs(y) + 1e-36) * (fabs(up) + up_error) +
                 fabs(y) * up_error;
        y *= up;
    }
    /* 1 + erf and 1 + tanh lose what is small beside 1 */
    *error +=
        100 * UNIT * (fabs(y) + (kind == S2V_GELU_ERF || kind == S2V_GELU_TANH ? fabs(z) : 0)) +
        1e-36;
    return y;
}

/* One output in double: its sum of products, and how far a table may be from it. */
static inline double product_sum(const product_case *c, const s2v_kernels *t, int32_t r,
                                 double row_error, double step, double *error)
{
    const double *w = c->weight + (ptrdiff_t)r * c->k;
    double sum = 0, size = 0, weights = 0;
    for (int32_t i = 0; i < c->k; i++) {
        sum += c->row[i] * w[i];
        size += fabs(c->row[i] * w[i]);
        weights += fabs(w[i]);
    }
    *error = (c->k + 8) * UNIT * size + row_error * weights +
             rounding_slack(t->precision, c->row, w, c->k, step, c->p.norm.kind != S2V_NORM_NONE);
    return sum;
}

static inline const char *compare_product(const product_case *c, const s2v_kernels *t,
                                          const float *out)
{
    const s2v_product *p = &c->p;
    const int32_t outputs = s2v_packed_outputs(&c->packed);
    double *exact = malloc((size_t)c->k * sizeof *exact);
    const char *broken = NULL;
    if (!exact) abort();
    for (int32_t m = 0; m < c->m && !broken; m++) {
        const double row_error = norm_row(&p->norm, p->x + m * p->x_pitch, c->k, exact);
        const double step = round_row(t->precision, t->block, exact, c->k, c->row);
        for (int32_t n = 0; n < outputs && !broken; n++) {
            double z_error, up_error = 0, error, up = 0;
            double z = product_sum(c, t, n, row_error, step, &z_error);
            if (p->bias) z += (double)p->bias[n];
            z_error += UNIT * fabs(z);
            if (c->is_pair) {
                up = product_sum(c, t, c->n + n, row_error, step, &up_error);
                if (p->bias_up) up += (double)p->bias_up[n];
                up_error += UNIT * fabs(up);
            }
            double want = activation_of(p->activation, z, up, z_error, up_error, &error);
            if (p->residual) want += (double)p->residual[m * p->residual_pitch + n];
            error += 2 * UNIT * fabs(want) + 1e-37;
            const double got = (double)out[m * p->out_pitch + n];
            if (fabs(got - want) <= error) continue;
            broken = broken_promise(
                t,
                "product of %d rows, %d of %d columns, k %d, type %d, kind %d, norm %d, "
                "activation %d: [%d][%d] is %.9g, not %.9g +- %.2g",
                c->m, c->n_parts, c->n, c->k, (int)c->source.type[0], c->kind, (int)p->norm.kind,
                (int)p->activation, m, n, got, want, error);
        }
        for (int32_t n = outputs; n < p->out_pitch && m < c->m - 1 && !broken; n++)
            if (out[m * p->out_pitch + n] != -77.0f && !c->is_in_place)
                broken = broken_promise(t, "wrote past the end of row %d", m);
    }
    free(exact);
    return broken;
}

/* Cut into parts as threads would do it: rows anywhere, columns at multiples of the grain. */
static inline void run_in_parts(const s2v_kernels *t, const s2v_product *p, int32_t m,
                                int32_t outputs, s2_random *random)
{
    void *scratch = aligned_bytes(t->product_scratch(p->weights));
    const int32_t row = draw(random, m + 1);
    const int32_t column = draw(random, outputs / t->columns + 1) * t->columns;
    const s2v_share part[4] = { { 0, row, 0, column },
                                { 0, row, column, outputs },
                                { row, m, column, outputs },
                                { row, m, 0, column } };
    for (int i = 0; i < 4; i++)
        if (part[i].m0 < part[i].m1 && part[i].n0 < part[i].n1) t->product(p, part[i], scratch);
    free(scratch);
}

static inline const char *check_products_times(const s2v_kernels *t, int n_cases)
{
    s2_random random = { 11 };
    const char *broken = NULL;
    for (int i = 0; i < n_cases && !broken; i++) {
        product_case c;
        arena a = { .n = 0 };
        draw_product(&c, t, &a, &random);
        s2v_product p = c.p;
        if (c.is_in_place) {
            const size_t n = (size_t)((c.m - 1) * p.out_pitch + s2v_packed_outputs(&c.packed));
            memcpy(p.out, p.residual, n * sizeof *p.out);
            p.residual = p.out;
        }
        run_in_parts(t, &p, c.m, s2v_packed_outputs(&c.packed), &random);
        broken = compare_product(&c, t, p.out);
        free_product(&c, &a);
    }
    return broken;
}

static inline const char *check_products(const s2v_kernels *t)
{
    return check_products_times(t, 250);
}

/* A NaN or an infinity in a row or a weight goes where the formula sends it and nowhere else. */
static inline const char *check_specials(const s2v_kernels *t)
{
    enum { M = 9, N = 37, K = 70 };
    static const float special[] = { NAN, INFINITY, -INFINITY };
    s2_random random = { 12 };
    float *w = malloc(sizeof(float) * N * K), *x = malloc(sizeof(float) * M * K);
    float *out = malloc(sizeof(float) * M * N), *plain = malloc(sizeof(float) * M * N);
    if (!w || !x || !out || !plain) abort();
    const char *broken = NULL;
    for (int trial = 0; trial < 24 && !broken; trial++) {
        const int32_t bad = draw(&random, M), column = draw(&random, N), k = draw(&random, K);
        const bool in_row = trial % 2;
        fill_floats(w, N * K, 0, &random);
        fill_floats(x, M * K, 0, &random);
        (in_row ? x + bad * K : w + column * K)[k] = special[trial / 2 % 3];
        s2v_packed packed = { N, K, 1, false, t->stored(S2V_ELEMENT_F32), NULL };
        packed.data = aligned_bytes(t->packed_bytes(&packed));
        t->pack(&packed, &(s2v_source){ { w }, 1, { S2V_ELEMENT_F32 } }, 0, t->n_panels(&packed));
        const s2v_activation activation[4] = { S2V_LINEAR, S2V_GELU_TANH, S2V_GELU_QUICK,
                                               S2V_GELU_ERF };
        const s2v_product p = { .weights = &packed,
                                .x = x,
                                .x_pitch = K,
                                .out = out,
                                .out_pitch = N,
                                .activation = activation[trial / 6] };
        void *scratch = aligned_bytes(t->product_scratch(&packed));
        t->product(&p, (s2v_share){ 0, M, 0, N }, scratch);
        for (int32_t m = 0; m < M; m++)
            for (int32_t n = 0; n < N && !broken; n++) {
                const bool is_hit = in_row ? m == bad : n == column;
                const double sign =
                    (double)(in_row ? w[n * K + k] : x[m * K + k]) * (double)special[trial / 2 % 3];
                const double got = (double)out[m * N + n];
                /* an infinity may end as NaN where numbers are scaled, but never as a number;
                 * minus infinity times zero, the end of every GELU, is NaN */
                const bool is_right =
                    !is_hit ? isfinite(got)
                            : isnan(got) || (isinf(sign) && got == sign && trial / 6 == 0) ||
                                  (isinf(sign) && sign > 0 && got == sign);
                if (!is_right)
                    broken = broken_promise(t, "%g in a %s: [%d][%d] is %g",
                                            (double)special[trial / 2 % 3],
                                            in_row ? "row" : "weight", m, n, got);
            }
        free(scratch);
        free(packed.data);
    }
    free(w);
    free(x);
    free(out);
    free(plain);
    return broken;
}

/* One input, weight 1: the activation alone, to the last few bits, over all of its range. */
static inline const char *check_activations(const s2v_kernels *t)
{
    enum { M = 4003 };
    static float x[M], out[M];
    const float one[2] = { 1.0f, 1.0f };
    const char *broken = NULL;
    for (int kind = S2V_LINEAR; kind <= S2V_SWIGLU && !broken; kind++) {
        s2v_packed w = { 1, 1, kind == S2V_SWIGLU ? 2 : 1, kind == S2V_SWIGLU, 0, NULL };
        w.type = t->stored(S2V_ELEMENT_F32);
        w.data = aligned_bytes(t->packed_bytes(&w));
        const s2v_source source = { { one, one + 1 },
                                    w.n_parts,
                                    { S2V_ELEMENT_F32, S2V_ELEMENT_F32 } };
        t->pack(&w, &source, 0, t->n_panels(&w));
        for (int32_t i = 0; i < M; i++) /* in sixteenths: exact at every precision */
            x[i] = (float)round_one(t->precision, (float)(i - M / 2) / (i % 2 ? 16.0f : 128.0f));
        const s2v_product p = { .weights = &w,
                                .x = x,
                                .x_pitch = 1,
                                .out = out,
                                .out_pitch = 1,
                                .activation = (s2v_activation)kind };
        void *scratch = aligned_bytes(t->product_scratch(&w));
        t->product(&p, (s2v_share){ 0, M, 0, 1 }, scratch);
        for (int32_t i = 0; i < M && !broken; i++) {
            double error;
            const double z = (double)x[i];
            const double sum_error = t->precision >= S2V_PRECISION_Q8 ? 6 * UNIT * fabs(z) : 0;
            const double want =
                activation_of((s2v_activation)kind, z, z, sum_error, sum_error, &error);
            error -= 84 * UNIT * fabs(want);    /* of the 100 it may have */
            error += 3 * UNIT * fabs(want * z); /* e^-z of a rounded z */
            if (kind == S2V_GELU_TANH) error += UNIT * fabs(want * z * z * z);
            if (fabs((double)out[i] - want) > error)
                broken = broken_promise(t, "activation %d of %.9g is %.9g, not %.9g +- %.2g", kind,
                                        z, (double)out[i], want, error);
        }
        free(scratch);
        free(w.data);
    }
    return broken;
}

/* --- norm and rotation ------------------------------------------------------------------------ */

static inline const char *check_rows_alone(const s2v_kernels *t)
{
    s2_random random = { 13 };
    const char *broken = NULL;
    for (int trial = 0; trial < 200 && !broken; trial++) {
        arena a = { .n = 0 };
        const bool at_end = trial % 2;
        const int32_t width = 1 + draw(&random, trial % 3 ? 90 : 1300),
                      pieces = 1 + draw(&random, 3);
        const int32_t k = width * pieces, dim = 2 * (1 + draw(&random, 64));
        float *x = arena_take(&a, (size_t)k * 4, at_end),
              *y = arena_take(&a, (size_t)k * 4, at_end);
        float *w = arena_take(&a, (size_t)width * 4, at_end);
        float *b = arena_take(&a, (size_t)width * 4, at_end);
        float *head = arena_take(&a, (size_t)dim * 4, at_end);
        float *rotated = arena_take(&a, (size_t)dim * 4, at_end);
        float *c = arena_take(&a, (size_t)dim * 2, at_end),
              *s = arena_take(&a, (size_t)dim * 2, at_end);
        double *want = malloc((size_t)k * sizeof *want);
        if (!want) abort();
        fill_floats(x, (size_t)k, trial % 4, &random);
        fill_floats(w, (size_t)width, 0, &random);
        fill_floats(b, (size_t)width, 0, &random);
        if (trial % 5 == 0)
            for (int32_t i = 0; i < k; i++) x[i] += 100.0f; /* far from zero */
        const s2v_norm_of norm = { trial % 2 ? S2V_NORM_RMS : S2V_NORM_LAYER, width, w, b, 1e-6f };
        const double slack = norm_row(&norm, x, k, want);
        t->norm(&norm, x, k, y);
        for (int32_t i = 0; i < k && !broken; i++)
            if (!(fabs((double)y[i] - want[i]) <= slack + 4 * UNIT * fabs(want[i])))
                broken = broken_promise(t, "norm %d of %d: [%d] is %.9g, not %.9g", (int)norm.kind,
                                        width, i, (double)y[i], want[i]);
        t->norm(&norm, x, k, x);
        if (!broken && memcmp(x, y, (size_t)k * 4) != 0)
            broken = broken_promise(t, "norm in place differs");

        fill_floats(head, (size_t)dim, 0, &random);
        fill_floats(c, (size_t)dim / 2, 0, &random);
        fill_floats(s, (size_t)dim / 2, 0, &random);
        t->rotate(head, dim, c, s, rotated);
        for (int32_t i = 0; i < dim / 2 && !broken; i++) {
            const double p = (double)head[i], q = (double)head[i + dim / 2];
            const double low = p * (double)c[i] - q * (double)s[i];
            const double high = p * (double)s[i] + q * (double)c[i];
            if (fabs((double)rotated[i] - low) > 4 * UNIT ||
                fabs((double)rotated[i + dim / 2] - high) > 4 * UNIT)
                broken = broken_promise(t, "rotation of %d: pair %d", dim, i);
        }
        t->rotate(head, dim, c, s, head);
        if (!broken && memcmp(head, rotated, (size_t)dim * 4) != 0)
            broken = broken_promise(t, "rotation in place differs");
        free(want);
        arena_free(&a);
    }
    return broken;
}

#endif /* TESTS_TOWER_CASES_H */
