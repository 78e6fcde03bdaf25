/* prefill.c - a prompt with pictures becomes a cache and one row of logits.
 *
 *   pictures -> frames -> tower -> rows <- text
 *   rows -> layers up to the method's boundary -> select -> compact -> the other layers
 *
 * For S2Prune: layer 0 on everything, ERC computed there, then B rows per picture.
 * A budget of all tokens or more prunes nothing. When a picture is too small to be
 * measured (a region without a pixel, or a side below 3), its structure counts as
 * flat: the budget is spread evenly and a note says so. A picture seen whole and in
 * tiles (LLaVA-OneVision's any-res) has two grids over the same pixels: its budget is
 * split by their token counts, and each is pruned for itself; newlines always stay.
 */
#include "engine/session.h"

#include "engine/positions.h"
#include "image/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IMAGES 64
#define NODES_PER_BLOCK 80 /* of the tower, with all kinds of windows in it */

typedef struct job { /* one prefill on its way */
    s2v_session *s;
    const s2v_prompt *prompt;
    const s2v_prune_options *prune;
    const s2p_method *method;
    s2v_chat chat;
    s2v_frame *frames;  /* [n_images] */
    int32_t *first_row; /* [n_images] */
    int32_t n_newlines; /* rows of all pictures that are never pruned */
    float *erc;         /* [rows] */
    int32_t *keep;      /* [rows] */
    s2v_stats stats;
    s2p_error *error;
} job;

/* Tokens of a picture that may be pruned. */
static int32_t tokens_of(const s2v_frame *frame)
{
    int32_t n = 0;
    for (int32_t p = 0; p < frame->n_parts; p++) n += s2v_part_tokens(&frame->part[p]);
    return n;
}

static s2v_image_options options_of(const job *j, int32_t i)
{
    return j->prompt->image_options ? j->prompt->image_options[i]
                                    : (s2v_image_options){ .width = 0 };
}

static void note(const s2v_session *s, const char *text)
{
    const s2v_engine_options *o = &s->engine->options;
    if (o->note) o->note(text, o->user);
}

/* --- methods ----------------------------------------------------------------- */

/* One prune point, nothing merged, and no signal but those made here. */
static bool can_drive(const s2p_method *method, uint32_t needs)
{
    return method->n_stages == 1 && !method->merges &&
           (needs & ~(uint32_t)(S2P_NEED_PIXELS | S2P_NEED_ERC)) == 0;
}

const char *s2v_method_name(size_t index)
{
    const s2p_method *method;
    for (size_t i = 0; (method = s2p_method_at(i)) != NULL; i++)
        if (can_drive(method, method->needs) && index-- == 0) return method->name;
    return NULL;
}

/* --- the prompt -------------------------------------------------------------- */

/* The first turn with the system prompt, later ones without, raw text as it is. */
static s2p_status to_tokens(job *j)
{
    const s2v_session *s = j->s;
    const s2v_tokenizer *tokenizer = s->engine->tokenizer;
    const char *name = s->engine->model.arch->template_name;
    const s2v_prompt *p = j->prompt;
    if (p->raw) return s2v_chat_raw(&j->chat, tokenizer, name, p->raw, j->error);
    if (s->kv.n_cells[0] == 0)
        return s2v_chat_render(&j->chat, tokenizer, name, p->messages, p->n_messages, true,
                               j->error);
    const bool has_ended = s->pending >= 0 && s2v_tokenizer_ends(tokenizer, s->pending);
    return s2v_chat_continue(&j->chat, tokenizer, name, p->messages, p->n_messages, has_ended,
                             j->error);
}

static s2p_status render(job *j)
{
    const s2v_prompt *p = j->prompt;
    const s2p_status st = to_tokens(j);
    if (st != S2P_OK) return st;
    int32_t n_marks = 0;
    for (size_t i = 0; i < j->chat.n_pieces; i++) n_marks += j->chat.piece[i].image >= 0;
    if (n_marks != p->n_images)
        return s2_fail(j->error, S2P_EINVAL, "the prompt marks %d pictures, %d were given", n_marks,
                       p->n_images);
    return S2P_OK;
}

/* S2V_VIEW_AUTO: a pruned picture is seen as the paper does, an unpruned one as Hugging Face does
 * by default, and several pictures as Hugging Face does, pruned or not. */
