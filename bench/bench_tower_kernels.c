/* bench_tower_kernels.c - the tower's products and attention against ggml's and against the peak.
 *
 *   bench_tower_kernels [tower_kernels.csv] [rounds] [rows] [large]
 *
 * One thread, CPU time, everything interleaved: for each unit a loop of nothing but its multiply-adds
 * (the peak), ours with weights in F32 and in F16 for each table that runs here, ggml's mul_mat with
 * both. Products are called as the tower calls them: packing of rows included, with the norm or the
 * residual of their place, gate and up as one. Then attention: whole pictures and windows, ours against flash_attn_ext
 * as the towers call it. Shapes: Qwen2.5-VL at 672x672 (2,304
 * rows; `rows` for other sizes) and SigLIP (729 rows). Then attention of large pictures in towers
 * without windows: 4,096 and 16,384 patches (1024x1024 and 2048x2048), heads of 64, 72 and 80, with and
 * without rotation, which ggml gets done; `large` measures nothing else. Results are compared before
 * anything is timed.
 */
#include "contest.h"
#include "kernels/tower/kernels.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <math.h>

/* --- ggml ---------------------------------------------------------------------------------- */

typedef struct ggml_side {
    ggml_backend_t backend;
    struct ggml_context *ctx;
    struct ggml_cgraph *graph;
    ggml_gallocr_t allocator;
    struct ggml_tensor *out;
} ggml_side;

static void run_ggml(void *context)
{
    ggml_side *g = context;
    if (ggml_backend_graph_compute(g->backend, g->graph) != GGML_STATUS_SUCCESS) abort();
}

static void ggml_begin(ggml_side *g, ggml_backend_t backend)
{
    const struct ggml_init_params params = { ggml_tensor_overhead() * 16 + ggml_graph_overhead(),
                                             NULL, true };
    *g = (ggml_side){ .backend = backend, .ctx = ggml_init(params) };
}

static struct ggml_tensor *ggml_input(ggml_side *g, enum ggml_type type, int64_t ne0, int64_t ne1)
{
    struct ggml_tensor *t = ggml_new_tensor_2d(g->ctx, type, ne0, ne1);
    ggml_set_input(t);
    return t;
}

static void ggml_ready(ggml_side *g, struct ggml_tensor *out)
{
    ggml_set_output(out);
    g->out = out;
    g->graph = ggml_new_graph(g->ctx);
    ggml_build_forward_expand(g->graph, out);
    g->allocator = ggml_gallocr_new(ggml_backend_get_default_buffer_type(g->backend));
    if (!ggml_gallocr_alloc_graph(g->allocator, g->graph)) abort();
}

static void ggml_end(ggml_side *g)
{
    ggml_gallocr_free(g->allocator);
    ggml_free(g->ctx);
}

/* --- products -------------------------------------------------------------------------------- */

typedef struct our_product {
    const s2v_kernels *table;
    s2v_packed packed;
    s2v_product p;
    s2v_share part;
    void *scratch;
} our_product;

static void run_product(void *context)
{
    our_product *o = context;
    o->table->product(&o->p, o->part, o->scratch);
}

static void compare(const char *name, const float *ours, const float *theirs, size_t n,
                    double limit)
{
    double error = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        error += pow((double)(ours[i] - theirs[i]), 2);
        size += pow((double)theirs[i], 2);
    }
    if (sqrt(error / size) < limit) return;
    fprintf(stderr, "%s differs from ggml by %.2g\n", name, sqrt(error / size));
    exit(1);
}

/* What a gated layer makes of rows of gates and ups side by side, [m][2 n]. */
static void gate(const float *both, int32_t m, int32_t n, float *out)
{
    for (int32_t i = 0; i < m; i++, both += 2 * n)
        for (int32_t j = 0; j < n; j++) *out++ = both[j] / (1.0f + expf(-both[j])) * both[n + j];
}

/* Ours with the norm before it where a layer widens, with the residual where it narrows. n_parts 2:
 * gate and up, activated by ours and not by ggml. */
