/* cmd_select.c - `s2prune select`: one method on recorded arrays, no model.
 *
 * --in names a file for a signal, --set a value. Arrays and values of the golden cases may also be
 * given by the names they have there (golden_fields.c). Every array is checked against the
 * token grid before the method sees it. Methods that
 * prune more than once see the same arrays at every stage, without the tokens already gone; or one
 * stage alone sees the arrays `run --record` wrote of it.
 */
#include "base/json.h"
#include "ask/own.h"
#include "method_list.h"
#include "program.h"
#include "plan/recorded.h"
#include "report.h"
#include "plan/golden_fields.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_CAPACITY 32u

typedef struct select_options {
    const char *method;
    int32_t mode, output, grid, allocator, selector, pixels;
    s2a_budget budget;
    s2_pair tokens; /* 0 x 0: not given */
    uint64_t seed;
    int32_t side_of_grid, n_tokens; /* --set grid=24, --set N=576; 0: not given */
    int32_t image_start, n_after, dominant_incl_cls;
    int32_t layer; /* one stage of a method with several, by its layer; 0: all */
    int32_t stage; /* by its number; -1: all */
    int64_t max_pixels;
    bool list_methods;
    s2_list in, set, plugins;
} select_options;

enum { IMAGE, GRAY, N_PICTURES, ALIVE = N_PICTURES, N_OTHERS };

typedef struct select_context {
    select_options options;
    const s2p_method *method;
    s2a_owns owns;
    s2p_grid grid;
    const char *other_path[N_OTHERS], *signal_path[S2P_N_SIGNALS], *golden_path[S2_N_FIELDS];
    s2_image picture[N_PICTURES];
    s2_recorded recorded;
    s2_golden_fields golden;
    s2p_view view;
    s2p_parameters parameters;
    s2p_plan *plan;
    json_t *merge, *stages; /* of all stages */
} select_context;

/* --- fields --------------------------------------------------------------- */

static const char *const others[N_OTHERS] = {
    [IMAGE] = "image", [GRAY] = "gray", [ALIVE] = "alive"
};

