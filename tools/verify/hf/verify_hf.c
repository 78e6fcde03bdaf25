/* verify_hf.c - a whole model against Hugging Face: tower, layers, logits, kept tokens, answers.
 *
 * A golden is a GGUF of architecture "s2prune-golden". The model it was made with
 * stands in gguf/ beside it (an F32 pair and an F16 pair), the pictures too:
 * verify_hf_pictures.c finds them. With the F32 pair and an F32 cache every
 * stored tensor is compared, with the F16 pair the kept tokens and the answer; the
 * kept tokens of both with the other types of cache too.
 */
#include "verify/checks.h"

#include "verify/hf_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERC_TOLERANCE 2e-5      /* relative */
#define ATTN_TOLERANCE 1e-5     /* absolute: the weights of a row sum to 1 */
#define RECEIVED_TOLERANCE 1e-6 /* absolute: a mean over all rows, their rounding with it */

#define STATE_ERC_LOOSER 10.0

/* --- comparing ------------------------------------------------------------------- */

/* Hidden states may be stored for some rows only: those of "rows_h" or "rows". */
static void compare_hidden(hf_case *c, const char *name, const float *got, size_t rows,
                           size_t width)
{
    size_t n_stored, n_rows = 0;
    const float *expected = s2_hf_floats(c->golden, name, &n_stored);
    if (!expected || n_stored == rows * width) {
        s2_hf_compare_values(c, name, got, rows * width);
        return;
    }
    const int32_t *row = s2_hf_ints(c->golden, "rows_h", &n_rows);
    if (!row || n_rows * width != n_stored) row = s2_hf_ints(c->golden, "rows", &n_rows);
    if (row && n_rows * width == n_stored && s2_hf_are_rows(row, n_rows, rows))
        s2_hf_compare_rows(c, name, expected, n_rows, width, got, row, 1);
    else
        s2_differs(c->verdict, "%s: expected %zu values, got %zu", name, n_stored, rows * width);
}

/* Views come one after the other, whole or every so many tokens of each. */
static void compare_view(hf_case *c, size_t view, const float *got, size_t rows, size_t width)
{
    size_t n_stored, n_ints;
    const char *name = "vis.merged";
    const float *expected = s2_hf_floats(c->golden, name, &n_stored);
    if (c->n_views[0] > 0) { /* tiles: all views of all pictures */
        expected = s2_hf_floats(c->golden, "vis.projected", &n_stored);
        const size_t each = n_stored / width / s2_hf_n_views(c);
        if (!expected) return;
        const size_t at = s2_hf_stored_view(c, c->picture_seen, c->view_seen);
        if (each == 0 || each > rows || (at + 1) * each * width > n_stored)
            s2_differs(c->verdict, "vis.projected: expected %zu values, got more", n_stored);
        else
            s2_hf_compare_rows(c, "vis.projected", expected + at * each * width, each, width, got,
                               NULL, rows / each);
        return;
    }
    char later[48]; /* LLaVA-1.5 has tensors of their own for the second picture and the next */
    (void)snprintf(later, sizeof later, "img%zu.vis.projected", view);
    const bool is_later = view > 0 && s2v_gguf_find_tensor(c->golden, later);
    const bool is_single = is_later || s2v_gguf_find_tensor(c->golden, "vis.pre_ln");
    if (!expected)
        expected = s2_hf_floats(c->golden, name = is_later ? later : "vis.projected", &n_stored);
    const int32_t *n_views = s2_hf_ints(c->golden, "n_views", &n_ints);
    if (!expected) return;
    const size_t each = is_single                   ? n_stored / width
                        : n_views && n_views[0] > 0 ? n_stored / width / (size_t)n_views[0]
                                                    : rows;
    const size_t first = is_single ? 0 : n_views ? view * each : c->n_seen;
    if (each == 0 || each > rows || (first + each) * width > n_stored)
        s2_differs(c->verdict, "%s: expected %zu values, got more", name, n_stored);
    else
        s2_hf_compare_rows(c, name, expected + first * width, each, width, got, NULL,
                           (rows + each - 1) / each);
}

