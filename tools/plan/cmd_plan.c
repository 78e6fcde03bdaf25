/* cmd_plan.c - `s2prune plan`: where the tokens of a picture would go, from its pixels alone.
 *
 * The picture is measured as it is, at its own resolution. With token scores (--erc) the plan also
 * names the tokens that stay. The overlay is drawn once and serves the PNG and the terminal.
 */
#include "ask/kept.h"
#include "ask/regions.h"
#include "base/clock.h"
#include "bundled.h"
#include "image/draw/overlay.h"
#include "inputs.h"
#include "plan/plan_report.h"
#include "program.h"
#include "prune/method.h"
#include "report.h"
#include "terminal.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct plan_options {
    const char *image, *erc, *features, *png, *svg, *compare, *model, *mmproj, *before_tower;
    s2_pair tokens;
    s2a_budget budget;
    int32_t grid, allocator, selector, pixels, output, display, token_pixels;
    int64_t max_pixels;
    uint64_t seed;
    s2_list keep_boxes, drop_boxes, blank_boxes, masks;
} plan_options;

typedef struct plan_context { /* everything the command owns */
    const plan_options *options;
    s2p_grid grid;
    s2_image picture, overlay; /* overlay: drawn when somebody wants to see it */
    s2_matrix erc, features;
    s2p_plan *plan;
    int32_t *entered, n_entered; /* the tower, with --before-tower; NULL: all do */
    s2a_boxes boxes;
    s2a_regions regions;
    uint8_t *mark;                /* [tokens] what the boxes say; NULL: there are none */
    int32_t *free_tokens, n_free; /* those that the plan is about; NULL: all that enter */
    s2_plan_report report;
    char caption[128]; /* under the overlay */
} plan_context;

/* --- input ---------------------------------------------------------------- */

static s2p_status check_allocator(const plan_options *options, const char *option, const char *name,
                                  s2p_error *error)
{
    const s2p_allocator *allocator = s2p_allocator_find(name);
    if ((allocator->needs & S2P_NEED_FEATURE) && !options->features)
        return s2_fail(error, S2P_EINVAL, "%s %s needs visual features; add --features FILE.npy",
                       option, name);
    return S2P_OK;
}

/* NULL: no allocator is called so. */
static const char *allocator_named(s2a_item item)
{
    const char *name;
    size_t i = 0;
    while ((name = s2p_allocator_name(i)) && !s2a_item_is(item, name)) i++;
    return name;
}

static s2p_grid usual_grid(const plan_options *options)
{
    return options->tokens.first > 0 ? (s2p_grid){ options->tokens.first, options->tokens.second }
                                     : (s2p_grid){ 24, 24 };
}

static s2p_status check_grid(const plan_options *options, s2p_grid grid, s2p_error *error)
{
    const int32_t n_tokens = grid.rows * grid.cols; /* 4096 * 4096 at most */
    return s2_check_budget(grid, s2a_budget_tokens(options->budget, n_tokens), options->grid,
                           error);
}

static s2p_status read_boxes(const plan_options *o, s2a_boxes *out, s2p_error *error)
{
    const s2_list *const lists[] = { &o->keep_boxes, &o->drop_boxes, &o->blank_boxes };
    static const char *const names[] = { "--keep-box", "--drop-box", "--blank-box" };
    *out = (s2a_boxes){ .n = 0 };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t i = 0; i < lists[k]->n; i++)
            TRY(s2a_boxes_add(names[k], lists[k]->item[i], strlen(lists[k]->item[i]),
                              (s2a_box_kind)k, out, error));
    for (size_t i = 0; i < o->masks.n; i++)
        TRY(s2a_boxes_add_mask("--mask", o->masks.item[i], out, error));
    TRY(s2a_boxes_check(out, 1, error));
    if (out->n == 0 || (!o->erc && !o->features)) return S2P_OK;
    return s2_fail(error, S2P_EINVAL,
                   "boxes leave tokens out of the plan; plan takes --erc and --features of all "
                   "tokens");
}