static void bench_product(contest *c, ggml_backend_t backend, int32_t m, int32_t k, int32_t n,
                          int32_t n_parts)
{
    const int32_t n_rows = n * n_parts; /* of the weights */
    const size_t n_weights = (size_t)n_rows * (size_t)k, n_x = (size_t)m * (size_t)k;
    const size_t n_out = (size_t)m * (size_t)n;
    uint32_t seed = 1;
    float *w = take(n_weights * 4), *x = take(n_x * 4), *out = take(n_out * 4);
    float *wanted = take(n_out * 4);
    ggml_fp16_t *half = take(n_weights * 2);
    for (size_t i = 0; i < n_x; i++) x[i] = noise(&seed);
    for (size_t i = 0; i < n_weights; i++) w[i] = noise(&seed) / sqrtf((float)k);
    ggml_fp32_to_fp16_row(w, half, (int64_t)n_weights);
    c->n = 0;
    enter_peak(c, "float32");

    ggml_side side[2];
    for (int h = 0; h < 2; h++) {
        ggml_begin(&side[h], backend);
        struct ggml_tensor *a = ggml_input(&side[h], h ? GGML_TYPE_F16 : GGML_TYPE_F32, k, n_rows);
        struct ggml_tensor *b = ggml_input(&side[h], GGML_TYPE_F32, k, m);
        ggml_set_output(a); /* inputs are read in every round */
        ggml_set_output(b);
        ggml_ready(&side[h], ggml_mul_mat(side[h].ctx, a, b));
        ggml_backend_tensor_set(a, h ? (const void *)half : w, 0, ggml_nbytes(a));
        ggml_backend_tensor_set(b, x, 0, ggml_nbytes(b));
        run_ggml(&side[h]);
        enter(c, h ? "ggml-f16" : "ggml-f32", run_ggml, &side[h]);
    }
    our_product ours[MAX_WHO];
    int n_ours = 0;
    for (size_t i = 1; s2v_kernels_at(i); i++)
        for (int h = 0; h < 2; h++) {
            our_product *o = &ours[n_ours++];
            const s2v_kernels *t = o->table = s2v_kernels_at(i);
            const s2v_element type = h ? S2V_ELEMENT_F16 : S2V_ELEMENT_F32;
            const size_t second = (size_t)n * (size_t)k;
            const s2v_source source = { { h ? (const void *)half : w,
                                          h ? (const void *)(half + second) : w + second },
                                        n_parts,
                                        { type, type } };
            o->packed = (s2v_packed){ n, k, n_parts, n_parts == 2, t->stored(type), NULL };
            o->packed.data = take(t->packed_bytes(&o->packed));
            t->pack(&o->packed, &source, 0, t->n_panels(&o->packed));
            o->p = (s2v_product){
                .weights = &o->packed, .x = x, .x_pitch = k, .out = out, .out_pitch = n
            };
            if (n_parts == 2) o->p.activation = S2V_SWIGLU;
            o->part = (s2v_share){ 0, m, 0, n };
            o->scratch = take(t->product_scratch(&o->packed));
            char name[40];
            snprintf(name, sizeof name, "%s-%s", t->name, h ? "f16" : "f32");
            run_product(o);
            const double limit = t->precision == S2V_PRECISION_F32    ? 2e-3
                                 : t->precision == S2V_PRECISION_BF16 ? 1e-2
                                                                      : 3e-2;
            if (n_parts == 2) gate(side[h].out->data, m, n, wanted);
            compare(name, out, n_parts == 2 ? wanted : side[h].out->data, n_out, limit);
            if (n > k)
                o->p.norm = (s2v_norm_of){ S2V_NORM_RMS, k, w, NULL, 1e-6f };
            else {
                o->p.residual = out;
                o->p.residual_pitch = n;
            }
            const int unit = enter_peak(c, t->name);
            enter(c, name, run_product, o)->unit = unit;
        }
    run_all(c);
    char what[60];
    snprintf(what, sizeof what, "product %dx%dx%d%s", m, k, n, n_parts == 2 ? " gated" : "");
    report(c, what, 2e-9 * (double)n_out * k * n_parts, 2); /* ggml-f16 */
    for (int i = 0; i < n_ours; i++) {
        free(ours[i].packed.data);
        free(ours[i].scratch);
    }
    for (int h = 0; h < 2; h++) ggml_end(&side[h]);
    free(w);
    free(x);
    free(out);
    free(wanted);
    free(half);
}

/* --- attention ------------------------------------------------------------------------------- */

typedef struct our_attention {
    const s2v_kernels *table;
    s2v_attention a;
    void *scratch;
} our_attention;

static void run_attention(void *context)
{
    our_attention *o = context;
    o->table->attend(&o->a, 0, s2v_attention_units(&o->a), o->scratch);
}

