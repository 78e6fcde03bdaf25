/* prefix.c - know the start of a prompt again, and have its cells. */
#include "engine/run/prefix.h"

#include "base/checked.h"
#include "base/sha256.h"
#include "engine/run/prefill.h"

#include <stdlib.h>
#include <string.h>

/* --- the key ------------------------------------------------------------------------- */

static void add_number(s2_sha256_state *h, int64_t x) { s2_sha256_add(h, &x, sizeof x); }

/* Lists and names carry their length, so that no two keys run together to the same bytes. */
static void add_list(s2_sha256_state *h, const int32_t *x, size_t n)
{
    add_number(h, x ? (int64_t)n : -1);
    if (x) s2_sha256_add(h, x, n * sizeof *x);
}

static void add_name(s2_sha256_state *h, const char *name)
{
    add_number(h, name ? (int64_t)strlen(name) : -1);
    if (name) s2_sha256_add(h, name, strlen(name));
}

/* What the tower reads, and which rows that becomes. */
static void add_frame(s2_sha256_state *h, const s2v_frame *f, int32_t patch_row)
{
    const int32_t shape[] = { f->n_views, f->n_patches, f->n_rows, f->n_parts,
                              (int32_t)f->framing };
    add_list(h, shape, sizeof shape / sizeof *shape);
    for (int32_t p = 0; p < f->n_parts; p++) {
        const s2v_part *part = &f->part[p];
        const int32_t place[] = { part->grid.rows, part->grid.cols, part->first,
                                  part->pitch,     part->width,     part->height };
        add_list(h, place, sizeof place / sizeof *place);
    }
    add_list(h, f->n_windows, S2V_WINDOW_KINDS);
    add_list(h, f->window_patches, S2V_WINDOW_KINDS);
    add_list(h, f->pos, 4 * (size_t)f->n_patches);
    add_list(h, f->raster, (size_t)s2v_part_tokens(&f->part[0]));
    add_number(h, (int64_t)f->n_blend);
    for (size_t i = 0; i < f->n_blend; i++) {
        const int32_t place[] = { f->blend[i].view, f->blend[i].token, f->blend[i].row };
        add_list(h, place, sizeof place / sizeof *place);
        s2_sha256_add(h, &f->blend[i].weight, sizeof f->blend[i].weight);
    }
    const size_t n = (size_t)f->n_views * (size_t)f->n_patches * (size_t)patch_row;
    s2_sha256_add(h, f->patches, n * sizeof *f->patches);
}

/* The picture as it was given, for methods that measure it. */
static void add_source(s2_sha256_state *h, const s2v_job *j, int32_t i)
{
    const s2p_image *image = &j->prompt->images[i];
    const bool is_read = j->needs & S2P_NEED_PIXELS;
    add_number(h, image->width);
    add_number(h, image->height);
    add_number(h, s2v_job_options(j, i).structure_from_resized);
    for (int32_t y = 0; is_read && y < image->height; y++)
        s2_sha256_add(h, image->pixels + (ptrdiff_t)y * image->stride, 3 * (size_t)image->width);
}

static void add_parameters(s2_sha256_state *h, const s2v_job *j)
{
    s2p_parameters own;
    s2p_parameters_init(j->method, &own);
    const s2p_parameters *given = j->prune->parameters ? j->prune->parameters : &own;
    for (size_t i = 0; s2p_method_parameter(j->method, i); i++)
        s2_sha256_add(h, &given->value[i], sizeof given->value[i]);
}

static void add_method(s2_sha256_state *h, const s2v_job *j)
{
    const s2p_choice *choice = &j->prune->choice;
    add_name(h, j->method->name);
    add_name(h, choice->allocator);
    add_name(h, choice->selector);
    add_number(h, (int64_t)choice->seed);
    add_number(h, choice->side);
    add_list(h, j->prune->image_side, (size_t)j->prompt->n_images);
    add_number(h, j->prune->published != 0);
    add_parameters(h, j);
    for (int32_t u = 0; u < j->n_units; u++) add_number(h, j->unit[u].budget);
}

static void add_tokens(s2_sha256_state *h, const s2v_job *j)
{
    add_list(h, j->chat.tokens.id, j->chat.tokens.n - (size_t)j->s->rows.n_tail);
    size_t token = 0;
    for (size_t i = 0; i < j->chat.n_pieces; i++) {
        if (j->chat.piece[i].image < 0) continue;
        add_number(h, j->chat.piece[i].image);
        add_number(h, (int64_t)(token += j->chat.piece[i].n_tokens));
    }
}

static void make_key(s2v_job *j, uint8_t key[32])
{
    const double start = s2v_now_ms();
    s2_sha256_state h;
    s2_sha256_start(&h);
    add_tokens(&h, j);
    add_method(&h, j);
    for (int32_t i = 0; i < j->prompt->n_images; i++) {
        add_source(&h, j, i);
        add_frame(&h, &j->frames[i], j->s->engine->model.vision.patch_row);
    }
    s2_sha256_finish(&h, key);
    j->stats.image_ms += s2v_now_ms() - start;
}

