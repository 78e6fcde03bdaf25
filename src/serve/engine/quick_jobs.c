/* quick_jobs.c - one function for each kind, and their table. */
#include "serve/engine/jobs.h"

#include "ask/kept.h"
#include "image/draw/overlay.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RESULT ((size_t)32 << 20)
#define MAX_TOKENS 390000 /* the front takes 400,000 values in a frame */

typedef struct quick_call {
    const s2_quick *with;
    uint64_t request;
    const s2_job_parts *parts;
    const json_t *json;
    char param[S2_JSON_PARAM]; /* out: the field at fault */
} quick_call;

static void blame(quick_call *call, const char *param)
{
    (void)snprintf(call->param, sizeof call->param, "%s", param);
}

/* --- a plan: pixels only ------------------------------------------------------------ */

/* The plan as JSON, or drawn over the picture. */
static s2p_status put_plan(const s2p_image *picture, const s2p_plan *plan, const char *format,
                           const int32_t *entered, int32_t n_entered, const uint8_t *mark,
                           s2_buffer *out, s2p_error *error)
{
    const s2p_layout layout = s2p_plan_layout(plan);
    if (!format || strcmp(format, "json") == 0) {
        s2a_plan_json(&layout, picture->width, picture->height, NULL, 0, entered, n_entered, out);
        return out->status;
    }
    char caption[128];
    (void)snprintf(caption, sizeof caption, "%d of %dx%d tokens in %dx%d regions, H = %.3g",
                   layout.budget, layout.grid.rows, layout.grid.cols, layout.side, layout.side,
                   layout.heterogeneity);
    const s2_overlay overlay = { .picture = picture,
                                 .layout = &layout,
                                 .entered = entered,
                                 .n_entered = n_entered,
                                 .mark = mark,
                                 .caption = caption };
    if (strcmp(format, "svg") == 0) return s2_overlay_svg(&overlay, out, error);
    s2_image drawn = { .pixels = NULL };
    s2p_status st = s2_overlay_draw(&overlay, &drawn, error);
    if (st == S2P_OK) st = s2_png_encode(&drawn.view, out, error);
    s2_image_free(&drawn);
    return st;
}

/* "tokens" of the request; without it what the model makes of a picture of this size. */
static s2p_status grid_of(const quick_call *call, const s2p_image *picture, s2p_grid *out,
                          s2p_error *error)
{
    const json_t *tokens = json_object_get(call->json, "tokens");
    if (!json_is_array(tokens))
        return s2v_engine_grid(call->with->engine, picture->width, picture->height,
                               &call->with->setup->open.image[0], out, error);
    out->rows = (int32_t)json_integer_value(json_array_get(tokens, 0));
    out->cols = (int32_t)json_integer_value(json_array_get(tokens, 1));
    return S2P_OK;
}

/* Of the tokens that enter the tower those that boxes leave to the plan. */
static s2p_status leave_marked(const s2a_regions *regions, const s2p_image *picture, s2p_grid grid,
                               const int32_t *entered, int32_t n_entered, uint8_t **mark,
                               int32_t **left, int32_t *n_left, int32_t *n_kept, s2p_error *error)
{
    const s2_size size = { picture->width, picture->height };
    const int32_t n = entered ? n_entered : grid.rows * grid.cols;
    *n_left = *n_kept = 0;
    if (regions->n == 0) return S2P_OK;
    *mark = malloc((size_t)grid.rows * (size_t)grid.cols);
    *left = malloc((size_t)n * sizeof **left);
    if (!*mark || !*left) return s2_fail_memory(error, (size_t)n * sizeof **left, "boxes");
    s2a_regions_mark(regions, size, size, grid, *mark);
    for (int32_t t = 0; t < grid.rows * grid.cols; t++) *n_kept += (*mark)[t] == S2_OVERLAY_KEPT;
    for (int32_t i = 0; i < n; i++)
        if (!(*mark)[entered ? entered[i] : i]) (*left)[(*n_left)++] = entered ? entered[i] : i;
    return S2P_OK;
}