/* Pictures first, the tokens alive, the signals, then the names of the golden cases. */
static const char *field_name(const void *context, size_t index)
{
    (void)context;
    const size_t first_signal = S2P_PIXELS + 1, n_signals = S2P_N_SIGNALS - first_signal;
    if (index < N_OTHERS) return others[index];
    if (index < N_OTHERS + n_signals) return s2p_signal_at(index - N_OTHERS + first_signal)->name;
    return s2_field_name(index - N_OTHERS - n_signals);
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

static s2p_status fail_unknown(const char *option, const char *name,
                               const char *(*next)(const void *context, size_t index),
                               s2p_error *error)
{
    const char *near = s2_suggest(name, next, NULL);
    if (near)
        return s2_fail(error, S2P_EINVAL, "%s: unknown field '%s' (did you mean '%s'?)", option,
                       name, near);
    return s2_fail(error, S2P_EINVAL, "%s: unknown field '%s'; see 's2prune select --help'", option,
                   name);
}

/* A name that is a signal's and a golden field's, "hidden": the signal, if the method looks at it. */
static s2p_status take_input(select_context *c, const char *name, const char *path,
                             s2p_error *error)
{
    const s2p_signal_id signal = s2_signal_named(name);
    const s2_field golden = s2_field_named(name);
    const uint32_t needs = s2p_method_needs(c->method, &c->view.choice);
    for (size_t i = 0; i < N_OTHERS; i++)
        if (strcmp(others[i], name) == 0) {
            c->other_path[i] = path;
            return S2P_OK;
        }
    if (signal < S2P_N_SIGNALS && (golden == S2_N_FIELDS || (needs >> signal & 1)))
        c->signal_path[signal] = path;
    else if (golden < S2_N_FIELDS)
        c->golden_path[golden] = path;
    else
        return fail_unknown("--in", name, field_name, error);
    return S2P_OK;
}

static s2p_status take_inputs(select_context *c, s2p_error *error)
{
    for (size_t i = 0; i < c->options.in.n; i++) {
        char name[FIELD_CAPACITY];
        const char *path = split(c->options.in.item[i], name);
        if (!path)
            return s2_fail(error, S2P_EINVAL, "--in '%.60s' is not FIELD=FILE",
                           c->options.in.item[i]);
        const s2p_status st = take_input(c, name, path, error);
        if (st != S2P_OK) return st;
    }
    return S2P_OK;
}

/* --- values --------------------------------------------------------------- */

#define OPTION_AT(member) .offset = offsetof(select_options, member)
#define WHOLE(option, member, low, high)                                                       \
    {                                                                                          \
        .name = "--" option, .type = S2_OPTION_INT, .min = low, .max = high, OPTION_AT(member) \
    }
/* What --set can fill beside parameters, as options, so that it parses and complains like them. */
/* clang-format off */
static const s2_option set_table[] = {
    { .name = "--B", .type = S2_OPTION_BUDGET, .min = 1, .max = S2P_MAX_TOKENS, OPTION_AT(budget) },
    { .name = "--retain", .type = S2_OPTION_BUDGET, .min = 1, .max = S2P_MAX_TOKENS,
      OPTION_AT(budget) },
    WHOLE("K", grid, 0, S2P_MAX_SIDE),
    WHOLE("N", n_tokens, 1, S2P_MAX_TOKENS),
    WHOLE("grid", side_of_grid, 1, S2P_MAX_SIDE),
    { .name = "--seed", .type = S2_OPTION_SEED, OPTION_AT(seed) },
    { .name = "--allocator", .type = S2_OPTION_CHOICE, .choice = s2p_allocator_name,
      OPTION_AT(allocator) },
    { .name = "--selector", .type = S2_OPTION_CHOICE, .choice = s2p_selector_name,
      OPTION_AT(selector) },
    WHOLE("image_start", image_start, 0, S2P_MAX_TOKENS),
    WHOLE("n_after", n_after, 0, S2P_MAX_TOKENS),
    WHOLE("layer", layer, 0, 1000),
    WHOLE("stage", stage, 0, S2P_MAX_STAGES - 1),
    WHOLE("dominant_incl_cls", dominant_incl_cls, 2, S2P_MAX_TOKENS),
    { .name = NULL },
};
/* clang-format on */

static const s2p_parameter *parameter_named(const s2p_method *method, const char *name)
{
    for (size_t i = 0; s2p_method_parameter(method, i); i++)
        if (strcmp(s2p_method_parameter(method, i)->name, name) == 0)
            return s2p_method_parameter(method, i);
    return NULL;
}

/* The table, then the parameters of every method. */
static const char *set_name(const void *context, size_t index)
{
    (void)context;
    const size_t n = sizeof set_table / sizeof *set_table - 1;
    if (index < n) return set_table[index].name + 2;
    index -= n;
    for (size_t m = 0; s2p_method_at(m); m++) {
        const s2p_method *method = s2p_method_at(m);
        size_t n_own = 0;
        while (s2p_method_parameter(method, n_own)) n_own++;
        if (index < n_own) return s2p_method_parameter(method, index)->name;
        index -= n_own;
    }
    return NULL;
}

/* A case may hold parameters its method does not have: they are checked as those of the method that
 * has them, and nothing comes of it. */
static s2p_status take_parameter(select_context *c, const char *name, const char *text,
                                 s2p_error *error)
{
    const s2p_method *method = parameter_named(c->method, name) ? c->method : NULL;
    for (size_t m = 0; !method && s2p_method_at(m); m++)
        if (parameter_named(s2p_method_at(m), name)) method = s2p_method_at(m);
    if (!method) return fail_unknown("--set", name, set_name, error);
    s2p_parameters unread;
    s2p_error why = { S2P_OK, "" };
    const s2p_status st = s2p_parameters_set(method, method == c->method ? &c->parameters : &unread,
                                             name, text, &why);
    return st == S2P_OK ? st : s2_fail(error, st, "--set %s", why.message);
}

static s2p_status take_values(select_context *c, s2p_error *error)
{
    s2p_parameters_init(c->method, &c->parameters);
    for (size_t i = 0; i < c->options.set.n; i++) {
        char name[FIELD_CAPACITY], source[FIELD_CAPACITY + 8];
        const char *text = split(c->options.set.item[i], name);
        if (!text)
            return s2_fail(error, S2P_EINVAL, "--set '%.60s' is not FIELD=VALUE",
                           c->options.set.item[i]);
        const s2_option *o = set_table;
        while (o->name && strcmp(o->name + 2, name) != 0) o++;
        (void)snprintf(source, sizeof source, "--set %s", name);
        const s2p_status st = o->name ? s2_option_set(o, source, text, &c->options, error)
                                      : take_parameter(c, name, text, error);
        if (st != S2P_OK) return st;
    }
    c->view.choice = (s2p_choice){ .side = c->options.grid,
                                   .allocator = s2p_allocator_name((size_t)c->options.allocator),
                                   .selector = s2p_selector_name((size_t)c->options.selector),
                                   .seed = c->options.seed };
    c->view.parameters = &c->parameters;
    if (c->options.dominant_incl_cls == 0) return S2P_OK;
    char without[16];
    (void)snprintf(without, sizeof without, "%d", c->options.dominant_incl_cls - 1);
    return take_parameter(c, "dominant", without, error);
}

/* --set grid, else --tokens, else a square of N tokens, else 24x24. */
static s2p_grid grid_of(const select_options *o)
{
    if (o->side_of_grid > 0) return (s2p_grid){ o->side_of_grid, o->side_of_grid };
    if (o->tokens.first > 0) return (s2p_grid){ o->tokens.first, o->tokens.second };
    const int32_t side = (int32_t)rint(sqrt((double)o->n_tokens));
    return side > 0 && side * side == o->n_tokens ? (s2p_grid){ side, side } : (s2p_grid){ 24, 24 };
}

static s2p_status check_sizes(select_context *c, s2p_error *error)
{
    const select_options *o = &c->options;
    c->grid = grid_of(o);
    const int32_t n_tokens = c->grid.rows * c->grid.cols;
    if (o->n_tokens > 0 && o->n_tokens != n_tokens)
        return s2_fail(error, S2P_EINVAL, "--set N=%d does not fit --tokens %dx%d (%d tokens)",
                       o->n_tokens, c->grid.rows, c->grid.cols, n_tokens);
    if (c->other_path[ALIVE] && o->stage < 1)
        return s2_fail(error, S2P_EINVAL,
                       "--in alive says what an earlier stage left; add --set stage=N, N above 0");
    return s2_check_budget(c->grid, s2a_budget_tokens(o->budget, n_tokens), o->grid, error);
}

/* --- signals -------------------------------------------------------------- */

/* Pixels of an array take their room in the file too. */
static s2_image_limits limits_of(const select_context *c, const char *path)
{
    static const char ending[] = ".npy";
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    limits.max_pixels = c->options.max_pixels;
    const size_t n = strlen(path), n_ending = sizeof ending - 1;
    const size_t n_bytes = 3 * (size_t)limits.max_pixels + 65536u;
    if (n > n_ending && strcmp(path + n - n_ending, ending) == 0 && limits.max_bytes < n_bytes)
        limits.max_bytes = n_bytes;
    return limits;
}

/* Pictures, the tokens alive, signals, arrays by their names in golden cases. */
static s2p_status read_inputs(select_context *c, s2p_error *error)
{
    for (size_t f = 0; f < N_PICTURES; f++) {
        const char *path = c->other_path[f];
        if (!path) continue;
        const s2_image_limits limits = limits_of(c, path);
        s2p_error why = { S2P_OK, "" };
        const s2p_status st =
            s2_picture_read(path, (s2_pixels)c->options.pixels, &limits, &c->picture[f], &why);
        if (st != S2P_OK) return s2_fail(error, st, "%s: %s", field_name(NULL, f), why.message);
    }
    const s2p_image *image = &c->picture[IMAGE].view, *gray = &c->picture[GRAY].view;
    if (image->pixels && gray->pixels &&
        (image->width != gray->width || image->height != gray->height))
        return s2_fail(error, S2P_EFORMAT, "gray: %d x %d pixels, but image has %d x %d",
                       gray->width, gray->height, image->width, image->height);
    c->view.image = image->pixels ? image : gray->pixels ? gray : NULL;
    c->recorded = (s2_recorded){ .method = c->method,
                                 .grid = c->grid,
                                 .image_start = c->options.image_start,
                                 .n_after = c->options.n_after };
    if (c->other_path[ALIVE]) {
        const s2p_status st = s2_recorded_read_alive(&c->recorded, c->other_path[ALIVE], error);
        if (st != S2P_OK) return st;
    }
    for (size_t id = 0; id < S2P_N_SIGNALS; id++) {
        if (!c->signal_path[id]) continue;
        const s2p_status st =
            s2_recorded_read(&c->recorded, (s2p_signal_id)id, c->signal_path[id], error);
        if (st != S2P_OK) return st;
    }
    c->golden.of = &c->recorded;
    for (size_t f = 0; f < S2_N_FIELDS; f++) {
        if (!c->golden_path[f]) continue;
        const s2p_status st =
            s2_golden_fields_read(&c->golden, (s2_field)f, c->golden_path[f], error);
        if (st != S2P_OK) return st;
    }
    s2_recorded_view(&c->recorded, &c->view);
    return s2_golden_fields_show(&c->golden, &c->view, error);
}

/* --- the command ---------------------------------------------------------- */

static json_t *tokens_json(const int32_t *token, int32_t n)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++) json_array_append_new(list, json_integer(token[i]));
    return list;
}