/* Usage mistakes first: nobody wants to wait for a picture to hear about an option. */
static s2p_status check_options(const plan_options *options, s2p_error *error)
{
    const char *allocator = s2p_allocator_name((size_t)options->allocator);
    const char *selector = s2p_selector_name((size_t)options->selector);
    const uint32_t needs = s2p_selector_find(selector)->needs;
    if (needs & ~(uint32_t)S2P_NEED_ERC)
        return s2_fail(error, S2P_EINVAL,
                       "--selector %s needs %s, which plan does not have; use 's2prune "
                       "select' with recorded arrays",
                       selector, s2p_need_text(needs));
    TRY(check_allocator(options, "--allocator", allocator, error));
    s2a_setting before = { .has_before = false };
    if (options->before_tower)
        TRY(s2a_before_read("--before-tower", options->before_tower, &before, error));
    if (before.has_before && (options->erc || options->features))
        return s2_fail(error, S2P_EINVAL,
                       "--before-tower leaves tokens without scores; plan takes --erc and "
                       "--features of all tokens");
    if (options->compare && options->output != S2_OUTPUT_TEXT)
        return s2_fail(error, S2P_EINVAL,
                       "--compare-allocator is for -o text; run plan once per allocator");
    s2a_item item;
    for (const char *list = options->compare; list && s2a_next_item(&list, &item);) {
        const char *name = allocator_named(item);
        if (!name)
            return s2_fail(error, S2P_EINVAL,
                           "--compare-allocator: '%.*s' is not an allocator; see 's2prune plan "
                           "--help'",
                           item.n < 40 ? (int)item.n : 40, item.text);
        TRY(check_allocator(options, "--compare-allocator", name, error));
    }
    if (options->mmproj && !options->model)
        return s2_fail(error, S2P_EINVAL, "--mmproj without --model; add -m MODEL.gguf");
    if (options->model && options->tokens.first > 0)
        return s2_fail(error, S2P_EINVAL, "--tokens and --model cannot be combined");
    return options->model ? S2P_OK : check_grid(options, usual_grid(options), error);
}

/* What the model makes of a picture of this size; its headers are read, its weights are not. */
static s2p_status ask_model(const plan_options *options, s2_size size, s2p_grid *out,
                            s2p_error *error)
{
    s2v_engine_options engine;
    s2_bundled_model storage;
    s2v_engine_options_init(&engine);
    engine.model_path = options->model;
    engine.mmproj_path = options->mmproj;
    TRY(s2_bundled_complete(&engine.model_path, &engine.mmproj_path, true, &storage, error));
    TRY(s2v_model_grid(&engine, size.width, size.height, NULL, out, error));
    return check_grid(options, *out, error);
}

/* --- the plan ------------------------------------------------------------- */

static s2p_status prune(plan_context *c, const char *allocator, s2p_error *error)
{
    const plan_options *o = c->options;
    const int32_t n_tokens = c->grid.rows * c->grid.cols;
    const int32_t *alive = c->mark ? c->free_tokens : c->entered;
    const int32_t n_alive = c->mark ? c->n_free : c->n_entered;
    const int32_t budget = s2a_budget_tokens(o->budget, n_tokens) - c->report.n_marked;
    if (c->mark && (budget < 1 || n_alive < 1))
        return s2_fail(
            error, S2P_EBUDGET,
            "boxes keep %d tokens of a budget of %d and leave %d others: nothing is left "
            "to plan",
            c->report.n_marked, budget + c->report.n_marked, n_alive);
    s2p_view view = { .budget = alive && n_alive < budget ? n_alive : budget,
                      .image = &c->picture.view,
                      .alive = alive,
                      .n_alive = n_alive,
                      .choice = { .side = o->grid,
                                  .allocator = allocator,
                                  .selector = s2p_selector_name((size_t)o->selector),
                                  .seed = o->seed } };
    view.signal[S2P_ERC] = (s2p_signal){ c->erc.data, { n_tokens } };
    view.signal[S2P_FEATURE] = (s2p_signal){ c->features.data, { n_tokens, c->features.cols } };
    return s2p_prune(&view, c->plan, error);
}

