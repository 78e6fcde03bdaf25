/* golden_fields.c - fields of a golden case to the signals of a view.
 *
 * The goldens name arrays as the published codes do, so "hidden" or "k" is another thing for each
 * method. What it is, and what shape it must have, is decided here and nowhere else.
 */
#include "plan/golden_fields.h"

#include "base/checked.h"
#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[S2_N_FIELDS] = {
    [S2_FIELD_ERC] = "erc",
    [S2_FIELD_FEAT] = "feat",
    [S2_FIELD_H0] = "h0",
    [S2_FIELD_H1] = "h1",
    [S2_FIELD_ATTN] = "attn",
    [S2_FIELD_INPUT] = "input",
    [S2_FIELD_HIDDEN] = "hidden",
    [S2_FIELD_CLS_HIDDEN] = "cls_hidden",
    [S2_FIELD_K] = "k",
    [S2_FIELD_Q] = "q",
    [S2_FIELD_Q_LAST] = "q_last",
    [S2_FIELD_K_IMG] = "k_img",
    [S2_FIELD_KEYS] = "keys",
    [S2_FIELD_SCORE] = "score",
    [S2_FIELD_ATTN_HEADS] = "attn_heads",
    [S2_FIELD_CLS_ATTN_HEADS] = "cls_attn_heads",
    [S2_FIELD_IMG_EMBED] = "img_embed",
    [S2_FIELD_TXT_EMBED] = "txt_embed",
    [S2_FIELD_VIS] = "vis",
    [S2_FIELD_TEXT] = "text",
};

const char *s2_field_name(size_t index) { return index < S2_N_FIELDS ? names[index] : NULL; }

s2_field s2_field_named(const char *name)
{
    size_t field = 0;
    while (field < S2_N_FIELDS && strcmp(names[field], name) != 0) field++;
    return (s2_field)field;
}

/* --- reading -------------------------------------------------------------------- */

static bool needs(const s2_golden_fields *r, uint32_t need)
{
    return (s2p_method_about(r->of->method)->needs & need) != 0;
}

/* PruMerge+ is recorded in the tower, class token first, queries and keys of full width. */
static bool has_class_row(const s2_golden_fields *r)
{
    return needs(r, S2P_NEED_VISION_KEY) && r->field[S2_FIELD_Q].n_dims == 2;
}

static const char *shapes_of(const s2_golden_fields *r, s2_field field)
{
    const bool is_prompt = needs(r, S2P_NEED_ROTATED_KEY), is_tower = needs(r, S2P_NEED_VISION_KEY);
    switch (field) {
    case S2_FIELD_ERC:
        return "a";
    case S2_FIELD_SCORE:
        return "n";
    case S2_FIELD_H0:
    case S2_FIELD_H1:
        return "ad";
    case S2_FIELD_ATTN:
        return needs(r, S2P_NEED_VISION_ATTN) ? "n|hn" : "qa|a|hqa";
    case S2_FIELD_INPUT:
        return "hL";
    case S2_FIELD_HIDDEN:
        return is_prompt ? "Ld" : is_tower ? "nd|cd" : "ad";
    case S2_FIELD_CLS_HIDDEN:
        return "1d";
    case S2_FIELD_K:
        return is_prompt ? "kLd" : is_tower ? "cd" : "kad";
    case S2_FIELD_Q:
        return is_tower ? "cd" : "hpd";
    case S2_FIELD_Q_LAST:
        return "hd";
    case S2_FIELD_K_IMG:
        return "kad";
    case S2_FIELD_ATTN_HEADS:
    case S2_FIELD_CLS_ATTN_HEADS:
        return "hn";
    case S2_FIELD_TXT_EMBED:
    case S2_FIELD_TEXT:
        return "td";
    default:
        return "nd";
    }
}

s2p_status s2_golden_fields_read(s2_golden_fields *fields, s2_field field, const char *path,
                                 s2p_error *error)
{
    const s2_sizes sizes = s2_recorded_sizes(fields->of);
    free(fields->field[field].data);
    fields->field[field] = (s2_tensor){ .data = NULL };
    return s2_tensor_read(path, names[field], shapes_of(fields, field), &sizes,
                          &fields->field[field], error);
}

s2p_status s2_golden_fields_take(s2_golden_fields *fields, s2_field field, const s2_array *array,
                                 const char *path, s2p_error *error)
{
    const s2_sizes sizes = s2_recorded_sizes(fields->of);
    free(fields->field[field].data);
    fields->field[field] = (s2_tensor){ .data = NULL };
    return s2_tensor_of_array(array, path, names[field], shapes_of(fields, field), &sizes,
                              &fields->field[field], error);
}

