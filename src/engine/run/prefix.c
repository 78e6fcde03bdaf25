/* prefix.c - know the start of a prompt again, and have its slots. */
#include "engine/run/prefix.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "engine/run/units.h"

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
    add_number(h, (int64_t)f->n_own_bytes);
    if (f->own) s2_sha256_add(h, f->own, f->n_own_bytes);
    add_number(h, (int64_t)f->n_blend);
    if (f->blend) s2_sha256_add(h, f->blend, f->n_blend * sizeof *f->blend); /* has no gaps */
    const size_t n = (size_t)f->n_views * (size_t)f->n_patches * (size_t)patch_row;
    s2_sha256_add(h, f->patches, n * sizeof *f->patches);
}

static void make_key(s2v_job *j, uint8_t key[32])
{
    const double start = s2_now_ms();
    const s2p_choice *choice = &j->prune->choice;
    const int32_t n_images = j->prompt->n_images;
    s2_sha256_state h;
    s2_sha256_start(&h);

    add_list(&h, j->chat.tokens.id, j->chat.tokens.n - (size_t)j->s->rows.n_tail);
    size_t token = 0;
    for (size_t i = 0; i < j->chat.n_pieces; i++) {
        if (j->chat.piece[i].image < 0) continue;
        add_number(&h, j->chat.piece[i].image);
        add_number(&h, (int64_t)(token += j->chat.piece[i].n_tokens));
    }

    add_name(&h, j->method->name);
    add_name(&h, choice->allocator);
    add_name(&h, choice->selector);
    add_number(&h, (int64_t)choice->seed);
    add_number(&h, choice->side);
    add_list(&h, j->prune->image_side, (size_t)n_images);
    add_number(&h, j->prune->published != 0);
    s2p_parameters own;
    s2p_parameters_init(j->method, &own);
    const s2p_parameters *given = j->prune->parameters ? j->prune->parameters : &own;
    for (size_t i = 0; s2p_method_parameter(j->method, i); i++)
        s2_sha256_add(&h, &given->value[i], sizeof given->value[i]);
    for (int32_t u = 0; u < j->n_units; u++) add_number(&h, j->unit[u].budget);

    for (int32_t i = 0; i < n_images; i++) {
        const s2p_image *image = &j->prompt->images[i];
        add_number(&h, image->width);
        add_number(&h, image->height);
        add_number(&h, s2v_job_options(j, i).structure_from_resized);
        add_number(&h, (int64_t)s2v_job_options(j, i).resize);
        const bool is_measured = j->needs & S2P_NEED_PIXELS; /* as it was given */
        for (int32_t y = 0; is_measured && y < image->height; y++)
            s2_sha256_add(&h, image->pixels + (ptrdiff_t)y * image->stride,
                          3 * (size_t)image->width);
        add_frame(&h, &j->frames[i], j->s->engine->model.tower.patch_row);
    }
    s2_sha256_finish(&h, key);
    j->stats.image_ms += s2_now_ms() - start;
}

/* --- slots ----------------------------------------------------------------------------- */

/* Keys of n slots, then their values. */
static void read_slots(const s2v_kv *kv, int32_t layer, int32_t first, int32_t n, uint8_t *out)
{
    const size_t row = kv->k[layer]->nb[1], n_bytes = (size_t)n * row;
    s2v_tensor_get(kv->k[layer], out, (size_t)first * row, n_bytes, kv->traffic);
    s2v_tensor_get(kv->v[layer], out + n_bytes, (size_t)first * row, n_bytes, kv->traffic);
}

static void write_slots(s2v_kv *kv, int32_t layer, int32_t first, int32_t n, const uint8_t *from)
{
    const size_t row = kv->k[layer]->nb[1], n_bytes = (size_t)n * row;
    s2v_tensor_set(kv->k[layer], from, (size_t)first * row, n_bytes, kv->traffic);
    s2v_tensor_set(kv->v[layer], from + n_bytes, (size_t)first * row, n_bytes, kv->traffic);
}

/* The first n slots of a layer; NULL beyond the limit and without memory. */
static uint8_t *copy_slots(s2v_prefix *p, const s2v_kv *kv, int32_t layer, int32_t n)
{
    size_t n_bytes, total;
    if (!s2_mul_size(2 * (size_t)n, kv->k[layer]->nb[1], &n_bytes) ||
        !s2_add_size(p->n_bytes, n_bytes, &total) || total > S2V_PREFIX_MAX_BYTES)
        return NULL;
    uint8_t *copy = malloc(n_bytes);
    if (!copy) return NULL;
    p->n_bytes = total;
    read_slots(kv, layer, 0, n, copy);
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
    s2v_plans_free(&p->plans);
    *p = (s2v_prefix){ .is_ready = false };
}

