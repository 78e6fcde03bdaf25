/* cmd_select.c - `s2prune select`: one method on recorded arrays, no model.
 *
 * Fields have the names of the golden cases: --in names a file for an array, --set a value. Every
 * array is checked against the token grid before the method sees it.
 */
#include "base/json.h"
#include "inputs.h"
#include "program.h"
#include "prune/method.h"
#include "report.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_CAPACITY 32u

typedef struct select_options {
    int32_t method, mode, output, grid, allocator, selector, pixels;
    s2_budget budget;
    s2_pair tokens;
    uint64_t seed;
    int32_t side_of_grid, n_tokens; /* --set grid=24, --set N=576; 0: not given */
    s2_list in, set;
} select_options;

/* --- fields --------------------------------------------------------------- */

enum field {
    FIELD_IMAGE,
    FIELD_GRAY,
    FIELD_ERC,
    FIELD_FEAT,
    FIELD_H0,
    FIELD_H1,
    FIELD_ATTN,
    N_FIELDS
};

static const struct {
    const char *name;
    bool is_picture;
    s2_shape shape;
} fields[N_FIELDS] = {
    [FIELD_IMAGE] = { "image", true, S2_SHAPE_ROWS },
    [FIELD_GRAY] = { "gray", true, S2_SHAPE_ROWS },
    [FIELD_ERC] = { "erc", false, S2_SHAPE_TOKENS },
    [FIELD_FEAT] = { "feat", false, S2_SHAPE_ROWS },
    [FIELD_H0] = { "h0", false, S2_SHAPE_ROWS },
    [FIELD_H1] = { "h1", false, S2_SHAPE_ROWS },
    [FIELD_ATTN] = { "attn", false, S2_SHAPE_QUERIES },
};

typedef struct job {
    select_options options;
    const char *path[N_FIELDS];
    s2_matrix matrix[N_FIELDS];
    s2_image picture[2]; /* image, gray */
    float *erc;          /* made from h0 and h1 */
    s2p_plan *plan;
} job;

static const char *field_name(const void *context, size_t index)
{
    (void)context;
    return index < N_FIELDS ? fields[index].name : NULL;
}

/* "erc=file.npy" -> the name; the value begins after the '='. NULL when there is no '=' or name. */
static const char *split(const char *text, char name[FIELD_CAPACITY])
{
    const size_t n = strcspn(text, "=");
    if (text[n] != '=' || n == 0 || n >= FIELD_CAPACITY || !text[n + 1]) return NULL;
    memcpy(name, text, n);
    name[n] = '\0';
    return text + n + 1;
}

static s2p_status take_inputs(job *j, s2p_error *error)
{
    for (size_t i = 0; i < j->options.in.n; i++) {
        char name[FIELD_CAPACITY];
        const char *path = split(j->options.in.item[i], name);
        size_t f = 0;
        if (!path)
            return s2_fail(error, S2P_EINVAL, "--in '%.60s' is not FIELD=FILE",
                           j->options.in.item[i]);
        while (f < N_FIELDS && strcmp(fields[f].name, name) != 0) f++;
        if (f == N_FIELDS) {
            const char *near = s2_suggest(name, field_name, NULL);
            return s2_fail(
                error, S2P_EINVAL,
                near ? "--in: unknown field '%s' (did you mean '%s'?)"
                     : "--in: unknown field '%s'; known are image, gray, erc, feat, h0, h1, attn",
                name, near);
        }
        j->path[f] = path;
    }
    return S2P_OK;
}

/* --- values --------------------------------------------------------------- */

/* The rows --set can fill, as options, so that they parse and complain like options. */
/* clang-format off */
static const s2_option set_table[] = {
    { .name = "--B", .type = S2_OPTION_BUDGET, .min = 1, .max = S2P_MAX_TOKENS,
      .offset = offsetof(select_options, budget) },
    { .name = "--K", .type = S2_OPTION_INT, .min = 0, .max = S2P_MAX_SIDE,
      .offset = offsetof(select_options, grid) },
    { .name = "--N", .type = S2_OPTION_INT, .min = 1, .max = S2P_MAX_TOKENS,
      .offset = offsetof(select_options, n_tokens) },
    { .name = "--grid", .type = S2_OPTION_INT, .min = 1, .max = S2P_MAX_SIDE,
      .offset = offsetof(select_options, side_of_grid) },
    { .name = "--seed", .type = S2_OPTION_SEED, .offset = offsetof(select_options, seed) },
    { .name = "--allocator", .type = S2_OPTION_CHOICE, .choice = s2p_allocator_name,
      .offset = offsetof(select_options, allocator) },
    { .name = "--selector", .type = S2_OPTION_CHOICE, .choice = s2p_selector_name,
      .offset = offsetof(select_options, selector) },
    { .name = NULL },
};
/* clang-format on */

