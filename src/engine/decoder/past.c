/* past.c - slots of keys and values, and states, on the device of each layer. */
#include "engine/decoder/past.h"

#include "engine/backend/reserve.h"

#include <stdlib.h>
#include <string.h>

/* --- sizes ---------------------------------------------------------------------------- */

static int64_t slot_width(const s2v_decoder *decoder)
{
    return (int64_t)decoder->p.n_kv_heads * decoder->p.head_dim;
}

s2v_kv_types s2v_kv_types_of(s2v_kv_type key_type, s2v_kv_type value_type)
{
    static const enum ggml_type types[] = {
        [S2V_KV_F16] = GGML_TYPE_F16, [S2V_KV_F32] = GGML_TYPE_F32, [S2V_KV_Q8_0] = GGML_TYPE_Q8_0
    };
    return (s2v_kv_types){ types[key_type],
                           types[value_type == S2V_KV_SAME ? key_type : value_type] };
}

uint64_t s2v_past_layer_bytes(const s2v_decoder *decoder, int32_t n_ctx, s2v_kv_types type)
{
    const int64_t n = slot_width(decoder);
    return (uint64_t)(ggml_row_size(type.k, n) + ggml_row_size(type.v, n)) * (uint64_t)n_ctx;
}

uint64_t s2v_past_bytes(const s2v_decoder *decoder, int32_t first, int32_t last, int32_t n_ctx,
                        s2v_kv_types type)
{
    const uint64_t slots = s2v_past_layer_bytes(decoder, n_ctx, type);
    uint64_t n = 0;
    for (int32_t i = first; i < last; i++)
        n += s2v_attends(&decoder->p, i)
                 ? slots
                 : (uint64_t)s2v_delta_state(&decoder->p.delta) * sizeof(float);
    return n;
}

/* --- memory --------------------------------------------------------------------------- */

static s2p_status check_type(enum ggml_type type, const s2v_decoder *decoder,
                             const s2v_devices *devices, s2p_error *error)
{
    if (slot_width(decoder) % ggml_blck_size(type) != 0 ||
        decoder->p.head_dim % ggml_blck_size(type) != 0)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "a cache of type %s needs a head size that is a multiple of %d",
                       ggml_type_name(type), (int)ggml_blck_size(type));
    /* GPUs read words: rows that end inside one come out wrong. A server of ggml's is another CPU. */
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(devices->main);
    const size_t row = ggml_row_size(type, slot_width(decoder));
    if (decoder->first_on_device < decoder->p.n_layers && row % 4 != 0 &&
        strcmp(ggml_backend_reg_name(reg), "RPC") != 0)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "a cache of type %s has rows of %zu bytes here, which %s cannot read",
                       ggml_type_name(type), row, ggml_backend_dev_name(devices->main));
    return S2P_OK;
}

static s2p_status make_tables(s2v_past *past, const s2v_decoder *decoder,
                              const s2v_devices *devices, int32_t n_ctx, s2v_kv_types type,
                              s2p_error *error)
{
    const size_t n = (size_t)decoder->p.n_layers;
    *past = (s2v_past){ .n_ctx = n_ctx,
                        .n_layers = decoder->p.n_layers,
                        .type = type,
                        .has_positions = decoder->p.window > 0 };
    TRY(check_type(type.k, decoder, devices, error));
    TRY(check_type(type.v, decoder, devices, error));
    past->layer = calloc(n, sizeof *past->layer);
    const struct ggml_init_params params = { ggml_tensor_overhead() * 2 * n, NULL, true };
    for (int i = 0; i < 2; i++) past->ctx[i] = s2v_context_open(params);
    if (!past->layer || !past->ctx[0] || !past->ctx[1]) {
        s2v_past_free(past);
        return s2_fail(error, S2P_ENOMEM, "out of memory for the cache's table");
    }
    for (size_t i = 0; i < n; i++) {
        struct ggml_context *ctx = past->ctx[(int32_t)i >= decoder->first_on_device];
        s2v_slots *slots = &past->layer[i];
        if (!s2v_attends(&decoder->p, (int32_t)i)) {
            slots->state =
                ggml_new_tensor_1d(ctx, GGML_TYPE_F32, s2v_delta_state(&decoder->p.delta));
            continue;
        }
        slots->k = slots->own[0] = ggml_new_tensor_2d(ctx, type.k, slot_width(decoder), n_ctx);
        slots->v = slots->own[1] = ggml_new_tensor_2d(ctx, type.v, slot_width(decoder), n_ctx);
        if (!past->has_positions || (slots->pos = malloc(2 * (size_t)n_ctx * sizeof *slots->pos)))
            continue;
        s2v_past_free(past);
        return s2_fail(error, S2P_ENOMEM, "out of memory for the positions of %d tokens", n_ctx);
    }
    return S2P_OK;
}