/* Tokens that the boxes leave to the plan. */
static s2p_status mark_tokens(plan_context *c, s2p_error *error)
{
    const int32_t n = c->grid.rows * c->grid.cols;
    const s2_size size = { c->picture.view.width, c->picture.view.height };
    if (c->regions.n == 0) return S2P_OK;
    c->mark = malloc((size_t)n);
    c->free_tokens = malloc((size_t)n * sizeof *c->free_tokens);
    if (!c->mark || !c->free_tokens) return s2_fail_memory(error, (size_t)n, "boxes");
    s2a_regions_mark(&c->regions, size, size, c->grid, c->mark);
    for (int32_t t = 0, i = 0; t < n; t++) {
        const bool enters = !c->entered || (i < c->n_entered && c->entered[i] == t);
        i += c->entered && enters;
        c->report.n_marked += c->mark[t] == S2_OVERLAY_KEPT;
        c->report.n_dropped += c->mark[t] == S2_OVERLAY_DROPPED;
        if (enters && !c->mark[t]) c->free_tokens[c->n_free++] = t;
    }
    return S2P_OK;
}

static s2p_status read_mask(const char *path, void *user, s2_image *out, s2p_error *error)
{
    const plan_options *o = user;
    s2_image_limits limits;
    s2_image_limits_local(&limits, o->max_pixels);
    return s2_picture_read(path, (s2_pixels)o->pixels, &limits, out, error);
}

/* The picture and the arrays, then the plan, each with its time. */
static s2p_status make_plan(plan_context *c, s2p_error *error)
{
    const plan_options *o = c->options;
    const char *allocator = s2p_allocator_name((size_t)o->allocator);
    s2_plan_report *r = &c->report;
    s2_image_limits limits;
    s2_image_limits_local(&limits, o->max_pixels);
    double start = s2_now_ms();
    s2p_status st = s2_picture_read(o->image, (s2_pixels)o->pixels, &limits, &c->picture, error);
    if (st == S2P_OK)
        st = s2a_boxes_apply(&c->boxes, 0, &c->picture, read_mask, (void *)(uintptr_t)o,
                             &c->regions, error);
    r->timings.decode = s2_now_ms() - start;
    c->grid = usual_grid(o);
    const s2_size size = { c->picture.view.width, c->picture.view.height };
    if (st == S2P_OK && o->model) st = ask_model(o, size, &c->grid, error);
    const s2p_grid grid = c->grid;
    if (st == S2P_OK && o->erc) st = s2_matrix_read(o->erc, "erc", "n", grid, &c->erc, error);
    if (st == S2P_OK && o->features)
        st = s2_matrix_read(o->features, "features", "nd", grid, &c->features, error);
    if (st != S2P_OK) return st;
    st = s2p_plan_create(&c->plan, grid);
    if (st != S2P_OK) return s2_fail(error, st, "cannot make a plan: %s", s2p_status_text(st));
    start = s2_now_ms();
    s2a_setting before = { .has_before = false };
    if (o->before_tower) TRY(s2a_before_read("", o->before_tower, &before, error));
    if (before.has_before)
        TRY(s2a_tower_tokens(&c->picture.view, grid, o->token_pixels, &before.before, &c->entered,
                             &c->n_entered, error));
    TRY(mark_tokens(c, error));
    st = prune(c, allocator, error);
    r->timings.plan = s2_now_ms() - start;
    r->path = strcmp(o->image, "-") == 0 ? "standard input" : o->image;
    r->allocator = allocator;
    r->width = c->picture.view.width;
    r->height = c->picture.view.height;
    r->layout = s2p_plan_layout(c->plan);
    r->keep = s2p_plan_keep(c->plan, &r->n_keep);
    r->entered = c->entered;
    r->n_entered = c->n_entered;
    return st;
}