/* Rows from before pruning: all, after it those of the kept rows, or those of "rows". */
static void compare_kept_rows(hf_case *c, const char *name, const float *got, size_t rows,
                              size_t width)
{
    size_t n_stored, n_kept;
    const float *expected = s2_hf_floats(c->golden, name, &n_stored);
    const int32_t *kept = s2_hf_ints(c->golden, "kept_seq", &n_kept);
    if (expected && kept && n_kept * width == n_stored && s2_hf_are_rows(kept, n_kept, rows))
        s2_hf_compare_rows(c, name, expected, n_kept, width, got, kept, 1);
    else
        compare_hidden(c, name, got, rows, width);
}

/* What is added after a decoder layer, of the picture whose tokens were seen last. */
static void compare_deepstack(hf_case *c, int32_t layer, const float *got, size_t rows,
                              size_t width)
{
    char name[32];
    size_t n_stored;
    (void)snprintf(name, sizeof name, "vis.deepstack%d", layer);
    const float *expected = s2_hf_floats(c->golden, name, &n_stored);
    if (!expected) return;
    if (c->n_seen * width > n_stored)
        s2_differs(c->verdict, "%s: expected %zu values, got more", name, n_stored);
    else
        s2_hf_compare_rows(c, name, expected + (c->n_seen - rows) * width, rows, width, got, NULL,
                           1);
}

/* Where the rows of the prompt stand, or those that were kept. */
static void compare_positions(hf_case *c, const s2v_rows *rows)
{
    size_t n_stored;
    const int32_t *expected = s2_hf_ints(c->golden, "position_ids", &n_stored);
    if (!expected) return;
    const int32_t n_planes = n_stored == (size_t)rows->n ? 1 : 3; /* one with plain positions */
    if (n_stored != (size_t)n_planes * (size_t)rows->n) {
        s2_differs(c->verdict, "position_ids: expected %zu values for %d rows", n_stored, rows->n);
        return;
    }
    for (int32_t plane = 0; plane < n_planes; plane++)
        for (int32_t i = 0; i < rows->n; i++)
            if (expected[plane * rows->n + i] != rows->pos[plane][i]) {
                s2_differs(c->verdict, "position_ids: expected %d for row %d, got %d",
                           expected[plane * rows->n + i], i, rows->pos[plane][i]);
                return;
            }
}

/* What layer 0 remembers once the prompt is done, of the rows that were kept: its values. */
static void compare_past(hf_case *c, const s2v_session *session)
{
    const s2v_past *past = &session->past;
    const s2v_decoder_params *p = &session->engine->model.decoder.p;
    const size_t n = (size_t)s2v_past_length(past, 0);
    const size_t width = (size_t)p->n_kv_heads * (size_t)p->head_dim;
    if (!s2v_gguf_find_tensor(c->golden, "v0")) return;
    const size_t n_bytes = s2v_past_snapshot_bytes(past, 0, (int32_t)n);
    const size_t n_positions = past->has_positions ? n * sizeof(int32_t) : 0; /* behind both */
    float *rows = n_bytes == 2 * n * width * sizeof *rows + n_positions ? malloc(n_bytes) : NULL;
    if (!rows) {
        s2_differs(c->verdict, "v0: the past has %zu bytes for %zu rows", n_bytes, n);
        return;
    }
    s2v_past_snapshot(past, 0, 0, (int32_t)n, (uint8_t *)rows);
    compare_hidden(c, "v0", rows + n * width, n, width);
    free(rows);
}

/* What each row gets from all, mean over queries; then some rows. attn: [n][n] of a layer, mean over
 * heads. */
