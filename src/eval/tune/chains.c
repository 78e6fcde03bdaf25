/* chains.c - which settings are candidates, and in which order. */
#include "eval/tune/search.h"

#include "base/error.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define USUAL_TOKENS 576 /* a share and a number of tokens are compared for such a picture */

typedef struct families { /* settings that differ in nothing but the budget */
    const s2a_setting *setting;
    int32_t n_settings;
    int32_t *of; /* [n_settings] the first setting of its family */
} families;

static s2p_status add(s2e_search *s, s2e_plan_of_budgets plan, s2p_error *error)
{
    if (s->n == S2E_MAX_CANDIDATES)
        return s2_fail(error, S2P_ELIMIT, "more than %d settings to try", S2E_MAX_CANDIDATES);
    s2e_candidate *c = &s->candidate[s->n++];
    *c = (s2e_candidate){ .plan = plan, .chain = s->n_chains };
    s2_evidence_start(&c->less, 1.0 - s->max_loss);
    s2_evidence_start(&c->more, 1.0 + s->max_loss);
    return S2P_OK;
}

/* What was added since is a chain. */
static s2p_status end_chain(s2e_search *s, int32_t first, s2p_error *error)
{
    if (s->n == first) return S2P_OK;
    if (s->n_chains == S2E_MAX_CHAINS)
        return s2_fail(error, S2P_ELIMIT, "more than %d methods, sizes and thresholds to try",
                       S2E_MAX_CHAINS);
    s->next[s->n_chains++] = first;
    return S2P_OK;
}

/* Larger first: budgets of one method, or sizes of pictures; native is the largest. */
static int64_t size_of(const s2a_setting *s)
{
    if (!s2a_keeps_all(s)) return s2a_budget_tokens(s->budget, USUAL_TOKENS);
    return s->width > 0 ? (int64_t)s->width * s->height : INT64_MAX;
}

/* Members of the family of `first`, the largest first. */
static int32_t members(const families *f, int32_t first, int32_t *out)
{
    int32_t n = 0;
    for (int32_t i = first; i < f->n_settings; i++) {
        if (f->of[i] != first) continue;
        int32_t at = n++;
        for (; at > 0 && size_of(&f->setting[out[at - 1]]) < size_of(&f->setting[i]); at--)
            out[at] = out[at - 1];
        out[at] = i;
    }
    return n;
}

static s2p_status add_family(s2e_search *s, const families *f, int32_t first, int32_t *member,
                             const double *threshold, int32_t n_thresholds, s2p_error *error)
{
    const int32_t n = members(f, first, member);
    const bool resizes = s2p_method_about(s2a_setting_method(&f->setting[first]))->resizes;
    int32_t start = s->n;
    for (int32_t i = 0; i < n; i++)
        TRY(add(s, (s2e_plan_of_budgets){ member[i], -1, 0.0, resizes }, error));
    TRY(end_chain(s, start, error));
    /* only where column 0 is what the last budget, 100 %, gives */
    if (s2a_keeps_all(&f->setting[first]) || f->setting[first].width != f->setting[0].width)
        return S2P_OK;
    for (int32_t t = 0; t < n_thresholds; t++) {
        start = s->n;
        for (int32_t i = 0; i < n; i++)
            TRY(add(s, (s2e_plan_of_budgets){ member[i], 0, threshold[t], resizes }, error));
        TRY(end_chain(s, start, error));
    }
    return S2P_OK;
}

/* Settings without pruning are one family: only the size of the picture differs. */
static void find_families(families *f)
{
    for (int32_t i = 0; i < f->n_settings; i++) {
        char own[S2A_LABEL_SIZE], other[S2A_LABEL_SIZE];
        f->of[i] = i;
        for (int32_t k = i - 1; k >= 1; k--) {
            const bool is_same = s2a_keeps_all(&f->setting[i]) && s2a_keeps_all(&f->setting[k]);
            if (is_same || strcmp(s2a_setting_label(&f->setting[i], own),
                                  s2a_setting_label(&f->setting[k], other)) == 0)
                f->of[i] = f->of[k];
        }
    }
}

static s2p_status add_all(s2e_search *s, families *f, const double *threshold, int32_t n_thresholds,
                          s2p_error *error)
{
    int32_t member[S2A_MAX_SETTINGS];
    find_families(f);
    for (int32_t i = 1; i < f->n_settings; i++)
        if (f->of[i] == i) TRY(add_family(s, f, i, member, threshold, n_thresholds, error));
    if (s->n == 0) return s2_fail(error, S2P_EINVAL, "there is no setting to try");
    for (int32_t k = 0; k < s->n_chains; k++) s->level[k] = (1.0 - s->confidence) / s->n_chains;
    return S2P_OK;
}

static void shuffle(s2e_search *s, int32_t n_all, uint64_t seed)
{
    s2_random random = { seed };
    for (int32_t i = 0; i < n_all; i++) s->order[i] = i;
    for (int32_t i = n_all - 1; i > 0; i--) {
        const int32_t k = (int32_t)s2_random_below(&random, (uint32_t)i + 1);
        const int32_t swap = s->order[i];
        s->order[i] = s->order[k];
        s->order[k] = swap;
    }
}

s2p_status s2e_search_start(s2e_search *out, const s2e_outcomes *o, const s2a_setting *setting,
                            const double *threshold, int32_t n_thresholds, uint64_t seed,
                            int32_t n_groups, s2p_error *error)
{
    families f = { .setting = setting, .n_settings = o->n_columns };
    if (o->n_groups < 1) return s2_fail(error, S2P_EINVAL, "there is no question to ask");
    out->candidate = calloc(S2E_MAX_CANDIDATES, sizeof *out->candidate);
    out->order = calloc((size_t)o->n_groups, sizeof *out->order);
    f.of = calloc((size_t)o->n_columns + 1, sizeof *f.of);
    out->n_groups = n_groups > 0 && n_groups < o->n_groups ? n_groups : o->n_groups;
    s2p_status st = out->candidate && out->order && f.of
                        ? S2P_OK
                        : s2_fail_memory(error, sizeof *out->candidate, "the settings to try");
    if (st == S2P_OK) shuffle(out, o->n_groups, seed);
    if (st == S2P_OK) st = add_all(out, &f, threshold, n_thresholds, error);
    free(f.of);
    return st;
}
