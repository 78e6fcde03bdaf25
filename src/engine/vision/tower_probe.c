/* tower_probe.c - attention received and mean keys of one block, patch by patch, then token by token.
 *
 * A custom operation of ggml lends its threads; each takes one head after the other, and
 * the heads are added in their order, so the result does not depend on the threads.
 */
#include "engine/vision/tower_probe.h"

#include "kernels/tower/received.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- attention ------------------------------------------------------------------------ */

typedef struct attention {      /* of one block, while its heads are worked on */
    const s2v_windows *windows; /* NULL: all patches see each other */
    const float *q, *k;         /* [n_patches][n_heads][head_dim] */
    int32_t n_patches, n_heads, head_dim;
    float *received; /* [n_heads][n_patches] */
    float *scratch;  /* [n_tasks][n_scratch] */
    size_t n_scratch;
    int32_t n_tasks;
    s2v_received kernel;
    atomic_int next_head;
} attention;

/* One head over patches [first, first + n), which see each other. */
static void attend_window(const attention *a, int32_t head, int32_t first, int32_t n,
                          float *scratch)
{
    const ptrdiff_t pitch = (ptrdiff_t)a->n_heads * a->head_dim;
    const ptrdiff_t at = first * pitch + (ptrdiff_t)head * a->head_dim;
    const s2v_head h = {
        .q = a->q + at, .k = a->k + at, .pitch = pitch, .n = n, .dim = a->head_dim
    };
    a->kernel(&h, scratch, a->received + (ptrdiff_t)head * a->n_patches + first);
}

static void attend_heads(struct ggml_tensor *node, int task, int n_tasks, void *user)
{
    (void)node;
    (void)n_tasks;
    attention *a = user;
    const s2v_windows *w = a->windows;
    if (task >= a->n_tasks) return; /* has no scratch; the others take its heads */
    float *scratch = a->scratch + (size_t)task * a->n_scratch;
    for (int head = atomic_fetch_add(&a->next_head, 1); head < a->n_heads;
         head = atomic_fetch_add(&a->next_head, 1)) {
        if (!w) attend_window(a, head, 0, a->n_patches, scratch);
        int32_t first = 0;
        for (int32_t kind = 0; w && kind < S2V_WINDOW_KINDS; kind++)
            for (int32_t i = 0; i < w->count[kind]; i++, first += w->patches[kind])
                attend_window(a, head, first, w->patches[kind], scratch);
    }
}

/* What every patch receives, [n_patches] out, mean over heads; and how many queries see it. */
static s2p_status receive_attention(const s2v_tower *v, const s2v_backends *backends,
                                    int32_t n_threads, const s2v_windows *w, const float *q,
                                    const float *k, const s2v_tower_reading *out, s2p_error *error)
{
    const int32_t n_patches = out->n_patches;
    int32_t longest = w ? 0 : n_patches, at = 0;
    for (int32_t i = 0; !w && i < n_patches; i++) out->n_queries[at++] = (float)n_patches;
    for (int32_t kind = 0; w && kind < S2V_WINDOW_KINDS; kind++) {
        if (w->patches[kind] > longest) longest = w->patches[kind];
        for (int32_t i = 0; i < w->count[kind] * w->patches[kind]; i++)
            out->n_queries[at++] = (float)w->patches[kind];
    }
    attention a = { .windows = w,
                    .q = q,
                    .k = k,
                    .n_patches = n_patches,
                    .n_heads = v->n_heads,
                    .head_dim = v->head_dim,
                    .n_scratch = s2v_received_scratch(longest, v->head_dim),
                    .n_tasks = n_threads < v->n_heads ? n_threads : v->n_heads,
                    .kernel = s2v_received_choose() };
    atomic_init(&a.next_head, 0);
    const size_t n_received = (size_t)a.n_heads * (size_t)n_patches;
    a.received = malloc(n_received * sizeof *a.received);
    a.scratch = malloc((size_t)a.n_tasks * a.n_scratch * sizeof *a.scratch);
    s2p_status st = S2P_OK;
    if (!a.received || !a.scratch)
        st = s2_fail_memory(error, (size_t)a.n_tasks * a.n_scratch * sizeof *a.scratch,
                            "the tower's attention");

    /* The operation is ours: only the CPU can run it, whatever the main device. */
    const s2v_backends cpu = { .backend = { backends->backend[backends->n - 1] }, .n = 1 };
    s2v_graph graph = { .max_nodes = 0 };
    if (st == S2P_OK) st = s2v_graph_init(&graph, &cpu, 4, error);
    if (st == S2P_OK) st = s2v_graph_begin(&graph, error);
    if (st == S2P_OK) {
        s2v_graph_expand(&graph, ggml_custom_4d(graph.ctx, GGML_TYPE_F32, 1, 1, 1, 1, NULL, 0,
                                                attend_heads, a.n_tasks, &a));
        st = s2v_graph_compute(&graph, error);
    }
    s2v_graph_free(&graph);
    memset(out->received, 0, (size_t)n_patches * sizeof *out->received);
    for (size_t i = 0; st == S2P_OK && i < n_received; i++)
        out->received[i % (size_t)n_patches] += a.received[i] / (float)a.n_heads;
    free(a.received);
    free(a.scratch);
    return st;
}

