/* bench_decoder_products.c - the decoder's products: ggml's, ours, and what the tower's kernels would do.
 *
 *   bench_decoder_products [decoder_products.csv] [rounds] [no-amx] [no-tower] [TYPE...]
 *
 * One thread, CPU time, everything interleaved, for each TYPE (q8_0; without any: all) and the
 * feed-forward shape of Qwen2.5-VL-3B, 615 rows (nothing pruned), 103 (64 visual tokens), and the 8, 4 and 1 of answers:
 *   ggml      its product with the weights where the engine puts them: the buffer type that repacks
 *             them, or a plain one if that takes no such type
 *   VARIANT   the engine's product where the kernels have one for this machine (kernels/decoder); with
 *             no-amx as on a machine without AMX
 *   NAME      the tower's, unless no-tower: a group of columns is unpacked into the panels of a table, then multiplied
 *             F16 and BF16 by the tables of float32 and BF16, others by those of float32 and bytes
 *   NAME-bare the same without unpacking, as if it cost nothing: what no unpacking can pass
 * Shares are of the peak of the unit each one multiplies with; ggml's is the one of bytes.
 */
#include "contest.h"
#include "kernels/decoder/products.h"
#include "kernels/tower/kernels.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <math.h>

#define GROUP 1024 /* columns unpacked at a time: 8 MiB of float32, within the third-level cache */

static bool is_amx_left_out, is_tower_left_out;

typedef struct their_product {
    ggml_backend_t backend;
    struct ggml_context *weights_ctx, *ctx;
    ggml_backend_buffer_t weights;
    ggml_gallocr_t allocator;
    struct ggml_cgraph *graph;
    struct ggml_tensor *w, *x, *out;
} their_product;

static void run_theirs(void *context)
{
    const their_product *t = context;
    if (ggml_backend_graph_compute(t->backend, t->graph) != GGML_STATUS_SUCCESS) abort();
}

/* The buffer type that lays out such weights anew; NULL: none does. */
static ggml_backend_buffer_type_t repacking_type(ggml_backend_t backend, struct ggml_tensor *op,
                                                 struct ggml_tensor *weights)
{
    ggml_backend_dev_t device = ggml_backend_get_device(backend);
    ggml_backend_dev_get_extra_bufts_t get;
    void *found = ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device),
                                                    "ggml_backend_dev_get_extra_bufts");
    memcpy(&get, &found, sizeof get);
    ggml_backend_buffer_type_t *types = get ? get(device) : NULL;
    for (; types && *types; types++) {
        if (is_amx_left_out && strcmp(ggml_backend_buft_name(*types), "AMX") == 0) continue;
        weights->buffer = ggml_backend_buft_alloc_buffer(*types, 0);
        const bool takes = weights->buffer && ggml_backend_dev_supports_op(device, op);
        ggml_backend_buffer_free(weights->buffer);
        weights->buffer = NULL;
        if (takes) return *types;
    }
    return NULL;
}

static bool begin_theirs(their_product *t, ggml_backend_t backend, enum ggml_type type,
                         const void *data, const float *x, int32_t m, int32_t k, int32_t n)
{
    const struct ggml_init_params params = { ggml_tensor_overhead() * 8 + ggml_graph_overhead(),
                                             NULL, true };
    *t = (their_product){ .backend = backend,
                          .weights_ctx = ggml_init(params),
                          .ctx = ggml_init(params) };
    struct ggml_tensor *w = t->w = ggml_new_tensor_2d(t->weights_ctx, type, k, n);
    t->x = ggml_new_tensor_2d(t->ctx, GGML_TYPE_F32, k, m);
    ggml_set_input(t->x);
    ggml_set_output(t->x); /* read in every round */
    t->out = ggml_mul_mat(t->ctx, w, t->x);
    ggml_set_output(t->out);
    ggml_backend_buffer_type_t where = repacking_type(backend, t->out, w);
    const bool repacks = where != NULL;
    if (!repacks) where = ggml_backend_get_default_buffer_type(backend);
    t->weights = ggml_backend_alloc_ctx_tensors_from_buft(t->weights_ctx, where);
    t->graph = ggml_new_graph(t->ctx);
    ggml_build_forward_expand(t->graph, t->out);
    t->allocator = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
    if (!t->weights || !ggml_gallocr_alloc_graph(t->allocator, t->graph)) abort();
    ggml_backend_tensor_set(w, data, 0, ggml_nbytes(w));
    ggml_backend_tensor_set(t->x, x, 0, ggml_nbytes(t->x));
    run_theirs(t);
    return repacks;
}

static void end_theirs(their_product *t)
{
    ggml_gallocr_free(t->allocator);
    ggml_backend_buffer_free(t->weights);
    ggml_free(t->weights_ctx);
    ggml_free(t->ctx);
}

