/* watch.c - attention received and mean keys of one block, patch by patch, then token by token.
 *
 * A custom operation of ggml lends its threads; each takes one head after the other, and
 * the heads are added in their order, so the result does not depend on the threads.
 */
#include "engine/vision/watch.h"

#include "engine/run/prefill.h"
#include "engine/vision/received.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- attention ------------------------------------------------------------------------ */

typedef struct attention { /* of one block, while its heads are worked on */
    const s2v_frame *frame;
    bool is_full;
    const float *q, *k; /* [n_patches][n_heads][head_dim] */
    int32_t n_heads, head_dim;
    float *received; /* [n_heads][n_patches] */
    float *scratch;  /* [n_tasks][n_scratch] */
    size_t n_scratch;
    int32_t n_tasks;
    s2v_received kernel;
    atomic_int next_head;
} attention;

static void attend(const attention *a, int32_t head, int32_t first, int32_t n, float *scratch)
{
    const ptrdiff_t pitch = (ptrdiff_t)a->n_heads * a->head_dim;
    const ptrdiff_t at = first * pitch + (ptrdiff_t)head * a->head_dim;
    const s2v_head h = {
        .q = a->q + at, .k = a->k + at, .pitch = pitch, .n = n, .dim = a->head_dim
    };
    a->kernel(&h, scratch, a->received + (ptrdiff_t)head * a->frame->n_patches + first);
}

static void attend_head(const attention *a, int32_t head, float *scratch)
{
    const s2v_frame *f = a->frame;
    if (a->is_full) {
        attend(a, head, 0, f->n_patches, scratch);
        return;
    }
    int32_t first = 0;
    for (int32_t kind = 0; kind < S2V_WINDOW_KINDS; kind++)
        for (int32_t w = 0; w < f->n_windows[kind]; w++, first += f->window_patches[kind])
            attend(a, head, first, f->window_patches[kind], scratch);
}

static void attend_heads(struct ggml_tensor *node, int task, int n_tasks, void *user)
{
    (void)node;
    (void)n_tasks;
    attention *a = user;
    if (task >= a->n_tasks) return; /* has no scratch; the others take its heads */
    float *scratch = a->scratch + (size_t)task * a->n_scratch;
    for (int h = atomic_fetch_add(&a->next_head, 1); h < a->n_heads;
         h = atomic_fetch_add(&a->next_head, 1))
        attend_head(a, h, scratch);
}

static s2p_status run_attention(s2v_session *s, attention *a, s2p_error *error)
{
    /* The operation is ours: only the CPU can run it, whatever the main device. */
    const s2v_backends cpu = { .backend = { s->backends.backend[s->backends.n - 1] }, .n = 1 };
    s2v_graph graph;
    s2p_status st = s2v_graph_init(&graph, &cpu, 4, error);
    if (st != S2P_OK) return st;
    st = s2v_graph_begin(&graph, error);
    if (st == S2P_OK) {
        s2v_graph_expand(&graph, ggml_custom_4d(graph.ctx, GGML_TYPE_F32, 1, 1, 1, 1, NULL, 0,
                                                attend_heads, a->n_tasks, a));
        st = s2v_graph_compute(&graph, error);
    }
    s2v_graph_free(&graph);
    return st;
}

static int32_t longest_window(const s2v_frame *f, bool is_full)
{
    int32_t longest = is_full ? f->n_patches : 0;
    for (int32_t kind = 0; kind < S2V_WINDOW_KINDS; kind++)
        if (f->window_patches[kind] > longest) longest = f->window_patches[kind];
    return longest;
}

static int32_t thread_count(const s2v_session *s)
{
    return s->options.n_threads > 0 ? s->options.n_threads : s->engine->devices.n_threads;
}

/* out: [n_patches] mean over heads. */
static s2p_status receive(s2v_session *s, const s2v_frame *f, bool is_full, const float *q,
                          const float *k, float *out, s2p_error *error)
{
    const s2v_vision *v = &s->engine->model.vision;
    const int32_t n_threads = thread_count(s);
    attention a = { .frame = f,
                    .is_full = is_full,
                    .q = q,
                    .k = k,
                    .n_heads = v->n_heads,
                    .head_dim = v->head_dim,
                    .n_scratch = s2v_received_scratch(longest_window(f, is_full), v->head_dim),
                    .n_tasks = n_threads < v->n_heads ? n_threads : v->n_heads,
                    .kernel = s2v_received_choose() };
    atomic_init(&a.next_head, 0);
    const size_t n_received = (size_t)a.n_heads * (size_t)f->n_patches;
    a.received = malloc(n_received * sizeof *a.received);
    a.scratch = malloc((size_t)a.n_tasks * a.n_scratch * sizeof *a.scratch);
    s2p_status st = S2P_OK;
    if (!a.received || !a.scratch)
        st = s2_fail_memory(error, (size_t)a.n_tasks * a.n_scratch * sizeof *a.scratch,
                            "the tower's attention");
    if (st == S2P_OK) st = run_attention(s, &a, error);
    memset(out, 0, (size_t)f->n_patches * sizeof *out);
    for (size_t i = 0; st == S2P_OK && i < n_received; i++)
        out[i % (size_t)f->n_patches] += a.received[i] / (float)a.n_heads;
    free(a.received);
    free(a.scratch);
    return st;
}

