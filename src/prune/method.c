/* method.c - what all methods have in common: refusals, rows alive, the budget of a stage.
 *
 * A method may trust what passed here: every signal it asked for is there, has a
 * size, and holds finite numbers only.
 */
#include "prune/parameters.h"
#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>

int32_t s2p_view_rows(const s2p_view *view, const s2p_plan *plan)
{
    return view->alive ? view->n_alive : s2p_tokens(plan->grid);
}

int32_t s2p_stage_budget(const s2p_view *view, const s2p_plan *plan, int32_t n_stages)
{
    const double n = s2p_tokens(plan->grid);
    const int32_t rows = s2p_view_rows(view, plan), left = n_stages - view->stage - 1;
    int32_t leave = view->budget;
    if (left > 0)
        leave = (int32_t)rint(view->budget * pow(n / view->budget, left / (double)n_stages));
    if (leave < view->budget) leave = view->budget;
    return leave < rows ? leave : rows;
}

s2p_status s2p_keep_rows(const s2p_view *view, s2p_plan *plan, const int32_t *row, int32_t n)
{
    s2p_plan_clear(plan);
    if (n > s2p_tokens(plan->grid)) return S2P_EBUDGET;
    for (int32_t i = 0; i < n; i++) plan->order[i] = s2p_view_token(view, row[i]);
    return s2p_plan_take(plan, plan->order, n);
}

s2p_status s2p_keep_best(const s2p_view *view, s2p_plan *plan, const double *score, int32_t k)
{
    int32_t *row = malloc((size_t)k * sizeof *row);
    if (!row) return S2P_ENOMEM;
    s2p_status st = s2p_rank(score, s2p_view_rows(view, plan), k, row);
    if (st == S2P_OK) st = s2p_keep_rows(view, plan, row, k);
    free(row);
    return st;
}

/* --- what a view brings ------------------------------------------------------- */

uint32_t s2p_view_missing(const s2p_view *view, uint32_t needs)
{
    const s2p_taps *t = &view->taps;
    const bool has_heads = t->n_heads > 0 && t->n_kv_heads > 0 && t->head_dim > 0;
    uint32_t have = 0;
    if (t->vision_attn && t->vision_heads > 0) have |= S2P_NEED_VISION_ATTN;
    if (t->vision_key && t->vision_key_dim > 0) have |= S2P_NEED_VISION_KEY;
    if (t->text && t->n_text > 0 && t->text_dim > 0) have |= S2P_NEED_TEXT;
    if (t->last_query && has_heads) have |= S2P_NEED_LAST_QUERY;
    if (t->mean_query && has_heads) have |= S2P_NEED_MEAN_QUERY;
    if (t->plain_key && has_heads) have |= S2P_NEED_PLAIN_KEY;
    if (t->rotated_key && t->n_kv_heads > 0 && t->head_dim > 0 && t->n_prompt > 0)
        have |= S2P_NEED_ROTATED_KEY;
    if (t->normed && t->normed_dim > 0 && t->n_prompt > 0) have |= S2P_NEED_NORMED;
    return s2p_missing_signals(&view->signals, needs) & ~have;
}