/* What the class row attends to: [n_patches] behind it, mean over heads. One query sees each. */
static s2p_status class_attention(const s2v_tower *v, const float *q, const float *k,
                                  const s2v_tower_reading *out, s2p_error *error)
{
    const int32_t n = out->n_patches + 1, dim = v->head_dim;
    const ptrdiff_t pitch = (ptrdiff_t)v->n_heads * dim;
    double *score = malloc((size_t)n * sizeof *score);
    if (!score) return s2_fail_memory(error, (size_t)n * sizeof *score, "the tower's attention");
    memset(out->received, 0, (size_t)out->n_patches * sizeof *out->received);
    for (int32_t head = 0; head < v->n_heads; head++) {
        double largest = -HUGE_VAL, sum = 0.0;
        for (int32_t i = 0; i < n; i++) {
            const float *key = k + i * pitch + (ptrdiff_t)head * dim,
                        *query = q + (ptrdiff_t)head * dim;
            score[i] = 0.0;
            for (int32_t d = 0; d < dim; d++) score[i] += (double)query[d] * (double)key[d];
            score[i] /= sqrt((double)dim);
            if (score[i] > largest) largest = score[i];
        }
        for (int32_t i = 0; i < n; i++) sum += score[i] = exp(score[i] - largest);
        for (int32_t i = 1; i < n; i++)
            out->received[i - 1] += (float)(score[i] / sum / v->n_heads);
    }
    for (int32_t i = 0; i < out->n_patches; i++) out->n_queries[i] = 1.0f;
    free(score);
    return S2P_OK;
}

/* --- one block ------------------------------------------------------------------------ */

/* keys: [n_patches][n_heads][head_dim]. out: [n_patches][head_dim]. */
static void mean_over_heads(const s2v_tower *v, const float *keys, int32_t n_patches, float *out)
{
    const int32_t dim = v->head_dim;
    memset(out, 0, (size_t)n_patches * (size_t)dim * sizeof *out);
    for (int32_t p = 0; p < n_patches; p++, out += dim)
        for (int32_t h = 0; h < v->n_heads; h++, keys += dim)
            for (int32_t d = 0; d < dim; d++) out[d] += keys[d] / (float)v->n_heads;
}

s2p_status s2v_tower_read(const s2v_tower *v, const s2v_backends *backends, int32_t n_threads,
                          const s2v_tower_qk *qk, s2v_tower_reading *out, s2p_error *error)
{
    const size_t n_block = (size_t)ggml_nelements(qk->q);
    const size_t n = n_block / (size_t)v->n_embd - v->has_class_row;
    const size_t first = v->has_class_row ? (size_t)v->n_embd : 0; /* of the patches */
    const size_t n_key = n * (size_t)v->head_dim;
    s2v_tower_reading r = { .n_patches = (int32_t)n, .head_dim = v->head_dim };
    r.received = malloc(n * sizeof *r.received);
    r.n_queries = malloc(n * sizeof *r.n_queries);
    r.key = malloc(n_key * sizeof *r.key);
    if (qk->plain_k) r.plain_key = malloc(n_key * sizeof *r.plain_key);
    float *q = malloc(n_block * sizeof *q), *k = malloc(n_block * sizeof *k);
    s2p_status st = S2P_OK;
    if (!r.received || !r.n_queries || !r.key || (qk->plain_k && !r.plain_key) || !q || !k)
        st = s2_fail_memory(error, 2 * n_block * sizeof *q, "queries and keys of the tower");
    if (st == S2P_OK) {
        ggml_backend_tensor_get(qk->q, q, 0, ggml_nbytes(qk->q));
        ggml_backend_tensor_get(qk->k, k, 0, ggml_nbytes(qk->k));
        st = v->has_class_row
                 ? class_attention(v, q, k, &r, error)
                 : receive_attention(v, backends, n_threads, qk->windows, q, k, &r, error);
    }
    if (st == S2P_OK) mean_over_heads(v, k + first, r.n_patches, r.key);
    if (st == S2P_OK && r.plain_key) {
        ggml_backend_tensor_get(qk->plain_k, k, 0, ggml_nbytes(qk->plain_k));
        mean_over_heads(v, k + first, r.n_patches, r.plain_key);
    }
    free(q);
    free(k);
    if (st == S2P_OK)
        *out = r;
    else
        s2v_tower_reading_free(&r);
    return st;
}

