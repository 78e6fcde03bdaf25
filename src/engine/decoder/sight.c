/* sight.c - masks: causal, windows of positions, pictures that see themselves both ways. */
#include "engine/decoder/sight.h"

#include <stdlib.h>
#include <string.h>

static const ggml_fp16_t SEEN = 0x0000,
                         UNSEEN = 0xFC00; /* 0 and minus infinity in half precision */

/* The picture of a row, -1 for text. */
static int32_t picture_of(const s2v_rows *rows, int32_t row)
{
    return rows->unit[row] < 0 ? -1 : rows->unit[row] / S2V_UNITS_OF_A_PICTURE;
}

static bool is_near(int32_t pos, int32_t seen, int32_t window)
{
    return window == 0 || (int64_t)pos - seen < window;
}

static bool sees(const s2v_sight *s, const s2v_rows *rows, int32_t row, int32_t other)
{
    if (row == other) return true;
    if (rows->masked && rows->masked[other]) return false;
    if (other < row && is_near(rows->pos[0][row], rows->pos[0][other], s->window)) return true;
    return s->p->n_together > 0 && rows->unit[row] >= 0 &&
           picture_of(rows, row) == picture_of(rows, other);
}

void s2v_sight_fill(const s2v_sight *s, const s2v_rows *rows, ggml_fp16_t *mask)
{
    const int32_t *pos = s->past->layer[s->layer].pos;
    const bool is_causal = s->window == 0 && s->p->n_together == 0 && !rows->masked;
    for (int32_t row = s->first; row < s->first + s->n; row++) {
        if (is_causal) { /* most models, and quickly */
            const int32_t n_seen = s->n_before + row + 1, width = s->n_before + s->n_seen;
            for (int32_t i = 0; i < width; i++) *mask++ = i < n_seen ? SEEN : UNSEEN;
            continue;
        }
        for (int32_t i = 0; i < s->n_before; i++)
            *mask++ =
                s->window == 0 || is_near(rows->pos[0][row], pos[i], s->window) ? SEEN : UNSEEN;
        for (int32_t i = 0; i < s->n_seen; i++) *mask++ = sees(s, rows, row, i) ? SEEN : UNSEEN;
    }
}

s2p_status s2v_sight_mask(const s2v_sight *s, s2v_rows *rows, s2v_graph *graph, int which,
                          struct ggml_tensor **out, s2p_error *error)
{
    *out = NULL;
    const size_t width = (size_t)s->n_before + (size_t)s->n_seen, needed = width * (size_t)s->n;
    if (needed > rows->n_mask[which]) {
        ggml_fp16_t *mask = realloc(rows->mask[which], needed * sizeof *mask);
        if (!mask) return s2_fail_memory(error, needed * sizeof *mask, "the attention mask");
        rows->mask[which] = mask;
        rows->n_mask[which] = needed;
    }
    s2v_sight_fill(s, rows, rows->mask[which]);
    *out = s2v_graph_input(graph, GGML_TYPE_F16, (int64_t)width, s->n, rows->mask[which]);
    return S2P_OK;
}

int32_t s2v_sight_end(const s2v_decoder_params *p, const s2v_rows *rows, int32_t last)
{
    const int32_t picture = picture_of(rows, last - 1);
    if (p->n_together == 0 || picture < 0) return last;
    while (last < rows->n && picture_of(rows, last) == picture) last++;
    return last;
}

int32_t s2v_sight_chunk(const s2v_decoder_params *p, const s2v_rows *rows, int32_t at, int32_t end,
                        int32_t n_batch)
{
    if (end - at <= n_batch) return end - at;
    int32_t n = n_batch;
    const int32_t picture = picture_of(rows, at + n);
    if (p->n_together == 0 || picture < 0) return n;
    while (n > 0 && picture_of(rows, at + n - 1) == picture) n--;
    /* a batch holds a picture (s2v_session_settle), unless rows of zeros were added to it */
    return n > 0 ? n : s2v_sight_end(p, rows, at + 1) - at;
}

/* --- single rows -------------------------------------------------------------------------- */

size_t s2v_sight_cells(int32_t width, int32_t n)
{
    return ((size_t)width * (size_t)n + 31) / 32 * 32;
}