/* --- output --------------------------------------------------------------- */

static s2_overlay overlay_of(plan_context *c)
{
    const s2_plan_report *r = &c->report;
    const s2p_layout *l = &r->layout;
    (void)snprintf(c->caption, sizeof c->caption, "%d of %dx%d tokens in %dx%d regions, H = %.3g",
                   l->budget, l->grid.rows, l->grid.cols, l->side, l->side, l->heterogeneity);
    return (s2_overlay){ .picture = &c->picture.view,
                         .layout = &r->layout,
                         .keep = r->n_keep > 0 ? r->keep : NULL,
                         .n_keep = r->n_keep,
                         .entered = r->entered,
                         .n_entered = r->n_entered,
                         .mark = c->mark,
                         .caption = c->caption };
}

static int fail(s2p_status st, const s2p_error *error) { return s2_report_error(st, error); }

/* Other allocators on the same picture: their tables, and how many tokens they place elsewhere. */
static s2p_status compare(plan_context *c, s2_buffer *out, s2p_error *error)
{
    const int32_t n = c->report.layout.side * c->report.layout.side;
    int32_t *share = malloc((size_t)n * sizeof *share);
    if (!share) return s2_fail_memory(error, (size_t)n * sizeof *share, "the comparison");
    memcpy(share, c->report.layout.share, (size_t)n * sizeof *share);
    s2p_status st = S2P_OK;
    s2a_item item;
    for (const char *list = c->options->compare; s2a_next_item(&list, &item);) {
        const char *name = allocator_named(item);
        char title[96];
        st = prune(c, name, error);
        if (st != S2P_OK) break;
        const s2p_layout layout = s2p_plan_layout(c->plan);
        int32_t moved = 0;
        for (int32_t g = 0; g < n; g++)
            moved += layout.share[g] > share[g] ? layout.share[g] - share[g] : 0;
        (void)snprintf(title, sizeof title, "tokens per region, %s (%d of %d placed elsewhere)",
                       name, moved, layout.budget);
        s2_plan_table(&layout, title, out);
    }
    free(share);
    return st;
}

static int present(plan_context *c)
{
    const plan_options *o = c->options;
    s2p_error error = { S2P_OK, "" };
    s2p_status st = S2P_OK;
    int code = S2_EXIT_OK;
    const bool is_json = o->output == S2_OUTPUT_JSON;
    const s2_display display = is_json ? S2_DISPLAY_NONE : s2_terminal_display(o->display);
    const s2_overlay overlay = overlay_of(c);
    if (o->png || display != S2_DISPLAY_NONE) {
        const double start = s2_now_ms();
        st = s2_overlay_draw(&overlay, &c->overlay, &error);
        c->report.timings.draw = s2_now_ms() - start;
        if (st != S2P_OK) return fail(st, &error);
    }
    if (o->png) code = s2_report_save_png(o->png, &c->overlay.view);
    if (code == S2_EXIT_OK && o->svg) {
        s2_buffer bytes;
        s2_buffer_init(&bytes, S2_OUTPUT_MAX);
        st = s2_overlay_svg(&overlay, &bytes, &error);
        code = s2_report_save_made(o->svg, st, &bytes, &error);
    }
    if (code != S2_EXIT_OK) return code;
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    if (is_json) {
        s2_plan_json(&c->report, &out);
    } else {
        s2_plan_head(&c->report, &out);
        if (display != S2_DISPLAY_NONE) {
            s2_buffer_append(&out, "\n", 1);
            st = s2_display_render(&c->overlay.view, display, s2_terminal_columns(), &out, &error);
        }
        if (st == S2P_OK) s2_plan_tail(&c->report, &out);
        if (st == S2P_OK && o->compare) st = compare(c, &out, &error);
    }
    return s2_report_print_made(st, &out, &error);
}