void s2v_tower_reading_free(s2v_tower_reading *reading)
{
    free(reading->received);
    free(reading->n_queries);
    free(reading->key);
    free(reading->plain_key);
    *reading = (s2v_tower_reading){ .n_patches = 0 };
}

s2v_tower_request s2v_tower_ask(int32_t n_blocks, bool is_probed, bool is_traced)
{
    s2v_tower_request request = { .n = is_probed, .wants_plain = is_traced };
    if (is_traced) request.n = n_blocks < S2V_MAX_TOWER_BLOCKS ? n_blocks : S2V_MAX_TOWER_BLOCKS;
    for (int32_t i = 0; i < request.n; i++) request.block[i].block = n_blocks - 1 - i;
    return request;
}

/* --- tokens ---------------------------------------------------------------------------- */

static int32_t patches_per_token(const s2v_frame *f)
{
    return f->n_patches / s2v_part_tokens(&f->part[0]);
}

void s2v_tower_in_raster(const s2v_frame *f, const int32_t *raster, const float *patches,
                         int32_t width, float *out)
{
    const int32_t n_tokens = s2v_part_tokens(&f->part[0]);
    const size_t n = (size_t)patches_per_token(f) * (size_t)width;
    for (int32_t t = 0; t < n_tokens; t++, out += n)
        memcpy(out, patches + (size_t)(raster ? raster[t] : t) * n, n * sizeof *out);
}

s2p_status s2v_tower_probe_init(s2v_tower_probe *out, const s2v_frame *frame, int32_t head_dim,
                                s2p_error *error)
{
    const size_t n = (size_t)s2v_frame_tokens(frame);
    *out = (s2v_tower_probe){ .key_dim = head_dim };
    out->attn = calloc(n, sizeof *out->attn);
    out->key = calloc(n * (size_t)head_dim, sizeof *out->key);
    if (out->attn && out->key) return S2P_OK;
    s2v_tower_probe_free(out);
    return s2_fail_memory(error, n * (size_t)head_dim * sizeof *out->key, "keys of the tower");
}

void s2v_tower_probe_free(s2v_tower_probe *probe)
{
    free(probe->attn);
    free(probe->key);
    *probe = (s2v_tower_probe){ .key_dim = 0 };
}

/* weight * a token of the view, whose first patch is given, goes to token `to` of the picture. */
static void add_token(s2v_tower_probe *probe, const s2v_tower_reading *r, int32_t first, int32_t n,
                      int32_t to, float weight)
{
    float *key = probe->key + (ptrdiff_t)to * r->head_dim;
    for (int32_t p = first; p < first + n; p++) {
        probe->attn[to] += weight * (r->received[p] / r->n_queries[p]) / (float)n;
        const float *patch = r->key + (ptrdiff_t)p * r->head_dim;
        for (int32_t d = 0; d < r->head_dim; d++) key[d] += weight * patch[d] / (float)n;
    }
}

void s2v_tower_probe_add(s2v_tower_probe *probe, const s2v_frame *frame, const int32_t *raster,
                         int32_t view, const s2v_tower_reading *reading)
{
    const int32_t n_first = s2v_part_tokens(&frame->part[0]), n = patches_per_token(frame);
    for (int32_t t = 0; view == 0 && t < n_first; t++)
        add_token(probe, reading, (raster ? raster[t] : t) * n, n, t, 1.0f);
    for (size_t i = 0; i < frame->n_blend; i++) {
        const s2v_blend *b = &frame->blend[i];
        if (b->view != view) continue;
        const int32_t from = raster ? raster[b->token] : b->token;
        add_token(probe, reading, from * n, n, n_first + b->to, b->weight);
    }
}