static void compare_attention(hf_case *c, int32_t layer, const float *attn, size_t n)
{
    char name[32];
    size_t n_stored, n_rows;
    double worst = 0.0, largest = 0.0;
    (void)snprintf(name, sizeof name, "attn.received.%d", layer);
    const float *expected = s2_hf_floats(c->golden, name, &n_stored);
    for (size_t k = 0; expected && k < n && n == n_stored; k++) {
        double sum = 0.0;
        for (size_t q = k; q < n; q++) sum += (double)attn[q * n + k]; /* nobody sees ahead */
        const double d = fabs(sum / (double)n - (double)expected[k]);
        if (!(d <= worst)) worst = d;
    }
    const double looser = c->has_states ? HF_STATE_LOOSER : 1.0;
    double allowed = RECEIVED_TOLERANCE * c->verdict->where->slack * looser;
    if (expected && (n != n_stored || !(worst <= allowed)))
        s2_differs(c->verdict, "%s: %zu values, %zu expected, off by %.3g, allowed %.3g", name, n,
                   n_stored, worst, allowed);
    (void)snprintf(name, sizeof name, "attn.mean.%d", layer);
    expected = s2_hf_floats(c->golden, name, &n_stored);
    const int32_t *row = s2_hf_ints(c->golden, "attn.rows", &n_rows);
    if (!expected) return;
    if (!row || n_rows * n != n_stored || !s2_hf_are_rows(row, n_rows, n)) {
        s2_differs(c->verdict, "%s: expected %zu values, not for rows of %zu", name, n_stored, n);
        return;
    }
    worst = s2_hf_farthest(expected, n_rows, n, attn, row, 1, &largest);
    allowed = ATTN_TOLERANCE * c->verdict->where->slack * looser;
    if (!(worst <= allowed))
        s2_differs(c->verdict, "%s: off by %.3g, allowed %.3g", name, worst, allowed);
}

/* The last row's attention, stored for each head. attn: [n][n], mean over heads. */
static void compare_last_row(hf_case *c, int32_t layer, const float *attn, size_t n)
{
    char name[32];
    size_t n_stored;
    (void)snprintf(name, sizeof name, "attn.heads_last.%d", layer);
    const float *expected = s2_hf_floats(c->golden, name, &n_stored);
    if (!expected) return;
    if (n_stored == 0 || n_stored % n != 0) {
        s2_differs(c->verdict, "%s: expected %zu values, not for rows of %zu", name, n_stored, n);
        return;
    }
    double worst = 0.0;
    for (size_t k = 0; k < n; k++) {
        double mean = 0.0;
        for (size_t h = 0; h < n_stored / n; h++) mean += (double)expected[h * n + k];
        const double d = fabs(mean * (double)n / (double)n_stored - (double)attn[(n - 1) * n + k]);
        if (!(d <= worst)) worst = d;
    }
    const double allowed = ATTN_TOLERANCE * c->verdict->where->slack;
    if (!(worst <= allowed))
        s2_differs(c->verdict, "%s: off by %.3g, allowed %.3g", name, worst, allowed);
}