static void count_queries(const s2v_frame *f, bool is_full, float *out)
{
    int32_t at = 0;
    for (int32_t i = 0; is_full && i < f->n_patches; i++) out[i] = (float)f->n_patches;
    for (int32_t kind = 0; !is_full && kind < S2V_WINDOW_KINDS; kind++)
        for (int32_t i = 0; i < f->n_windows[kind] * f->window_patches[kind]; i++)
            out[at++] = (float)f->window_patches[kind];
}

/* --- one block ------------------------------------------------------------------------ */

/* keys: [n_patches][n_heads][head_dim]. out: [n_patches][head_dim]. */
static void mean_over_heads(const s2v_vision *v, const float *keys, int32_t n_patches, float *out)
{
    const int32_t dim = v->head_dim;
    memset(out, 0, (size_t)n_patches * (size_t)dim * sizeof *out);
    for (int32_t p = 0; p < n_patches; p++, out += dim)
        for (int32_t h = 0; h < v->n_heads; h++, keys += dim)
            for (int32_t d = 0; d < dim; d++) out[d] += keys[d] / (float)v->n_heads;
}

static s2p_status look(s2v_session *s, const s2v_frame *f, const s2v_peek *peek, float *q, float *k,
                       const s2v_glance *out, s2p_error *error)
{
    const s2v_vision *v = &s->engine->model.vision;
    ggml_backend_tensor_get(peek->q, q, 0, ggml_nbytes(peek->q));
    ggml_backend_tensor_get(peek->k, k, 0, ggml_nbytes(peek->k));
    const s2p_status st = receive(s, f, peek->is_full, q, k, out->received, error);
    if (st != S2P_OK) return st;
    count_queries(f, peek->is_full, out->n_queries);
    mean_over_heads(v, k, f->n_patches, out->key);
    if (out->plain_key) {
        ggml_backend_tensor_get(peek->plain_k, k, 0, ggml_nbytes(peek->plain_k));
        mean_over_heads(v, k, f->n_patches, out->plain_key);
    }
    return S2P_OK;
}

s2p_status s2v_watch_block(s2v_session *session, const s2v_frame *frame, const s2v_peek *peek,
                           s2v_glance *out, s2p_error *error)
{
    const double start = s2v_now_ms();
    const s2v_vision *v = &session->engine->model.vision;
    const size_t n = (size_t)frame->n_patches, n_key = n * (size_t)v->head_dim;
    const size_t n_block = n * (size_t)v->n_embd;
    s2v_glance g = { .n_patches = frame->n_patches, .head_dim = v->head_dim };
    g.received = malloc(n * sizeof *g.received);
    g.n_queries = malloc(n * sizeof *g.n_queries);
    g.key = malloc(n_key * sizeof *g.key);
    if (peek->plain_k) g.plain_key = malloc(n_key * sizeof *g.plain_key);
    float *q = malloc(n_block * sizeof *q), *k = malloc(n_block * sizeof *k);
    s2p_status st;
    if (g.received && g.n_queries && g.key && (g.plain_key || !peek->plain_k) && q && k)
        st = look(session, frame, peek, q, k, &g, error);
    else
        st = s2_fail_memory(error, 2 * n_block * sizeof *q, "queries and keys of the tower");
    free(q);
    free(k);
    if (st == S2P_OK)
        *out = g;
    else
        s2v_glance_free(&g);
    session->probe_ms += s2v_now_ms() - start;
    return st;
}

void s2v_glance_free(s2v_glance *glance)
{
    free(glance->received);
    free(glance->n_queries);
    free(glance->key);
    free(glance->plain_key);
    *glance = (s2v_glance){ .n_patches = 0 };
}

