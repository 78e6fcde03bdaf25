/* tower_attention_cases.h - what the attention of every table of tower kernels must do, as plain C. */
#ifndef TESTS_TOWER_ATTENTION_CASES_H
#define TESTS_TOWER_ATTENTION_CASES_H

#include "tower_cases.h"

typedef struct attention_case {
    s2v_attention a;
    int32_t start[6], rows;
} attention_case;

static inline void draw_attention(attention_case *c, arena *a, int trial, s2_random *random)
{
    static const int32_t dims[] = { 32, 64, 72, 80, 128, 20, 6, 34 };
    const bool at_end = trial % 2;
    *c = (attention_case){ .rows = 0 };
    s2v_attention *at = &c->a;
    at->n_sequences = 1 + draw(random, 5);
    at->n_heads = 1 + draw(random, 3);
    at->n_splits = 1 + draw(random, 3);
    at->dim = dims[trial % 8];
    for (int32_t i = 0; i < at->n_sequences; i++)
        c->start[i + 1] =
            c->start[i] + (draw(random, 3) ? draw(random, 70) : 1 + draw(random, 400));
    c->rows = c->start[at->n_sequences];
    if (c->rows == 0) c->rows = c->start[at->n_sequences] = 1;
    at->start = c->start;
    const int32_t width = at->n_heads * at->dim;
    const bool is_joint = draw(random, 2); /* q, k, v side by side, as one product makes them */
    at->pitch = (is_joint ? 3 : 1) * width + draw(random, 2);
    const size_t n =
        (size_t)(c->rows - 1) * (size_t)at->pitch + (size_t)(is_joint ? 3 : 1) * (size_t)width;
    float *x[3];
    for (int i = 0; i < 3; i++) {
        x[i] = i > 0 && is_joint ? x[0] + i * width : arena_take(a, n * 4, at_end);
        if (i == 0 || !is_joint) fill_floats(x[i], n, draw(random, 2) ? 0 : 3, random);
    }
    at->q = x[0];
    at->k = x[1];
    at->v = x[2];
    at->scale = draw(random, 3) ? 1.0f / sqrtf((float)at->dim) : 5.0f;
    if (draw(random, 2)) {
        const size_t n_angles = (size_t)c->rows * (size_t)at->dim / 2;
        float *cosine = arena_take(a, n_angles * 4, at_end),
              *sine = arena_take(a, n_angles * 4, at_end);
        for (size_t i = 0; i < n_angles; i++) {
            const float angle = 100.0f * draw_float(random, 0);
            cosine[i] = cosf(angle);
            sine[i] = sinf(angle);
        }
        at->cos = cosine;
        at->sin = sine;
    }
    at->out_pitch = width + draw(random, 3);
    at->out =
        arena_take(a, ((size_t)(c->rows - 1) * (size_t)at->out_pitch + (size_t)width) * 4, at_end);
}

static inline double rotated_value(const s2v_attention *a, const float *x, int32_t row,
                                   int32_t head, int32_t d)
{
    const float *from = x + row * a->pitch + head * a->dim;
    const int32_t half = a->dim / 2, i = d % half;
    if (!a->cos) return (double)from[d];
    const double c = (double)a->cos[row * half + i], s = (double)a->sin[row * half + i];
    const double low = (double)from[i], high = (double)from[i + half];
    return d < half ? low * c - high * s : low * s + high * c;
}

/* One query in double. Returns what table t may be wrong by where no value is above 1. */
static inline double attend_exactly(const s2v_attention *a, const s2v_kernels *t, int32_t row,
                                    int32_t first, int32_t last, int32_t head, double *score,
                                    double *out)
{
    double most = -INFINITY, size = 0, largest = 0, sum = 0;
    for (int32_t j = first; j < last; j++) {
        double dot = 0, sizes = 0;
        for (int32_t d = 0; d < a->dim; d++) {
            const double x =
                rotated_value(a, a->q, row, head, d) * rotated_value(a, a->k, j, head, d);
            dot += x;
            sizes += fabs(x);
        }
        score[j - first] = dot * (double)a->scale;
        most = fmax(most, score[j - first]);
        size = fmax(size, fabs(score[j - first]));
        largest = fmax(largest, sizes * fabs((double)a->scale));
    }
    for (int32_t j = first; j < last; j++) sum += score[j - first] = exp(score[j - first] - most);
    for (int32_t d = 0; d < a->dim; d++) {
        out[d] = 0;
        for (int32_t j = first; j < last; j++)
            out[d] += score[j - first] / sum * (double)a->v[j * a->pitch + head * a->dim + d];
    }
    const int32_t n = last - first < 16 ? 16 : last - first;
    const double rounded =
        t->attention == S2V_PRECISION_BF16 ? exp(pow(2, -6.9) * largest) - 1 + pow(2, -7) : 0;
    return (8 + 4 * size) * n * UNIT + rounded;
}

static inline const char *compare_attention(const attention_case *c, const s2v_kernels *t,
                                            s2_random *random)
{
    const s2v_attention *a = &c->a;
    const char *broken = NULL;
    double *score = malloc((size_t)c->rows * sizeof *score), want[S2V_MAX_HEAD];
    if (!score) abort();
    for (int32_t i = 0; i < a->n_sequences && !broken; i++)
        for (int32_t row = c->start[i]; row < c->start[i + 1] && !broken;
             row += 1 + draw(random, 9)) {
            const int32_t head = draw(random, a->n_heads), n = c->start[i + 1] - c->start[i];
            const double error =
                attend_exactly(a, t, row, c->start[i], c->start[i + 1], head, score, want);
            for (int32_t d = 0; d < a->dim && !broken; d++) {
                const double got = (double)a->out[row * a->out_pitch + head * a->dim + d];
                if (fabs(got - want[d]) <= error) continue;
                broken = broken_promise(
                    t, "attention of %d rows, head %d of %d: [%d][%d] is %.9g, not %.9g +- %.2g", n,
                    head, a->dim, row, d, got, want[d], error);
            }
        }
    free(score);
    return broken;
}