static s2v_view usual_view(const job *j)
{
    if (j->prompt->n_images > 1) return S2V_VIEW_SQUARE;
    return strcmp(j->method->name, "full") == 0 ? S2V_VIEW_ANYRES : S2V_VIEW_BASE;
}

static s2p_status make_frames(job *j)
{
    const s2v_model *model = &j->s->engine->model;
    const double start = s2v_now_ms();
    for (int32_t i = 0; i < j->prompt->n_images; i++) {
        const s2v_image_options options = options_of(j, i);
        const s2p_status st = model->arch->frame(model, &j->prompt->images[i], &options,
                                                 usual_view(j), &j->frames[i], j->error);
        if (st != S2P_OK) return st;
        j->stats.image_tokens_full += tokens_of(&j->frames[i]);
        j->n_newlines += j->frames[i].n_rows - tokens_of(&j->frames[i]);
    }
    j->stats.image_ms = s2v_now_ms() - start;
    return S2P_OK;
}

static void lay_out_text(s2v_session *s, int32_t row)
{
    s->rows.unit[row] = s->rows.token[row] = -1;
}

/* Rows of a picture that may be pruned are its own; newlines count as text. */
static void lay_out_picture(s2v_session *s, const s2v_frame *frame, int32_t image, int32_t first)
{
    for (int32_t i = 0; i < frame->n_rows; i++) lay_out_text(s, first + i);
    for (int32_t p = 0; p < frame->n_parts; p++)
        for (int32_t t = 0; t < s2v_part_tokens(&frame->part[p]); t++) {
            const int32_t row = first + s2v_part_row(&frame->part[p], t);
            s->rows.unit[row] = S2V_MAX_PARTS * image + p;
            s->rows.token[row] = t;
        }
}

/* Where each row comes from and where it stands. A token left over from the last answer comes
 * first. */
static s2p_status lay_out_rows(job *j)
{
    s2v_session *s = j->s;
    const bool has_pending = s->pending >= 0;
    const int64_t n_text = (int64_t)j->chat.tokens.n + has_pending + j->n_newlines;
    const int64_t n = n_text + j->stats.image_tokens_full;
    const int32_t n_past = s->kv.n_cells[0];
    if (n_past + n > s->kv.n_ctx)
        return s2_fail(
            j->error, S2P_ELIMIT,
            "the prompt has %lld tokens after %d in the cache; the context holds %d (-c)",
            (long long)n, n_past, s->kv.n_ctx);
    if (n == 0) return s2_fail(j->error, S2P_EINVAL, "the prompt is empty");
    s2p_status st = s2v_rows_reserve(s, (int32_t)n, j->error);
    if (st != S2P_OK) return st;

    s2v_segment segment[2 * MAX_IMAGES + 4];
    size_t n_segments = 0;
    int32_t row = 0;
    if (has_pending) {
        segment[n_segments++] = (s2v_segment){ .n_text = 1 };
        lay_out_text(s, row++);
    }
    for (size_t i = 0; i < j->chat.n_pieces; i++) {
        const s2v_piece *piece = &j->chat.piece[i];
        if (piece->n_tokens)
            segment[n_segments++] = (s2v_segment){ .n_text = (int32_t)piece->n_tokens };
        for (size_t t = 0; t < piece->n_tokens; t++) lay_out_text(s, row++);
        if (piece->image < 0) continue;
        const s2v_frame *frame = &j->frames[piece->image];
        segment[n_segments++] = (s2v_segment){ .grid = frame->part[0].grid };
        j->first_row[piece->image] = row;
        lay_out_picture(s, frame, piece->image, row);
        row += frame->n_rows;
    }
    const bool is_plain = s->engine->model.decoder.p.sections[0] == 0;
    const int32_t span = is_plain ? s2v_positions_plain(s->rows.n, s->rows.pos)
                                  : s2v_mrope(segment, n_segments, s->rows.pos);
    for (int plane = 0; plane < 3; plane++)
        for (int32_t i = 0; i < s->rows.n; i++) s->rows.pos[plane][i] += s->next_pos;
    s->next_pos += span;
    j->stats.text_tokens = (int32_t)n_text;
    return S2P_OK;
}

/* --- rows -------------------------------------------------------------------- */