void s2_golden_fields_free(s2_golden_fields *fields)
{
    for (size_t f = 0; f < S2_N_FIELDS; f++) free(fields->field[f].data);
    for (size_t m = 0; m < S2_N_MADE; m++) free(fields->made[m]);
    *fields = (s2_golden_fields){ .of = NULL };
}

/* --- what is made of them --------------------------------------------------------- */

static s2p_status allocate(s2_golden_fields *r, s2_made made, size_t rows, size_t cols,
                           s2p_error *error)
{
    size_t count = 0, n_bytes = 0;
    free(r->made[made]);
    r->made[made] = NULL;
    if (s2_mul_size(rows, cols, &count) && s2_mul_size(count, sizeof(float), &n_bytes))
        r->made[made] = malloc(n_bytes);
    return r->made[made] ? S2P_OK : s2_fail_memory(error, n_bytes, "a recorded array");
}

/* Two arrays whose rows must have the same width. */
static s2p_status same_width(const s2_golden_fields *r, s2_field a, s2_field b, s2p_error *error)
{
    const s2_tensor *x = &r->field[a], *y = &r->field[b];
    const int32_t width = x->shape[x->n_dims - 1], other = y->shape[y->n_dims - 1];
    if (width == other) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "%s: rows of %d values, but %s has %d", names[b], other,
                   names[a], width);
}

/* ERC from both hidden states when nobody recorded it. */
static s2p_status make_erc(s2_golden_fields *r, s2p_error *error)
{
    const s2_tensor *h0 = &r->field[S2_FIELD_H0], *h1 = &r->field[S2_FIELD_H1];
    s2p_status st = same_width(r, S2_FIELD_H0, S2_FIELD_H1, error);
    if (st == S2P_OK) st = allocate(r, S2_MADE_ERC, (size_t)h0->shape[0], 1, error);
    if (st != S2P_OK) return st;
    st = s2p_erc(h0->data, h1->data, h0->shape[0], h0->shape[1], r->made[S2_MADE_ERC]);
    return st == S2P_OK ? st : s2_fail(error, S2P_EFORMAT, "h0 and h1: %s", s2p_status_text(st));
}

/* [h][q][row] over heads, tokens [first, first + n) of each row: [q][n]. */
static s2p_status average_heads(s2_golden_fields *r, const float *attn, const int32_t shape[3],
                                int32_t first, s2p_error *error)
{
    const int32_t n = r->of->alive ? r->of->n_alive : r->of->grid.rows * r->of->grid.cols;
    const s2p_status st = allocate(r, S2_MADE_QUERY_ATTN, (size_t)shape[1], (size_t)n, error);
    if (st != S2P_OK) return st;
    for (int32_t q = 0; q < shape[1]; q++)
        for (int32_t i = 0; i < n; i++) {
            double sum = 0.0;
            for (int32_t h = 0; h < shape[0]; h++)
                sum += (double)attn[((ptrdiff_t)h * shape[1] + q) * shape[2] + first + i];
            r->made[S2_MADE_QUERY_ATTN][(ptrdiff_t)q * n + i] = (float)(sum / shape[0]);
        }
    return S2P_OK;
}

/* [h][p][d] over positions: [h][d]. */
static s2p_status average_positions(s2_golden_fields *r, const s2_tensor *q, s2p_error *error)
{
    const int32_t n_heads = q->shape[0], n = q->shape[1], dim = q->shape[2];
    const s2p_status st = allocate(r, S2_MADE_MEAN_QUERY, (size_t)n_heads, (size_t)dim, error);
    if (st != S2P_OK) return st;
    for (int32_t h = 0; h < n_heads; h++)
        for (int32_t d = 0; d < dim; d++) {
            double sum = 0.0;
            for (int32_t p = 0; p < n; p++)
                sum += (double)q->data[((ptrdiff_t)h * n + p) * dim + d];
            r->made[S2_MADE_MEAN_QUERY][(ptrdiff_t)h * dim + d] = (float)(sum / n);
        }
    return S2P_OK;
}

/* What the class token attends to: one head over the full width, its own share left out. */
static s2p_status attend_from_class(s2_golden_fields *r, s2p_error *error)
{
    const s2_tensor *q = &r->field[S2_FIELD_Q], *k = &r->field[S2_FIELD_K];
    const int32_t n_rows = k->shape[0], dim = k->shape[1];
    s2p_status st = same_width(r, S2_FIELD_Q, S2_FIELD_K, error);
    if (st == S2P_OK) st = allocate(r, S2_MADE_CLASS_ATTN, (size_t)n_rows, 1, error);
    double *row = st == S2P_OK ? malloc((size_t)n_rows * sizeof *row) : NULL;
    if (!row) return st == S2P_OK ? s2_fail_memory(error, (size_t)n_rows * sizeof *row, "q") : st;
    for (int32_t i = 0; i < n_rows; i++)
        row[i] = s2p_dot(q->data, k->data + (ptrdiff_t)i * dim, dim) / sqrt((double)dim);
    s2p_softmax(row, n_rows);
    for (int32_t i = 1; i < n_rows; i++) r->made[S2_MADE_CLASS_ATTN][i - 1] = (float)row[i];
    free(row);
    return S2P_OK;
}