static void tap(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                void *user)
{
    hf_case *c = user;
    if (c->counts_deepstack && strcmp(name, "erc") != 0) return; /* other rows are kept */
    const size_t n = (size_t)rows * (size_t)cols;
    char tensor[32];
    if (strcmp(name, "vis.merged") == 0) {
        c->view_seen = c->n_views_seen > 0 && c->picture_seen == index ? c->view_seen + 1 : 0;
        c->picture_seen = index;
        compare_view(c, c->n_views_seen, data, (size_t)rows, (size_t)cols);
        c->n_seen += (size_t)rows;
        c->n_views_seen++;
    } else if (s2_hf_check_tower(c, name, index, data, (size_t)rows, (size_t)cols) ||
               s2_hf_check_stage(c, name, index, data, (size_t)rows, (size_t)cols)) {
        return;
    } else if (strcmp(name, "vis.deepstack") == 0) {
        compare_deepstack(c, index, data, (size_t)rows, (size_t)cols);
    } else if (strcmp(name, "h_ds") == 0) {
        (void)snprintf(tensor, sizeof tensor, "h%d_ds", index);
        compare_kept_rows(c, tensor, data, (size_t)rows, (size_t)cols);
    } else if (strcmp(name, "h") == 0 && (index > 1 || !c->is_pruned)) {
        (void)snprintf(tensor, sizeof tensor, "h%d", index);
        compare_hidden(c, tensor, data, (size_t)rows, (size_t)cols);
    } else if (strcmp(name, "k_rope") == 0 && index == 0) {
        float *halves = c->pair_dim > 0 ? malloc(n * sizeof *halves) : NULL;
        const size_t dim =
            (size_t)c->pair_dim; /* values 2i and 2i + 1 are i and i + dim / 2 there */
        for (size_t i = 0; halves && i < n; i++)
            halves[i - i % dim + i % dim / 2 + i % 2 * dim / 2] = data[i];
        compare_kept_rows(c, "k0_rope", halves ? halves : data, (size_t)rows, (size_t)cols);
        free(halves);
    } else if (strcmp(name, "attn") == 0) {
        compare_attention(c, index, data, (size_t)rows);
        compare_last_row(c, index, data, (size_t)rows);
    } else if (strcmp(name, "erc") == 0 || strcmp(name, "erc_tiles") == 0) {
        (void)snprintf(tensor, sizeof tensor, "img%d.erc%s",
                       name[3] ? c->tile_grid[index] : c->whole_grid[index],
                       c->counts_deepstack ? "_ds" : "");
        size_t n_stored;
        const float *expected = s2_hf_floats(c->golden, tensor, &n_stored);
        const float allowed = (float)(ERC_TOLERANCE * c->verdict->where->slack *
                                      (c->has_states ? STATE_ERC_LOOSER : 1.0));
        for (size_t i = 0; expected && i < n && i < n_stored; i++)
            if (!(fabsf(expected[i] - data[i]) <= allowed * fabsf(expected[i]))) {
                s2_differs(c->verdict, "%s: expected %.9g at %zu, got %.9g", tensor,
                           (double)expected[i], i, (double)data[i]);
                break;
            }
    }
}

static void compare_plan(hf_case *c, const s2v_session *session, int32_t grid, const s2p_plan *plan)
{
    char name[32];
    size_t n_stored;
    int32_t n = 0;
    (void)snprintf(name, sizeof name, "img%d.kept%s", grid, c->counts_deepstack ? "_ds" : "");
    const int32_t *expected = s2_hf_ints(c->golden, name, &n_stored);
    const int32_t *got = plan ? s2p_plan_keep(plan, &n) : NULL;
    if (!expected || !got || (size_t)n != n_stored ||
        memcmp(expected, got, n_stored * sizeof *got) != 0)
        s2_differs(c->verdict, "%s (%s pair, cache %d): other tokens kept", name, c->pair,
                   (int)session->options.kv_type);
    if (!c->counts_deepstack && got) s2_hf_check_budgets(c, grid, got, n);
}

static void compare_kept(hf_case *c, const s2v_session *session)
{
    for (int32_t i = 0; i < c->n_pictures; i++) {
        compare_plan(c, session, c->whole_grid[i], s2v_session_plan(session, i));
        if (c->tile_grid[i] >= 0)
            compare_plan(c, session, c->tile_grid[i], s2v_session_tile_plan(session, i));
    }
}

static void compare_answer(hf_case *c, s2v_session *session)
{
    size_t n_stored, n = 0;
    s2p_error error = { S2P_OK, "" };
    const int32_t *expected = s2_hf_ints(c->golden, "tokens", &n_stored), *got;
    size_t n_logits = 0;
    const float *logits = s2_hf_floats(c->golden, "step_logits", &n_logits);
    const size_t width = (size_t)session->engine->model.decoder.p.n_vocab;
    const bool has_steps = logits && expected && n_logits == n_stored * width &&
                           strcmp(c->pair, "f32") == 0 && !c->verdict->case_failed;
    for (size_t i = 0; expected && i < n_stored; i++) {
        int done;
        char text[64];
        if (s2v_session_next(session, text, sizeof text, &done, &error) != S2P_OK) {
            s2_differs(c->verdict, "token %zu: %s", i, error.message);
            return;
        }
        if (has_steps)
            s2_hf_compare_rows(c, "step_logits", logits + i * width, 1, width,
                               s2v_session_logits(session), NULL, 1);
    }
    got = s2v_session_tokens(session, &n);
    for (size_t i = 0; expected && i < n_stored; i++)
        if (expected[i] != got[i]) {
            s2_differs(c->verdict, "tokens (%s pair): expected %d at %zu, got %d", c->pair,
                       expected[i], i, got[i]);
            return;
        }
}

