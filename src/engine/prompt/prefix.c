/* prefix.c - know the start of a prompt again, and have its slots. */
#include "engine/prompt/prefix.h"

#include "base/clock.h"
#include "base/sha256.h"
#include "engine/prompt/units.h"
#include "prune/plan_bytes.h"

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

static void add_method(s2_sha256_state *h, const s2v_job *j)
{
    const s2p_choice *choice = &j->prune.choice;
    add_name(h, j->method->name);
    add_name(h, choice->allocator);
    add_name(h, choice->selector);
    add_number(h, (int64_t)choice->seed);
    add_number(h, choice->side);
    add_list(h, j->prune.image_side, (size_t)j->prompt.n_images);
    add_number(h, j->prune.published != 0);
    s2p_parameters own;
    s2p_parameters_init(j->method, &own);
    const s2p_parameters *given = j->prune.parameters ? j->prune.parameters : &own;
    for (size_t i = 0; s2p_method_parameter(j->method, i); i++)
        s2_sha256_add(h, &given->value[i], sizeof given->value[i]);
    for (int32_t u = 0; u < j->n_units; u++) add_number(h, j->unit[u].budget);
}

/* What the tower reads is in the frame's key. */
static void add_picture(s2_sha256_state *h, const s2v_job *j, int32_t i)
{
    const s2p_image *image = &j->prompt.images[i];
    add_number(h, image->width);
    add_number(h, image->height);
    add_number(h, s2v_job_options(j, i).structure_from_resized);
    add_number(h, (int64_t)s2v_job_options(j, i).resize);
    const bool is_measured = j->needs & S2P_NEED_PIXELS; /* as it was given */
    for (int32_t y = 0; is_measured && y < image->height; y++)
        s2_sha256_add(h, image->pixels + (ptrdiff_t)y * image->stride, 3 * (size_t)image->width);
    s2_sha256_add(h, j->frames[i].key, sizeof j->frames[i].key);
}

static void make_key(s2v_job *j, uint8_t key[S2V_KEY_BYTES])
{
    const double start = s2_now_ms();
    const s2v_session *s = j->s;
    s2_sha256_state h;
    s2_sha256_start(&h);
    s2_sha256_add(&h, s->engine->identity.model, sizeof s->engine->identity.model);
    add_number(&h, (int64_t)s->kv.type.k);
    add_number(&h, (int64_t)s->kv.type.v);
    add_number(&h, s->kv.is_plain);
    add_number(&h, s->options.n_batch);
    add_number(&h, s->backends.n_threads);

    add_list(&h, j->chat.tokens.id, j->chat.tokens.n - (size_t)s->rows.n_tail);
    size_t token = 0;
    for (size_t i = 0; i < j->chat.n_pieces; i++) {
        if (j->chat.piece[i].image < 0) continue;
        add_number(&h, j->chat.piece[i].image);
        add_number(&h, (int64_t)(token += j->chat.piece[i].n_tokens));
    }
    add_method(&h, j);
    for (int32_t i = 0; i < j->prompt.n_images; i++) add_picture(&h, j, i);
    s2_sha256_finish(&h, key);
    j->stats.image_ms += s2_now_ms() - start;
}

/* --- slots ----------------------------------------------------------------------------- */

static size_t slot_bytes(const s2v_kv *kv, int32_t n) { return (size_t)n * s2v_kv_slot_bytes(kv); }

/* --- remembering ----------------------------------------------------------------------- */

static void stop_making(s2v_job *j)
{
    s2v_prefix *p = &j->prefix;
    for (int32_t i = 0; p->before && i < j->s->kv.n_layers; i++)
        s2v_cache_release(j->s->engine->cache, p->before[i].block);
    free(p->before);
    p->before = NULL;
}

void s2v_prefix_end(s2v_job *j)
{
    stop_making(j);
    if (j->prefix.found) s2v_cache_release(j->s->engine->cache, j->prefix.found);
    j->prefix.found = NULL;
}