static s2p_status embed_text(job *j)
{
    s2v_session *s = j->s;
    s2v_graph *graph = &s->graph;
    const s2v_decoder *decoder = &s->engine->model.decoder;
    s2p_status st = s2v_graph_begin(graph, j->error);
    if (st != S2P_OK) return st;
    int32_t row = 0;
    size_t token = 0;
    if (s->pending >= 0) {
        struct ggml_tensor *id = s2v_graph_input(graph, GGML_TYPE_I32, 1, 1, &s->pending);
        s2v_graph_expand(graph, ggml_cpy(graph->ctx, s2v_draw_embedding(graph, decoder, id),
                                         s2v_rows_view(graph->ctx, &s->rows, row++, 1)));
    }
    struct ggml_tensor *ids =
        s2v_graph_input(graph, GGML_TYPE_I32, (int64_t)j->chat.tokens.n, 1, j->chat.tokens.id);
    for (size_t i = 0; i < j->chat.n_pieces; i++) {
        const s2v_piece *piece = &j->chat.piece[i];
        const int32_t n = (int32_t)piece->n_tokens;
        if (n > 0) {
            struct ggml_tensor *part =
                ggml_view_1d(graph->ctx, ids, n, token * ggml_type_size(GGML_TYPE_I32));
            s2v_graph_expand(graph, ggml_cpy(graph->ctx, s2v_draw_embedding(graph, decoder, part),
                                             s2v_rows_view(graph->ctx, &s->rows, row, n)));
            token += piece->n_tokens;
            row += n;
        }
        if (piece->image >= 0) row += j->frames[piece->image].n_rows;
    }
    return s2v_graph_compute(graph, j->error);
}

/* The tower writes straight into the rows; its memory is gone before the decoder starts. */
static s2p_status see_pictures(job *j)
{
    s2v_session *s = j->s;
    if (j->prompt->n_images == 0) return S2P_OK;
    const double start = s2v_now_ms();
    s2v_graph tower;
    const int32_t n_nodes = NODES_PER_BLOCK * (s->engine->model.vision.n_blocks + 1);
    s2p_status st = s2v_graph_init(&tower, &s->backends, n_nodes, j->error);
    for (int32_t i = 0; st == S2P_OK && i < j->prompt->n_images; i++) {
        st = s2v_see_picture(s, &tower, &j->frames[i], i, j->first_row[i], NULL, j->error);
        const s2v_engine_options *o = &s->engine->options;
        if (st == S2P_OK && o->progress &&
            o->progress("vision", (double)(i + 1) / j->prompt->n_images, o->user) != 0)
            st = s2_fail(j->error, S2P_ECANCELLED, "vision was cancelled");
    }
    s2v_graph_free(&tower);
    j->stats.vision_ms = s2v_now_ms() - start;
    return st;
}

/* --- pruning ----------------------------------------------------------------- */

static int32_t budget_of(const job *j, int32_t i)
{
    const int32_t n_tokens = tokens_of(&j->frames[i]);
    if (!j->prune->method) return n_tokens;
    if (j->prune->image_budget) return j->prune->image_budget[i];
    if (!(j->prune->budget_percent > 0.0)) return j->prune->budget;
    const double n = rint(fmin(j->prune->budget_percent, 100.0) / 100.0 * n_tokens);
    return n > 1.0 ? (int32_t)n : 1;
}

/* A picture seen whole and in tiles: each part gets its share of the budget by its tokens. */
static s2p_status part_budget(const job *j, int32_t i, int32_t p, int32_t *out)
{
    const s2v_frame *frame = &j->frames[i];
    const int32_t budget = budget_of(j, i), n_tokens = tokens_of(frame);
    *out = budget;
    if (frame->n_parts == 1) return S2P_OK;
    if (budget < 2)
        return s2_fail(j->error, S2P_EINVAL,
                       "a picture seen whole and in tiles needs a budget of 2 or more, not %d",
                       budget);
    const int32_t capped = budget < n_tokens ? budget : n_tokens;
    const double share = (double)s2v_part_tokens(&frame->part[0]) / n_tokens;
    const double whole = fmin(fmax(rint(capped * share), 1.0), capped - 1.0);
    *out = p == 0 ? (int32_t)whole : capped - (int32_t)whole;
    return S2P_OK;
}

