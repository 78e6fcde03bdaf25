/* bench_decoder_products.c - the decoder's products: ggml's, ours, and what the tower's kernels would do.
 *
 *   bench_decoder_products [decoder_products.csv] [turns] [no-amx]
 *
 * One thread, CPU time, everything in turn, for Q4_0, Q4_K, Q6_K and Q8_0 and the feed-forward shape
 * of Qwen2.5-VL-3B, 615 rows (nothing pruned), 103 (64 visual tokens), and the 8, 4 and 1 of answers:
 *   ggml      its product with the weights where the engine puts them: the buffer type that repacks
 *             them, or a plain one if that takes no such type
 *   blocks    what the engine does on a CPU with AMX, for Q4_K and Q6_K
 *   rows      what it does on others with AVX2, for two rows of these and more; with no-amx also here
 *   NAME      the tower's: a group of columns is unpacked into the panels of a table, then multiplied
 *   NAME-bare the same without unpacking, as if it cost nothing: what no unpacking can pass
 * Shares are of the peak of the unit each one multiplies with; ggml's is the one of bytes.
 */
#include "contest.h"
#include "kernels/decoder/blocks.h"
#include "engine/products/few_rows.h"
#include "kernels/decoder/few_rows_avx2.h"
#include "kernels/tower/kernels.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <math.h>

#define GROUP 1024 /* columns unpacked at a time: 8 MiB of float32, within the third-level cache */

static bool is_amx_left_out;

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
    ggml_set_output(t->x); /* read in every turn */
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
        if (o->unpacks) {
            o->to_float(o->data + (size_t)first * o->row_bytes, o->floats, (int64_t)w.n * o->k);
            o->table->pack(&w, &(s2v_source){ { o->floats }, 1, S2V_ELEMENT_F32 }, 0,
                           o->table->n_panels(&w));
        }
        const s2v_product p = {
            .weights = &w, .x = o->x, .x_pitch = o->k, .out = o->out + first, .out_pitch = o->n
        };
        o->table->product(&p, (s2v_share){ 0, o->m, 0, w.n }, o->scratch);
    }
}

typedef struct block_product {
    s2v_blocks w;
    const float *x;
    int32_t m;
    void *rows, *scratch; /* as the product reads them */
    float *out;
} block_product;

static void run_blocks(void *context)
{
    const block_product *b = context;
    const int32_t k = b->w.k, n = b->w.n;
    if (b->m <= S2V_WORD_ROWS) {
        for (int32_t i = 0; i < b->m; i++)
            s2v_words_round_vnni(b->x + (ptrdiff_t)i * k, k,
                                 (char *)b->rows + s2v_words_bytes(k, i));
        s2v_words_product_vnni(&b->w, b->rows, b->m, 0, n, b->out, n);
    } else if (b->m <= S2V_FEW_ROWS) {
        for (int32_t i = 0; i < S2V_FEW_ROWS; i++)
            s2v_digits_round_amx(i < b->m ? b->x + (ptrdiff_t)i * k : NULL, k, i, b->rows);
        s2v_digits_product_amx(&b->w, b->rows, b->m, 0, n, b->out, n);
    } else {
        s2v_blocks_turn_amx(b->x, k, k, b->m, 0, (b->m + 15) / 16, b->rows);
        s2v_blocks_product_amx(&b->w, b->rows, b->m, 0, n, b->out, n, b->scratch);
    }
}

typedef struct row_product {
    const struct ggml_tensor *w; /* as ggml packed it */
    const float *x;
    int32_t m;
    s2v_row_block *rows;
    float *out;
} row_product;

