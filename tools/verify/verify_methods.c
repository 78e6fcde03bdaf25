/* verify_methods.c - published methods that only select, against what their authors' code selected.
 *
 * Indices must be equal; scores to 1e-4 relative, 2e-5 absolute.
 */
#include "verify/checks.h"
#include "verify/trial.h"

#include "prune/methods/dart.h"
#include "prune/methods/gprune.h"
#include "prune/ranking.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RELATIVE 1e-4

/* --- a case ----------------------------------------------------------------------- */

typedef struct numbers {
    int32_t budget, image_start, n_after, dominant_incl_cls, dominant, contextual;
} numbers;

static const struct {
    const char *key;
    size_t offset;
} whole_keys[] = {
    { "B", offsetof(numbers, budget) },
    { "retain", offsetof(numbers, budget) },
    { "image_start", offsetof(numbers, image_start) },
    { "n_after", offsetof(numbers, n_after) },
    { "dominant_incl_cls", offsetof(numbers, dominant_incl_cls) },
    { "dominant", offsetof(numbers, dominant) },
    { "contextual", offsetof(numbers, contextual) },
};

/* Every number the command is told; those a case does not have stay 0. */
static bool read_numbers(const json_t *c, numbers *out, s2_verdict *verdict)
{
    *out = (numbers){ .budget = 0 };
    for (size_t i = 0; i < sizeof whole_keys / sizeof *whole_keys; i++) {
        const json_t *value = json_object_get(c, whole_keys[i].key);
        if (!json_is_integer(value)) continue; /* "B": "official70" is a label */
        const json_int_t wide = json_integer_value(value);
        if (wide < 0 || wide > S2P_MAX_TOKENS) {
            s2_malformed(verdict, "'%s' is %lld", whole_keys[i].key, (long long)wide);
            return false;
        }
        const int32_t number = (int32_t)wide;
        memcpy((char *)out + whole_keys[i].offset, &number, sizeof number);
    }
    if (out->dominant_incl_cls > 1) out->dominant = out->dominant_incl_cls - 1;
    /* Where the case has no budget the method has its own count; any real pruning will do. */
    if (out->budget == 0) out->budget = out->dominant + out->contextual;
    if (out->budget == 0) out->budget = 1;
    return true;
}

static bool read_field(const json_t *c, const char *name, s2_trial *t, s2_verdict *verdict)
{
    s2_array array = { .data = NULL };
    s2p_error error = { S2P_OK, "" };
    if (!s2_take_array(c, name, &array, verdict)) return false;
    s2p_status st = S2P_EFORMAT;
    if (array.data)
        st = s2_golden_fields_take(&t->fields, s2_field_named(name), &array,
                                   json_string_value(json_object_get(c, name)), &error);
    else
        s2_fail(&error, st, "'%s' is missing", name);
    s2_array_free(&array);
    if (st != S2P_OK) s2_malformed(verdict, "%s", error.message);
    return st == S2P_OK;
}

/* Methods but FEATHER do not look at the grid: a number of tokens that is no square is a row. */
static s2p_grid grid_of(int32_t n)
{
    const int32_t side = (int32_t)rint(sqrt((double)n));
    return side * side == n ? (s2p_grid){ side, side } : (s2p_grid){ 1, n };
}

bool s2_trial_read(const json_t *c, const char *method, const char *const *fields, s2_trial *out,
                   s2_verdict *verdict)
{
    *out = (s2_trial){ .n = 0 };
    numbers given;
    if (!s2_take_int(c, "N", &out->n, verdict) || !read_numbers(c, &given, verdict)) return false;
    const s2p_grid grid = out->n > 0 ? grid_of(out->n) : (s2p_grid){ 0, 0 };
    const s2p_status st = s2p_plan_create(&out->plan, grid);
    if (st != S2P_OK) {
        s2_malformed(verdict, "'N' is %d: %s", out->n, s2p_status_text(st));
        return false;
    }
    out->recorded = (s2_recorded){ .method = s2p_method_find(method),
                                   .grid = grid,
                                   .image_start = given.image_start,
                                   .n_after = given.n_after };
    out->fields.of = &out->recorded;
    for (; *fields; fields++)
        if (!read_field(c, *fields, out, verdict)) return false;
    out->view = (s2p_view){ .budget = given.budget, .mode = S2P_MODE_PUBLISHED };
    s2p_error error = { S2P_OK, "" };
    s2p_parameters_init(out->recorded.method, &out->parameters);
    for (size_t i = 0; s2p_method_parameter(out->recorded.method, i); i++) {
        const s2p_parameter *p = s2p_method_parameter(out->recorded.method, i);
        double value = json_number_value(json_object_get(c, p->name));
        if (strcmp(p->name, "dominant") == 0) value = given.dominant;
        if (value == 0.0) continue; /* the parameter keeps its default */
        char text[40];
        (void)snprintf(text, sizeof text, "%.17g", value);
        if (s2p_parameters_set(out->recorded.method, &out->parameters, p->name, text, &error) !=
            S2P_OK) {
            s2_malformed(verdict, "%s", error.message);
            return false;
        }
    }
    out->view.parameters = &out->parameters;
    s2_recorded_view(&out->recorded, &out->view);
    if (s2_golden_fields_show(&out->fields, &out->view, &error) == S2P_OK) return true;
    s2_malformed(verdict, "%s", error.message);
    return false;
}