/* --- running --------------------------------------------------------------------- */

/* With a cache that rounds, only the kept tokens; nothing where the heads do not fit its blocks. */
static void run_session(hf_case *c, s2v_engine *engine, s2v_kv_type type, const char *prompt,
                        const int32_t *after, const s2p_method *own)
{
    s2v_session_options options;
    s2v_session_options_init(&options);
    options.kv_type = type;
    options.sampling.ignore_eos = 1;
    s2p_error error = { S2P_OK, "" };
    s2v_session *session;
    const s2p_status st = s2v_session_create(&session, engine, &options, &error);
    if (st == S2P_EUNSUPPORTED && type == S2V_KV_Q8_0) return;
    if (st != S2P_OK) {
        s2_differs(c->verdict, "%s", error.message);
        return;
    }
    c->n_seen = c->n_views_seen = 0;
    const s2v_tower *tower = &session->engine->model.tower;
    c->n_blocks = tower->n_blocks;
    c->merge = s2v_gguf_find_tensor(c->golden, "image_grid_thw") ? 1 : tower->merge;
    const s2v_decoder_params *params = &session->engine->model.decoder.p;
    c->pair_dim = params->rotates_neighbours ? params->head_dim : 0;
    const bool is_unrounded = type == S2V_KV_F32;
    const bool is_exact = is_unrounded && strcmp(c->pair, "f32") == 0;
    if (is_exact && !c->keeps_choice) s2v_session_set_trace(session, tap, c);
    session->trace.attention = s2v_gguf_find_tensor(c->golden, "k0_rope") ||
                               s2v_gguf_find_tensor(c->golden, "attn.rows") ||
                               s2v_gguf_find_tensor(c->golden, "attn.received.3");
    const s2v_prompt p = { .size = sizeof(s2v_prompt),
                           .raw = prompt,
                           .images = c->view,
                           .n_images = c->n_pictures,
                           .image_options = c->size };
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    if (c->is_pruned) {
        prune.method = own ? NULL : "s2prune";
        prune.own_method = own;
        prune.after = after;
        prune.image_budget = c->budget;
        prune.image_side = c->side;
        if (c->n_views[0] > 0 || c->tile_grid[0] >= 0) {
            prune.tile_budget = c->tile_budget;
            prune.tile_side = c->tile_side;
        }
    }
    s2p_parameters parameters;
    const s2p_method *method = s2p_method_find("s2prune");
    s2p_parameters_init(method, &parameters);
    (void)s2p_parameters_set(method, &parameters, "erc_deepstack", "1", NULL);
    if (c->counts_deepstack) prune.parameters = &parameters;
    if (s2v_session_prefill(session, &p, &prune, NULL, &error) != S2P_OK) {
        s2_differs(c->verdict, "%s", error.message);
    } else if (c->counts_deepstack || c->keeps_choice) { /* no answer is recorded for it */
        compare_kept(c, session);
        for (int32_t i = 0; c->keeps_choice && i < c->n_pictures; i++) {
            const int32_t *kept = s2p_plan_keep(s2v_session_plan(session, i), &c->n_chosen[i]);
            c->chosen[i] = malloc(((size_t)c->n_chosen[i] + 1) * sizeof *kept);
            if (c->chosen[i])
                memcpy(c->chosen[i], kept, (size_t)c->n_chosen[i] * sizeof *kept);
            else
                c->n_chosen[i] = -1;
        }
    } else {
        s2v_engine_info info;
        s2v_engine_get_info(engine, &info);
        if (is_exact) s2_hf_check_tower_whole(c);
        if (is_exact)
            s2_hf_compare_values(c, "logits_last", s2v_session_logits(session),
                                 (size_t)info.n_vocab);
        if (is_exact) compare_positions(c, &session->rows);
        if (is_exact) compare_past(c, session);
        if (is_exact && c->has_states) s2_hf_compare_past(c, session, false);
        int64_t next_pos;
        if (s2v_gguf_int(c->golden, "case.next_pos", &next_pos))
            s2_same_number(c->verdict, "case.next_pos", next_pos, session->next_pos);
        if (c->is_pruned) compare_kept(c, session);
        if (is_unrounded) compare_answer(c, session);
        if (is_exact && c->has_states) s2_hf_compare_past(c, session, true);
    }
    s2v_session_free(session);
}