static int run(const void *values)
{
    s2p_error error = { S2P_OK, "" };
    plan_context c = { .options = values };
    s2p_status st = check_options(c.options, &error);
    if (st == S2P_OK) st = read_boxes(c.options, &c.boxes, &error);
    if (st == S2P_OK) st = make_plan(&c, &error);
    const int code = st == S2P_OK ? present(&c) : fail(st, &error);
    s2p_plan_free(c.plan);
    s2_image_free(&c.picture);
    s2_image_free(&c.overlay);
    free(c.entered);
    free(c.mark);
    free(c.free_tokens);
    s2a_regions_free(&c.regions);
    free(c.erc.data);
    free(c.features.data);
    return code;
}

/* --- the table ------------------------------------------------------------ */

/* clang-format off */
static const s2_option option_table[] = {
    { .name = "--image", .letters = "-i", .label = "FILE", .type = S2_OPTION_FILE,
      .is_required = true, .group = "Picture",
      .help = "picture file, PDF page (FILE.pdf#3), or - for standard input",
      .offset = offsetof(plan_options, image) },
    { .name = "--pixels", .label = "WHICH", .type = S2_OPTION_CHOICE, .choice = s2_pixels_name,
      .fallback = "viewer", .group = "Picture",
      .help = "read the picture as Pillow does (no rotation, alpha dropped) or as an image viewer shows it",
      .offset = offsetof(plan_options, pixels) },
    { .name = "--max-image-pixels", .label = "N", .type = S2_OPTION_WIDE, .min = 1,
      .max = 1073741824.0, .fallback = "200000000", .group = "Picture",
      .help = "refuse pictures with more pixels; JPEG files above 33 million pixels are decoded at 1/2, 1/4 or 1/8", .offset = offsetof(plan_options, max_pixels) },
    { .name = "--model", .letters = "-m", .label = "FILE", .type = S2_OPTION_FILE, .group = "Plan",
      .help = "use the token grid that this GGUF model has for the picture; its weights are not read",
      .offset = offsetof(plan_options, model) },
    { .name = "--mmproj", .letters = "-mm", .label = "FILE", .type = S2_OPTION_FILE, .group = "Plan",
      .help = "its vision tower (default: the one in the same folder)", .offset = offsetof(plan_options, mmproj) },
    { .name = "--tokens", .label = "RxC", .type = S2_OPTION_SIZE, .min = 1, .max = S2P_MAX_SIDE,
      .group = "Plan", .help = "rows and columns of visual tokens (default: 24x24, or those of the model)",
      .offset = offsetof(plan_options, tokens) },
    { .name = "--before-tower", .label = "HOW", .type = S2_OPTION_TEXT, .group = "Plan",
      .help = "pixelprune[:THRESHOLD]: skip tokens that can be predicted from neighboring pixels; none: skip nothing",
      .offset = offsetof(plan_options, before_tower) },
    { .name = "--token-pixels", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 256, .fallback = "28",
      .group = "Plan", .help = "side of a token in pixels of the resized picture, for --before-tower (Qwen3-VL: 32)",
      .offset = offsetof(plan_options, token_pixels) },
    { .name = "--keep-box", .label = "X,Y,W,H", .type = S2_OPTION_LIST, .group = "Plan",
      .help = "always keep the tokens of this box; in pixels of the displayed picture, or percent: 10%,0,25%,100% (repeatable)",
      .offset = offsetof(plan_options, keep_boxes) },
    { .name = "--drop-box", .label = "X,Y,W,H", .type = S2_OPTION_LIST, .group = "Plan",
      .help = "never keep the tokens of this box (repeatable)", .offset = offsetof(plan_options, drop_boxes) },
    { .name = "--blank-box", .label = "X,Y,W,H", .type = S2_OPTION_LIST, .group = "Plan",
      .help = "paint this box gray before anything else (repeatable)", .offset = offsetof(plan_options, blank_boxes) },
    { .name = "--mask", .label = "FILE", .type = S2_OPTION_LIST, .group = "Plan",
      .help = "mark a region with a picture of the same size, white inside: keep:FILE, drop:FILE or blank:FILE (repeatable)",
      .offset = offsetof(plan_options, masks) },
    { .name = "--budget", .label = "N|N%", .type = S2_OPTION_BUDGET, .min = 1,
      .max = S2P_MAX_TOKENS, .fallback = "64", .group = "Plan",
      .help = "number of tokens to keep, or a share of all tokens", .offset = offsetof(plan_options, budget) },
    { .name = "--grid", .label = "K", .type = S2_OPTION_INT, .min = 0, .max = S2P_MAX_SIDE,
      .fallback = "0", .group = "Plan", .help = "divide the picture into K x K regions; 0: chosen by the budget",
      .offset = offsetof(plan_options, grid) },
    { .name = "--allocator", .label = "NAME", .type = S2_OPTION_CHOICE,
      .choice = s2p_allocator_name, .fallback = "laplacian", .group = "Plan",
      .help = "how the budget is divided among regions", .offset = offsetof(plan_options, allocator) },
    { .name = "--compare-allocator", .label = "NAMES", .type = S2_OPTION_TEXT, .group = "Plan",
      .help = "also show the shares of these allocators, separated by commas",
      .offset = offsetof(plan_options, compare) },
    { .name = "--selector", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2p_selector_name,
      .fallback = "erc", .group = "Plan", .help = "how the token of a cell is selected",
      .offset = offsetof(plan_options, selector) },
    { .name = "--erc", .label = "FILE.npy", .type = S2_OPTION_FILE, .group = "Plan",
      .help = "early representation change (ERC) of every token; with it, the plan names the kept tokens",
      .offset = offsetof(plan_options, erc) },
    { .name = "--features", .label = "FILE.npy", .type = S2_OPTION_FILE, .group = "Plan",
      .help = "visual features [tokens][d], for --allocator erank",
      .offset = offsetof(plan_options, features) },
    { .name = "--seed", .letters = "-s", .label = "N", .type = S2_OPTION_SEED, .fallback = "0",
      .group = "Plan", .help = "random seed for allocators and selectors that draw",
      .offset = offsetof(plan_options, seed) },
    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE,
      .choice = s2_output_name, .fallback = "text", .group = "Output", .help = "format of the result",
      .offset = offsetof(plan_options, output) },
    { .name = "--png", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write the picture with regions, shares and cells",
      .role = S2_FILE_OUTPUT, .writes = ".png", .offset = offsetof(plan_options, png) },
    { .name = "--svg", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write the same as SVG", .role = S2_FILE_OUTPUT, .writes = ".svg",
      .offset = offsetof(plan_options, svg) },
    { .name = "--display", .label = "HOW", .type = S2_OPTION_CHOICE,
      .choice = s2_terminal_display_name, .fallback = "auto", .group = "Output",
      .help = "show the picture in the terminal", .offset = offsetof(plan_options, display) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_plan = {
    .name = "plan",
    .summary = "show how a picture's budget is divided, without a model",
    .usage = "-i IMAGE [--budget N|N%] [--grid K] [-m MODEL | --tokens RxC] [options]",
    .examples = "  s2prune plan -i photo.jpg --budget 64 --png overlay.png\n"
                "  s2prune plan -i photo.jpg --budget 11% --compare-allocator uniform,fft\n"
                "  s2prune plan -i photo.jpg -m model.gguf -mm mmproj.gguf\n"
                "  s2prune plan -i photo.jpg --tokens 27x27 --erc erc.npy -o json\n"
                "  s2prune plan -i invoice.jpg --tokens 40x28 --before-tower pixelprune\n",
    .options = option_table,
    .size = sizeof(plan_options),
    .run = run,
};