/* ERC of a part without the newlines between its lines, moved together where it stands. */
static const float *erc_of(const job *j, int32_t i, int32_t p)
{
    if (!j->erc) return NULL;
    const s2v_part *part = &j->frames[i].part[p];
    float *rows = j->erc + j->first_row[i], *erc = rows + part->first;
    for (int32_t t = 0; t < s2v_part_tokens(part); t++) erc[t] = rows[s2v_part_row(part, t)];
    return erc;
}

static s2p_status select_on(job *j, int32_t i, int32_t p, const s2p_image *picture, s2p_plan *plan)
{
    s2v_session *s = j->s;
    s2p_view view = { .choice = j->prune->choice };
    s2p_status st = part_budget(j, i, p, &view.budget);
    if (st != S2P_OK) return st;
    if (j->prune->image_side) view.choice.side = j->prune->image_side[i];
    view.signals.image = picture;
    view.signals.erc = erc_of(j, i, p);
    st = s2p_method_run(j->method, &view, plan, j->error);
    if (st == S2P_EUNSUPPORTED) {
        note(s, "a picture is too small to measure its structure; its budget is spread evenly");
        view.choice.allocator = "uniform";
        st = s2p_method_run(j->method, &view, plan, j->error);
    }
    return st;
}

/* Structure is measured on the source, unless asked otherwise. */
static s2p_status select_part(job *j, int32_t i, int32_t p, const s2p_image *picture)
{
    const s2v_part *part = &j->frames[i].part[p];
    s2p_plan **plan = &j->s->plans[i].part[p];
    s2p_status st = s2p_plan_create(plan, part->grid);
    if (st != S2P_OK) return s2_fail(j->error, st, "cannot make a plan: %s", s2p_status_text(st));
    if (!options_of(j, i).structure_from_resized) return select_on(j, i, p, picture, *plan);
    s2_image resized;
    st = s2_image_resize(picture, part->width, part->height, &resized, j->error);
    if (st != S2P_OK) return st;
    st = select_on(j, i, p, &resized.view, *plan);
    s2_image_free(&resized);
    return st;
}

/* The source in the geometry of the tower: padded if the tower saw it so. */
static s2p_status select_picture(job *j, int32_t i)
{
    const s2v_frame *frame = &j->frames[i];
    s2p_image picture = j->prompt->images[i];
    s2_image squared = { .pixels = NULL };
    s2p_status st = S2P_OK;
    if (frame->view == S2V_VIEW_SQUARE) {
        st = s2v_square(&j->s->engine->model, &picture, &squared, j->error);
        if (st == S2P_OK) picture = squared.view;
    }
    for (int32_t p = 0; st == S2P_OK && p < frame->n_parts; p++)
        st = select_part(j, i, p, &picture);
    s2_image_free(&squared);
    return st;
}

static void mark_kept(job *j, int32_t i)
{
    const s2v_frame *frame = &j->frames[i];
    for (int32_t p = 0; p < frame->n_parts; p++) {
        int32_t n;
        const int32_t *kept = s2p_plan_keep(j->s->plans[i].part[p], &n);
        for (int32_t k = 0; k < n; k++)
            j->keep[j->first_row[i] + s2v_part_row(&frame->part[p], kept[k])] = 1;
        j->stats.image_tokens += n;
    }
}

/* Plans for all pictures, and the list of rows that stay: all text, the kept visual ones. */
static s2p_status select_rows(job *j, int32_t *n_keep)
{
    s2v_session *s = j->s;
    for (int32_t row = 0; row < s->rows.n; row++) j->keep[row] = s->rows.unit[row] < 0;
    for (int32_t i = 0; i < j->prompt->n_images; i++) {
        s->plans[i].view = j->frames[i].view;
        s->n_plans = i + 1;
        const s2p_status st = select_picture(j, i);
        if (st != S2P_OK) return st;
        mark_kept(j, i);
    }
    int32_t n = 0;
    for (int32_t row = 0; row < s->rows.n; row++)
        if (j->keep[row]) j->keep[n++] = row; /* marks become the list */
    *n_keep = n;
    return S2P_OK;
}