/* --- cells ----------------------------------------------------------------------------- */

/* Keys of n cells, then their values. */
static void read_cells(const s2v_kv *kv, int32_t layer, int32_t first, int32_t n, uint8_t *out)
{
    const size_t row = kv->k[layer]->nb[1], n_bytes = (size_t)n * row;
    ggml_backend_tensor_get(kv->k[layer], out, (size_t)first * row, n_bytes);
    ggml_backend_tensor_get(kv->v[layer], out + n_bytes, (size_t)first * row, n_bytes);
}

static void write_cells(s2v_kv *kv, int32_t layer, int32_t first, int32_t n, const uint8_t *from)
{
    const size_t row = kv->k[layer]->nb[1], n_bytes = (size_t)n * row;
    ggml_backend_tensor_set(kv->k[layer], from, (size_t)first * row, n_bytes);
    ggml_backend_tensor_set(kv->v[layer], from + n_bytes, (size_t)first * row, n_bytes);
}

/* The first n cells of a layer; NULL beyond the limit and without memory. */
static uint8_t *copy_cells(s2v_prefix *p, const s2v_kv *kv, int32_t layer, int32_t n)
{
    size_t n_bytes, total;
    if (!s2_mul_size(2 * (size_t)n, kv->k[layer]->nb[1], &n_bytes) ||
        !s2_add_size(p->n_bytes, n_bytes, &total) || total > S2V_PREFIX_MAX_BYTES)
        return NULL;
    uint8_t *copy = malloc(n_bytes);
    if (!copy) return NULL;
    p->n_bytes = total;
    read_cells(kv, layer, 0, n, copy);
    return copy;
}

/* --- remembering ----------------------------------------------------------------------- */

void s2v_prefix_forget(s2v_prefix *p)
{
    for (int32_t i = 0; i < p->n_layers; i++) {
        free(p->layer[i].ran);
        free(p->layer[i].behind);
    }
    free(p->layer);
    s2v_plans_free(p->plans, p->n_plans);
    *p = (s2v_prefix){ .is_ready = false };
}

void s2v_prefix_hold_plans(s2v_session *s)
{
    s2v_prefix *p = &s->prefix;
    if (!p->is_ready || p->plans) return;
    p->plans = s->plans;
    p->n_plans = s->n_plans;
    s->plans = NULL;
    s->n_plans = 0;
}

static void give_up(s2v_job *j)
{
    j->is_remembered = false;
    s2v_prefix_forget(&j->s->prefix);
}

static void start_remembering(s2v_job *j, const uint8_t key[32])
{
    s2v_prefix *p = &j->s->prefix;
    const int32_t n = j->s->kv.n_layers;
    p->layer = calloc((size_t)n, sizeof *p->layer);
    if (!p->layer) return;
    p->n_layers = n;
    memcpy(p->key, key, sizeof p->key);
    j->is_remembered = true;
}

void s2v_prefix_save(s2v_job *j, int32_t n_layers)
{
    const s2v_kv *kv = &j->s->kv;
    s2v_prefix *p = &j->s->prefix;
    for (int32_t i = 0; j->is_remembered && i < n_layers; i++) {
        s2v_prefix_layer *layer = &p->layer[i];
        if (layer->ran) continue; /* it has lost cells before */
        layer->n_ran = kv->n_cells[i] - j->s->rows.n_tail;
        layer->ran = copy_cells(p, kv, i, layer->n_ran);
        if (!layer->ran) give_up(j);
    }
}

void s2v_prefix_remember(s2v_job *j)
{
    const s2v_kv *kv = &j->s->kv;
    s2v_prefix *p = &j->s->prefix;
    for (int32_t i = 0; j->is_remembered && i < p->n_layers; i++) {
        s2v_prefix_layer *layer = &p->layer[i];
        layer->n_left = kv->n_cells[i] - j->s->rows.n_tail;
        if (!layer->ran) {
            layer->n_ran = layer->n_left;
            continue;
        }
        layer->behind = copy_cells(p, kv, i, layer->n_left);
        if (!layer->behind) give_up(j);
    }
    if (!j->is_remembered) return;
    p->stats = j->stats;
    p->is_ready = true;
}

/* --- recalling --------------------------------------------------------------------------- */

s2p_status s2v_prefix_check(const s2v_job *j)
{
    const s2p_choice *choice = &j->prune->choice;
    if (!j->s->options.keep_prefix || !s2p_method_sees_question(j->method, choice)) return S2P_OK;
    const bool by_selector = !j->method->sees_question;
    return s2_fail(j->error, S2P_EINVAL,
                   "method '%s'%s%s sees the question, so what it leaves of a picture cannot be "
                   "kept for another one (keep_prefix)",
                   j->method->name, by_selector ? " with selector " : "",
                   by_selector ? choice->selector : "");
}