static s2p_status run_method(select_context *c, s2p_error *error)
{
    const select_options *o = &c->options;
    c->view.budget = s2a_budget_tokens(o->budget, c->grid.rows * c->grid.cols);
    c->view.mode = (s2p_mode)o->mode;
    const uint32_t missing =
        s2p_view_missing(&c->view, s2p_method_needs(c->method, &c->view.choice));
    if (missing) {
        size_t id = 0; /* the lowest, which is the one the words are of */
        while (!(missing >> id & 1)) id++;
        return s2_fail(error, S2P_EINVAL, "--method %s needs %s; add --in %s=FILE%s",
                       s2p_method_about(c->method)->name, s2p_need_text(missing),
                       s2p_signal_at(id)->name, id == S2P_PIXELS ? "" : ".npy");
    }
    s2p_status st = s2p_plan_create(&c->plan, c->grid);
    if (st != S2P_OK) return s2_fail(error, st, "cannot make a plan: %s", s2p_status_text(st));
    c->merge = json_array();
    c->stages = json_array();
    for (int32_t stage = 0; st == S2P_OK && stage < s2p_method_about(c->method)->n_stages; stage++)
        if ((o->layer == 0 || o->layer == s2p_method_about(c->method)->after[stage]) &&
            (o->stage < 0 || o->stage == stage)) {
            const int32_t n_tokens = c->grid.rows * c->grid.cols;
            s2_restricted later = { .made = { NULL } };
            int32_t n_alive = 0, n_keep, n_merges, *alive = NULL;
            c->view.stage = stage;
            later.view = c->view;
            if (json_array_size(c->stages) > 0) { /* the plan holds what the stage before left */
                const int32_t *left = s2p_plan_keep(c->plan, &n_alive);
                alive = malloc((size_t)n_alive * sizeof *alive);
                if (!alive) return s2_fail_memory(error, (size_t)n_alive * sizeof *alive, "tokens");
                memcpy(alive, left, (size_t)n_alive * sizeof *alive);
                st = s2_restrict(&c->view, n_tokens, alive, n_alive, &later);
                if (st != S2P_OK) s2_fail(error, st, "no memory for stage %d", stage + 1);
            }
            if (st == S2P_OK) st = s2p_method_run(c->method, &later.view, c->plan, error);
            s2_restricted_free(&later);
            free(alive);
            if (st == S2P_EINVAL)
                st = error->status = S2P_EFORMAT; /* options are fine: it is the arrays */
            if (st != S2P_OK) break;
            const int32_t *keep = s2p_plan_keep(c->plan, &n_keep); /* the next overwrites it */
            const s2p_merge *merge = s2p_plan_merges(c->plan, &n_merges);
            for (int32_t i = 0; i < n_merges; i++)
                json_array_append_new(
                    c->merge, json_pack("[i,i,f]", merge[i].into, merge[i].from, merge[i].weight));
            json_array_append_new(c->stages, json_pack("{s:i,s:o}", "after",
                                                       s2p_method_about(c->method)->after[stage],
                                                       "keep", tokens_json(keep, n_keep)));
        }
    if (st != S2P_OK || json_array_size(c->stages) > 0) return st;
    if (o->stage >= s2p_method_about(c->method)->n_stages)
        return s2_fail(error, S2P_EINVAL, "--set stage=%d: %s has stages 0 to %d", o->stage,
                       s2p_method_about(c->method)->name,
                       s2p_method_about(c->method)->n_stages - 1);
    return s2_fail(error, S2P_EINVAL, "--set layer=%d: %s does not prune after that layer",
                   o->layer, s2p_method_about(c->method)->name);
}

