/* method.c - what all methods have in common: refusals, rows alive, the budget of a stage.
 *
 * A method may trust what passed here: every signal it asked for is there, has its shape, and
 * holds finite numbers only; every parameter has a value it may have.
 */
#include "prune/own_method.h"
#include "prune/parameters.h"
#include "prune/ranking.h"
#include "prune/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* --- where ------------------------------------------------------------------- */

s2p_status s2p_method_check_after(const s2p_method *method, const s2p_choice *choice, s2p_mode mode,
                                  int32_t after, s2p_error *error)
{
    const s2p_method_info *about = &method->about;
    if (about->keeps_all) return S2P_OK;
    if (after < S2P_BEFORE_DECODER)
        return s2p_refuse(error, S2P_EINVAL,
                          "there is no layer %d; %d is before the decoder, 0 its first layer",
                          after, S2P_BEFORE_DECODER);
    if (about->n_stages != 1)
        return s2p_refuse(error, S2P_EUNSUPPORTED,
                          "method '%s' prunes in %d stages; only a method of one stage can prune "
                          "after another layer",
                          about->name, about->n_stages);
    const uint32_t of_decoder = s2p_method_needs(method, choice) & s2p_signals_of_decoder();
    if (after == S2P_BEFORE_DECODER && of_decoder)
        return s2p_refuse(error, S2P_EUNSUPPORTED,
                          "method '%s' needs %s of a decoder layer, so it cannot prune before the "
                          "decoder; the first layer is 0",
                          about->name, s2p_need_text(of_decoder));
    if (mode == S2P_MODE_PUBLISHED && about->after[0] == S2P_BEFORE_DECODER &&
        after != S2P_BEFORE_DECODER)
        return s2p_refuse(
            error, S2P_EUNSUPPORTED,
            "method '%s' as published prunes before the decoder; use mode default for "
            "another layer",
            about->name);
    return S2P_OK;
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
    const uint32_t needs = s2p_method_needs(method, &view->choice);
    const uint32_t missing = s2p_view_missing(view, needs);
    char who[80];
    (void)snprintf(who, sizeof who, "method '%s'", method->about.name);
    if (missing) return s2p_refuse(error, S2P_EINVAL, "%s needs %s", who, s2p_need_text(missing));
    s2p_status st = s2p_view_check_shapes(view, plan, needs | method->about.takes, who, error);
    if (st == S2P_OK) st = s2p_view_check_values(view, needs | method->about.takes, who, error);
    return st;
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
    if (!method || !view || !plan)
        return s2p_refuse(error, S2P_EINVAL, "a method, a view and a plan are required");
    s2p_plan_clear(plan);
    if (view->budget < 1)
        return s2p_refuse(error, S2P_EBUDGET, "budget %d keeps nothing; the least is 1",
                          view->budget);
    if (view->stage < 0 || view->stage >= method->about.n_stages || !is_alive_list(view, plan))
        return s2p_refuse(error, S2P_EINVAL, "method '%s': no such stage, or rows out of order",
                          method->about.name);
    /* Published schedules go on below the budget; ours stop there. */
    const bool has_schedule = view->mode == S2P_MODE_PUBLISHED && method->about.n_stages > 1;
    const int32_t n = has_schedule ? s2p_tokens(plan->grid) : s2p_view_rows(view, plan);
    if (view->budget >= n) return keep_all(view, plan);

    s2p_parameters own;
    s2p_view shown = *view;
    s2p_parameters_init(method, &own);
    if (!shown.parameters) shown.parameters = &own;
    s2p_status st = s2p_parameters_check(method, shown.parameters, error);
    if (st == S2P_OK) st = check_signals(method, &shown, plan, error);
    if (st != S2P_OK) return st;
    s2p_error why = { S2P_OK, "" };
    const int32_t leave = s2p_stage_budget(&shown, plan, method->about.n_stages);
    if (method->function)
        st = s2p_own_method_run(method, &shown, leave, plan, &why);
    else
        st = method->select(&shown, plan, &why);
    if (st == S2P_OK) return S2P_OK;
    s2p_plan_clear(plan);
    if (why.message[0]) return s2p_refuse(error, st, "%s", why.message);
    return s2p_refuse(error, st, "method '%s': %s", method->about.name, s2p_status_text(st));
}