static s2p_status plan_picture(quick_call *call, const s2a_setting *setting,
                               const s2a_regions *regions, const s2p_image *picture,
                               s2p_plan **plan, int32_t **entered, int32_t *n_entered,
                               uint8_t **mark, s2p_error *error)
{
    s2p_grid grid = { 0, 0 };
    TRY(grid_of(call, picture, &grid, error));
    const int32_t n_tokens = grid.rows * grid.cols, side = setting->choice.side;
    const int32_t budget = s2a_budget_tokens(setting->budget, n_tokens);
    blame(call, "prune.budget");
    if (budget > n_tokens || budget < side * side || side > grid.rows || side > grid.cols)
        return s2_fail(error, S2P_EBUDGET,
                       "a budget of %d does not fit %dx%d regions of %d tokens: every region keeps "
                       "one token or more",
                       budget, side, side, n_tokens);
    blame(call, "image");
    TRY(s2p_plan_create(plan, grid));
    if (setting->has_before) {
        s2v_engine_info info;
        s2v_engine_get_info(call->with->engine, &info);
        blame(call, "prune.before_tower");
        TRY(s2a_tower_tokens(picture, grid, info.patch_size * info.merge_size, &setting->before,
                             entered, n_entered, error));
    }
    int32_t *left = NULL, n_left = 0, n_kept = 0;
    blame(call, "prune");
    s2p_status st = leave_marked(regions, picture, grid, *entered, *n_entered, mark, &left, &n_left,
                                 &n_kept, error);
    if (st == S2P_OK && *mark && (n_left < 1 || n_kept >= budget))
        st = s2_fail(error, S2P_EBUDGET,
                     "boxes keep %d tokens of a budget of %d and leave %d others: nothing is left "
                     "to plan",
                     n_kept, budget, n_left);
    const int32_t *alive = *mark ? left : *entered;
    const int32_t n_alive = *mark ? n_left : *n_entered, wanted = budget - n_kept;
    const s2p_view view = { .budget = alive && n_alive < wanted ? n_alive : wanted,
                            .image = picture,
                            .alive = alive,
                            .n_alive = n_alive,
                            .choice = setting->choice };
    if (st == S2P_OK) st = s2p_prune(&view, *plan, error);
    free(left);
    return st;
}

static s2p_status make_plan(quick_call *call, s2p_error *error)
{
    const s2_engine_setup *setup = call->with->setup;
    s2a_prune_request request;
    s2_job_mask_source masks = { call->parts, call->json, setup, NULL };
    s2p_status read = s2a_prune_read(json_object_get(call->json, "prune"), "prune.", NULL,
                                     &setup->setting, NULL, &request, call->param, error);
    if (read == S2P_OK) read = s2_job_masks_add(call->json, 0, &request.boxes, error);
    s2a_prune_request_free(&request); /* a plan keeps no tokens by hand */
    if (read != S2P_OK) return read;
    s2_image picture = { .pixels = NULL };
    s2p_plan *plan = NULL;
    s2_buffer out;
    s2_buffer_init(&out, MAX_RESULT);
    blame(call, "image");
    s2p_status st = s2_job_picture(call->parts, 0, setup, &picture, error);
    int32_t *entered = NULL, n_entered = 0;
    uint8_t *mark = NULL;
    s2a_regions regions = { .n = 0 };
    if (st == S2P_OK) {
        blame(call, "prune");
        st = s2a_boxes_check(&request.boxes, 1, error);
    }
    if (st == S2P_OK)
        st = s2a_boxes_apply(&request.boxes, 0, &picture, s2_job_mask, &masks, &regions, error);
    if (st == S2P_OK)
        st = plan_picture(call, &request.setting, &regions, &picture.view, &plan, &entered,
                          &n_entered, &mark, error);
    if (st == S2P_OK)
        st = put_plan(&picture.view, plan, s2_json_string(call->json, "format"), entered, n_entered,
                      mark, &out, error);
    if (st == S2P_OK)
        s2_outbox_bytes(call->with->outbox, S2_FRAME_BYTES, call->request, out.data, out.size);
    free(entered);
    free(mark);
    s2a_regions_free(&regions);
    s2_buffer_free(&out);
    s2p_plan_free(plan);
    s2_image_free(&picture);
    return st;
}

/* --- text --------------------------------------------------------------------------- */