static struct ggml_tensor *as_batch(struct ggml_context *ctx, struct ggml_tensor *x, int64_t dim,
                                    int64_t heads, int64_t length, int64_t count)
{
    x = ggml_reshape_4d(ctx, x, dim, heads, length, count);
    return ggml_permute(ctx, x, 0, 2, 1, 3);
}

typedef struct attention_shape {
    int32_t length, count, heads, dim; /* `count` sequences of `length` */
    bool is_rotated;
} attention_shape;

/* cos, then sin: [rows][dim / 2] each. */
static float *make_angles(int32_t rows, int32_t dim)
{
    int32_t *pos = take((size_t)rows * 4);
    const size_t n = (size_t)rows * (size_t)dim / 2;
    float *angles = take(2 * n * 4);
    for (int32_t i = 0; i < rows; i++) pos[i] = i;
    s2v_rotation(pos, pos, rows, dim, 10000.0f, angles, angles + n);
    free(pos);
    return angles;
}

static float *rotate_all(const float *x, const attention_shape *s, const float *angles)
{
    const s2v_kernels *scalar = s2v_kernels_at(0);
    const ptrdiff_t rows = (ptrdiff_t)s->length * s->count, half = s->dim / 2;
    float *out = take((size_t)(rows * s->heads * s->dim) * 4);
    for (ptrdiff_t i = 0; i < rows * s->heads; i++) {
        const float *cosine = angles + i / s->heads * half;
        scalar->rotate(x + i * s->dim, s->dim, cosine, cosine + rows * half, out + i * s->dim);
    }
    return out;
}

/* ggml gets the values filled up to a multiple of 16, as LLaVA-OneVision's tower does. */
static void bench_attention(contest *c, ggml_backend_t backend, const attention_shape *s)
{
    const int32_t length = s->length, count = s->count, dim = s->dim, heads = s->heads;
    const int32_t rows = length * count, padded = (dim + 15) / 16 * 16;
    const size_t n = (size_t)rows * (size_t)heads * (size_t)dim;
    float *qkv[3], *out = take(n * 4);
    float *wide = take((size_t)rows * (size_t)heads * (size_t)padded * 4);
    int32_t *start = take(((size_t)count + 1) * 4);
    uint32_t seed = 2;
    for (int i = 0; i < 3; i++) {
        qkv[i] = take(n * 4);
        for (size_t j = 0; j < n; j++) qkv[i][j] = 2 * noise(&seed);
    }
    for (int32_t i = 0; i <= count; i++) start[i] = i * length;
    for (ptrdiff_t i = 0; i < (ptrdiff_t)rows * heads; i++)
        memcpy(wide + i * padded, qkv[2] + i * dim, (size_t)dim * 4);

    c->n = 0;
    enter_peak(c, "float32");
    ggml_side g;
    ggml_begin(&g, backend);
    struct ggml_tensor *in[3], *batch[3];
    for (int i = 0; i < 3; i++) {
        const int32_t d = i == 2 ? padded : dim;
        in[i] = ggml_input(&g, GGML_TYPE_F32, (int64_t)d * heads, rows);
        ggml_set_output(in[i]);
        batch[i] = as_batch(g.ctx, in[i], d, heads, length, count);
    }
    const float scale = 1.0f / sqrtf((float)dim);
    ggml_ready(&g, ggml_flash_attn_ext(g.ctx, batch[0], batch[1], batch[2], NULL, scale, 0, 0));
    float *angles = s->is_rotated ? make_angles(rows, dim) : NULL;
    for (int i = 0; i < 3; i++) {
        float *rotated = angles && i < 2 ? rotate_all(qkv[i], s, angles) : NULL;
        ggml_backend_tensor_set(in[i],
                                i == 2    ? wide
                                : rotated ? rotated
                                          : qkv[i],
                                0, ggml_nbytes(in[i]));
        free(rotated);
    }
    run_ggml(&g);
    enter(c, "ggml-flash", run_ggml, &g);

    our_attention ours[MAX_WHO];
    int n_ours = 0;
    for (size_t i = 1; s2v_kernels_at(i); i++) {
        if (s2v_kernels_at(i)->precision != s2v_kernels_at(i)->attention) continue; /* another's */
        our_attention *o = &ours[n_ours++];
        o->table = s2v_kernels_at(i);
        o->a = (s2v_attention){ .q = qkv[0],
                                .k = qkv[1],
                                .v = qkv[2],
                                .pitch = (ptrdiff_t)heads * dim,
                                .start = start,
                                .n_sequences = count,
                                .n_heads = heads,
                                .dim = dim,
                                .n_splits = 1,
                                .scale = scale,
                                .cos = angles,
                                .sin = angles ? angles + (ptrdiff_t)rows * (dim / 2) : NULL,
                                .out = out,
                                .out_pitch = (ptrdiff_t)heads * dim };
        o->scratch = take(o->table->attention_scratch(&o->a));
        run_attention(o);
        float *theirs = g.out->data;
        for (ptrdiff_t r = 0; r < (ptrdiff_t)rows * heads; r++)
            memcpy(wide + r * dim, theirs + r * padded, (size_t)dim * 4);
        compare(o->table->name, out, wide, n,
                o->table->attention == S2V_PRECISION_F32 ? 2e-3 : 1e-2);
        const int unit = enter_peak(c, o->table->name);
        enter(c, o->table->name, run_attention, o)->unit = unit;
    }
    run_all(c);
    char what[60];
    snprintf(what, sizeof what, "attention %dx%dx%d%s", count, length, dim,
             s->is_rotated ? " rotated" : "");
    report(c, what, 4e-9 * (double)n * length, 1);
    for (int i = 0; i < n_ours; i++) free(ours[i].scratch);
    ggml_end(&g);
    for (int i = 0; i < 3; i++) free(qkv[i]);
    free(out);
    free(wide);
    free(start);
    free(angles);
}