typedef struct our_product {
    const s2v_kernels *table;
    bool unpacks;
    s2v_element element; /* F16 and BF16 are packed as they are, others as F32 */
    ggml_to_float_t to_float;
    const char *data; /* quantised rows */
    size_t row_bytes;
    const float *x;
    int32_t m, k, n;
    float *floats, *out; /* [GROUP][k], [m][n] */
    s2v_packed packed;   /* of GROUP columns */
    void *scratch;
} our_product;

static void run_ours(void *context)
{
    const our_product *o = context;
    for (int32_t first = 0; first < o->n; first += GROUP) {
        s2v_packed w = o->packed;
        w.n = o->n - first < GROUP ? o->n - first : GROUP;
        const char *rows = o->data + (size_t)first * o->row_bytes;
        if (o->unpacks && o->element != S2V_ELEMENT_F32) {
            o->table->pack(&w, &(s2v_source){ { rows }, 1, { o->element } }, 0,
                           o->table->n_panels(&w));
        } else if (o->unpacks) {
            o->to_float(rows, o->floats, (int64_t)w.n * o->k);
            o->table->pack(&w, &(s2v_source){ { o->floats }, 1, { S2V_ELEMENT_F32 } }, 0,
                           o->table->n_panels(&w));
        }
        const s2v_product p = {
            .weights = &w, .x = o->x, .x_pitch = o->k, .out = o->out + first, .out_pitch = o->n
        };
        o->table->product(&p, (s2v_share){ 0, o->m, 0, w.n }, o->scratch);
    }
}

typedef struct variant_product {
    const s2k_products *with;
    s2k_weights w;
    const float *x;
    int32_t m;
    void *rows, *scratch;
    float *out;
} variant_product;

static void run_variant(void *context)
{
    const variant_product *v = context;
    v->with->pack_rows(v->x, v->w.k, v->w.k, v->m, 0, s2k_row_groups(v->with, v->m), v->rows);
    v->with->product(&v->w, v->rows, v->m, 0, v->w.n, v->out, v->w.n, v->scratch);
}

/* The engine's product with weights of this type, in the file's blocks or as ggml packed them. */
static variant_product find_variant(enum ggml_type type, int32_t m, int32_t k, int32_t n,
                                    const void *data, const void *packed)
{
    s2_cpu cpu = s2v_kernels_tested();
    if (is_amx_left_out) cpu.amx_bf16 = cpu.amx_int8 = false;
    const s2k_product_set *set = s2k_products_on(&cpu, true);
    variant_product v = { .m = m };
    for (int interleaved = packed ? 8 : 1; !v.with && interleaved > 0; interleaved -= 7) {
        const s2k_format format = s2k_format_find((int32_t)type, interleaved, k, n);
        v.w = (s2k_weights){ format, k, n, interleaved > 1 ? packed : data };
        v.with = s2k_products_for(set, format, m);
    }
    return v;
}

/* The peak a variant is compared with. */
static const char *unit_of(const s2k_products *p, const char *bytes)
{
    static const char *const units[][2] = { { "words-vnni", "avx512-vnni" },
                                            { "bytes-vnni", "avx512-vnni" },
                                            { "digits-amx", "amx-int8" },
                                            { "tiles-amx", "amx-bf16" } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(p->name, units[i][0]) == 0) return units[i][1];
    return bytes;
}

static double difference(const float *a, const float *b, size_t n)
{
    double error = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        error += pow((double)(a[i] - b[i]), 2);
        size += pow((double)b[i], 2);
    }
    return sqrt(error / size);
}

static void check(const char *name, const float *out, const their_product *theirs)
{
    const double off = difference(out, theirs->out->data, (size_t)ggml_nelements(theirs->out));
    if (off < 0.03) return;
    fprintf(stderr, "%s differs from ggml by %.2g\n", name, off);
    exit(1);
}

