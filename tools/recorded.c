/* recorded.c - fields of a golden case to the signals and taps of a view.
 *
 * The goldens name arrays as the published codes do, so "hidden" or "k" is another thing for each
 * method. What it is, and what shape it must have, is decided here and nowhere else.
 */
#include "recorded.h"

#include "base/checked.h"
#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIVE_MAX_BYTES ((size_t)S2P_MAX_TOKENS * sizeof(int64_t) + 65536u) /* and a header */

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

/* --- reading -------------------------------------------------------------------- */

static bool needs(const s2_recorded *r, uint32_t need) { return (r->method->needs & need) != 0; }

/* PruMerge+ is recorded in the tower, class token first, queries and keys of full width. */
static bool has_class_row(const s2_recorded *r)
{
    return needs(r, S2P_NEED_VISION_KEY) && r->field[S2_FIELD_Q].n_dims == 2;
}

static const char *shapes_of(const s2_recorded *r, s2_field field)
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

static s2_sizes sizes_of(const s2_recorded *r)
{
    const int32_t n = r->grid.rows * r->grid.cols;
    const int64_t rows = (int64_t)r->image_start + n + r->n_after;
    return (s2_sizes){ r->grid, r->n_after > 0 && rows <= INT32_MAX ? (int32_t)rows : 0,
                       r->n_alive };
}

s2p_status s2_recorded_take_alive(s2_recorded *recorded, const s2_array *array, const char *path,
                                  s2p_error *error)
{
    const int64_t n_tokens = (int64_t)recorded->grid.rows * recorded->grid.cols;
    if ((array->type != S2_I32 && array->type != S2_I64) || array->n_dims != 1 ||
        array->count == 0 || array->count > (size_t)n_tokens)
        return s2_fail(error, S2P_EFORMAT,
                       "alive: '%.80s' is not a list of 1 to %lld tokens, int32 or int64", path,
                       (long long)n_tokens);
    int32_t *alive = malloc(array->count * sizeof *alive);
    if (!alive) return s2_fail_memory(error, array->count * sizeof *alive, path);
    const int32_t *narrow = array->data;
    const int64_t *wide = array->data;
    int64_t least = 0;
    for (size_t i = 0; i < array->count; i++) {
        const int64_t token = array->type == S2_I32 ? narrow[i] : wide[i];
        if (token < least || token >= n_tokens) {
            free(alive);
            return s2_fail(error, S2P_EFORMAT,
                           "alive: element %zu of '%.80s' is %lld; tokens ascend from 0 to %lld", i,
                           path, (long long)token, (long long)(n_tokens - 1));
        }
        alive[i] = (int32_t)token;
        least = token + 1;
    }
    free(recorded->alive);
    recorded->alive = alive;
    recorded->n_alive = (int32_t)array->count;
    return S2P_OK;
}

s2p_status s2_recorded_read_alive(s2_recorded *recorded, const char *path, s2p_error *error)
{
    s2_array array;
    s2p_error why = { S2P_OK, "" };
    s2p_status st = s2_npy_read(path, ALIVE_MAX_BYTES, &array, &why);
    if (st != S2P_OK) return s2_fail(error, st, "alive: %s", why.message);
    st = s2_recorded_take_alive(recorded, &array, path, error);
    s2_array_free(&array);
    return st;
}

s2p_status s2_recorded_read(s2_recorded *recorded, s2_field field, const char *path,
                            s2p_error *error)
{
    const s2_sizes sizes = sizes_of(recorded);
    free(recorded->field[field].data);
    recorded->field[field] = (s2_tensor){ .data = NULL };
    return s2_tensor_read(path, names[field], shapes_of(recorded, field), &sizes,
                          &recorded->field[field], error);
}

s2p_status s2_recorded_take(s2_recorded *recorded, s2_field field, const s2_array *array,
                            const char *path, s2p_error *error)
{
    const s2_sizes sizes = sizes_of(recorded);
    free(recorded->field[field].data);
    recorded->field[field] = (s2_tensor){ .data = NULL };
    return s2_tensor_of_array(array, path, names[field], shapes_of(recorded, field), &sizes,
                              &recorded->field[field], error);
}

void s2_recorded_free(s2_recorded *recorded)
{
    for (size_t f = 0; f < S2_N_FIELDS; f++) free(recorded->field[f].data);
    for (size_t m = 0; m < S2_N_MADE; m++) free(recorded->made[m]);
    free(recorded->alive);
    *recorded = (s2_recorded){ .method = NULL };
}

