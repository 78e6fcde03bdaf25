/* target.c - two points, a line, and where it crosses the limit. */
#include "ask/target.h"

#include "ask/ask.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>

#define MIB (1024.0 * 1024.0)

s2p_status s2a_target_measure(s2v_session *session, const s2v_prompt *prompt,
                              const s2a_setting *setting, s2a_points *out, s2p_error *error)
{
    s2v_budget budget[3] = { { 0, 100.0 }, { S2A_TARGET_LEAST, 0.0 }, { 0, 100.0 } };
    static const s2a_limits limits = { .n_tokens = 0 };
    *out = (s2a_points){ .picture_ms = 0.0 };
    if (prompt->n_images < 1 || s2a_keeps_all(setting))
        return s2_fail(error, S2P_EINVAL,
                       "a target for the budget needs a picture and a method that removes tokens");
    for (int i = 0; i < 3; i++) { /* the first pays what only the first run pays, and the tower */
        s2v_prune_options prune = s2a_prune_options(setting, &limits);
        s2v_stats stats;
        prune.budget = budget[i];
        s2v_session_reset(session);
        const s2p_status st = s2v_session_prefill(session, prompt, &prune, &stats, error);
        if (st == S2P_EBUDGET && i == 1 && prune.budget.tokens < out->n_tokens[1]) {
            budget[i--].tokens *= 2; /* what regions keep is more */
            continue;
        }
        if (st != S2P_OK) {
            s2v_session_reset(session);
            return st;
        }
        const int at = i == 1 ? 0 : 1;
        if (i == 0) out->picture_ms = stats.image_ms + stats.vision_ms;
        out->n_tokens[at] = stats.image_tokens;
        out->prompt_ms[at] = stats.prompt_ms;
        out->kv_bytes[at] = (double)stats.kv_total_bytes;
    }
    s2v_session_reset(session);
    return S2P_OK;
}

/* A line through both points: its value at n, never falling. */
static double at_tokens(const s2a_points *p, const double value[2], double n)
{
    const double width = p->n_tokens[1] - p->n_tokens[0];
    const double slope = width > 0.0 ? fmax(0.0, (value[1] - value[0]) / width) : 0.0;
    return value[0] + slope * (n - p->n_tokens[0]);
}

static bool fits(const s2a_points *p, s2a_target target, int32_t n)
{
    return (target.ms <= 0.0 || p->picture_ms + at_tokens(p, p->prompt_ms, n) <= target.ms) &&
           (target.mib <= 0.0 || at_tokens(p, p->kv_bytes, n) <= target.mib * MIB);
}

void s2a_target_choose(const s2a_points *p, s2a_target target, s2a_target_choice *out)
{
    int32_t low = p->n_tokens[0], high = p->n_tokens[1];
    *out = (s2a_target_choice){ .n_all = high, .is_met = fits(p, target, low) };
    while (out->is_met && low < high) { /* the most that fits */
        const int32_t middle = low + (high - low + 1) / 2;
        if (fits(p, target, middle))
            low = middle;
        else
            high = middle - 1;
    }
    out->n_tokens = low;
    out->ms = p->picture_ms + at_tokens(p, p->prompt_ms, low);
    out->mib = at_tokens(p, p->kv_bytes, low) / MIB;
}

s2a_budget s2a_target_budget(const s2a_target_choice *choice)
{
    /* the shortest share that is rounded to as many tokens */
    const int32_t n_all = choice->n_all > 0 ? choice->n_all : 1;
    const double share = 100.0 * choice->n_tokens / n_all;
    for (double unit = 1.0; unit < 1e7; unit *= 10.0)
        for (int i = 0; i < 2; i++) {
            const double rounded = i == 0 ? floor(share * unit) : ceil(share * unit);
            const s2a_budget budget = { .percent = rounded / unit };
            if (rounded >= 1.0 && budget.percent <= 100.0 &&
                s2a_budget_tokens(budget, n_all) == choice->n_tokens)
                return budget;
        }
    return (s2a_budget){ .percent = fmin(100.0, share) };
}

const char *s2a_target_text(const s2a_target_choice *c, s2a_target target,
                            char out[S2A_TARGET_TEXT])
{
    char budget[S2A_BUDGET_TEXT], limit[64];
    if (target.ms > 0.0 && target.mib > 0.0)
        (void)snprintf(limit, sizeof limit, "%g ms and %g MiB", target.ms, target.mib);
    else
        (void)snprintf(limit, sizeof limit, target.ms > 0.0 ? "%g ms" : "%g MiB",
                       target.ms > 0.0 ? target.ms : target.mib);
    (void)snprintf(
        out, S2A_TARGET_TEXT,
        "target of %.60s: --budget %.20s, %d of %d tokens; expected %.0f ms to the first "
        "token and %.2f MiB%s",
        limit, s2a_budget_text(s2a_target_budget(c), budget), c->n_tokens, c->n_all, c->ms, c->mib,
        c->is_met ? "" : "; even the smallest budget is above the target");
    return out;
}