/* --- the view ---------------------------------------------------------------------- */

/* What was recorded under the name of a signal wins. */
static void show(s2p_view *view, s2p_signal_id id, const float *data, int32_t a, int32_t b,
                 int32_t c)
{
    if (data && !view->signal[id].data) view->signal[id] = (s2p_signal){ data, { a, b, c } };
}

static s2p_status show_erc(s2_golden_fields *r, s2p_view *view, s2p_error *error)
{
    const s2_tensor *erc = &r->field[S2_FIELD_ERC];
    show(view, S2P_ERC, erc->data, erc->shape[0], 1, 1);
    if (erc->data || !r->field[S2_FIELD_H0].data || !r->field[S2_FIELD_H1].data) return S2P_OK;
    const s2p_status st = make_erc(r, error);
    show(view, S2P_ERC, r->made[S2_MADE_ERC], r->field[S2_FIELD_H0].shape[0], 1, 1);
    return st;
}

/* Visual rows as they enter the decoder, and as they are in it. */
static void show_rows(const s2_golden_fields *r, s2p_view *view)
{
    const s2_tensor *h1 = &r->field[S2_FIELD_H1], *vis = &r->field[S2_FIELD_VIS],
                    *hidden = &r->field[S2_FIELD_HIDDEN], *feat = &r->field[S2_FIELD_FEAT];
    const bool is_hidden = (hidden->data && needs(r, S2P_NEED_HIDDEN)) || r->of->alive;
    const s2_tensor *inside = h1->data ? h1 : is_hidden ? hidden : vis; /* vis has every token */
    show(view, S2P_HIDDEN, inside->data, inside->shape[0], inside->shape[1], 1);
    const bool is_tower = hidden->data && needs(r, S2P_NEED_VISION_KEY);
    const s2_tensor *entering = feat->data ? feat : vis->data || !is_tower ? vis : hidden;
    const int32_t n = r->of->grid.rows * r->of->grid.cols, dim = entering->shape[1];
    const bool has_class = entering->data && entering->shape[0] == n + 1;
    show(view, S2P_FEATURE, has_class ? entering->data + dim : entering->data, n, dim, 1);
}

static s2p_status show_query_attn(s2_golden_fields *r, s2p_view *view, s2p_error *error)
{
    const s2_tensor *attn = &r->field[S2_FIELD_ATTN], *input = &r->field[S2_FIELD_INPUT];
    const int32_t n_tokens = r->of->grid.rows * r->of->grid.cols;
    const int32_t n = r->of->alive ? r->of->n_alive : n_tokens;
    const float *rows = attn->data;
    int32_t n_queries = attn->n_dims == 1 ? 1 : attn->shape[0];
    s2p_status st = S2P_OK;
    if (attn->data && needs(r, S2P_NEED_VISION_ATTN)) return S2P_OK;
    if (input->data) {
        const int32_t shape[3] = { input->shape[0], 1, input->shape[1] };
        if (r->of->image_start < 0 || r->of->image_start > input->shape[1] - n_tokens)
            return s2_fail(error, S2P_EFORMAT,
                           "input: rows of %d values cannot hold %d tokens from %d on",
                           input->shape[1], n_tokens, r->of->image_start);
        st = average_heads(r, input->data, shape, r->of->image_start, error);
        n_queries = 1;
        rows = r->made[S2_MADE_QUERY_ATTN];
    } else if (attn->n_dims == 3) {
        st = average_heads(r, attn->data, attn->shape, 0, error);
        n_queries = attn->shape[1];
        rows = r->made[S2_MADE_QUERY_ATTN];
    }
    if (st != S2P_OK || !rows) return st;
    show(view, S2P_QUERY_ATTN, rows, n_queries, n, 1);
    show(view, S2P_LAST_ATTN, rows + (ptrdiff_t)(n_queries - 1) * n, n, 1, 1);
    return S2P_OK;
}