/* Tests compare removal with this: every row stays, but nobody sees the dropped ones. */
static s2p_status hide_rows(job *j, int32_t n_keep)
{
    s2v_session *s = j->s;
    s->hidden_rows = malloc((size_t)s->rows.n);
    if (!s->hidden_rows) return s2_fail_memory(j->error, (size_t)s->rows.n, "hidden rows");
    memset(s->hidden_rows, 1, (size_t)s->rows.n);
    for (int32_t i = 0; i < n_keep; i++) s->hidden_rows[j->keep[i]] = 0;
    return S2P_OK;
}

static s2p_status run_pruned(job *j)
{
    s2v_session *s = j->s;
    const int32_t n_layers = s->engine->model.decoder.p.n_layers;
    const int32_t boundary = j->method->after[0] + 1; /* layers that see every row */
    const uint32_t needs = s2p_method_needs(j->method, &j->prune->choice);
    double start = s2v_now_ms();
    s2p_status st = S2P_OK;
    if (boundary > 0) {
        if (needs & S2P_NEED_ERC) j->erc = malloc((size_t)s->rows.n * sizeof *j->erc);
        if ((needs & S2P_NEED_ERC) && !j->erc)
            return s2_fail_memory(j->error, (size_t)s->rows.n * sizeof *j->erc, "ERC scores");
        st = s2v_run_layers(s, 0, boundary, j->erc, j->error);
        for (int32_t i = 0; st == S2P_OK && s->tap && j->erc && i < j->prompt->n_images; i++)
            s->tap("erc", i, j->erc + j->first_row[i], s2v_part_tokens(&j->frames[i].part[0]), 1,
                   s->tap_user);
        j->stats.layer0_ms = s2v_now_ms() - start;
    }
    start = s2v_now_ms();
    int32_t n_keep = 0;
    const int32_t n_all = s->rows.n;
    if (st == S2P_OK) st = select_rows(j, &n_keep);
    if (st == S2P_OK && n_keep < n_all)
        st = s->masks_instead ? hide_rows(j, n_keep)
                              : s2v_compact(s, j->keep, n_keep, boundary, j->error);
    j->stats.select_ms = s2v_now_ms() - start;
    start = s2v_now_ms();
    if (st == S2P_OK) st = s2v_run_layers(s, boundary, n_layers, NULL, j->error);
    j->stats.layers_ms = s2v_now_ms() - start;
    return st;
}

/* --- accounting ---------------------------------------------------------------- */

static void account(job *j)
{
    const s2v_session *s = j->s;
    const s2v_decoder_params *p = &s->engine->model.decoder.p;
    s2v_stats *t = &j->stats;
    const double d = p->n_embd, d_kv = (double)p->n_kv_heads * p->head_dim, m = p->n_ff;
    const int32_t boundary = t->image_tokens < t->image_tokens_full ? j->method->after[0] + 1 : 0;
    const double full = t->text_tokens + t->image_tokens_full,
                 kept = t->text_tokens + t->image_tokens;
    const double per_row = 2.0 * (2.0 * d * d + 2.0 * d * d_kv + 3.0 * d * m);
    t->flops = boundary * (per_row * full + 4.0 * full * full * d) +
               (p->n_layers - boundary) * (per_row * kept + 4.0 * kept * kept * d);
    t->prompt_tokens = t->text_tokens + t->image_tokens;

    const uint64_t row =
        2 * (uint64_t)ggml_row_size(s->kv.type, (int64_t)p->n_kv_heads * p->head_dim);
    t->kv_visual_bytes = row * (uint64_t)t->image_tokens * (uint64_t)p->n_layers;
    t->kv_visual_bytes_paper = 4 * (uint64_t)d_kv *
                               ((uint64_t)boundary * (uint64_t)t->image_tokens_full +
                                (uint64_t)(p->n_layers - boundary) * (uint64_t)t->image_tokens);
    t->kv_total_bytes = 0;
    for (int32_t i = 0; i < p->n_layers; i++) t->kv_total_bytes += row * (uint64_t)s->kv.n_cells[i];
}

static s2p_status check_prompt(const job *j)
{
    const s2v_prompt *p = j->prompt;
    if (p->n_images < 0 || p->n_images > MAX_IMAGES)
        return s2_fail(j->error, S2P_ELIMIT, "%d pictures in one prompt; the limit is %d",
                       p->n_images, MAX_IMAGES);
    if (!p->raw && (!p->messages || p->n_messages == 0))
        return s2_fail(j->error, S2P_EINVAL, "the prompt is empty");
    for (int32_t i = 0; i < p->n_images; i++) {
        const s2p_image *image = p->images ? &p->images[i] : NULL;
        if (!image || !image->pixels || image->width < 1 || image->height < 1 ||
            image->stride < 3 * (ptrdiff_t)image->width)
            return s2_fail(j->error, S2P_EINVAL, "picture %d of the prompt has no pixels", i + 1);
    }
    return S2P_OK;
}

