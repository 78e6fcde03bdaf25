/* search.c - bets on every candidate, chain by chain. */
#include "eval/tune/search.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

/* --- the bets --------------------------------------------------------------------------------- */

/* A question that loses d gains max_loss - d. Those of a picture are one bet: their sum as a share of the
 * largest group, so that the mean is over questions and no gain is below -(1 - max_loss). */
static void bet(const s2e_search *s, const s2e_outcomes *o, s2e_candidate *c, int32_t group)
{
    double sum = 0.0;
    for (int32_t q = o->group[group].first; q < o->group[group].last; q++) {
        const double gain = s->max_loss - s2e_outcomes_spent(o, &c->plan, q).loss;
        sum += gain;
        if (!s->by_question) continue;
        s2_evidence_add(&c->less, gain);
        s2_evidence_add(&c->more, -gain);
    }
    if (s->by_question) return;
    s2_evidence_add(&c->less, sum / o->largest_group);
    s2_evidence_add(&c->more, -sum / o->largest_group);
}

static bool is_ready(const s2e_outcomes *o, const s2e_candidate *c, int32_t group)
{
    return s2e_outcomes_has(o, 0, group) && s2e_outcomes_has(o, c->plan.column, group) &&
           (c->plan.then < 0 || s2e_outcomes_has(o, c->plan.then, group));
}

/* Even if no question of a picture still to come lost anything, and if all chains gave their error. */
static bool is_hopeless(const s2e_search *s, const s2e_outcomes *o, const s2e_candidate *c)
{
    const double questions = (double)o->n_questions / o->n_groups; /* of a picture */
    const double n_left = s->n_groups - c->n_seen, bets = s->by_question ? questions : 1.0;
    const double gain = s->max_loss * questions / bets / (s->by_question ? 1 : o->largest_group);
    return s2_evidence_after(&c->less, gain, (size_t)(n_left * bets)) < -log(1.0 - s->confidence);
}

/* The setting is accepted: test the next one of its chain. A chain that has reached its end gives its
 * share of the error to the others. */
static void accept(s2e_search *s, int32_t chain)
{
    const int32_t at = s->next[chain];
    s->candidate[at].verdict = S2E_ACCEPTED;
    const bool has_next = at + 1 < s->n && s->candidate[at + 1].chain == chain;
    s->next[chain] = has_next ? at + 1 : -1;
    if (has_next) return;
    int32_t n_others = 0;
    for (int32_t k = 0; k < s->n_chains; k++) n_others += k != chain && s->level[k] > 0.0;
    for (int32_t k = 0; k < s->n_chains && n_others > 0; k++)
        if (k != chain && s->level[k] > 0.0) s->level[k] += s->level[chain] / n_others;
    s->level[chain] = 0.0;
}

static bool is_accepted(const s2e_search *s, const s2e_candidate *c)
{
    return s2_evidence_highest(&c->less) >= -log(s->level[c->chain]);
}

static bool is_refused(const s2e_candidate *c)
{
    return s2_evidence_highest(&c->more) >= -log(S2E_REFUSED_AT);
}

/* The candidate at hand of a chain sees what is ready; true: it was accepted. */
static bool judge(s2e_search *s, const s2e_outcomes *o, int32_t chain, int32_t n_ready, bool is_end)
{
    s2e_candidate *c = &s->candidate[s->next[chain]];
    while (!is_accepted(s, c) && !is_refused(c) && c->n_seen < n_ready &&
           is_ready(o, c, s->order[c->n_seen])) {
        bet(s, o, c, s->order[c->n_seen]);
        c->n_seen++;
    }
    if (is_accepted(s, c)) {
        accept(s, chain);
        return true;
    }
    if (is_refused(c))
        c->verdict = S2E_TOO_MUCH;
    else if (is_end || is_hopeless(s, o, c))
        c->verdict = S2E_UNPROVEN;
    else
        return false;
    s->next[chain] = -1;
    return false;
}

void s2e_search_advance(s2e_search *s, const s2e_outcomes *o, int32_t n_ready, bool is_end)
{
    bool is_changed = true;
    while (is_changed) { /* an error that was handed on may decide what was open */
        is_changed = false;
        for (int32_t k = 0; k < s->n_chains; k++)
            while (s->next[k] >= 0 && judge(s, o, k, n_ready, false)) is_changed = true;
    }
    for (int32_t k = 0; is_end && k < s->n_chains; k++)
        while (s->next[k] >= 0 && judge(s, o, k, n_ready, true)) continue;
}

bool s2e_search_goes_on(const s2e_search *s)
{
    for (int32_t k = 0; k < s->n_chains; k++)
        if (s->next[k] >= 0) return true;
    return false;
}

bool s2e_search_needs(const s2e_search *s, int32_t column)
{
    if (column == 0) return true;
    for (int32_t i = 0; i < s->n; i++) {
        const s2e_candidate *c = &s->candidate[i];
        if ((c->plan.column == column || c->plan.then == column) && s->next[c->chain] >= 0 &&
            i >= s->next[c->chain])
            return true;
    }
    return false;
}

/* --- what they cost --------------------------------------------------------------------------- */

void s2e_search_measure(s2e_search *s, const s2e_outcomes *o, int32_t n_ready)
{
    static const s2e_plan_of_budgets all = { .column = 0, .then = -1 };
    for (int32_t i = 0; i < s->n; i++) {
        s2e_candidate *c = &s->candidate[i];
        double loss = 0.0, tokens = 0.0, flops = 0.0, all_tokens = 0.0, all_flops = 0.0;
        bool has_flops = true;
        c->n_questions = c->n_groups = c->n_again = 0;
        for (int32_t g = 0; g < n_ready; g++) {
            const s2e_group *group = &o->group[s->order[g]];
            if (!is_ready(o, c, s->order[g])) continue;
            c->n_groups++;
            for (int32_t q = group->first; q < group->last; q++) {
                const s2e_spent own = s2e_outcomes_spent(o, &c->plan, q);
                const s2e_spent whole = s2e_outcomes_spent(o, &all, q);
                loss += own.loss;
                tokens += own.tokens;
                all_tokens += whole.tokens;
                flops += own.flops;
                all_flops += whole.flops;
                has_flops = has_flops && own.flops > 0.0 && whole.flops > 0.0;
                c->n_again += own.is_again;
                c->n_questions++;
            }
        }
        const double n = c->n_questions > 0 ? c->n_questions : 1.0;
        c->loss = loss / n;
        c->tokens = tokens / n;
        c->all_tokens = all_tokens / n;
        c->share = has_flops && all_flops > 0.0 ? flops / all_flops
                   : all_tokens > 0.0           ? tokens / all_tokens
                                                : 1.0;
    }
}

const s2e_candidate *s2e_search_best(const s2e_search *s)
{
    const s2e_candidate *best = NULL;
    for (int32_t i = 0; i < s->n; i++) {
        const s2e_candidate *c = &s->candidate[i];
        if (c->verdict == S2E_ACCEPTED && c->share < (best ? best->share : 1.0)) best = c;
    }
    return best;
}

void s2e_search_free(s2e_search *s)
{
    free(s->candidate);
    free(s->order);
    *s = (s2e_search){ .n = 0 };
}