static s2p_status show_tower(s2_golden_fields *r, s2p_view *view, s2p_error *error)
{
    static const s2_field sources[] = { S2_FIELD_CLS_ATTN_HEADS, S2_FIELD_ATTN_HEADS,
                                        S2_FIELD_SCORE, S2_FIELD_ATTN };
    const s2_tensor *keys = &r->field[S2_FIELD_KEYS], *k = &r->field[S2_FIELD_K];
    const int32_t n = r->of->grid.rows * r->of->grid.cols;
    if (has_class_row(r) && k->data) {
        const s2p_status st = attend_from_class(r, error);
        if (st != S2P_OK) return st;
        show(view, S2P_VISION_ATTN, r->made[S2_MADE_CLASS_ATTN], 1, n, 1);
        show(view, S2P_VISION_KEY, k->data + k->shape[1], n, k->shape[1], 1);
    }
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const s2_tensor *attn = &r->field[sources[i]];
        if (sources[i] == S2_FIELD_ATTN && !needs(r, S2P_NEED_VISION_ATTN)) continue;
        show(view, S2P_VISION_ATTN, attn->data, attn->n_dims == 1 ? 1 : attn->shape[0], n, 1);
    }
    show(view, S2P_VISION_KEY, keys->data, n, keys->shape[1], 1);
    return S2P_OK;
}

static s2p_status show_text(const s2_golden_fields *r, s2p_view *view, s2p_error *error)
{
    const s2_tensor *embed = &r->field[S2_FIELD_TXT_EMBED], *text = &r->field[S2_FIELD_TEXT];
    const s2_tensor *image = &r->field[S2_FIELD_IMG_EMBED];
    const s2_field which = embed->data ? S2_FIELD_TXT_EMBED : S2_FIELD_TEXT;
    const s2_tensor *from = embed->data ? embed : text;
    show(view, S2P_TEXT, from->data, from->shape[0], from->shape[1], 1);
    show(view, S2P_ALIGNED, image->data, image->shape[0], image->shape[1], 1);
    return from->data && image->data ? same_width(r, S2_FIELD_IMG_EMBED, which, error) : S2P_OK;
}

/* Queries and keys without rotation: the last one's (FEATHER), or the mean over a prefix (EUTI). */
static s2p_status show_heads(s2_golden_fields *r, s2p_view *view, s2p_error *error)
{
    const s2_tensor *last = &r->field[S2_FIELD_Q_LAST], *q = &r->field[S2_FIELD_Q];
    const bool is_last = last->data != NULL, is_mean = !is_last && q->n_dims == 3;
    const s2_field key_field = r->field[S2_FIELD_K_IMG].data ? S2_FIELD_K_IMG : S2_FIELD_K;
    const s2_tensor *k = &r->field[key_field];
    if (needs(r, S2P_NEED_ROTATED_KEY)) return S2P_OK;
    s2p_status st = S2P_OK;
    if (k->n_dims == 3 && (is_last || is_mean))
        st = same_width(r, is_last ? S2_FIELD_Q_LAST : S2_FIELD_Q, key_field, error);
    if (st == S2P_OK && is_mean) st = average_positions(r, q, error);
    if (st != S2P_OK) return st;
    if (k->n_dims == 3) show(view, S2P_PLAIN_KEY, k->data, k->shape[0], k->shape[1], k->shape[2]);
    if (is_last) show(view, S2P_LAST_QUERY, last->data, last->shape[0], last->shape[1], 1);
    if (is_mean)
        show(view, S2P_MEAN_QUERY, r->made[S2_MADE_MEAN_QUERY], q->shape[0], q->shape[2], 1);
    return S2P_OK;
}

static s2p_status show_prompt(const s2_golden_fields *r, s2p_view *view, s2p_error *error)
{
    const s2_tensor *k = &r->field[S2_FIELD_K], *hidden = &r->field[S2_FIELD_HIDDEN];
    if (!needs(r, S2P_NEED_ROTATED_KEY)) return S2P_OK;
    if (k->data && hidden->data && k->shape[1] != hidden->shape[0])
        return s2_fail(error, S2P_EFORMAT, "k: keys of %d rows, but hidden has %d", k->shape[1],
                       hidden->shape[0]);
    show(view, S2P_ROTATED_KEY, k->data, k->shape[0], k->shape[1], k->shape[2]);
    show(view, S2P_NORMED, hidden->data, hidden->shape[0], hidden->shape[1], 1);
    return S2P_OK;
}

s2p_status s2_golden_fields_show(s2_golden_fields *fields, s2p_view *view, s2p_error *error)
{
    s2p_status st = show_erc(fields, view, error);
    show_rows(fields, view);
    if (st == S2P_OK) st = show_query_attn(fields, view, error);
    if (st == S2P_OK) st = show_tower(fields, view, error);
    if (st == S2P_OK) st = show_text(fields, view, error);
    if (st == S2P_OK) st = show_heads(fields, view, error);
    if (st == S2P_OK) st = show_prompt(fields, view, error);
    return st;
}