void s2v_prefix_hold_plans(s2v_session *s)
{
    if (s->prefix.is_ready && !s->prefix.plans.picture) s2v_plans_move(&s->prefix.plans, &s->plans);
}

static bool is_being_made(const s2v_prefix *p) { return p->layer && !p->is_ready; }

void s2v_prefix_save(s2v_session *s, int32_t n_layers)
{
    s2v_prefix *p = &s->prefix;
    for (int32_t i = 0; is_being_made(p) && i < n_layers; i++) {
        s2v_prefix_layer *layer = &p->layer[i];
        if (layer->ran) continue; /* it has lost slots before */
        layer->n_ran = s->kv.n_slots[i] - s->rows.n_tail;
        layer->ran = copy_slots(p, &s->kv, i, layer->n_ran);
        if (!layer->ran) s2v_prefix_forget(p);
    }
}

void s2v_prefix_remember(s2v_job *j)
{
    const s2v_session *s = j->s;
    s2v_prefix *p = &j->s->prefix;
    for (int32_t i = 0; is_being_made(p) && i < p->n_layers; i++) {
        s2v_prefix_layer *layer = &p->layer[i];
        layer->n_left = s->kv.n_slots[i] - s->rows.n_tail;
        if (!layer->ran) {
            layer->n_ran = layer->n_left;
            continue;
        }
        layer->behind = copy_slots(p, &s->kv, i, layer->n_left);
        if (!layer->behind) s2v_prefix_forget(p);
    }
    if (!is_being_made(p)) return;
    p->stats = j->stats;
    p->is_ready = true;
}

/* --- recalling --------------------------------------------------------------------------- */

bool s2v_prefix_recall(s2v_job *j)
{
    s2v_session *s = j->s;
    s2v_prefix *p = &s->prefix;
    if (s->kv.n_slots[0] > 0) return false; /* a later turn stands behind the prefix */
    const bool is_watched = s->trace.show || s->trace.masks || s->recorder;
    const bool may_keep = s->options.keep_prefix && s->rows.n_tail > 0 && !is_watched &&
                          !s2p_method_sees_question(j->method, &j->prune->choice);
    uint8_t key[sizeof p->key];
    if (may_keep) make_key(j, key);
    if (!may_keep || !p->is_ready || memcmp(p->key, key, sizeof key) != 0) {
        s2v_prefix_forget(p);
        if (may_keep) p->layer = calloc((size_t)s->kv.n_layers, sizeof *p->layer);
        if (!p->layer) return false;
        p->n_layers = s->kv.n_layers;
        memcpy(p->key, key, sizeof key);
        return false;
    }
    p->is_ready = false; /* until the question has run */
    s2v_plans_move(&s->plans, &p->plans);
    for (int32_t i = 0; i < p->n_layers; i++) {
        const s2v_prefix_layer *layer = &p->layer[i];
        if (layer->ran) write_slots(&s->kv, i, 0, layer->n_ran, layer->ran);
        s->kv.n_slots[i] = layer->n_ran;
    }
    s2v_rows_cut(&s->rows);
    return true;
}

/* Slots that left then leave again: the question's move up behind those that stayed. */
s2p_status s2v_prefix_settle(s2v_job *j)
{
    s2v_kv *kv = &j->s->kv;
    s2v_prefix *p = &j->s->prefix;
    s2v_stats *t = &j->stats;
    const int32_t n = j->s->rows.n;
    const size_t n_bytes = 2 * (size_t)n * kv->k[0]->nb[1]; /* the same in all layers */
    uint8_t *slots = malloc(n_bytes);
    if (!slots) return s2_fail_memory(j->error, n_bytes, "the question's slots");
    for (int32_t i = 0; i < p->n_layers; i++) {
        const s2v_prefix_layer *layer = &p->layer[i];
        if (!layer->ran) continue;
        read_slots(kv, i, layer->n_ran, n, slots);
        write_slots(kv, i, 0, layer->n_left, layer->behind);
        write_slots(kv, i, layer->n_left, n, slots);
        kv->n_slots[i] = layer->n_left + n;
    }
    free(slots);
    t->image_tokens = p->stats.image_tokens;
    t->n_stages = p->stats.n_stages;
    memcpy(t->stage_after, p->stats.stage_after, sizeof t->stage_after);
    memcpy(t->stage_tokens, p->stats.stage_tokens, sizeof t->stage_tokens);
    t->cached_tokens = p->layer[p->n_layers - 1].n_left;
    p->is_ready = true;
    return S2P_OK;
}