/* Nothing is remembered: a state of no rows is zero. */
static void empty(s2v_slots *slots)
{
    slots->n = 0;
    if (slots->state) ggml_backend_tensor_memset(slots->state, 0, 0, ggml_nbytes(slots->state));
}

s2p_status s2v_past_init(s2v_past *past, const s2v_decoder *decoder, const s2v_devices *devices,
                         int32_t n_ctx, s2v_kv_types type, s2p_error *error)
{
    TRY(make_tables(past, decoder, devices, n_ctx, type, error));
    ggml_backend_dev_t const device[2] = { devices->cpu, devices->main };
    for (int i = 0; i < 2; i++) {
        if (!ggml_get_first_tensor(past->ctx[i])) continue;
        past->buffer[i] = ggml_backend_alloc_ctx_tensors_from_buft(
            past->ctx[i], ggml_backend_dev_buffer_type(device[i]));
        if (past->buffer[i]) continue;
        s2v_past_free(past);
        return s2_fail(error, S2P_ENOMEM, "out of memory for a cache of %d tokens", n_ctx);
    }
    for (int32_t i = 0; i < past->n_layers; i++) empty(&past->layer[i]);
    return S2P_OK;
}

s2p_status s2v_past_outline(s2v_past *past, const s2v_decoder *decoder, const s2v_devices *devices,
                            int32_t n_ctx, s2v_kv_types type, s2p_error *error)
{
    TRY(make_tables(past, decoder, devices, n_ctx, type, error));
    past->buffer[0] = s2v_place_outline(past->ctx[0], ggml_backend_dev_buffer_type(devices->cpu));
    past->buffer[1] = s2v_place_outline(past->ctx[1], ggml_backend_dev_buffer_type(devices->main));
    if (past->buffer[0] && past->buffer[1]) return S2P_OK;
    s2v_past_free(past);
    return s2_fail(error, S2P_ENOMEM, "out of memory for an outline");
}

static bool is_wider(const s2v_slots *slots) { return slots->k != slots->own[0]; }

static void free_wider(s2v_slots *slots)
{
    ggml_backend_buffer_free(slots->buffer);
    ggml_free(slots->ctx);
    slots->buffer = NULL;
    slots->ctx = NULL;
}

/* Its rows are, or will be, in its own memory. */
static void go_home(s2v_slots *slots)
{
    slots->k = slots->own[0];
    slots->v = slots->own[1];
}

void s2v_past_free(s2v_past *past)
{
    for (int32_t i = 0; past->layer && i < past->n_layers; i++) {
        free_wider(&past->layer[i]);
        free(past->layer[i].pos);
        free(past->layer[i].mark);
    }
    for (int i = 0; i < 2; i++) {
        ggml_backend_buffer_free(past->buffer[i]);
        ggml_free(past->ctx[i]);
    }
    free(past->layer);
    *past = (s2v_past){ .n_ctx = 0 };
}

void s2v_past_clear(s2v_past *past)
{
    for (int32_t i = 0; i < past->n_layers; i++) {
        empty(&past->layer[i]);
        go_home(&past->layer[i]);
    }
    s2v_past_narrow(past);
}

/* --- wider memory ----------------------------------------------------------------------- */

void s2v_past_narrow(s2v_past *past)
{
    for (int32_t i = 0; i < past->n_layers; i++)
        if (!is_wider(&past->layer[i])) free_wider(&past->layer[i]);
}

uint64_t s2v_past_wider_bytes(const s2v_past *past, int32_t layer, int64_t n)
{
    const s2v_slots *slots = &past->layer[layer];
    if (slots->state || slots->n + n <= slots->k->ne[1]) return 0;
    return (uint64_t)(slots->n + n) * (slots->k->nb[1] + slots->v->nb[1]);
}