void s2v_prefix_save(s2v_job *j, int32_t n_layers)
{
    const s2v_session *s = j->s;
    for (int32_t i = 0; j->prefix.before && i < n_layers; i++) {
        s2v_slots_before *before = &j->prefix.before[i];
        if (before->block) continue; /* it has lost slots already */
        before->n = s->kv.n_slots[i] - s->rows.n_tail;
        before->block = s2v_cache_room(s->engine->cache, slot_bytes(&s->kv, before->n));
        if (before->block)
            s2v_kv_read(&s->kv, i, 0, before->n, before->block->bytes);
        else
            stop_making(j);
    }
}

static s2v_prefix_head make_head(const s2v_job *j)
{
    const s2v_stats *t = &j->stats;
    s2v_prefix_head h = { .slot_bytes = s2v_kv_slot_bytes(&j->s->kv),
                          .made_ms = t->vision_ms + t->prompt_ms + t->saved_ms,
                          .n_layers = j->s->kv.n_layers,
                          .image_tokens = t->image_tokens,
                          .n_stages = t->n_stages };
    memcpy(h.stage_after, t->stage_after, sizeof h.stage_after);
    memcpy(h.stage_tokens, t->stage_tokens, sizeof h.stage_tokens);
    for (int32_t u = 0; u < j->n_units; u++) {
        if (j->unit[u].n_tokens == 0) continue;
        h.n_plans++;
        h.n_plan_bytes += s2p_plan_n_bytes(j->unit[u].plan);
    }
    return h;
}

static void fill(const s2v_job *j, s2v_prefix_places at, const s2v_prefix_layer *layer)
{
    const s2v_kv *kv = &j->s->kv;
    for (int32_t u = 0; u < j->n_units; u++) {
        if (j->unit[u].n_tokens == 0) continue;
        *at.plan_bytes = s2p_plan_n_bytes(j->unit[u].plan);
        s2p_plan_to_bytes(j->unit[u].plan, at.plans);
        at.plans += *at.plan_bytes++;
    }
    for (int32_t i = 0; i < kv->n_layers; i++) {
        const s2v_cache_block *ran = j->prefix.before[i].block;
        if (ran) memcpy(at.slots, ran->bytes, ran->n);
        if (ran) at.slots += ran->n;
        s2v_kv_read(kv, i, 0, layer[i].n_left, at.slots);
        at.slots += slot_bytes(kv, layer[i].n_left);
    }
}

void s2v_prefix_remember(s2v_job *j)
{
    const s2v_session *s = j->s;
    const int32_t n_layers = s->kv.n_layers;
    s2v_prefix_layer *layer = j->prefix.before ? calloc((size_t)n_layers, sizeof *layer) : NULL;
    if (!layer) return;
    for (int32_t i = 0; i < n_layers; i++) {
        const s2v_slots_before *before = &j->prefix.before[i];
        layer[i].n_left = s->kv.n_slots[i] - s->rows.n_tail;
        layer[i].has_ran = before->block != NULL;
        layer[i].n_ran = before->block ? before->n : layer[i].n_left;
    }
    const s2v_prefix_head head = make_head(j);
    s2v_cache *cache = s->engine->cache;
    s2v_cache_block *block = s2v_cache_room(cache, s2v_prefix_n_bytes(&head, layer));
    if (block) {
        fill(j, s2v_prefix_begin(block->bytes, &head, layer), layer);
        s2v_cache_keep(cache, block, j->prefix.key);
        s2v_cache_release(cache, block);
    }
    free(layer);
}

/* --- recalling --------------------------------------------------------------------------- */

/* What was chosen of each picture. Not before it is certain that the block is right does anything
 * else change. */
static s2p_status take_plans(s2v_job *j, const s2v_prefix_parts *parts)
{
    const uint8_t *at = parts->plans;
    const uint64_t *n = parts->plan_bytes;
    for (int32_t u = 0; u < j->n_units; u++) {
        if (j->unit[u].n_tokens == 0) continue;
        TRY(s2p_plan_from_bytes(j->unit[u].plan, at, (size_t)*n));
        at += *n++;
    }
    return S2P_OK;
}