bool s2_trial_run(s2_trial *trial, s2_verdict *verdict)
{
    s2p_error error = { S2P_OK, "" };
    if (s2p_method_run(trial->recorded.method, &trial->view, trial->plan, &error) != S2P_OK) {
        s2_differs(verdict, "refused: %s", error.message);
        return false;
    }
    trial->keep = s2p_plan_keep(trial->plan, &trial->n_keep);
    trial->order = s2p_plan_order(trial->plan, &trial->n_keep);
    return true;
}

void s2_trial_free(s2_trial *trial)
{
    s2_golden_fields_free(&trial->fields);
    s2_recorded_free(&trial->recorded);
    s2p_plan_free(trial->plan);
}

/* --- comparisons -------------------------------------------------------------------- */

bool s2_expect_ints(const json_t *c, const char *key, const int32_t *got, size_t n,
                    s2_verdict *verdict)
{
    s2_ints expected;
    if (!s2_take_ints(c, key, &expected, verdict)) return false;
    const bool same = s2_same_ints(verdict, key, &expected, got, n);
    free(expected.data);
    return same;
}

size_t s2_count_unlike(const float *expected, const double *got, size_t n, double absolute,
                       size_t *worst)
{
    size_t count = 0;
    for (size_t i = n; i-- > 0;) {
        const double want = (double)expected[i];
        if (fabs(got[i] - want) <= absolute + RELATIVE * fabs(want)) continue;
        *worst = i;
        count++;
    }
    return count;
}

bool s2_expect_reals(const json_t *c, const char *key, const double *got, size_t n, double absolute,
                     size_t allowed, s2_verdict *verdict)
{
    s2_array expected = { .data = NULL };
    if (!s2_take_array(c, key, &expected, verdict)) return false;
    bool same = false;
    size_t worst = 0;
    if (!expected.data || expected.type != S2_F32)
        s2_malformed(verdict, "'%s' is missing or not float32", key);
    else if (expected.count != n)
        s2_differs(verdict, "%s: expected %zu values, got %zu", key, expected.count, n);
    else if (s2_count_unlike(expected.data, got, n, absolute, &worst) > allowed)
        s2_differs(verdict, "%s: expected %.9g at %zu, got %.9g", key,
                   (double)((const float *)expected.data)[worst], worst, got[worst]);
    else
        same = true;
    s2_array_free(&expected);
    return same;
}

void s2_trial_rows(const s2_trial *trial, const float *x, int32_t dim, const int32_t *token,
                   int32_t n, double *out)
{
    int32_t n_merges;
    const s2p_merge *merge = s2p_plan_merges(trial->plan, &n_merges);
    for (int32_t i = 0; i < n; i++) {
        double *row = out + (ptrdiff_t)i * dim;
        for (int32_t d = 0; d < dim; d++) row[d] = (double)x[(ptrdiff_t)token[i] * dim + d];
        for (int32_t m = 0; m < n_merges; m++) {
            if (merge[m].into != token[i]) continue;
            const float *from = x + (ptrdiff_t)merge[m].from * dim;
            for (int32_t d = 0; d < dim; d++) row[d] += merge[m].weight * (double)from[d];
        }
    }
}

/* --- methods ------------------------------------------------------------------------- */

typedef void (*look)(const json_t *c, s2_trial *trial, s2_verdict *verdict);