uint64_t s2v_past_wider_held(const s2v_past *past, int32_t layer)
{
    const s2v_slots *slots = &past->layer[layer];
    return slots->buffer ? ggml_backend_buffer_get_size(slots->buffer) : 0;
}

/* Rows go through the host, which for the CPU is a copy in memory. */
static s2p_status widen(s2v_past *past, s2v_slots *slots, int32_t layer, int64_t n,
                        s2p_error *error)
{
    const struct ggml_init_params params = { ggml_tensor_overhead() * 2, NULL, true };
    struct ggml_context *ctx = s2v_context_open(params);
    struct ggml_tensor *k = NULL, *v = NULL;
    ggml_backend_buffer_t buffer = NULL;
    uint8_t *rows = slots->n > 0 ? malloc(s2v_past_snapshot_bytes(past, layer, slots->n)) : NULL;
    int32_t *pos = past->has_positions ? realloc(slots->pos, 2 * (size_t)n * sizeof *pos) : NULL;
    if (pos) slots->pos = pos;
    if (ctx && (rows || slots->n == 0) && (pos || !past->has_positions)) {
        k = ggml_new_tensor_2d(ctx, past->type.k, slots->k->ne[0], n);
        v = ggml_new_tensor_2d(ctx, past->type.v, slots->v->ne[0], n);
        buffer = ggml_backend_alloc_ctx_tensors_from_buft(
            ctx, ggml_backend_buffer_get_type(slots->k->buffer));
    }
    if (!buffer) {
        ggml_free(ctx);
        free(rows);
        return s2_fail(error, S2P_ENOMEM, "out of memory for %lld tokens in layer %d", (long long)n,
                       layer);
    }
    const int32_t n_rows = slots->n;
    s2v_past_snapshot(past, layer, 0, n_rows, rows);
    free_wider(slots);
    slots->k = k;
    slots->v = v;
    slots->ctx = ctx;
    slots->buffer = buffer;
    slots->n = 0;
    s2v_past_extend(past, layer, n_rows, rows);
    free(rows);
    return S2P_OK;
}

s2p_status s2v_past_make_room(s2v_past *past, int32_t first, int32_t last, int32_t n,
                              s2p_error *error)
{
    for (int32_t i = first; i < last; i++) {
        s2v_slots *slots = &past->layer[i];
        const int64_t needed = (int64_t)slots->n + n;
        if (!slots->state && needed > slots->k->ne[1]) TRY(widen(past, slots, i, needed, error));
    }
    return S2P_OK;
}

s2p_status s2v_past_grow(s2v_past *past, const s2v_decoder *decoder, const s2v_devices *devices,
                         int32_t n_ctx, s2p_error *error)
{
    s2v_past larger;
    TRY(s2v_past_init(&larger, decoder, devices, n_ctx, past->type, error));
    larger.traffic = past->traffic;
    larger.is_plain = past->is_plain;
    larger.marks = past->marks;
    const size_t most = s2v_past_largest_snapshot(past);
    uint8_t *rows = most > 0 ? malloc(most) : NULL;
    s2p_status st = S2P_OK;
    if (most > 0 && !rows) st = s2_fail_memory(error, most, "the slots of a layer");
    for (int32_t i = 0; st == S2P_OK && i < past->n_layers; i++) {
        const int32_t n = past->layer[i].n;
        st = s2v_past_make_room(&larger, i, i + 1, n, error);
        if (st != S2P_OK || n == 0) continue;
        s2v_past_snapshot(past, i, 0, n, rows);
        s2v_past_extend(&larger, i, n, rows);
        s2v_slots *to = &larger.layer[i], *from = &past->layer[i];
        to->mark = from->mark; /* a prefix may be in the making */
        to->n_mark = from->n_mark;
        from->mark = NULL;
        if (!is_wider(to)) continue;
        /* During a prompt: its rows may be removed, those before it are where s2v_past_keep
         * expects them. */
        const size_t key = to->k->nb[1], value = to->v->nb[1], n_own = (size_t)n_ctx;
        s2v_tensor_set(to->own[0], rows, 0, n_own * key, past->traffic);
        s2v_tensor_set(to->own[1], rows + (size_t)n * key, 0, n_own * value, past->traffic);
    }
    free(rows);
    s2v_past_free(st == S2P_OK ? past : &larger);
    if (st == S2P_OK) *past = larger;
    return st;
}