static const char *set_name(const void *context, size_t index)
{
    (void)context;
    return index < sizeof set_table / sizeof *set_table - 1 ? set_table[index].name + 2 : NULL;
}

static s2p_status take_values(job *j, s2p_error *error)
{
    for (size_t i = 0; i < j->options.set.n; i++) {
        char name[FIELD_CAPACITY], source[FIELD_CAPACITY + 8];
        const char *text = split(j->options.set.item[i], name);
        if (!text)
            return s2_fail(error, S2P_EINVAL, "--set '%.60s' is not FIELD=VALUE",
                           j->options.set.item[i]);
        const s2_option *o = set_table;
        while (o->name && strcmp(o->name + 2, name) != 0) o++;
        if (!o->name) {
            const char *near = s2_suggest(name, set_name, NULL);
            return s2_fail(
                error, S2P_EINVAL,
                near ? "--set: unknown field '%s' (did you mean '%s'?)"
                     : "--set: unknown field '%s'; known are B, K, N, grid, seed, allocator, "
                       "selector",
                name, near);
        }
        (void)snprintf(source, sizeof source, "--set %s", name);
        const s2p_status st = s2_option_set(o, source, text, &j->options, error);
        if (st != S2P_OK) return st;
    }
    if (j->options.side_of_grid > 0)
        j->options.tokens = (s2_pair){ j->options.side_of_grid, j->options.side_of_grid };
    return S2P_OK;
}

static s2p_status check_sizes(const job *j, s2p_error *error)
{
    const select_options *o = &j->options;
    const s2p_grid grid = { o->tokens.first, o->tokens.second };
    const int32_t n_tokens = grid.rows * grid.cols;
    if (o->n_tokens > 0 && o->n_tokens != n_tokens)
        return s2_fail(error, S2P_EINVAL, "--set N=%d does not fit --tokens %dx%d (%d tokens)",
                       o->n_tokens, grid.rows, grid.cols, n_tokens);
    return s2_check_budget(grid, s2_budget_tokens(o->budget, n_tokens), o->grid, error);
}

/* --- signals -------------------------------------------------------------- */

static s2p_status read_pictures(job *j, s2p_error *error)
{
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    for (size_t f = FIELD_IMAGE; f <= FIELD_GRAY; f++) {
        if (!j->path[f]) continue;
        s2p_error why = { S2P_OK, "" };
        const s2p_status st = s2_picture_read(j->path[f], (s2_pixels)j->options.pixels, &limits,
                                              &j->picture[f], &why);
        if (st != S2P_OK) return s2_fail(error, st, "%s: %s", fields[f].name, why.message);
    }
    const s2p_image *image = &j->picture[FIELD_IMAGE].view, *gray = &j->picture[FIELD_GRAY].view;
    if (image->pixels && gray->pixels &&
        (image->width != gray->width || image->height != gray->height))
        return s2_fail(error, S2P_EFORMAT, "gray: %d x %d pixels, but image has %d x %d",
                       gray->width, gray->height, image->width, image->height);
    return S2P_OK;
}

static s2p_status read_arrays(job *j, s2p_error *error)
{
    const s2p_grid grid = { j->options.tokens.first, j->options.tokens.second };
    for (size_t f = 0; f < N_FIELDS; f++) {
        if (!j->path[f] || fields[f].is_picture) continue;
        const s2p_status st =
            s2_matrix_read(j->path[f], fields[f].name, fields[f].shape, grid, &j->matrix[f], error);
        if (st != S2P_OK) return st;
    }
    return S2P_OK;
}

/* ERC from both hidden states when nobody recorded it. */
static s2p_status make_erc(job *j, s2p_error *error)
{
    const s2_matrix *h0 = &j->matrix[FIELD_H0], *h1 = &j->matrix[FIELD_H1];
    if (j->matrix[FIELD_ERC].data || !h0->data || !h1->data) return S2P_OK;
    if (h0->cols != h1->cols)
        return s2_fail(error, S2P_EFORMAT, "h1: rows of %d values, but h0 has %d", h1->cols,
                       h0->cols);
    const size_t n_bytes = (size_t)h0->rows * sizeof *j->erc;
    j->erc = malloc(n_bytes);
    if (!j->erc) return s2_fail_memory(error, n_bytes, "erc");
    const s2p_status st = s2p_erc(h0->data, h1->data, h0->rows, h0->cols, j->erc);
    return st == S2P_OK ? st : s2_fail(error, S2P_EFORMAT, "h0 and h1: %s", s2p_status_text(st));
}