static void run_rows(void *context)
{
    const row_product *b = context;
    const int32_t k = (int32_t)b->w->ne[0], n = (int32_t)b->w->ne[1];
    s2v_few_kernel *kernel = b->w->type == GGML_TYPE_Q4_K ? s2v_few_q4_avx2 : s2v_few_q6_avx2;
    for (int32_t i = 0; i < b->m; i++)
        s2v_few_bytes_avx2(b->x + (ptrdiff_t)i * k, k,
                           b->rows + (ptrdiff_t)i * (k / S2V_FEW_BLOCK));
    kernel(b->w->data, k, 0, n, b->rows, b->m, b->out, n);
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

    block_product blocks = { .rows = NULL };
    if ((type == GGML_TYPE_Q4_K || type == GGML_TYPE_Q6_K) && !is_amx_left_out &&
        s2v_blocks_run_here()) {
        const s2v_block_kind kind = type == GGML_TYPE_Q4_K ? S2V_Q4_K : S2V_Q6_K;
        blocks = (block_product){ .w = { kind, k, n, data }, .x = x, .m = m, .out = out };
        blocks.rows = take(m <= S2V_WORD_ROWS  ? s2v_words_bytes(k, m)
                           : m <= S2V_FEW_ROWS ? s2v_digits_bytes(k)
                                               : s2v_turned_bytes(k, m));
        blocks.scratch = take(s2v_blocks_scratch(m));
        run_blocks(&blocks);
        check("blocks", out, &theirs);
        const int unit = enter_peak(c, m <= S2V_WORD_ROWS  ? "avx512-vnni"
                                       : m <= S2V_FEW_ROWS ? "amx-int8"
                                                           : "amx-bf16");
        enter(c, "blocks", run_blocks, &blocks)->unit = unit;
    }
    row_product rows = { .w = theirs.w, .x = x, .m = m, .out = out };
    if (m > 1 && s2v_few_takes(theirs.w)) {
        rows.rows = take((size_t)m * (size_t)(k / S2V_FEW_BLOCK) * sizeof *rows.rows);
        run_rows(&rows);
        check("rows", out, &theirs);
        enter(c, "rows", run_rows, &rows)->unit = byte_unit;
    }
    const int n_ours = m > S2V_FEW_ROWS ? 4 : 0; /* the tower never has a few */
    our_product ours[4];
    const s2v_kernels *table[2] = { s2v_kernels_choose(S2V_PRECISION_F32), bytes };
    for (int i = 0; i < n_ours; i++) {
        our_product *o = &ours[i];
        const s2v_kernels *t = table[i / 2];
        *o = (our_product){ .table = t,
                            .unpacks = true,
                            .to_float = ggml_get_type_traits(type)->to_float,
                            .data = data,
                            .row_bytes = row_bytes,
                            .x = x,
                            .m = m,
                            .k = k,
                            .n = n,
                            .floats = floats,
                            .out = out };
        o->packed = (s2v_packed){ GROUP, k, 1, false, t->stored(S2V_ELEMENT_F32), NULL };
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
    free(rows.rows);
    free(blocks.rows);
    free(blocks.scratch);
    end_theirs(&theirs);
    free(x);
    free(out);
    free(floats);
    free(data);
}

int main(int argc, char **argv)
{
    static const enum ggml_type types[] = { GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K,
                                            GGML_TYPE_Q8_0 };
    contest *c = calloc(1, sizeof *c);
    if (!c) return 1;
    c->csv = fopen(argc > 1 ? argv[1] : "decoder_products.csv", "w");
    c->n_turns = argc > 2 ? atoi(argv[2]) : 7;
    is_amx_left_out = argc > 3 && strcmp(argv[3], "no-amx") == 0;
    if (!c->csv || c->n_turns < 1 || c->n_turns > MAX_TURNS) return 1;
    print_header(c);
    ggml_backend_t backend = ggml_backend_cpu_init();
    if (!backend) return 1;
    ggml_backend_cpu_set_n_threads(backend, 1);
    static const int32_t rows[] = { 615, 103, 8, 4, 1 };
    for (int i = 0; i < 4; i++)
        for (int r = 0; r < 5; r++) bench(c, backend, types[i], rows[r]);
    ggml_backend_free(backend);
    const int failed = fclose(c->csv);
    free(c);
    return failed ? 1 : 0;
}