static s2p_status tokenize(quick_call *call, s2p_error *error)
{
    const s2v_engine *engine = call->with->engine;
    const char *text = s2_json_string(call->json, "content");
    const int parse_special = json_is_true(json_object_get(call->json, "parse_special"));
    size_t n = 0;
    blame(call, "content");
    TRY(s2v_engine_tokenize(engine, text, strlen(text), parse_special, NULL, 0, &n, error));
    if (n > MAX_TOKENS)
        return s2_fail(error, S2P_ELIMIT, "the text has %zu tokens; the limit is %d", n,
                       MAX_TOKENS);
    int32_t *tokens = malloc((n + 1) * sizeof *tokens);
    s2p_status st = tokens ? S2P_OK : s2_fail_memory(error, n * sizeof *tokens, "the tokens");
    if (st == S2P_OK)
        st = s2v_engine_tokenize(engine, text, strlen(text), parse_special, tokens, n, &n, error);
    if (st == S2P_OK)
        s2_outbox_json(call->with->outbox, S2_FRAME_DONE, call->request,
                       json_pack("{s:o}", "tokens", s2_json_of_ints(tokens, n)));
    free(tokens);
    return st;
}

static s2p_status detokenize(quick_call *call, s2p_error *error)
{
    const s2v_engine *engine = call->with->engine;
    const json_t *list = json_object_get(call->json, "tokens");
    const int32_t n_vocab = s2v_engine_vocabulary(engine);
    const size_t n = json_array_size(list);
    size_t n_bytes = 0;
    char *text = NULL;
    int32_t *tokens = malloc((n + 1) * sizeof *tokens);
    s2p_status st = tokens ? S2P_OK : s2_fail_memory(error, n * sizeof *tokens, "the tokens");
    blame(call, "tokens");
    for (size_t i = 0; st == S2P_OK && i < n; i++) {
        const json_int_t id = json_integer_value(json_array_get(list, i));
        if (id < 0 || id >= n_vocab)
            st = s2_fail(error, S2P_EINVAL, "tokens[%zu] is %lld; the model has tokens 0 to %d", i,
                         (long long)id, n_vocab - 1);
        else
            tokens[i] = (int32_t)id;
    }
    if (st == S2P_OK) st = s2v_engine_detokenize(engine, tokens, n, 0, NULL, 0, &n_bytes, error);
    if (st == S2P_OK && n_bytes > MAX_RESULT)
        st = s2_fail(error, S2P_ELIMIT, "the text is too long: %zu bytes (limit %zu)", n_bytes,
                     MAX_RESULT);
    if (st == S2P_OK && !(text = malloc(n_bytes + 1)))
        st = s2_fail_memory(error, n_bytes + 1, "the text");
    if (st == S2P_OK)
        st = s2v_engine_detokenize(engine, tokens, n, 0, text, n_bytes + 1, &n_bytes, error);
    if (st == S2P_OK)
        s2_outbox_json(call->with->outbox, S2_FRAME_DONE, call->request,
                       json_pack("{s:s%}", "content", text, n_bytes));
    free(text);
    free(tokens);
    return st;
}

/* The prompt of the messages as text; pictures are shown as <image>. */
static s2p_status apply_template(quick_call *call, s2p_error *error)
{
    const s2v_engine *engine = call->with->engine;
    s2_ask_job job;
    size_t n = 0;
    int32_t *tokens = NULL;
    s2_buffer text;
    s2_buffer_init(&text, MAX_RESULT);
    s2p_status st = s2_ask_job_read(call->parts, (json_t *)(uintptr_t)call->json, call->with->setup,
                                    engine, &job, call->param, error);
    const s2v_prompt prompt = s2_ask_job_prompt(&job, &job.setting[0]);
    if (st == S2P_OK) st = s2v_engine_render(engine, &prompt, NULL, 0, &n, error);
    if (st == S2P_OK && !(tokens = malloc((n + 1) * sizeof *tokens)))
        st = s2_fail_memory(error, n * sizeof *tokens, "the tokens");
    if (st == S2P_OK) st = s2v_engine_render(engine, &prompt, tokens, n, &n, error);
    for (size_t i = 0; st == S2P_OK && i < n; i++) {
        const size_t n_bytes =
            tokens[i] < 0 ? 0 : s2v_engine_get_token(engine, tokens[i], 1, NULL, 0);
        uint8_t *room = n_bytes > 0 ? s2_buffer_extend(&text, n_bytes) : NULL;
        if (room) (void)s2v_engine_get_token(engine, tokens[i], 1, room, n_bytes);
        if (tokens[i] < 0) s2_buffer_printf(&text, "<image>");
        st = text.status;
    }
    if (st == S2P_OK)
        s2_outbox_json(
            call->with->outbox, S2_FRAME_DONE, call->request,
            json_pack("{s:s%}", "prompt", text.data ? (const char *)text.data : "", text.size));
    free(tokens);
    s2_buffer_free(&text);
    s2_ask_job_free(&job);
    return st;
}

/* --- methods ------------------------------------------------------------------------ */