/* --- what is made of them --------------------------------------------------------- */

static s2p_status allocate(s2_recorded *r, s2_made made, size_t rows, size_t cols, s2p_error *error)
{
    size_t count = 0, n_bytes = 0;
    free(r->made[made]);
    r->made[made] = NULL;
    if (s2_mul_size(rows, cols, &count) && s2_mul_size(count, sizeof(float), &n_bytes))
        r->made[made] = malloc(n_bytes);
    return r->made[made] ? S2P_OK : s2_fail_memory(error, n_bytes, "a recorded array");
}

/* Two arrays whose rows must have the same width. */
static s2p_status same_width(const s2_recorded *r, s2_field a, s2_field b, s2p_error *error)
{
    const s2_tensor *x = &r->field[a], *y = &r->field[b];
    const int32_t width = x->shape[x->n_dims - 1], other = y->shape[y->n_dims - 1];
    if (width == other) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "%s: rows of %d values, but %s has %d", names[b], other,
                   names[a], width);
}

/* ERC from both hidden states when nobody recorded it. */
static s2p_status make_erc(s2_recorded *r, s2p_error *error)
{
    const s2_tensor *h0 = &r->field[S2_FIELD_H0], *h1 = &r->field[S2_FIELD_H1];
    s2p_status st = same_width(r, S2_FIELD_H0, S2_FIELD_H1, error);
    if (st == S2P_OK) st = allocate(r, S2_MADE_ERC, (size_t)h0->shape[0], 1, error);
    if (st != S2P_OK) return st;
    st = s2p_erc(h0->data, h1->data, h0->shape[0], h0->shape[1], r->made[S2_MADE_ERC]);
    return st == S2P_OK ? st : s2_fail(error, S2P_EFORMAT, "h0 and h1: %s", s2p_status_text(st));
}

/* [h][q][row] over heads, tokens [first, first + n) of each row: [q][n]. */
static s2p_status average_heads(s2_recorded *r, const float *attn, const int32_t shape[3],
                                int32_t first, s2p_error *error)
{
    const int32_t n = r->alive ? r->n_alive : r->grid.rows * r->grid.cols;
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
static s2p_status average_positions(s2_recorded *r, const s2_tensor *q, s2p_error *error)
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
static s2p_status attend_from_class(s2_recorded *r, s2p_error *error)
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

/* Visual rows as they enter the decoder, and as they are in it. */
static void show_rows(const s2_recorded *r, s2p_signals *s)
{
    const s2_tensor *h1 = &r->field[S2_FIELD_H1], *vis = &r->field[S2_FIELD_VIS],
                    *hidden = &r->field[S2_FIELD_HIDDEN], *feat = &r->field[S2_FIELD_FEAT];
    const bool is_hidden = (hidden->data && needs(r, S2P_NEED_HIDDEN)) || r->alive;
    const s2_tensor *inside = h1->data ? h1 : is_hidden ? hidden : vis; /* vis has every token */
    s->hidden = inside->data;
    s->hidden_dim = inside->shape[1];
    const bool is_tower = hidden->data && needs(r, S2P_NEED_VISION_KEY);
    const s2_tensor *entering = feat->data ? feat : vis->data || !is_tower ? vis : hidden;
    const int32_t n = r->grid.rows * r->grid.cols;
    s->feature_dim = entering->shape[1];
    s->feature = entering->data;
    if (entering->data && entering->shape[0] == n + 1) s->feature += entering->shape[1];
}

static s2p_status show_query_attn(s2_recorded *r, s2p_signals *s, s2p_error *error)
{
    const s2_tensor *attn = &r->field[S2_FIELD_ATTN], *input = &r->field[S2_FIELD_INPUT];
    s2p_status st = S2P_OK;
    if (attn->data && needs(r, S2P_NEED_VISION_ATTN)) return S2P_OK;
    if (input->data) {
        const int32_t n = r->grid.rows * r->grid.cols;
        const int32_t shape[3] = { input->shape[0], 1, input->shape[1] };
        if (r->image_start < 0 || r->image_start > input->shape[1] - n)
            return s2_fail(error, S2P_EFORMAT,
                           "input: rows of %d values cannot hold %d tokens from %d on",
                           input->shape[1], n, r->image_start);
        st = average_heads(r, input->data, shape, r->image_start, error);
        s->n_queries = 1;
        s->query_attn = r->made[S2_MADE_QUERY_ATTN];
    } else if (attn->n_dims == 3) {
        st = average_heads(r, attn->data, attn->shape, 0, error);
        s->n_queries = attn->shape[1];
        s->query_attn = r->made[S2_MADE_QUERY_ATTN];
    } else if (attn->data) {
        s->n_queries = attn->n_dims == 1 ? 1 : attn->shape[0];
        s->query_attn = attn->data;
    }
    return st;
}

static s2p_status show_tower(s2_recorded *r, s2p_taps *t, s2p_error *error)
{
    static const s2_field sources[] = { S2_FIELD_ATTN, S2_FIELD_SCORE, S2_FIELD_ATTN_HEADS,
                                        S2_FIELD_CLS_ATTN_HEADS };
    const s2_tensor *keys = &r->field[S2_FIELD_KEYS], *k = &r->field[S2_FIELD_K];
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const s2_tensor *attn = &r->field[sources[i]];
        if (!attn->data || (sources[i] == S2_FIELD_ATTN && !needs(r, S2P_NEED_VISION_ATTN)))
            continue;
        t->vision_attn = attn->data;
        t->vision_heads = attn->n_dims == 1 ? 1 : attn->shape[0];
    }
    t->vision_key = keys->data;
    t->vision_key_dim = keys->shape[1];
    if (!has_class_row(r) || !k->data) return S2P_OK;
    t->vision_key = k->data + k->shape[1];
    t->vision_key_dim = k->shape[1];
    const s2p_status st = attend_from_class(r, error);
    t->vision_attn = r->made[S2_MADE_CLASS_ATTN];
    t->vision_heads = 1;
    return st;
}