s2v_peeks s2v_watch_peeks(const s2v_session *session, bool is_watched)
{
    const int32_t n_blocks = session->engine->model.vision.n_blocks;
    s2v_peeks peeks = { .n = is_watched, .wants_plain = session->tap != NULL };
    if (session->tap) peeks.n = n_blocks < S2V_MAX_PEEKS ? n_blocks : S2V_MAX_PEEKS;
    for (int32_t i = 0; i < peeks.n; i++) peeks.block[i].block = n_blocks - 1 - i;
    return peeks;
}

/* --- tokens ---------------------------------------------------------------------------- */

/* Patches of one token; they are neighbours in the tower's order. */
static int32_t patches_per_token(const s2v_frame *f)
{
    return f->n_patches / s2v_part_tokens(&f->part[0]);
}

static int32_t first_patch(const s2v_frame *f, int32_t token)
{
    return (f->raster ? f->raster[token] : token) * patches_per_token(f);
}

/* Patches in the order of their tokens. */
static void reorder(const s2v_frame *f, const float *patches, int32_t width, float *out)
{
    const int32_t n_tokens = s2v_part_tokens(&f->part[0]);
    const size_t n = (size_t)patches_per_token(f) * (size_t)width;
    for (int32_t t = 0; t < n_tokens; t++, out += n)
        memcpy(out, patches + (ptrdiff_t)first_patch(f, t) * width, n * sizeof *out);
}

s2p_status s2v_watch_tap(const s2v_session *session, const s2v_frame *frame, int32_t block,
                         const s2v_glance *glance, s2p_error *error)
{
    const bool has_rotation = glance->plain_key != NULL;
    const struct {
        const char *name;
        const float *data;
        int32_t width;
    } shown[] = {
        { "vis.attn_received", glance->received, 1 },
        { "vis.attn_nq", glance->n_queries, 1 },
        { "vis.key_mean", has_rotation ? glance->plain_key : glance->key, glance->head_dim },
        { "vis.key_rope_mean", has_rotation ? glance->key : NULL, glance->head_dim },
    };
    const size_t n = (size_t)glance->n_patches * (size_t)glance->head_dim;
    float *ordered = malloc(n * sizeof *ordered);
    if (!ordered) return s2_fail_memory(error, n * sizeof *ordered, "keys of the tower");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (!shown[i].data) continue;
        reorder(frame, shown[i].data, shown[i].width, ordered);
        session->tap(shown[i].name, block, ordered, glance->n_patches, shown[i].width,
                     session->tap_user);
    }
    free(ordered);
    return S2P_OK;
}

s2p_status s2v_watched_init(s2v_watched *out, const s2v_frame *frame, int32_t head_dim,
                            s2p_error *error)
{
    const size_t n = (size_t)s2v_frame_tokens(frame);
    *out = (s2v_watched){ .key_dim = head_dim };
    out->attn = calloc(n, sizeof *out->attn);
    out->key = calloc(n * (size_t)head_dim, sizeof *out->key);
    if (out->attn && out->key) return S2P_OK;
    s2v_watched_free(out);
    return s2_fail_memory(error, n * (size_t)head_dim * sizeof *out->key, "keys of the tower");
}

void s2v_watched_free(s2v_watched *watched)
{
    free(watched->attn);
    free(watched->key);
    *watched = (s2v_watched){ .key_dim = 0 };
}

/* weight * token `from` of the view goes to token `to` of the picture. */
static void add_token(s2v_watched *w, const s2v_frame *f, const s2v_glance *g, int32_t from,
                      int32_t to, float weight)
{
    const int32_t n = patches_per_token(f), first = first_patch(f, from);
    float *key = w->key + (ptrdiff_t)to * g->head_dim;
    for (int32_t p = first; p < first + n; p++) {
        w->attn[to] += weight * (g->received[p] / g->n_queries[p]) / (float)n;
        const float *patch = g->key + (ptrdiff_t)p * g->head_dim;
        for (int32_t d = 0; d < g->head_dim; d++) key[d] += weight * patch[d] / (float)n;
    }
}

void s2v_watched_add(s2v_watched *watched, const s2v_frame *frame, int32_t view,
                     const s2v_glance *glance)
{
    const int32_t n_first = s2v_part_tokens(&frame->part[0]);
    for (int32_t t = 0; view == 0 && t < n_first; t++)
        add_token(watched, frame, glance, t, t, 1.0f);
    for (size_t i = 0; i < frame->n_blend; i++) {
        const s2v_blend *b = &frame->blend[i];
        if (b->view != view) continue;
        const s2v_part *part = &frame->part[1];
        const int32_t at = b->row - part->first;
        const int32_t token = at / part->pitch * part->grid.cols + at % part->pitch;
        add_token(watched, frame, glance, b->token, n_first + token, b->weight);
    }
}
