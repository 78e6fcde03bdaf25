/* prefix.c - know the start of a prompt again, and have its slots. */
#include "engine/prompt/prefix.h"

#include "base/clock.h"
#include "base/sha256.h"
#include "engine/prompt/steps.h"
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

/* All that decides which rows stay, and with which bits. What the tower reads is in the frames' keys. */
static void make_key(s2v_prefill *pf, uint8_t key[S2V_KEY_BYTES])
{
    const double start = s2_now_ms();
    const s2v_session *s = pf->s;
    const int32_t n_images = pf->prompt.n_images;
    s2_sha256_state h;
    s2_sha256_start(&h);
    s2_sha256_add(&h, s->engine->identity.model, sizeof s->engine->identity.model);
    add_number(&h, (int64_t)s->past.type.k);
    add_number(&h, (int64_t)s->past.type.v);
    add_number(&h, s->past.is_plain);
    add_number(&h, s->options.n_batch);
    add_number(&h, s->backends.n_threads);
    if (pf->prompt.cache_salt) s2_sha256_add(&h, &pf->prompt.cache_salt, sizeof(uint64_t));

    add_list(&h, pf->chat.tokens.id, pf->chat.tokens.n - (size_t)s->rows.n_tail);
    size_t token = 0;
    for (size_t i = 0; i < pf->chat.n_pieces; i++) {
        if (pf->chat.piece[i].image < 0) continue;
        add_number(&h, pf->chat.piece[i].image);
        add_number(&h, (int64_t)(token += pf->chat.piece[i].n_tokens));
    }

    const s2p_choice *choice = &pf->prune.choice;
    add_name(&h, s2p_method_about(pf->method)->name);
    add_name(&h, choice->allocator);
    add_name(&h, choice->selector);
    /* where nothing is drawn, every seed keeps the same tokens */
    add_number(&h, s2p_method_draws(pf->method, choice) ? (int64_t)choice->seed : 0);
    add_number(&h, choice->side);
    add_list(&h, pf->prune.image_side, (size_t)n_images);
    add_list(&h, pf->prune.tile_side, (size_t)n_images);
    add_number(&h, pf->prune.published != 0);
    add_list(&h, pf->after, (size_t)s2p_method_about(pf->method)->n_stages);
    s2p_parameters defaults;
    s2p_parameters_init(pf->method, &defaults);
    const s2p_parameters *given = pf->prune.parameters ? pf->prune.parameters : &defaults;
    for (size_t i = 0; s2p_method_parameter(pf->method, i); i++)
        s2_sha256_add(&h, &given->value[i], sizeof given->value[i]);
    for (int32_t u = 0; u < pf->n_units; u++) {
        const s2v_unit *unit = &pf->unit[u];
        add_number(&h, unit->budget);
        add_number(&h, unit->mark ? unit->n_grid : -1);
        if (unit->mark) s2_sha256_add(&h, unit->mark, (size_t)unit->n_grid);
    }

    for (int32_t i = 0; i < n_images; i++) {
        const s2p_image *image = &pf->prompt.images[i];
        const s2v_image_options options = s2v_prefill_image(pf, i);
        add_number(&h, image->width);
        add_number(&h, image->height);
        add_number(&h, options.structure_from_resized);
        add_number(&h, (int64_t)options.resize);
        const bool is_measured = pf->needs & S2P_NEED_PIXELS; /* as it was given */
        for (int32_t y = 0; is_measured && y < image->height; y++)
            s2_sha256_add(&h, image->pixels + (ptrdiff_t)y * image->stride,
                          3 * (size_t)image->width);
        s2_sha256_add(&h, pf->frames[i].key, sizeof pf->frames[i].key);
    }
    s2_sha256_finish(&h, key);
    pf->stats.image_ms += s2_now_ms() - start;
}

/* --- remembering ----------------------------------------------------------------------- */

static void stop_making(s2v_prefill *pf)
{
    s2v_prefix *p = &pf->prefix;
    for (int32_t i = 0; p->before && i < pf->s->past.n_layers; i++)
        s2v_cache_release(pf->s->engine->cache, p->before[i].block);
    free(p->before);
    p->before = NULL;
}

void s2v_prefix_end(s2v_prefill *pf)
{
    stop_making(pf);
    s2v_past_unmark(&pf->s->past);
    if (pf->prefix.found) s2v_cache_release(pf->s->engine->cache, pf->prefix.found);
    pf->prefix.found = NULL;
}