/* A smaller context than the one it was made in may have no room for rows a method adds. */
static bool has_room(const s2v_job *j, const s2v_prefix_parts *parts)
{
    const int32_t most = j->s->kv.n_ctx - j->s->rows.n_tail;
    for (int32_t i = 0; i < parts->head.n_layers; i++)
        if (parts->layer[i].n_ran > most || parts->layer[i].n_left > most) return false;
    return true;
}

static bool take_found(s2v_job *j)
{
    s2v_prefix *p = &j->prefix;
    s2v_kv *kv = &j->s->kv;
    int32_t n_plans = 0;
    for (int32_t u = 0; u < j->n_units; u++) n_plans += j->unit[u].n_tokens > 0;
    s2p_status st = s2v_prefix_parse(p->found->bytes, p->found->n, kv->n_layers, n_plans,
                                     s2v_kv_slot_bytes(kv), &p->parts)
                        ? S2P_OK
                        : S2P_EINVAL;
    if (st == S2P_OK && !has_room(j, &p->parts)) return false;
    if (st == S2P_OK) st = take_plans(j, &p->parts);
    if (st == S2P_EINVAL) {
        s2v_cache_refuse(j->s->engine->cache, p->found);
        p->found = NULL;
    }
    if (st != S2P_OK) return false;
    const uint8_t *slots = p->parts.slots;
    for (int32_t i = 0; i < kv->n_layers; i++) {
        const s2v_prefix_layer *layer = &p->parts.layer[i];
        s2v_kv_write(kv, i, 0, layer->n_ran, slots);
        slots += slot_bytes(kv, layer->n_ran);
        if (layer->has_ran) slots += slot_bytes(kv, layer->n_left);
        kv->n_slots[i] = layer->n_ran;
    }
    s2v_rows_cut(&j->s->rows);
    return true;
}

bool s2v_prefix_recall(s2v_job *j)
{
    const s2v_session *s = j->s;
    s2v_prefix *p = &j->prefix;
    const bool is_later = s->kv.n_slots[0] > 0; /* a turn that stands behind others */
    const bool is_traced = s->trace.show || s->trace.masks;
    if (!s2v_session_remembers(s) || s->options.pictures_only || is_later || is_traced ||
        s->rows.n_tail == 0 || j->prune.keep ||
        s2p_method_sees_question(j->method, &j->prune.choice))
        return false;
    make_key(j, p->key);
    /* who records wants to see the choice made; what comes of it may be remembered */
    p->found = s->recorder ? NULL : s2v_cache_find(s->engine->cache, p->key, 1);
    if (p->found && take_found(j)) return true;
    if (p->found) s2v_cache_release(s->engine->cache, p->found);
    p->found = NULL;
    p->before = calloc((size_t)s->kv.n_layers, sizeof *p->before);
    return false;
}

/* Slots that left then leave again: the question's move up behind those that stayed. */
s2p_status s2v_prefix_settle(s2v_job *j)
{
    s2v_kv *kv = &j->s->kv;
    const s2v_prefix_parts *parts = &j->prefix.parts;
    s2v_stats *t = &j->stats;
    const int32_t n = j->s->rows.n;
    uint8_t *question = malloc(slot_bytes(kv, n));
    if (!question) return s2_fail_memory(j->error, slot_bytes(kv, n), "the question's slots");
    const uint8_t *slots = parts->slots;
    for (int32_t i = 0; i < kv->n_layers; i++) {
        const s2v_prefix_layer *layer = &parts->layer[i];
        slots += slot_bytes(kv, layer->n_ran);
        if (!layer->has_ran) continue;
        s2v_kv_read(kv, i, layer->n_ran, n, question);
        s2v_kv_write(kv, i, 0, layer->n_left, slots);
        s2v_kv_write(kv, i, layer->n_left, n, question);
        slots += slot_bytes(kv, layer->n_left);
        kv->n_slots[i] = layer->n_left + n;
    }
    free(question);
    t->image_tokens = parts->head.image_tokens;
    t->n_stages = parts->head.n_stages;
    memcpy(t->stage_after, parts->head.stage_after, sizeof t->stage_after);
    memcpy(t->stage_tokens, parts->head.stage_tokens, sizeof t->stage_tokens);
    t->cached_tokens = parts->layer[kv->n_layers - 1].n_left;
    return S2P_OK;
}