static inline const char *check_attention_times(const s2v_kernels *t, int n_cases)
{
    s2_random random = { 14 };
    const char *broken = NULL;
    for (int trial = 0; trial < n_cases && !broken; trial++) {
        attention_case c;
        arena a = { .n = 0 };
        draw_attention(&c, &a, trial, &random);
        void *scratch = aligned_bytes(t->attention_scratch(&c.a));
        const int32_t units = s2v_attention_units(&c.a), cut = draw(&random, units + 1);
        t->attend(&c.a, cut, units, scratch);
        t->attend(&c.a, 0, cut, scratch);
        broken = compare_attention(&c, t, &random);
        free(scratch);
        arena_free(&a);
    }
    return broken;
}

static inline const char *check_attention(const s2v_kernels *t)
{
    return check_attention_times(t, 48);
}

/* Two keys and values 1 and 0: the weight of the first is 1 / (1 + exp(-score)), to a few bits. */
static inline const char *check_softmax(const s2v_kernels *t)
{
    enum { N = 600, DIM = 32 };
    static float q[2 * N * DIM], k[2 * N * DIM], v[2 * N * DIM], out[2 * N * DIM];
    static int32_t start[N + 1];
    for (int32_t i = 0; i < N; i++) {
        start[i + 1] = 2 * (i + 1);
        q[2 * i * DIM] = q[(2 * i + 1) * DIM] = (float)(i - N / 2) / 8.0f;
        k[2 * i * DIM] = 1.0f;
        for (int32_t d = 0; d < DIM; d++) v[2 * i * DIM + d] = 1.0f;
    }
    const s2v_attention a = { .q = q,
                              .k = k,
                              .v = v,
                              .pitch = DIM,
                              .start = start,
                              .n_sequences = N,
                              .n_heads = 1,
                              .dim = DIM,
                              .n_splits = 1,
                              .scale = 1.0f,
                              .out = out,
                              .out_pitch = DIM };
    void *scratch = aligned_bytes(t->attention_scratch(&a));
    const char *broken = NULL;
    t->attend(&a, 0, N, scratch);
    for (int32_t i = 0; i < 2 * N * DIM && !broken; i++) {
        const double z = (double)q[i / DIM * DIM], want = 1 / (1 + exp(-z));
        const double rounded =
            t->attention == S2V_PRECISION_BF16 ? exp(pow(2, -6.9) * fabs(z)) - 1 + pow(2, -7) : 0;
        if (fabs((double)out[i] - want) > ((8 + 2 * fabs(z)) * UNIT + rounded) * want + 1e-37)
            broken =
                broken_promise(t, "softmax of %g and 0 is %.9g, not %.9g", z, (double)out[i], want);
    }
    free(scratch);
    return broken;
}

/* A NaN in a query spoils its row, one in a value its column of the head, neither anything else; one
 * in a key spoils all; scores of minus infinity weigh nothing. */
static inline const char *check_attention_specials(const s2v_kernels *t)
{
    enum { N = 300, DIM = 72 };
    static float q[N * DIM], k[N * DIM], v[N * DIM], out[N * DIM];
    s2_random random = { 15 };
    const int32_t start[2] = { 0, N };
    const s2v_attention a = { .q = q,
                              .k = k,
                              .v = v,
                              .pitch = DIM,
                              .start = start,
                              .n_sequences = 1,
                              .n_heads = 1,
                              .dim = DIM,
                              .n_splits = 1,
                              .scale = 0.1f,
                              .out = out,
                              .out_pitch = DIM };
    void *scratch = aligned_bytes(t->attention_scratch(&a));
    const char *broken = NULL;
    for (int trial = 0; trial < 6 && !broken; trial++) {
        fill_floats(q, N * DIM, 0, &random);
        fill_floats(k, N * DIM, 0, &random);
        fill_floats(v, N * DIM, 0, &random);
        const int32_t row = draw(&random, N), column = draw(&random, DIM);
        if (trial % 3 == 0) q[row * DIM + column] = NAN;
        if (trial % 3 == 1) v[row * DIM + column] = NAN;
        if (trial == 4) k[40 * DIM + column] = NAN; /* not among the first keys of a tile */
        if (trial % 3 == 2) { /* all scores of the first tile, all but one of the second */
            for (int32_t i = 0; i < N * DIM; i++) q[i] = 1.0f;
            for (int32_t i = 0; i < N; i++) k[i * DIM + column] = i < N - 1 ? -INFINITY : 0.0f;
        }
        t->attend(&a, 0, 1, scratch);
        for (int32_t i = 0; i < N * DIM && !broken; i++) {
            const bool is_hit = trial % 3 == 0   ? i / DIM == row
                                : trial == 4     ? true
                                : trial % 3 == 1 ? i % DIM == column
                                                 : false;
            if (is_hit ? !isnan(out[i]) : !isfinite(out[i]))
                broken = broken_promise(t, "special %d: attention[%d][%d] is %g", trial % 3,
                                        i / DIM, i % DIM, (double)out[i]);
            float last = v[(N - 1) * DIM + i % DIM];
            if (t->attention == S2V_PRECISION_BF16)
                last = s2v_float_of_bf16(s2v_bf16_of_float(last));
            if (trial % 3 == 2 && !broken && out[i] != last)
                broken = broken_promise(t, "a score of -infinity weighs something");
        }
    }
    free(scratch);
    return broken;
}

#endif /* TESTS_TOWER_ATTENTION_CASES_H */