void s2v_prefix_save(s2v_prefill *pf, int32_t n_layers)
{
    const s2v_session *s = pf->s;
    for (int32_t i = 0; pf->prefix.before && i < n_layers; i++) {
        s2v_slots_before *before = &pf->prefix.before[i];
        if (before->block || s2v_past_is_state(&s->past, i))
            continue; /* it has lost slots already, or has none to lose */
        before->n = s2v_past_length(&s->past, i) - s->rows.n_tail;
        before->block =
            s2v_cache_room(s->engine->cache, s2v_past_snapshot_bytes(&s->past, i, before->n));
        if (before->block)
            s2v_past_snapshot(&s->past, i, 0, before->n, before->block->bytes);
        else
            stop_making(pf);
    }
}

void s2v_prefix_remember(s2v_prefill *pf)
{
    const s2v_session *s = pf->s;
    const s2v_past *past = &s->past;
    const int32_t n_layers = past->n_layers;
    s2v_prefix_layer *layer = pf->prefix.before ? calloc((size_t)n_layers, sizeof *layer) : NULL;
    if (!layer) return;
    for (int32_t i = 0; i < n_layers; i++) {
        const s2v_slots_before *before = &pf->prefix.before[i];
        layer[i].n_left = s2v_past_length(past, i) - s->rows.n_tail;
        layer[i].has_ran = before->block != NULL;
        layer[i].n_ran = before->block ? before->n : layer[i].n_left;
        layer[i].is_state = s2v_past_is_state(past, i);
        if (s2v_past_has(past, i, layer[i].n_left)) continue;
        free(layer);
        return;
    }
    const s2v_stats *t = &pf->stats;
    s2v_prefix_head head = { .slot_bytes = s2v_past_slot_bytes(past),
                             .state_bytes = s2v_past_state_bytes(past),
                             .made_ms = t->vision_ms + t->prompt_ms + t->saved_ms,
                             .n_layers = n_layers,
                             .image_tokens = t->image_tokens,
                             .n_stages = t->n_stages };
    memcpy(head.stage_after, t->stage_after, sizeof head.stage_after);
    memcpy(head.stage_tokens, t->stage_tokens, sizeof head.stage_tokens);
    for (int32_t u = 0; u < pf->n_units; u++) {
        if (pf->unit[u].n_tokens == 0) continue;
        head.n_plans++;
        head.n_plan_bytes += s2p_plan_n_bytes(pf->unit[u].plan);
    }
    s2v_cache *cache = s->engine->cache;
    s2v_cache_block *block = s2v_cache_room(cache, s2v_prefix_n_bytes(&head, layer));
    if (block) {
        s2v_prefix_places at = s2v_prefix_begin(block->bytes, &head, layer);
        for (int32_t u = 0; u < pf->n_units; u++) {
            if (pf->unit[u].n_tokens == 0) continue;
            *at.plan_bytes = s2p_plan_n_bytes(pf->unit[u].plan);
            s2p_plan_to_bytes(pf->unit[u].plan, at.plans);
            at.plans += *at.plan_bytes++;
        }
        for (int32_t i = 0; i < n_layers; i++) {
            const s2v_cache_block *ran = pf->prefix.before[i].block;
            if (ran) memcpy(at.slots, ran->bytes, ran->n);
            if (ran) at.slots += ran->n;
            s2v_past_snapshot(past, i, 0, layer[i].n_left, at.slots);
            at.slots += s2v_past_snapshot_bytes(past, i, layer[i].n_left);
        }
        s2v_cache_keep(cache, block, pf->prefix.key);
        s2v_cache_release(cache, block);
    }
    free(layer);
}

/* --- recalling --------------------------------------------------------------------------- */