/* The order a method picked its tokens in; -1 for each row of zeros it adds. */
static json_t *order_json(const s2p_plan *plan)
{
    int32_t n;
    const int32_t *order = s2p_plan_order(plan, &n);
    json_t *list = tokens_json(order, n);
    for (int32_t i = 0; i < s2p_plan_blanks(plan); i++)
        json_array_append_new(list, json_integer(-1));
    return list;
}

static int present(const select_context *c)
{
    int32_t n_keep;
    const int32_t *keep = s2p_plan_keep(c->plan, &n_keep);
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    if (c->options.output == S2_OUTPUT_JSON) {
        json_t *root =
            json_pack("{s:s,s:s,s:i,s:o,s:o,s:O}", "schema", "s2prune.select/1", "method",
                      s2p_method_about(c->method)->name, "budget", n_keep, "keep",
                      tokens_json(keep, n_keep), "order", order_json(c->plan), "merge", c->merge);
        if (root && json_array_size(c->stages) > 1) json_object_set(root, "stages", c->stages);
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

static const char *method_name(size_t index)
{
    const s2p_method *method = s2p_method_at(index);
    return method ? s2p_method_about(method)->name : NULL;
}

static s2p_status find_method(select_context *c, s2p_error *error)
{
    s2a_setting setting = { .method = NULL };
    c->owns.plugins_only = true; /* recordings have no samples */
    for (size_t i = 0; i < c->options.plugins.n; i++)
        TRY(s2a_owns_load(&c->owns, "--plugin", c->options.plugins.item[i], error));
    const char *text = c->options.method;
    TRY(s2a_method_use("--method", text, strlen(text), s2a_owns_opener(&c->owns), &setting, error));
    c->method = s2a_setting_method(&setting);
    return S2P_OK;
}

static int run(const void *values)
{
    s2p_error error = { S2P_OK, "" };
    select_context c = { .options = *(const select_options *)values };
    if (c.options.list_methods) return s2_method_list_print(method_name);
    c.options.stage = -1;
    s2p_status st = find_method(&c, &error);
    if (st == S2P_OK) st = take_values(&c, &error);
    if (st == S2P_OK) st = take_inputs(&c, &error);
    if (st == S2P_OK) st = check_sizes(&c, &error);
    if (st == S2P_OK) st = read_inputs(&c, &error);
    if (st == S2P_OK) st = run_method(&c, &error);
    const int code = st == S2P_OK ? present(&c) : s2_report_error(st, &error);
    json_decref(c.merge);
    json_decref(c.stages);
    s2p_plan_free(c.plan);
    s2_golden_fields_free(&c.golden);
    s2_recorded_free(&c.recorded);
    s2_image_free(&c.picture[IMAGE]);
    s2_image_free(&c.picture[GRAY]);
    s2a_owns_close(&c.owns);
    return code;
}

/* --- the table ------------------------------------------------------------ */

/* clang-format off */
static const s2_option option_table[] = {
    { .name = "--method", .label = "NAME", .type = S2_OPTION_TEXT, .choice = method_name,
      .fallback = "s2prune", .group = "Method", .help = "pruning method",
      .offset = offsetof(select_options, method) },
    { .name = "--plugin", .label = "FILE", .type = S2_OPTION_LIST, .group = "Method",
      .help = "load methods from a shared library (repeatable); its code runs inside this program",
      .offset = offsetof(select_options, plugins) },
    { .name = "--mode", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2_mode_name,
      .fallback = "default", .group = "Method",
      .help = "default keeps exactly the budget; published does what the authors' code does, whatever the budget",
      .offset = offsetof(select_options, mode) },
    { .name = "--budget", .label = "N|N%", .type = S2_OPTION_BUDGET, .min = 1,
      .max = S2P_MAX_TOKENS, .fallback = "64", .group = "Method",
      .help = "number of tokens to keep, or a share of all tokens", .offset = offsetof(select_options, budget) },
    { .name = "--tokens", .label = "RxC", .type = S2_OPTION_SIZE, .min = 1, .max = S2P_MAX_SIDE,
      .group = "Method", .help = "rows and columns of visual tokens (default: 24x24, or a square with --set N)",
      .offset = offsetof(select_options, tokens) },
    { .name = "--grid", .label = "K", .type = S2_OPTION_INT, .min = 0, .max = S2P_MAX_SIDE,
      .fallback = "0", .group = "Method", .help = "divide the picture into K x K regions; 0: chosen by the budget",
      .offset = offsetof(select_options, grid) },
    { .name = "--allocator", .label = "NAME", .type = S2_OPTION_CHOICE,
      .choice = s2p_allocator_name, .fallback = "laplacian", .group = "Method",
      .help = "how the budget is divided among regions", .offset = offsetof(select_options, allocator) },
    { .name = "--selector", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2p_selector_name,
      .fallback = "erc", .group = "Method", .help = "how the token of a cell is selected",
      .offset = offsetof(select_options, selector) },
    { .name = "--seed", .letters = "-s", .label = "N", .type = S2_OPTION_SEED, .fallback = "0",
      .group = "Method", .help = "random seed for methods that draw",
      .offset = offsetof(select_options, seed) },
    { .name = "--list-methods", .type = S2_OPTION_FLAG, .group = "Method",
      .help = "list the methods, their inputs and their parameters, and exit",
      .offset = offsetof(select_options, list_methods) },
    { .name = "--in", .label = "FIELD=FILE", .type = S2_OPTION_LIST, .group = "Data",
      .help = "read a signal from a file (repeatable; --list-methods prints the names). image may be a picture file; gray is one plane; alive lists the tokens that earlier stages kept. Names in golden cases work too: feat, h0 and h1 (hidden states around a layer), attn, input, q, k, q_last, k_img, keys, score, attn_heads, cls_attn_heads, cls_hidden, img_embed, txt_embed, vis",
      .offset = offsetof(select_options, in) },
    { .name = "--set", .label = "FIELD=VALUE", .type = S2_OPTION_LIST, .group = "Data",
      .help = "set a parameter of the method (repeatable; --list-methods prints the names), or stage, to run only that stage (from 0). Names in golden cases work too and override the options: B, retain, K, N, grid (tokens per side), seed, allocator, selector, image_start, n_after, layer, dominant_incl_cls",
      .offset = offsetof(select_options, set) },
    { .name = "--pixels", .label = "WHICH", .type = S2_OPTION_CHOICE, .choice = s2_pixels_name,
      .fallback = "reference", .group = "Data", .help = "read picture files as Pillow does (reference) or as an image viewer shows them (viewer)",
      .offset = offsetof(select_options, pixels) },
    { .name = "--max-image-pixels", .label = "N", .type = S2_OPTION_WIDE, .min = 1,
      .max = 1073741824.0, .fallback = "33554432", .group = "Data",
      .help = "refuse pictures with more pixels", .offset = offsetof(select_options, max_pixels) },
    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE,
      .choice = s2_output_name, .fallback = "text", .group = "Output", .help = "format of the result",
      .offset = offsetof(select_options, output) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_select = {
    .name = "select",
    .summary = "run a method on recorded arrays and print the kept tokens",
    .usage = "--method NAME --budget N|N% --tokens RxC [--in FIELD=FILE]... [options]",
    .examples = "  s2prune select --budget 64 --in image=photo.jpg --in erc=erc.npy -o json\n"
                "  s2prune select --method random --seed 7 --budget 11%\n",
    .options = option_table,
    .size = sizeof(select_options),
    .run = run,
};