static s2p_status show_text(const s2_recorded *r, s2p_taps *t, s2p_error *error)
{
    const s2_tensor *embed = &r->field[S2_FIELD_TXT_EMBED], *text = &r->field[S2_FIELD_TEXT];
    const s2_tensor *image = &r->field[S2_FIELD_IMG_EMBED];
    const s2_field which = embed->data ? S2_FIELD_TXT_EMBED : S2_FIELD_TEXT;
    const s2_tensor *from = embed->data ? embed : text;
    t->text = from->data;
    t->n_text = from->shape[0];
    t->text_dim = from->shape[1];
    t->aligned = image->data;
    return from->data && image->data ? same_width(r, S2_FIELD_IMG_EMBED, which, error) : S2P_OK;
}

/* Queries and keys without rotation: the last one's (FEATHER), or the mean over a prefix (EUTI). */
static s2p_status show_heads(s2_recorded *r, s2p_taps *t, s2p_error *error)
{
    const s2_tensor *last = &r->field[S2_FIELD_Q_LAST], *q = &r->field[S2_FIELD_Q];
    const bool is_last = last->data != NULL;
    const s2_field key_field = r->field[S2_FIELD_K_IMG].data ? S2_FIELD_K_IMG : S2_FIELD_K;
    const s2_tensor *k = &r->field[key_field];
    if (k->n_dims != 3 || needs(r, S2P_NEED_ROTATED_KEY)) return S2P_OK;
    if (!is_last && q->n_dims != 3) return S2P_OK;
    t->plain_key = k->data;
    t->n_kv_heads = k->shape[0];
    t->head_dim = k->shape[2];
    t->n_heads = is_last ? last->shape[0] : q->shape[0];
    t->last_query = last->data;
    s2p_status st = same_width(r, is_last ? S2_FIELD_Q_LAST : S2_FIELD_Q, key_field, error);
    if (st != S2P_OK || is_last) return st;
    st = average_positions(r, q, error);
    t->mean_query = r->made[S2_MADE_MEAN_QUERY];
    return st;
}

static s2p_status show_prompt(const s2_recorded *r, s2p_taps *t, s2p_error *error)
{
    const s2_tensor *k = &r->field[S2_FIELD_K], *hidden = &r->field[S2_FIELD_HIDDEN];
    if (!needs(r, S2P_NEED_ROTATED_KEY)) return S2P_OK;
    if (k->data && hidden->data && k->shape[1] != hidden->shape[0])
        return s2_fail(error, S2P_EFORMAT, "k: keys of %d rows, but hidden has %d", k->shape[1],
                       hidden->shape[0]);
    t->rotated_key = k->data;
    t->n_kv_heads = k->shape[0];
    t->head_dim = k->shape[2];
    t->normed = hidden->data;
    t->normed_dim = hidden->shape[1];
    t->n_prompt = k->shape[1];
    t->first_row = r->image_start;
    return S2P_OK;
}