static s2p_signals signals_of(const job *j)
{
    const s2_image *image = &j->picture[FIELD_IMAGE], *gray = &j->picture[FIELD_GRAY];
    const s2_image *picture = image->pixels ? image : gray;
    const float *erc = j->matrix[FIELD_ERC].data;
    return (s2p_signals){ .image = picture->pixels ? &picture->view : NULL,
                          .erc = erc ? erc : j->erc,
                          .hidden = j->matrix[FIELD_H1].data,
                          .hidden_dim = j->matrix[FIELD_H1].cols,
                          .feature = j->matrix[FIELD_FEAT].data,
                          .feature_dim = j->matrix[FIELD_FEAT].cols,
                          .query_attn = j->matrix[FIELD_ATTN].data,
                          .n_queries = j->matrix[FIELD_ATTN].rows };
}

/* What to type for a signal that is not there. */
static const char *hint_for(uint32_t missing)
{
    if (missing & S2P_NEED_PIXELS) return "image=FILE";
    if (missing & S2P_NEED_ERC) return "erc=FILE.npy, or h0 and h1";
    if (missing & S2P_NEED_HIDDEN) return "h1=FILE.npy";
    if (missing & S2P_NEED_FEATURE) return "feat=FILE.npy";
    return "attn=FILE.npy";
}

/* --- the command ---------------------------------------------------------- */

static s2p_status run_method(job *j, s2p_error *error)
{
    const select_options *o = &j->options;
    const s2p_method *method = s2p_method_at((size_t)o->method);
    const s2p_grid grid = { o->tokens.first, o->tokens.second };
    const s2p_view view = { .budget = s2_budget_tokens(o->budget, grid.rows * grid.cols),
                            .signals = signals_of(j),
                            .choice = { .side = o->grid,
                                        .allocator = s2p_allocator_name((size_t)o->allocator),
                                        .selector = s2p_selector_name((size_t)o->selector),
                                        .seed = o->seed } };
    const uint32_t missing =
        s2p_missing_signals(&view.signals, s2p_method_needs(method, &view.choice));
    if (missing)
        return s2_fail(error, S2P_EINVAL, "--method %s needs %s; add --in %s", method->name,
                       s2p_need_text(missing), hint_for(missing));
    s2p_status st = s2p_plan_create(&j->plan, grid);
    if (st != S2P_OK) return s2_fail(error, st, "cannot make a plan: %s", s2p_status_text(st));
    return s2p_method_run(method, &view, j->plan, error);
}

static json_t *tokens_json(const int32_t *token, int32_t n)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++) json_array_append_new(list, json_integer(token[i]));
    return list;
}

static int present(const job *j)
{
    int32_t n_keep, n_order;
    const int32_t *keep = s2p_plan_keep(j->plan, &n_keep);
    const int32_t *order = s2p_plan_order(j->plan, &n_order);
    const char *method = s2p_method_at((size_t)j->options.method)->name;
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    if (j->options.output == S2_OUTPUT_JSON) {
        json_t *root =
            json_pack("{s:s,s:s,s:i,s:o,s:o,s:[]}", "schema", "s2prune.select/1", "method", method,
                      "budget", n_keep, "keep", tokens_json(keep, n_keep), "order",
                      tokens_json(order, n_order), "merge");
        if (!root || s2_json_write(root, 17, &out) != S2P_OK) out.status = S2P_ENOMEM;
        json_decref(root);
        s2_buffer_append(&out, "\n", 1);
    } else {
        for (int32_t i = 0; i < n_keep; i++) s2_buffer_printf(&out, "%d\n", keep[i]);
    }
    const int code = s2_report_print(&out);
    s2_buffer_free(&out);
    return code;
}