static json_t *names_of(const char *(*name_at)(size_t index))
{
    json_t *array = json_array();
    for (size_t i = 0; name_at(i); i++) json_array_append_new(array, json_string(name_at(i)));
    return array;
}

static s2p_status list_methods(quick_call *call, s2p_error *error)
{
    const s2a_setting *usual = &call->with->setup->setting;
    json_t *methods = json_array();
    (void)error;
    for (size_t i = 0; s2v_method_name(i); i++) {
        const s2p_method *m = s2p_method_find(s2v_method_name(i));
        const s2p_parameter *row;
        json_t *parameters = json_array();
        for (size_t k = 0; (row = s2p_method_parameter(m, k)); k++) {
            const bool is_rule = row->fallback < row->min || row->fallback > row->max;
            json_array_append_new(
                parameters,
                json_pack("{s:s,s:s,s:s,s:f,s:f,s:o}", "name", row->name, "help", row->help, "type",
                          row->is_integer ? "integer" : "number", "min", row->min, "max", row->max,
                          "default", is_rule ? json_null() : json_real(row->fallback)));
        }
        json_array_append_new(
            methods,
            json_pack(
                "{s:s,s:s,s:o,s:b,s:b,s:b,s:b,s:o}", "name", s2p_method_about(m)->name, "source",
                s2p_method_about(m)->source, "after",
                s2_json_of_ints(s2p_method_about(m)->after, (size_t)s2p_method_about(m)->n_stages),
                "sees_question", s2p_method_about(m)->sees_question, "keeps_all",
                s2p_method_about(m)->keeps_all, "merges", s2p_method_about(m)->merges,
                "has_published_mode", s2p_method_about(m)->published != NULL, "parameters",
                parameters));
    }
    char budget[S2A_BUDGET_TEXT];
    s2_outbox_json(call->with->outbox, S2_FRAME_DONE, call->request,
                   json_pack("{s:s,s:{s:s,s:s,s:i},s:o,s:o,s:o,s:{s:i,s:i},s:{s:i,s:i},s:[s,s,s]}",
                             "object", "list", "default", "method", usual->method, "budget",
                             s2a_budget_text(usual->budget, budget), "grid", usual->choice.side,
                             "data", methods, "allocators", names_of(s2p_allocator_name),
                             "selectors", names_of(s2p_selector_name), "budget", "min", 1, "max",
                             S2P_MAX_TOKENS, "grid", "min", 0, "max", S2P_MAX_SIDE, "return",
                             "tokens", "regions", "scores"));
    return S2P_OK;
}

/* --- the table ---------------------------------------------------------------------- */

static s2p_status crash(quick_call *call, s2p_error *error)
{
    if (!call->with->setup->may_crash)
        return s2_fail(error, S2P_EUNSUPPORTED, "this server was not started with --crash-route");
    (void)raise(SIGSEGV);
    return S2P_OK;
}

static const struct {
    const char *kind;
    s2p_status (*run)(quick_call *call, s2p_error *error);
} kinds[] = {
    { "plan", make_plan },          { "tokenize", tokenize },    { "detokenize", detokenize },
    { "template", apply_template }, { "methods", list_methods }, { "crash", crash },
};

void s2_quick_job(const s2_quick *quick, const s2_inbox_job *job)
{
    s2p_error error = { S2P_OK, "" };
    s2_job_parts parts;
    json_t *json = NULL;
    quick_call call = { .with = quick, .request = job->request, .parts = &parts };
    s2p_status st = s2_job_decode(job->payload, job->n, &parts, &error);
    if (st == S2P_OK) st = s2_json_parse(parts.json.data, parts.json.n, "the job", &json, &error);
    if (st == S2P_OK) {
        const char *kind = s2_json_string(json, "kind");
        size_t i = 0;
        const size_t n = sizeof kinds / sizeof *kinds;
        while (i < n && (!kind || strcmp(kinds[i].kind, kind) != 0)) i++;
        call.json = json;
        st = i < n ? kinds[i].run(&call, &error)
                   : s2_fail(&error, S2P_EFORMAT, "unknown kind of job");
    }
    if (st != S2P_OK)
        s2_outbox_refuse(
            quick->outbox, job->request,
            &(s2_refusal){ .status = st,
                           .message = error.message[0] ? error.message : s2p_status_text(st),
                           .param = call.param[0] ? call.param : NULL,
                           .is_ours = st == S2P_ENOMEM });
    json_decref(json);
}