void s2v_row_masks_free(s2v_row_masks *m)
{
    free((void *)m->mask);
    free(m->cells);
    *m = (s2v_row_masks){ .n_cells = 0 };
}

static s2p_status reserve(s2v_row_masks *m, size_t n_masks, size_t n_cells, s2p_error *error)
{
    if (n_masks > m->n_masks) {
        struct ggml_tensor **mask = realloc((void *)m->mask, n_masks * sizeof *mask);
        if (!mask) return s2_fail_memory(error, n_masks * sizeof *mask, "attention masks");
        m->mask = mask;
        m->n_masks = n_masks;
    }
    if (n_cells > m->n_cells) {
        ggml_fp16_t *cells = realloc(m->cells, 2 * n_cells * sizeof *cells);
        if (!cells) return s2_fail_memory(error, 2 * n_cells * sizeof *cells, "attention masks");
        m->cells = cells;
        m->n_cells = 2 * n_cells;
    }
    return S2P_OK;
}

/* The end of a run of layers that share a mask, and whether they need one. */
static int32_t next_run(const s2v_decoder *decoder, const s2v_past *past, int32_t pos,
                        int32_t first, bool *needs_mask)
{
    const int32_t end = s2v_past_alike(past, first, past->n_layers);
    *needs_mask = false;
    for (int32_t l = first; l < end && !*needs_mask; l++)
        *needs_mask = decoder->layers[l].window > 0;
    *needs_mask = *needs_mask && s2v_past_is_cut(past, first, decoder->p.window, pos);
    return end;
}

s2p_status s2v_row_masks_reserve(s2v_row_masks *m, const s2v_decoder *decoder, int32_t n_ctx,
                                 s2p_error *error)
{
    if (decoder->p.window == 0) return S2P_OK;
    return reserve(m, (size_t)decoder->p.n_layers, s2v_sight_cells(n_ctx + 1, 1), error);
}

s2p_status s2v_row_masks_draw(s2v_row_masks *m, s2v_graph *graph, const s2v_decoder *decoder,
                              const s2v_past *const *past, const int32_t *pos, int32_t n,
                              s2p_error *error)
{
    const int32_t n_layers = decoder->p.n_layers, window = decoder->p.window;
    const size_t n_masks = (size_t)n * (size_t)n_layers;
    size_t n_cells = 0;
    bool needs_mask;
    if (window == 0) return S2P_OK;
    TRY(reserve(m, n_masks, 0, error));
    memset((void *)m->mask, 0, n_masks * sizeof(struct ggml_tensor *));
    for (int32_t i = 0; i < n; i++)
        for (int32_t l = 0, end; l < n_layers; l = end) {
            end = next_run(decoder, past[i], pos[i], l, &needs_mask);
            if (needs_mask) n_cells += s2v_sight_cells(s2v_past_length(past[i], l) + 1, 1);
        }
    if (n_cells == 0) return S2P_OK;
    TRY(reserve(m, n_masks, n_cells, error));
    struct ggml_tensor *all = s2v_graph_input(graph, GGML_TYPE_F16, (int64_t)n_cells, 1, m->cells);
    ggml_fp16_t *at = m->cells;
    for (int32_t i = 0; i < n; i++)
        for (int32_t l = 0, end; l < n_layers; l = end) {
            end = next_run(decoder, past[i], pos[i], l, &needs_mask);
            if (!needs_mask) continue;
            const s2v_slots *slots = &past[i]->layer[l];
            const int32_t width = slots->n + 1;
            const size_t n_own = s2v_sight_cells(width, 1);
            for (size_t k = 0; k < n_own; k++) at[k] = SEEN;
            for (int32_t k = 0; k < slots->n; k++)
                if (!is_near(pos[i], slots->pos[k], window)) at[k] = UNSEEN;
            struct ggml_tensor *mask =
                ggml_view_2d(graph->ctx, all, width, 1, (size_t)width * sizeof *at,
                             (size_t)(at - m->cells) * sizeof *at);
            for (int32_t k = l; k < end; k++)
                if (decoder->layers[k].window > 0) m->mask[(ptrdiff_t)i * n_layers + k] = mask;
            at += n_own;
        }
    return S2P_OK;
}