/* Only the question's rows are left to run. */
static void cut_rows(s2v_rows *rows)
{
    int32_t *plane[] = { rows->unit, rows->token, rows->pos[0], rows->pos[1], rows->pos[2] };
    for (size_t p = 0; p < sizeof plane / sizeof *plane; p++)
        memmove(plane[p], plane[p] + (rows->n - rows->n_tail),
                (size_t)rows->n_tail * sizeof **plane);
    rows->n = rows->n_tail;
}

static void bring_back(s2v_job *j)
{
    s2v_session *s = j->s;
    s2v_prefix *p = &s->prefix;
    p->is_ready = false; /* until the question has run */
    j->is_recalled = true;
    s2v_session_forget_plans(s);
    s->plans = p->plans;
    s->n_plans = p->n_plans;
    p->plans = NULL;
    p->n_plans = 0;
    for (int32_t i = 0; i < p->n_layers; i++) {
        const s2v_prefix_layer *layer = &p->layer[i];
        if (layer->ran) write_cells(&s->kv, i, 0, layer->n_ran, layer->ran);
        s->kv.n_cells[i] = layer->n_ran;
    }
    cut_rows(&s->rows);
}

void s2v_prefix_recall(s2v_job *j)
{
    s2v_session *s = j->s;
    s2v_prefix *p = &s->prefix;
    if (s->kv.n_cells[0] > 0) return; /* a later turn stands behind the prefix */
    const bool may_keep = s->options.keep_prefix && s->rows.n_tail > 0 && !s->tap && !s->recorder &&
                          !s->masks_instead;
    uint8_t key[sizeof p->key];
    if (may_keep) make_key(j, key);
    if (may_keep && p->is_ready && memcmp(p->key, key, sizeof key) == 0) {
        bring_back(j);
        return;
    }
    s2v_prefix_forget(p);
    if (may_keep) start_remembering(j, key);
}

static s2p_status embed_question(s2v_job *j)
{
    s2v_session *s = j->s;
    s2v_graph *graph = &s->graph;
    const int32_t n = s->rows.n;
    const s2p_status st = s2v_graph_begin(graph, j->error);
    if (st != S2P_OK) return st;
    struct ggml_tensor *ids = s2v_graph_input(graph, GGML_TYPE_I32, n, 1,
                                              j->chat.tokens.id + j->chat.tokens.n - (size_t)n);
    s2v_graph_expand(graph,
                     ggml_cpy(graph->ctx, s2v_draw_embedding(graph, &s->engine->model.decoder, ids),
                              s2v_rows_view(graph->ctx, &s->rows, 0, n)));
    return s2v_graph_compute(graph, j->error);
}

/* Cells that left then leave again: the question's move up behind those that stayed. */
static s2p_status drop_cells(s2v_job *j)
{
    s2v_kv *kv = &j->s->kv;
    const s2v_prefix *p = &j->s->prefix;
    const int32_t n = j->s->rows.n;
    const size_t n_bytes = 2 * (size_t)n * kv->k[0]->nb[1]; /* the same in all layers */
    uint8_t *cells = malloc(n_bytes);
    if (!cells) return s2_fail_memory(j->error, n_bytes, "the question's cells");
    for (int32_t i = 0; i < p->n_layers; i++) {
        const s2v_prefix_layer *layer = &p->layer[i];
        if (!layer->ran) continue;
        read_cells(kv, i, layer->n_ran, n, cells);
        write_cells(kv, i, 0, layer->n_left, layer->behind);
        write_cells(kv, i, layer->n_left, n, cells);
        kv->n_cells[i] = layer->n_left + n;
    }
    free(cells);
    return S2P_OK;
}

s2p_status s2v_prefix_run(s2v_job *j)
{
    s2v_session *s = j->s;
    s2v_prefix *p = &s->prefix;
    s2v_stats *t = &j->stats;
    const double start = s2v_now_ms();
    s2p_status st = embed_question(j);
    if (st == S2P_OK) st = s2v_run_layers(s, 0, p->n_layers, NULL, j->error);
    if (st == S2P_OK) st = drop_cells(j);
    if (st != S2P_OK) return st;
    t->layers_ms = s2v_now_ms() - start;
    t->image_tokens = p->stats.image_tokens;
    t->n_stages = p->stats.n_stages;
    memcpy(t->stage_after, p->stats.stage_after, sizeof t->stage_after);
    memcpy(t->stage_tokens, p->stats.stage_tokens, sizeof t->stage_tokens);
    t->cached_tokens = p->layer[p->n_layers - 1].n_left;
    p->is_ready = true;
    return S2P_OK;
}