static void bench(contest *c, ggml_backend_t backend, enum ggml_type type, int32_t m)
{
    const int32_t k = 2048, n = 11008;
    const size_t n_weights = (size_t)n * (size_t)k, row_bytes = ggml_row_size(type, k);
    float *weights = take(n_weights * 4), *x = take((size_t)m * (size_t)k * 4);
    float *out = take((size_t)m * (size_t)n * 4), *floats = take((size_t)GROUP * (size_t)k * 4);
    char *data = take(row_bytes * (size_t)n);
    uint32_t seed = 1;
    for (size_t i = 0; i < n_weights; i++) weights[i] = noise(&seed) / sqrtf((float)k);
    for (size_t i = 0; i < (size_t)m * (size_t)k; i++) x[i] = noise(&seed);
    ggml_quantize_chunk(type, weights, data, 0, n, k, NULL);
    free(weights);

    c->n = 0;
    enter_peak(c, "float32");
    const s2v_kernels *bytes = s2v_kernels_choose(S2V_PRECISION_INT8);
    const int byte_unit = enter_peak(c, bytes->name);
    their_product theirs;
    const bool repacks = begin_theirs(&theirs, backend, type, data, x, m, k, n);
    const int base = c->n;
    enter(c, repacks ? "ggml repacked" : "ggml", run_theirs, &theirs)->unit = byte_unit;

    variant_product variant = find_variant(type, m, k, n, data, repacks ? theirs.w->data : NULL);
    if (variant.with) {
        variant.x = x;
        variant.out = out;
        variant.rows = take(variant.with->rows_bytes(k, m));
        variant.scratch = take(variant.with->scratch ? variant.with->scratch(k, m) : 1);
        run_variant(&variant);
        check(variant.with->name, out, &theirs);
        const int unit = enter_peak(c, unit_of(variant.with, bytes->name));
        enter(c, variant.with->name, run_variant, &variant)->unit = unit;
    }
    const int n_ours = m > 8 && !is_tower_left_out ? 4 : 0; /* the tower never has so few rows */
    our_product ours[4];
    const s2v_element element = type == GGML_TYPE_F16    ? S2V_ELEMENT_F16
                                : type == GGML_TYPE_BF16 ? S2V_ELEMENT_BF16
                                                         : S2V_ELEMENT_F32;
    const s2v_kernels *table[2] = { s2v_kernels_choose(S2V_PRECISION_F32),
                                    element == S2V_ELEMENT_F32
                                        ? bytes
                                        : s2v_kernels_choose(S2V_PRECISION_BF16) };
    for (int i = 0; i < n_ours; i++) {
        our_product *o = &ours[i];
        const s2v_kernels *t = table[i / 2];
        *o = (our_product){ .table = t,
                            .unpacks = true,
                            .element = element,
                            .to_float = ggml_get_type_traits(type)->to_float,
                            .data = data,
                            .row_bytes = row_bytes,
                            .x = x,
                            .m = m,
                            .k = k,
                            .n = n,
                            .floats = floats,
                            .out = out };
        o->packed = (s2v_packed){ GROUP, k, 1, false, t->stored(element), NULL };
        o->packed.data = take(t->packed_bytes(&o->packed));
        o->scratch = take(t->product_scratch(&o->packed));
        run_ours(o);
        check(t->name, out, &theirs);
        o->unpacks = i % 2 == 0;
        char name[40];
        snprintf(name, sizeof name, "%s%s", t->name, i % 2 ? "-bare" : "");
        const int unit = enter_peak(c, t->name);
        enter(c, name, run_ours, o)->unit = unit;
    }
    run_all(c);
    char what[60];
    snprintf(what, sizeof what, "%s %dx%dx%d", ggml_type_name(type), m, k, n);
    report(c, what, 2e-9 * m * (double)n_weights, base);
    for (int i = 0; i < n_ours; i++) {
        free(ours[i].packed.data);
        free(ours[i].scratch);
    }
    free(variant.rows);
    free(variant.scratch);
    end_theirs(&theirs);
    free(x);
    free(out);
    free(floats);
    free(data);
}

int main(int argc, char **argv)
{
    static const enum ggml_type types[] = { GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K,
                                            GGML_TYPE_Q6_K, GGML_TYPE_Q8_0, GGML_TYPE_IQ4_XS,
                                            GGML_TYPE_F16,  GGML_TYPE_BF16 };
    contest *c = calloc(1, sizeof *c);
    if (!c) return 1;
    c->csv = fopen(argc > 1 ? argv[1] : "decoder_products.csv", "w");
    c->n_turns = argc > 2 ? atoi(argv[2]) : 7;
    bool is_named = false;
    for (int i = 3; i < argc; i++) {
        const bool no_amx = strcmp(argv[i], "no-amx") == 0;
        const bool no_tower = strcmp(argv[i], "no-tower") == 0;
        is_amx_left_out = is_amx_left_out || no_amx;
        is_tower_left_out = is_tower_left_out || no_tower;
        is_named = is_named || !(no_amx || no_tower);
    }
    if (!c->csv || c->n_turns < 1 || c->n_turns > MAX_TURNS) return 1;
    print_header(c);
    ggml_backend_t backend = ggml_backend_cpu_init();
    if (!backend) return 1;
    ggml_backend_cpu_set_n_threads(backend, 1);
    static const int32_t rows[] = { 615, 103, 8, 4, 1 };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        bool is_wanted = !is_named;
        for (int a = 3; a < argc; a++)
            is_wanted = is_wanted || strcmp(argv[a], ggml_type_name(types[i])) == 0;
        for (int r = 0; is_wanted && r < 5; r++) bench(c, backend, types[i], rows[r]);
    }
    ggml_backend_free(backend);
    const int failed = fclose(c->csv);
    free(c);
    return failed ? 1 : 0;
}