/* The tokens that another session chose of each picture. */
static s2p_status keep_chosen(const s2p_view *view, s2p_grid grid, int32_t *keep, int32_t *n_keep,
                              void *user, s2p_error *error)
{
    const hf_case *c = user;
    (void)grid;
    if (view->picture >= c->n_pictures || *n_keep != c->n_chosen[view->picture])
        return s2_fail(error, S2P_EINVAL, "the budget differs from the recorded one");
    memcpy(keep, c->chosen[view->picture], (size_t)*n_keep * sizeof *keep);
    return S2P_OK;
}

/* A case that prunes after another layer than the one whose ERC it ranks by: the tokens come from a session
 * that prunes where it looks, and are compared there as well. */
static s2p_status make_chosen(hf_case *c, s2v_engine *engine, int32_t layer, const char *prompt,
                              s2p_method **own, s2p_error *error)
{
    c->keeps_choice = true;
    run_session(c, engine, S2V_KV_F32, prompt, &layer, NULL);
    c->keeps_choice = false;
    s2p_method_definition definition;
    s2p_method_definition_init(&definition);
    definition.name = "chosen";
    definition.function = keep_chosen;
    definition.user = c;
    return s2p_method_make(own, &definition, error);
}

static s2p_status run_pair(hf_case *c, const char *pair, s2p_error *error)
{
    char prompt[4096];
    c->pair = pair;
    if (!s2_hf_text(c->full, "case.prompt", prompt, sizeof prompt))
        return s2_fail(error, S2P_EFORMAT, "the case has no prompt");
    s2v_engine *engine;
    const s2p_status st =
        s2_hf_open_pair(c->folder, pair, c->verdict, s2v_engine_open, &engine, error);
    if (st != S2P_OK) return st;
    s2_hf_check_ids(c, engine, prompt);
    c->has_states = engine->model.decoder.p.attends_every > 1;
    int64_t cut = 0, erc_layer = 0;
    const bool is_told = s2v_gguf_int(c->golden, "case.cut_after_layer", &cut) &&
                         s2v_gguf_int(c->golden, "case.erc_layer", &erc_layer);
    const int32_t cut_after = (int32_t)cut, *after = is_told ? &cut_after : NULL;
    s2p_method *own = NULL;
    if (is_told && cut != erc_layer)
        TRY(make_chosen(c, engine, (int32_t)erc_layer, prompt, &own, error));
    run_session(c, engine, S2V_KV_F32, prompt, after, own);
    if (c->is_pruned) run_session(c, engine, S2V_KV_F16, prompt, after, own);
    if (c->is_pruned) run_session(c, engine, S2V_KV_Q8_0, prompt, after, own);
    s2p_method_free(own);
    for (int32_t i = 0; i < HF_MAX_PICTURES; i++) free(c->chosen[i]);
    memset(c->chosen, 0, sizeof c->chosen);
    c->counts_deepstack = s2v_gguf_find_tensor(c->golden, "img0.kept_ds") != NULL;
    if (c->counts_deepstack) run_session(c, engine, S2V_KV_F32, prompt, NULL, NULL);
    c->counts_deepstack = false;
    s2v_engine_close(engine);
    return S2P_OK;
}