s2p_status s2_recorded_view(s2_recorded *recorded, s2p_view *view, s2p_error *error)
{
    s2_tensor *field = recorded->field;
    s2p_status st = S2P_OK;
    view->alive = recorded->alive;
    view->n_alive = recorded->n_alive;
    view->signals.erc = field[S2_FIELD_ERC].data;
    if (!field[S2_FIELD_ERC].data && field[S2_FIELD_H0].data && field[S2_FIELD_H1].data) {
        st = make_erc(recorded, error);
        view->signals.erc = recorded->made[S2_MADE_ERC];
    }
    show_rows(recorded, &view->signals);
    if (st == S2P_OK) st = show_query_attn(recorded, &view->signals, error);
    if (st == S2P_OK) st = show_tower(recorded, &view->taps, error);
    if (st == S2P_OK) st = show_text(recorded, &view->taps, error);
    if (st == S2P_OK) st = show_heads(recorded, &view->taps, error);
    if (st == S2P_OK) st = show_prompt(recorded, &view->taps, error);
    return st;
}

/* --- and back ------------------------------------------------------------------------ */

typedef struct shown_list {
    s2_shown *item;
    int32_t n;
} shown_list;

/* [a], [a][b] or [a][b][c]: a size of 0 ends the shape. */
static void show(shown_list *list, s2_field field, const float *data, int32_t a, int32_t b,
                 int32_t c)
{
    if (!data) return;
    const int32_t n_dims = b == 0 ? 1 : c == 0 ? 2 : 3;
    list->item[list->n++] = (s2_shown){ field, data, n_dims, { a, b, c } };
}

int32_t s2_recorded_fields(const s2p_method *method, const s2p_view *view, s2p_grid grid,
                           s2_shown out[S2_N_FIELDS])
{
    const uint32_t needed = s2p_method_needs(method, &view->choice);
    const s2p_signals *s = &view->signals;
    const s2p_taps *t = &view->taps;
    const int32_t n = grid.rows * grid.cols, rows = view->alive ? view->n_alive : n;
    const bool sees_text = (needed & S2P_NEED_TEXT) != 0;
    const bool is_mean = (needed & S2P_NEED_MEAN_QUERY) != 0;
    shown_list list = { out, 0 };

    if (needed & S2P_NEED_ERC) show(&list, S2_FIELD_ERC, s->erc, rows, 0, 0);
    if (needed & S2P_NEED_HIDDEN)
        show(&list, is_mean ? S2_FIELD_HIDDEN : S2_FIELD_H1, s->hidden, rows, s->hidden_dim, 0);
    if (needed & S2P_NEED_FEATURE) {
        const bool is_entering = sees_text && (needed & S2P_NEED_HIDDEN);
        show(&list, is_entering ? S2_FIELD_VIS : S2_FIELD_FEAT, s->feature, n, s->feature_dim, 0);
    }
    if (needed & (S2P_NEED_QUERY_ATTN | S2P_NEED_LAST_ATTN))
        show(&list, S2_FIELD_ATTN, s->query_attn, s->n_queries, rows, 0);

    if (needed & S2P_NEED_VISION_ATTN)
        show(&list, S2_FIELD_ATTN, t->vision_attn, t->vision_heads == 1 ? n : t->vision_heads,
             t->vision_heads == 1 ? 0 : n, 0);
    if (needed & S2P_NEED_VISION_KEY)
        show(&list, S2_FIELD_KEYS, t->vision_key, n, t->vision_key_dim, 0);
    if (sees_text) {
        show(&list, S2_FIELD_TEXT, t->text, t->n_text, t->text_dim, 0);
        show(&list, S2_FIELD_IMG_EMBED, t->aligned, n, t->text_dim, 0);
    }

    if (needed & S2P_NEED_LAST_QUERY)
        show(&list, S2_FIELD_Q_LAST, t->last_query, t->n_heads, t->head_dim, 0);
    if (is_mean) show(&list, S2_FIELD_Q, t->mean_query, t->n_heads, 1, t->head_dim);
    if (needed & S2P_NEED_PLAIN_KEY)
        show(&list, is_mean ? S2_FIELD_K : S2_FIELD_K_IMG, t->plain_key, t->n_kv_heads, rows,
             t->head_dim);
    if (needed & S2P_NEED_ROTATED_KEY)
        show(&list, S2_FIELD_K, t->rotated_key, t->n_kv_heads, t->n_prompt, t->head_dim);
    if (needed & S2P_NEED_NORMED)
        show(&list, S2_FIELD_HIDDEN, t->normed, t->n_prompt, t->normed_dim, 0);
    return list.n;
}