static int run(const void *values)
{
    s2p_error error = { S2P_OK, "" };
    job j = { .options = *(const select_options *)values };
    s2p_status st = take_inputs(&j, &error);
    if (st == S2P_OK) st = take_values(&j, &error);
    if (st == S2P_OK) st = check_sizes(&j, &error);
    if (st == S2P_OK) st = read_pictures(&j, &error);
    if (st == S2P_OK) st = read_arrays(&j, &error);
    if (st == S2P_OK) st = make_erc(&j, &error);
    if (st == S2P_OK) st = run_method(&j, &error);
    const int code = st == S2P_OK ? present(&j) : s2_report_error(st, &error);
    s2p_plan_free(j.plan);
    for (size_t f = 0; f < N_FIELDS; f++) free(j.matrix[f].data);
    s2_image_free(&j.picture[FIELD_IMAGE]);
    s2_image_free(&j.picture[FIELD_GRAY]);
    free(j.erc);
    return code;
}

/* --- the table ------------------------------------------------------------ */

static const char *method_name(size_t index)
{
    const s2p_method *method = s2p_method_at(index);
    return method ? method->name : NULL;
}

static const char *mode_name(size_t index) { return index == 0 ? "published" : NULL; }

/* clang-format off */
static const s2_option option_table[] = {
    { .name = "--method", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = method_name,
      .fallback = "s2prune", .group = "Method", .help = "who chooses",
      .offset = offsetof(select_options, method) },
    { .name = "--mode", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = mode_name,
      .fallback = "published", .group = "Method", .help = "which variant of the method",
      .offset = offsetof(select_options, mode) },
    { .name = "--budget", .label = "N|N%", .type = S2_OPTION_BUDGET, .min = 1,
      .max = S2P_MAX_TOKENS, .fallback = "64", .group = "Method",
      .help = "tokens to keep, or a share of all", .offset = offsetof(select_options, budget) },
    { .name = "--tokens", .label = "RxC", .type = S2_OPTION_SIZE, .min = 1, .max = S2P_MAX_SIDE,
      .fallback = "24x24", .group = "Method", .help = "rows and columns of visual tokens",
      .offset = offsetof(select_options, tokens) },
    { .name = "--grid", .label = "K", .type = S2_OPTION_INT, .min = 0, .max = S2P_MAX_SIDE,
      .fallback = "0", .group = "Method", .help = "K x K coarse regions; 0 chooses by the budget",
      .offset = offsetof(select_options, grid) },
    { .name = "--allocator", .label = "NAME", .type = S2_OPTION_CHOICE,
      .choice = s2p_allocator_name, .fallback = "laplacian", .group = "Method",
      .help = "what decides a region's share", .offset = offsetof(select_options, allocator) },
    { .name = "--selector", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2p_selector_name,
      .fallback = "erc", .group = "Method", .help = "what decides the token of a cell",
      .offset = offsetof(select_options, selector) },
    { .name = "--seed", .letters = "-s", .label = "N", .type = S2_OPTION_SEED, .fallback = "0",
      .group = "Method", .help = "for methods that draw",
      .offset = offsetof(select_options, seed) },
    { .name = "--in", .label = "FIELD=FILE", .type = S2_OPTION_LIST, .group = "Data",
      .help = "an array or a picture; image or gray (uint8 .npy or a picture file), "
              "erc [n], feat [n][d], h0 and h1 [n][d] (hidden states before and after layer "
              "0), attn [q][n]; repeatable",
      .offset = offsetof(select_options, in) },
    { .name = "--set", .label = "FIELD=VALUE", .type = S2_OPTION_LIST, .group = "Data",
      .help = "a value by its name in the golden cases: B, K, N, grid (tokens per side), "
              "seed, allocator, selector; repeatable, wins over the option",
      .offset = offsetof(select_options, set) },
    { .name = "--pixels", .label = "WHICH", .type = S2_OPTION_CHOICE, .choice = s2_pixels_name,
      .fallback = "reference", .group = "Data", .help = "how a picture file becomes pixels",
      .offset = offsetof(select_options, pixels) },
    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE,
      .choice = s2_output_name, .fallback = "text", .group = "Output", .help = "form of the result",
      .offset = offsetof(select_options, output) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_select = {
    .name = "select",
    .summary = "the tokens a method keeps, from recorded arrays",
    .usage = "--method NAME --budget N|N% --tokens RxC [--in FIELD=FILE]... [options]",
    .examples = "  s2prune select --budget 64 --in image=photo.jpg --in erc=erc.npy -o json\n"
                "  s2prune select --method random --seed 7 --budget 11%\n",
    .options = option_table,
    .size = sizeof(select_options),
    .run = run,
};