/* The products and the attention of Qwen2.5-VL's blocks and of SigLIP's. */
static void bench_block(contest *c, ggml_backend_t backend, int32_t rows)
{
    static const int32_t of_siglip[][2] = {
        { 1152, 3456 }, { 1152, 1152 }, { 1152, 4304 }, { 4304, 1152 }
    };
    bench_product(c, backend, rows, 1280, 3840, 1);
    bench_product(c, backend, rows, 1280, 1280, 1);
    bench_product(c, backend, rows, 1280, 3420, 2);
    bench_product(c, backend, rows, 3420, 1280, 1);
    bench_product(c, backend, rows / 4, 5120, 5120, 1);
    bench_product(c, backend, rows / 4, 5120, 2048, 1);
    for (int i = 0; i < 4; i++) bench_product(c, backend, 729, of_siglip[i][0], of_siglip[i][1], 1);
    bench_attention(c, backend, &(attention_shape){ rows, 1, 16, 80, false });
    bench_attention(c, backend, &(attention_shape){ 64, rows / 64, 16, 80, false });
    bench_attention(c, backend, &(attention_shape){ 729, 1, 16, 72, false });
}

/* A few heads, and of the largest pictures a few rounds: all heads cost the same. */
static void bench_large(contest *c, ggml_backend_t backend)
{
    static const int32_t dims[] = { 64, 72, 80 };
    const int n_turns = c->n_turns;
    for (int32_t rows = 4096; rows <= 16384; rows *= 4)
        for (int i = 0; i < 6; i++) {
            const attention_shape s = { rows, 1, rows > 4096 ? 1 : 2, dims[i / 2], i % 2 == 1 };
            c->n_turns = rows > 4096 && n_turns > 3 ? 3 : n_turns;
            bench_attention(c, backend, &s);
        }
    c->n_turns = n_turns;
}

int main(int argc, char **argv)
{
    contest *c = calloc(1, sizeof *c);
    if (!c) return 1;
    c->csv = fopen(argc > 1 ? argv[1] : "tower_kernels.csv", "w");
    c->n_turns = argc > 2 ? atoi(argv[2]) : 10;
    const int32_t rows = argc > 3 ? atoi(argv[3]) : 2304;
    if (!c->csv || c->n_turns < 1 || c->n_turns > MAX_TURNS || rows < 64) return 1;
    print_header(c);
    ggml_backend_t backend = ggml_backend_cpu_init();
    if (!backend) return 1;
    ggml_backend_cpu_set_n_threads(backend, 1);
    const bool is_large_only = argc > 4 && strcmp(argv[4], "large") == 0;
    if (!is_large_only) bench_block(c, backend, rows);
    bench_large(c, backend);
    ggml_backend_free(backend);
    const int failed = fclose(c->csv);
    free(c);
    return failed ? 1 : 0;
}