/* --- one file ---------------------------------------------------------------------- */

static s2p_status check_preprocess(hf_case *c, s2p_error *error)
{
    s2v_engine *engine;
    const s2p_status st =
        s2_hf_open_pair(c->folder, "f32", c->verdict, s2v_engine_open, &engine, error);
    if (st != S2P_OK) return st;
    s2_hf_check_pixels(c, &engine->model);
    s2v_engine_close(engine);
    return S2P_OK;
}

static bool has_pictures(const s2v_gguf *full)
{
    return s2v_gguf_find_tensor(full, "image_grid_thw") || s2v_gguf_find_tensor(full, "image_span");
}

static s2p_status check_case(hf_case *c, const char *path, s2p_error *error)
{
    char name[64], full[HF_PATH_CAPACITY];
    s2v_engine *engine =
        NULL; /* a model that does not run is told before its pictures are looked for */
    s2p_status st =
        s2_hf_open_pair(c->folder, "f32", c->verdict, s2v_engine_outline, &engine, error);
    if (st != S2P_OK) return st;
    if (!s2_hf_text(c->golden, "case.name", name, sizeof name)) {
        s2v_engine_close(engine);
        return check_preprocess(c, error);
    }
    c->is_pruned = s2v_gguf_find_tensor(c->golden, "img0.kept") != NULL;
    const int folder = strrchr(path, '/') ? (int)(strrchr(path, '/') - path) + 1 : 0;
    (void)snprintf(full, sizeof full, "%.*sfull_%s.gguf", folder, path, name);
    st = s2v_gguf_open(&c->full, c->is_pruned ? full : path, error);
    if (st == S2P_EIO && c->is_pruned) { /* the prompt may stand with the model */
        (void)snprintf(full, sizeof full, "%.3900s/full_%s.gguf", c->folder, name);
        st = s2v_gguf_open(&c->full, full, error);
    }
    bool is_read = st == S2P_OK;
    if (is_read && has_pictures(c->full))
        is_read =
            s2_hf_is_tiled(c->full) ? s2_hf_read_tiles(c, &engine->model) : s2_hf_read_case(c);
    is_read = is_read && s2_hf_read_budgets(c);
    s2v_engine_close(engine);
    if (st == S2P_OK && !is_read) return S2P_OK;
    if (st == S2P_OK) st = run_pair(c, "f32", error);
    if (st == S2P_OK) st = run_pair(c, "f16", error);
    return st;
}

s2p_status s2_check_hf(const char *path, const char *arrays, s2_verdict *verdict, s2p_error *error)
{
    *verdict = (s2_verdict){ .n_cases = 1, .label = "case", .where = verdict->where };
    s2_buffer_init(&verdict->lines, 4096);
    hf_case c = { .verdict = verdict };
    s2_hf_find_folder(path, arrays, c.folder);
    s2_hf_read_tower(&c);
    s2p_status st = s2v_gguf_open(&c.golden, path, error);
    if (st == S2P_OK) st = check_case(&c, path, error);
    if (st != S2P_OK && st != S2P_EUNSUPPORTED) s2_malformed(verdict, "%s", error->message);
    verdict->n_failed = verdict->case_failed;
    for (int32_t i = 0; i < c.n_pictures; i++) s2_image_free(&c.picture[i]);
    s2v_gguf_close(c.full);
    s2v_gguf_close(c.golden);
    return st == S2P_EUNSUPPORTED ? st : S2P_OK;
}

bool s2_is_hf_golden(const char *path)
{
    s2v_gguf *file;
    char arch[32];
    if (s2v_gguf_open(&file, path, NULL) != S2P_OK) return false;
    const bool is_ours = s2_hf_text(file, "general.architecture", arch, sizeof arch) &&
                         strcmp(arch, "s2prune-golden") == 0;
    s2v_gguf_close(file);
    return is_ours;
}