/* The whole of most checks: `selected`, and what `more` looks at. */
static void check(const json_t *c, const char *method, const char *const *fields, look more,
                  s2_verdict *verdict)
{
    s2_trial trial;
    if (s2_trial_read(c, method, fields, &trial, verdict) && s2_trial_run(&trial, verdict) &&
        s2_expect_ints(c, "selected", trial.keep, (size_t)trial.n_keep, verdict) && more)
        more(c, &trial, verdict);
    s2_trial_free(&trial);
}

void s2_check_fastv(const json_t *c, s2_verdict *verdict)
{
    check(c, "fastv", (const char *const[]){ "input", NULL }, NULL, verdict);
}

void s2_check_vispruner(const json_t *c, s2_verdict *verdict)
{
    check(c, "vispruner", (const char *const[]){ "feat", "attn_heads", NULL }, NULL, verdict);
}

void s2_check_cdpruner(const json_t *c, s2_verdict *verdict)
{
    check(c, "cdpruner", (const char *const[]){ "feat", "img_embed", "txt_embed", NULL }, NULL,
          verdict);
}

static void look_at_order(const json_t *c, s2_trial *trial, s2_verdict *verdict)
{
    s2_expect_ints(c, "order", trial->order, (size_t)trial->n_keep, verdict);
}

void s2_check_divprune(const json_t *c, s2_verdict *verdict)
{
    check(c, "divprune", (const char *const[]){ "feat", NULL }, look_at_order, verdict);
}

/* A score of all tokens, where the method has one; 2 may differ where the case says so. */
static void look_at_score(const json_t *c, s2_trial *trial, size_t allowed, s2_verdict *verdict,
                          s2p_status (*score_of)(const s2_trial *trial, double *score))
{
    double *score = malloc((size_t)trial->n * sizeof *score);
    if (score && score_of(trial, score) == S2P_OK)
        s2_expect_reals(c, "score", score, (size_t)trial->n, S2_SCORE_TOLERANCE, allowed, verdict);
    else
        s2_differs(verdict, "score: refused");
    free(score);
}

static s2p_status gprune_score(const s2_trial *trial, double *score)
{
    return s2p_gprune_score(&trial->view, trial->n, score, NULL);
}

/* A cosine on the threshold to within float32 rounding moves two degrees by one. */
static void look_at_gprune(const json_t *c, s2_trial *trial, s2_verdict *verdict)
{
    look_at_score(c, trial, 2, verdict, gprune_score);
}

void s2_check_gprune(const json_t *c, s2_verdict *verdict)
{
    check(c, "gprune", (const char *const[]){ "feat", NULL }, look_at_gprune, verdict);
}

static s2p_status euti_score(const s2_trial *trial, double *score)
{
    const s2p_signal *signal = trial->view.signal, *hidden = &signal[S2P_HIDDEN];
    const int32_t dim = hidden->shape[1];
    const s2p_status st =
        s2p_head_attention(&signal[S2P_MEAN_QUERY], &signal[S2P_PLAIN_KEY], score, NULL);
    for (int32_t i = 0; st == S2P_OK && i < trial->n; i++) {
        const float *row = hidden->data + (ptrdiff_t)i * dim;
        score[i] *= sqrt(s2p_dot(row, row, dim));
    }
    return st;
}

static void look_at_euti(const json_t *c, s2_trial *trial, s2_verdict *verdict)
{
    look_at_score(c, trial, 0, verdict, euti_score);
}

void s2_check_euti(const json_t *c, s2_verdict *verdict)
{
    check(c, "euti", (const char *const[]){ "q", "k", "hidden", NULL }, look_at_euti, verdict);
}

static s2p_status feather_score(const s2_trial *trial, double *score)
{
    const s2p_signal *signal = trial->view.signal;
    return s2p_head_attention(&signal[S2P_LAST_QUERY], &signal[S2P_PLAIN_KEY], score, NULL);
}

static void look_at_feather(const json_t *c, s2_trial *trial, s2_verdict *verdict)
{
    look_at_score(c, trial, 0, verdict, feather_score);
}