static bool is_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* The needs among `needs` whose arrays hold a NaN or an infinity. */
static uint32_t broken_signals(const s2p_view *view, const s2p_plan *plan, uint32_t needs)
{
    const s2p_signals *s = &view->signals;
    const s2p_taps *t = &view->taps;
    const size_t n = (size_t)s2p_tokens(plan->grid), rows = (size_t)s2p_view_rows(view, plan);
    const size_t kv = (size_t)t->n_kv_heads * (size_t)t->head_dim;
    const size_t q = (size_t)t->n_heads * (size_t)t->head_dim;
    const struct {
        uint32_t need;
        const float *data;
        size_t count;
    } arrays[] = {
        { S2P_NEED_ERC, s->erc, rows },
        { S2P_NEED_HIDDEN, s->hidden, rows * (size_t)s->hidden_dim },
        { S2P_NEED_FEATURE, s->feature, n * (size_t)s->feature_dim },
        { S2P_NEED_QUERY_ATTN | S2P_NEED_LAST_ATTN, s->query_attn, rows * (size_t)s->n_queries },
        { S2P_NEED_VISION_ATTN, t->vision_attn, n * (size_t)t->vision_heads },
        { S2P_NEED_VISION_KEY, t->vision_key, n * (size_t)t->vision_key_dim },
        { S2P_NEED_TEXT, t->text, (size_t)t->n_text * (size_t)t->text_dim },
        { S2P_NEED_TEXT, t->aligned, t->aligned ? n * (size_t)t->text_dim : 0 },
        { S2P_NEED_LAST_QUERY, t->last_query, q },
        { S2P_NEED_MEAN_QUERY, t->mean_query, q },
        { S2P_NEED_PLAIN_KEY, t->plain_key, rows * kv },
        { S2P_NEED_ROTATED_KEY, t->rotated_key, (size_t)t->n_prompt * kv },
        { S2P_NEED_NORMED, t->normed, (size_t)t->n_prompt * (size_t)t->normed_dim },
    };
    uint32_t broken = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if ((arrays[i].need & needs) && !is_finite(arrays[i].data, arrays[i].count))
            broken |= arrays[i].need;
    return broken;
}

/* --- running ------------------------------------------------------------------ */

static bool is_alive_list(const s2p_view *view, const s2p_plan *plan)
{
    if (!view->alive) return true;
    if (view->n_alive < 1 || view->n_alive > s2p_tokens(plan->grid)) return false;
    for (int32_t i = 0; i < view->n_alive; i++)
        if (view->alive[i] < (i ? view->alive[i - 1] + 1 : 0) ||
            view->alive[i] >= s2p_tokens(plan->grid))
            return false;
    return true;
}

static s2p_status check_signals(const s2p_method *method, const s2p_view *view,
                                const s2p_plan *plan, s2p_error *error)
{
    const uint32_t missing = s2p_view_missing(view, s2p_method_needs(method, &view->choice));
    if (missing)
        return s2p_refuse(error, S2P_EINVAL, "method '%s' needs %s", method->name,
                          s2p_need_text(missing));
    const uint32_t broken = broken_signals(view, plan, method->needs);
    if (broken)
        return s2p_refuse(error, S2P_EINVAL, "method '%s': %s: a value is not finite", method->name,
                          s2p_need_text(broken));
    return S2P_OK;
}

static s2p_status keep_all(const s2p_view *view, s2p_plan *plan)
{
    const int32_t n = s2p_view_rows(view, plan);
    s2p_plan_clear(plan);
    for (int32_t i = 0; i < n; i++) plan->order[i] = s2p_view_token(view, i);
    return s2p_plan_take(plan, plan->order, n);
}

s2p_status s2p_method_run(const s2p_method *method, const s2p_view *view, s2p_plan *plan,
                          s2p_error *error)
{
    s2p_plan_clear(plan);
    if (view->budget < 1)
        return s2p_refuse(error, S2P_EBUDGET, "budget %d keeps nothing; the least is 1",
                          view->budget);
    if (view->stage < 0 || view->stage >= method->n_stages || !is_alive_list(view, plan) ||
        (view->alive && method->n_stages == 1))
        return s2p_refuse(error, S2P_EINVAL, "method '%s': no such stage, or rows out of order",
                          method->name);
    /* Published schedules go on below the budget; ours stop there. */
    const int32_t n =
        view->mode == S2P_MODE_PUBLISHED ? s2p_tokens(plan->grid) : s2p_view_rows(view, plan);
    if (view->budget >= n) return keep_all(view, plan);

    s2p_parameters own;
    s2p_view shown = *view;
    s2p_parameters_init(method, &own);
    if (!shown.parameters) shown.parameters = &own;
    s2p_status st = s2p_parameters_check(method, shown.parameters, error);
    if (st == S2P_OK) st = check_signals(method, &shown, plan, error);
    if (st != S2P_OK) return st;
    s2p_error why = { S2P_OK, "" };
    st = method->select(&shown, plan, &why);
    if (st == S2P_OK) return S2P_OK;
    s2p_plan_clear(plan);
    if (why.message[0]) return s2p_refuse(error, st, "%s", why.message);
    return s2p_refuse(error, st, "method '%s': %s", method->name, s2p_status_text(st));
}