/* --- rows ----------------------------------------------------------------------------- */

int32_t s2v_past_length(const s2v_past *past, int32_t layer) { return past->layer[layer].n; }

int32_t s2v_past_alike(const s2v_past *past, int32_t first, int32_t last)
{
    int32_t end = first + 1;
    const s2v_slots *one = &past->layer[first];
    for (; end < last && past->layer[end].n == one->n; end++)
        if (one->pos && one->n > 0 &&
            memcmp(one->pos, past->layer[end].pos, (size_t)one->n * sizeof *one->pos) != 0)
            break;
    return end;
}

void s2v_past_append(s2v_past *past, int32_t first, int32_t last, int32_t n, const int32_t *pos)
{
    for (int32_t i = first; i < last; i++) {
        s2v_slots *slots = &past->layer[i];
        if (slots->pos && pos && n > 0) memcpy(slots->pos + slots->n, pos, (size_t)n * sizeof *pos);
        slots->n += n;
    }
}

void s2v_past_shift(s2v_past *past, int32_t layer, int32_t by)
{
    s2v_slots *slots = &past->layer[layer];
    for (int32_t i = 0; slots->pos && i < slots->n; i++)
        slots->pos[i] = (int32_t)((uint32_t)slots->pos[i] + (uint32_t)by);
}

bool s2v_past_is_cut(const s2v_past *past, int32_t layer, int32_t window, int32_t pos)
{
    const s2v_slots *slots = &past->layer[layer];
    for (int32_t i = 0; window > 0 && i < slots->n; i++)
        if ((int64_t)pos - slots->pos[i] >= window) return true;
    return false;
}

struct ggml_tensor *s2v_slots_view(struct ggml_context *ctx, struct ggml_tensor *slots,
                                   int32_t first, int32_t n)
{
    return ggml_view_2d(ctx, slots, slots->ne[0], n, slots->nb[1], (size_t)first * slots->nb[1]);
}

/* The rows are copied out before any of them is written. */
void s2v_past_keep(s2v_past *past, s2v_graph *graph, int32_t first, int32_t last, int32_t n_rows,
                   struct ggml_tensor *index, const int32_t *list)
{
    struct ggml_context *ctx = graph->ctx;
    const int32_t n = (int32_t)index->ne[0];
    for (int32_t i = first; i < last; i++) {
        s2v_slots *slots = &past->layer[i];
        const int32_t at = slots->n - n_rows; /* the prompt's rows are the last slots */
        if (slots->state) {                   /* rows behind a mark all stay */
            slots->n_mark += n - n_rows;
            slots->n = at + n;
            continue;
        }
        struct ggml_tensor *const both[2] = { slots->k, slots->v };
        if (at + n <= past->n_ctx) go_home(slots); /* where the rows before `at` still are */
        struct ggml_tensor *const to[2] = { slots->k, slots->v };
        for (int c = 0; c < 2; c++) {
            struct ggml_tensor *kept =
                ggml_get_rows(ctx, s2v_slots_view(ctx, both[c], at, n_rows), index);
            s2v_graph_expand(graph, ggml_cpy(ctx, kept, s2v_slots_view(ctx, to[c], at, n)));
        }
        if (slots->pos) {
            int32_t *pos = slots->pos + at, *before = slots->pos + both[0]->ne[1];
            memcpy(before, pos, (size_t)n_rows * sizeof *pos);
            for (int32_t r = 0; r < n; r++) pos[r] = before[list[r]];
        }
        slots->n = at + n;
    }
}

/* --- snapshots ------------------------------------------------------------------------ */

bool s2v_past_is_state(const s2v_past *past, int32_t layer)
{
    return past->layer[layer].state != NULL;
}

size_t s2v_past_snapshot_bytes(const s2v_past *past, int32_t layer, int32_t n)
{
    const s2v_slots *slots = &past->layer[layer];
    if (slots->state) return n > 0 ? ggml_nbytes(slots->state) : 0;
    const size_t pos = past->has_positions ? sizeof(int32_t) : 0;
    return (size_t)n * (slots->k->nb[1] + slots->v->nb[1] + pos);
}