void s2_check_feather(const json_t *c, s2_verdict *verdict)
{
    if (json_object_get(c, "stage1")) {
        /* Both stages; the second sees the attention of the first among those left. */
        s2_trial trial;
        s2_restricted later = { .made = { NULL } };
        int32_t *alive = NULL;
        if (s2_trial_read(c, "feather-full", (const char *const[]){ "q_last", "k_img", NULL },
                          &trial, verdict) &&
            s2_trial_run(&trial, verdict) &&
            s2_expect_ints(c, "stage1", trial.keep, (size_t)trial.n_keep, verdict)) {
            look_at_feather(c, &trial, verdict);
            const int32_t n_alive = trial.n_keep;
            alive = malloc((size_t)n_alive * sizeof *alive);
            if (alive) memcpy(alive, trial.keep, (size_t)n_alive * sizeof *alive);
            const s2p_view first = trial.view;
            if (alive && s2_restrict(&first, trial.n, alive, n_alive, &later) == S2P_OK) {
                trial.view = later.view;
                trial.view.stage = 1;
                if (s2_trial_run(&trial, verdict))
                    s2_expect_ints(c, "stage2", trial.keep, (size_t)trial.n_keep, verdict);
            } else {
                s2_differs(verdict, "no memory for the second stage");
            }
        }
        s2_restricted_free(&later);
        free(alive);
        s2_trial_free(&trial);
    } else
        check(c, "feather", (const char *const[]){ "q_last", "k_img", NULL }, look_at_feather,
              verdict);
}

/* Tokens in the order they come out, -1 for each row of zeros. */
static void look_at_holov(const json_t *c, s2_trial *trial, s2_verdict *verdict)
{
    const int32_t n = trial->n_keep + s2p_plan_blanks(trial->plan);
    int32_t *slot = malloc((size_t)n * sizeof *slot);
    if (!slot) {
        s2_differs(verdict, "no memory for %d slots", n);
        return;
    }
    for (int32_t i = 0; i < n; i++) slot[i] = i < trial->n_keep ? trial->order[i] : -1;
    s2_expect_ints(c, "selected_in_output_order", slot, (size_t)n, verdict);
    free(slot);
}

void s2_check_holov(const json_t *c, s2_verdict *verdict)
{
    check(c, "holov", (const char *const[]){ "feat", "attn", NULL }, look_at_holov, verdict);
}

/* --- DART ---------------------------------------------------------------------------- */

/* The same four pivots; equal norms may stand in any order. */
static bool same_pivots(const json_t *c, const char *key, int32_t *pivot, int32_t n,
                        int32_t *listed, s2_verdict *verdict)
{
    s2_ints expected;
    if (!s2_take_ints(c, key, &expected, verdict)) return false;
    int32_t sorted[S2P_DART_PIVOTS];
    bool same = expected.n == (size_t)n;
    for (int32_t i = 0; same && i < n; i++) {
        same = expected.data[i] >= 0 && expected.data[i] <= INT32_MAX;
        sorted[i] = listed[i] = (int32_t)expected.data[i];
    }
    if (same) {
        s2p_sort(sorted, n);
        s2p_sort(pivot, n);
        same = memcmp(sorted, pivot, (size_t)n * sizeof *sorted) == 0;
    }
    if (!same) s2_differs(verdict, "%s: other pivots", key);
    free(expected.data);
    return same;
}

static void look_at_dart(const json_t *c, s2_trial *trial, s2_verdict *verdict)
{
    s2p_pivots p;
    s2p_error error = { S2P_OK, "" };
    if (s2p_dart_pivots(&trial->view, trial->n, &p, &error) != S2P_OK) {
        s2_differs(verdict, "pivots: %s", error.message);
        return;
    }
    int32_t listed[2 * S2P_DART_PIVOTS], walked[2 * S2P_DART_PIVOTS];
    if (same_pivots(c, "pivot_image", p.visual, p.n_visual, listed, verdict) &&
        same_pivots(c, "pivot_text", p.text, p.n_text, listed + p.n_visual, verdict)) {
        s2p_python_set_order(listed, p.n_visual + p.n_text, walked);
        s2_expect_ints(c, "pivot_order_cpython", walked, (size_t)(p.n_visual + p.n_text), verdict);
    }
    int32_t *row = malloc((size_t)trial->n_keep * sizeof *row);
    for (int32_t i = 0; row && i < trial->n_keep; i++)
        row[i] = trial->keep[i] + trial->recorded.image_start;
    if (row) s2_expect_ints(c, "selected_abs", row, (size_t)trial->n_keep, verdict);
    free(row);
}

void s2_check_dart(const json_t *c, s2_verdict *verdict)
{
    check(c, "dart", (const char *const[]){ "hidden", "k", NULL }, look_at_dart, verdict);
}