/* Nothing of the session changes before it is certain that the block is right. */
static bool take_found(s2v_prefill *pf)
{
    s2v_prefix *p = &pf->prefix;
    s2v_past *past = &pf->s->past;
    int32_t n_plans = 0;
    for (int32_t u = 0; u < pf->n_units; u++) n_plans += pf->unit[u].n_tokens > 0;
    s2p_status st =
        s2v_prefix_parse(p->found->bytes, p->found->n, past->n_layers, n_plans,
                         s2v_past_slot_bytes(past), s2v_past_state_bytes(past), &p->parts)
            ? S2P_OK
            : S2P_EINVAL;
    for (int32_t i = 0; st == S2P_OK && i < past->n_layers; i++)
        if ((p->parts.layer[i].is_state != 0) != s2v_past_is_state(past, i)) st = S2P_EINVAL;
    /* A smaller context than the one it was made in may have no room for rows a method adds. */
    const int32_t n_tail = pf->s->rows.n_tail;
    if (st == S2P_OK && p->parts.layer[past->n_layers - 1].n_left > past->n_ctx - n_tail)
        return false;
    const uint8_t *at = p->parts.plans; /* what was selected of each picture */
    const uint64_t *n = p->parts.plan_bytes;
    for (int32_t u = 0; st == S2P_OK && u < pf->n_units; u++) {
        if (pf->unit[u].n_tokens == 0) continue;
        st = s2p_plan_from_bytes(pf->unit[u].plan, at, (size_t)*n);
        at += *n++;
    }
    if (st == S2P_EINVAL) {
        s2v_cache_refuse(pf->s->engine->cache, p->found);
        p->found = NULL;
    }
    if (st != S2P_OK) return false;

    for (int32_t i = 0; i < past->n_layers; i++) /* the question sees the rows that have left */
        if (s2v_past_make_room(past, i, i + 1, p->parts.layer[i].n_ran + n_tail, NULL) != S2P_OK) {
            s2v_past_clear(past);
            return false;
        }
    const uint8_t *slots = p->parts.slots;
    for (int32_t i = 0; i < past->n_layers; i++) {
        const s2v_prefix_layer *layer = &p->parts.layer[i];
        s2v_past_extend(past, i, layer->n_ran, slots); /* it was empty */
        slots += s2v_past_snapshot_bytes(past, i, layer->n_ran);
        if (layer->has_ran) slots += s2v_past_snapshot_bytes(past, i, layer->n_left);
    }
    s2v_rows_cut(&pf->s->rows);
    return true;
}

bool s2v_prefix_recall(s2v_prefill *pf)
{
    const s2v_session *s = pf->s;
    s2v_prefix *p = &pf->prefix;
    const bool is_later = s2v_past_length(&s->past, 0) > 0; /* a turn that follows others */
    const bool is_traced = s->trace.show || s->trace.masks;
    if (!s2v_session_remembers(s) || s->options.pictures_only || is_later || is_traced ||
        s->rows.n_tail == 0 || pf->prune.keep || pf->prune.own_method || pf->prune.renumber ||
        s2p_method_sees_question(pf->method, &pf->prune.choice))
        return false;
    make_key(pf, p->key);
    /* a recorder must see the selection, so do not load it; the result may be cached */
    p->found = s->recorder ? NULL : s2v_cache_find(s->engine->cache, p->key, 1);
    if (p->found && take_found(pf)) return true;
    if (p->found) s2v_cache_release(s->engine->cache, p->found);
    p->found = NULL;
    p->before = calloc((size_t)s->past.n_layers, sizeof *p->before);
    pf->s->past.marks = p->before != NULL; /* before the question changes the states */
    return false;
}

/* Slots that left then leave again: the question's move up behind those that stayed. */
s2p_status s2v_prefix_settle(s2v_prefill *pf)
{
    s2v_past *past = &pf->s->past;
    const s2v_prefix_parts *parts = &pf->prefix.parts;
    s2v_stats *t = &pf->stats;
    const int32_t n = pf->s->rows.n;
    const size_t n_bytes = (size_t)n * s2v_past_slot_bytes(past);
    uint8_t *question = malloc(n_bytes);
    if (!question) return s2_fail_memory(pf->error, n_bytes, "the question's slots");
    const uint8_t *slots = parts->slots;
    for (int32_t i = 0; i < past->n_layers; i++) {
        const s2v_prefix_layer *layer = &parts->layer[i];
        slots += s2v_past_snapshot_bytes(past, i, layer->n_ran);
        if (!layer->has_ran) continue;
        s2v_past_snapshot(past, i, layer->n_ran, n, question);
        s2v_past_restore(past, i, layer->n_left, slots);
        s2v_past_extend(past, i, n, question);
        slots += s2v_past_snapshot_bytes(past, i, layer->n_left);
    }
    free(question);
    t->image_tokens = parts->head.image_tokens;
    t->n_stages = parts->head.n_stages;
    memcpy(t->stage_after, parts->head.stage_after, sizeof t->stage_after);
    memcpy(t->stage_tokens, parts->head.stage_tokens, sizeof t->stage_tokens);
    t->cached_tokens = parts->layer[past->n_layers - 1].n_left;
    return S2P_OK;
}