size_t s2v_past_largest_snapshot(const s2v_past *past)
{
    size_t most = 0;
    for (int32_t i = 0; i < past->n_layers; i++) {
        const size_t n = s2v_past_snapshot_bytes(past, i, past->layer[i].n);
        if (n > most) most = n;
    }
    return most;
}

size_t s2v_past_slot_bytes(const s2v_past *past)
{
    for (int32_t i = 0; i < past->n_layers; i++)
        if (!past->layer[i].state) return s2v_past_snapshot_bytes(past, i, 1);
    return 0;
}

size_t s2v_past_state_bytes(const s2v_past *past)
{
    for (int32_t i = 0; i < past->n_layers; i++)
        if (past->layer[i].state) return ggml_nbytes(past->layer[i].state);
    return 0;
}

void s2v_past_mark(s2v_past *past, int32_t first, int32_t last)
{
    for (int32_t i = first; past->marks && i < last; i++) {
        s2v_slots *slots = &past->layer[i];
        if (!slots->state) continue;
        const size_t n_bytes = ggml_nbytes(slots->state);
        if (!slots->mark) slots->mark = malloc(n_bytes);
        if (slots->mark) s2v_tensor_get(slots->state, slots->mark, 0, n_bytes, past->traffic);
        slots->n_mark = slots->n;
    }
}

void s2v_past_unmark(s2v_past *past)
{
    past->marks = false;
    for (int32_t i = 0; i < past->n_layers; i++) {
        free(past->layer[i].mark);
        past->layer[i].mark = NULL;
    }
}

bool s2v_past_has(const s2v_past *past, int32_t layer, int32_t n)
{
    const s2v_slots *slots = &past->layer[layer];
    return !slots->state || n == slots->n || (slots->mark && n == slots->n_mark);
}

void s2v_past_snapshot(const s2v_past *past, int32_t layer, int32_t first, int32_t n, uint8_t *out)
{
    const s2v_slots *slots = &past->layer[layer];
    if (slots->state) {
        const size_t n_bytes = s2v_past_snapshot_bytes(past, layer, n);
        if (n < slots->n && slots->mark)
            memcpy(out, slots->mark, n_bytes);
        else if (n > 0)
            s2v_tensor_get(slots->state, out, 0, n_bytes, past->traffic);
        return;
    }
    const size_t key = slots->k->nb[1], value = slots->v->nb[1];
    const size_t n_slots = (size_t)n, at = (size_t)first;
    if (n == 0) return;
    s2v_tensor_get(slots->k, out, at * key, n_slots * key, past->traffic);
    s2v_tensor_get(slots->v, out + n_slots * key, at * value, n_slots * value, past->traffic);
    if (slots->pos)
        memcpy(out + n_slots * (key + value), slots->pos + at, n_slots * sizeof *slots->pos);
}

void s2v_past_restore(s2v_past *past, int32_t layer, int32_t n, const uint8_t *from)
{
    s2v_slots *slots = &past->layer[layer];
    empty(slots);
    if (n <= past->n_ctx && is_wider(slots)) go_home(slots);
    if (!is_wider(slots)) free_wider(slots);
    s2v_past_extend(past, layer, n, from);
}

void s2v_past_extend(s2v_past *past, int32_t layer, int32_t n, const uint8_t *from)
{
    s2v_slots *slots = &past->layer[layer];
    if (n == 0) return;
    if (slots->state) {
        s2v_tensor_set(slots->state, from, 0, ggml_nbytes(slots->state), past->traffic);
        slots->n = n;
        return;
    }
    const size_t key = slots->k->nb[1], value = slots->v->nb[1];
    const size_t n_slots = (size_t)n, at = (size_t)slots->n;
    s2v_tensor_set(slots->k, from, at * key, n_slots * key, past->traffic);
    s2v_tensor_set(slots->v, from + n_slots * key, at * value, n_slots * value, past->traffic);
    if (slots->pos)
        memcpy(slots->pos + at, from + n_slots * (key + value), n_slots * sizeof *slots->pos);
    slots->n += n;
}