static s2p_status prepare(job *j)
{
    s2v_session *s = j->s;
    const int32_t n = j->prompt->n_images;
    const s2p_status st = check_prompt(j);
    if (st != S2P_OK) return st;
    j->method = s2p_method_find(j->prune->method ? j->prune->method : "full");
    if (!j->method)
        return s2_fail(j->error, S2P_EINVAL, "unknown method '%.60s'", j->prune->method);
    if (!can_drive(j->method, s2p_method_needs(j->method, &j->prune->choice)))
        return s2_fail(j->error, S2P_EINVAL,
                       "method '%s' with this choice needs signals the engine does not record yet; "
                       "'s2prune select' runs it on arrays",
                       j->method->name);
    const int32_t n_layers = s->engine->model.decoder.p.n_layers;
    if (j->method->after[0] + 1 >= n_layers)
        return s2_fail(j->error, S2P_EUNSUPPORTED,
                       "method '%s' prunes after layer %d; the model has %d layer%s",
                       j->method->name, j->method->after[0], n_layers, n_layers == 1 ? "" : "s");
    s2v_session_forget_plans(s);
    j->frames = calloc((size_t)n + 1, sizeof *j->frames);
    j->first_row = calloc((size_t)n + 1, sizeof *j->first_row);
    s->plans = calloc((size_t)n + 1, sizeof *s->plans);
    return j->frames && j->first_row && s->plans ? S2P_OK
                                                 : s2_fail(j->error, S2P_ENOMEM, "out of memory");
}

static s2p_status run(job *j)
{
    s2v_session *s = j->s;
    s2p_status st = prepare(j);
    if (st == S2P_OK) st = render(j);
    if (st == S2P_OK) st = make_frames(j);
    if (st == S2P_OK) st = lay_out_rows(j);
    if (st == S2P_OK) st = see_pictures(j);
    if (st != S2P_OK) return st;
    const double start = s2v_now_ms();
    st = embed_text(j);
    s->pending = -1;
    if (st != S2P_OK) return st;
    j->keep = malloc((size_t)s->rows.n * sizeof *j->keep);
    if (!j->keep) return s2_fail_memory(j->error, (size_t)s->rows.n * sizeof *j->keep, "kept rows");
    st = run_pruned(j);
    j->stats.prompt_ms = s2v_now_ms() - start;
    if (st == S2P_OK) account(j);
    return st;
}

s2p_status s2v_session_prefill(s2v_session *session, const s2v_prompt *prompt,
                               const s2v_prune_options *prune, s2v_stats *stats, s2p_error *error)
{
    s2v_prune_options defaults;
    s2v_prune_options_init(&defaults);
    job j = { .s = session, .prompt = prompt, .prune = prune ? prune : &defaults, .error = error };
    session->has_logits = false;
    session->generated.n = 0;
    session->detokenizer.n_held = 0;
    s2p_status st = run(&j);
    const s2v_session_options *o = &session->options;
    const s2v_sampling sampling = { .temperature = o->temperature,
                                    .top_k = o->top_k,
                                    .top_p = o->top_p,
                                    .min_p = o->min_p,
                                    .repeat_penalty = o->repeat_penalty,
                                    .presence_penalty = o->presence_penalty,
                                    .frequency_penalty = o->frequency_penalty,
                                    .penalty_window = 64,
                                    .seed = o->seed };
    if (st == S2P_OK) st = s2v_sampler_start(session->sampler, &sampling, error);

    for (int32_t i = 0; j.frames && i < prompt->n_images; i++) s2v_frame_free(&j.frames[i]);
    free(j.frames);
    free(j.first_row);
    free(j.erc);
    free(j.keep);
    free(session->hidden_rows);
    session->hidden_rows = NULL;
    s2v_chat_free(&j.chat);
    if (st != S2P_OK) {
        s2v_session_reset(session);
        return st;
    }
    if (stats) *stats = j.stats;
    return S2P_OK;
}
