/* source_recorded.c - one recording at a time, every setting on it. */
#include "analyze/sources/sources.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>

static s2p_status check_stages(const s2a_setting *setting, int32_t n, s2p_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        const s2p_method *method = s2p_method_find(setting[i].method);
        if (!method)
            return s2_fail(error, S2P_EINVAL,
                           "'%.60s' keeps every token, so there is nothing to select",
                           setting[i].method);
        if (s2p_method_about(method)->n_stages > 1)
            return s2_fail(error, S2P_EINVAL,
                           "%s prunes at %d stages, and a recording has the signals of one",
                           s2p_method_about(method)->name, s2p_method_about(method)->n_stages);
    }
    return S2P_OK;
}

static s2p_status choose_all(const s2_recording *r, s2_trials *t, int32_t question,
                             s2p_error *error)
{
    s2p_plan *plan;
    TRY(s2p_plan_create(&plan, r->grid));
    s2p_status st = S2P_OK;
    for (int32_t s = 0; s < t->n_settings && st == S2P_OK; s++) {
        const s2p_method *method = s2p_method_find(t->setting[s].method);
        const uint32_t missing =
            s2p_view_missing(&r->view, s2p_method_needs(method, &t->setting[s].choice));
        st = missing ? s2_fail(error, S2P_EINVAL, "%s needs %s, which '%.150s' does not have",
                               s2p_method_about(method)->name, s2p_need_text(missing), r->name)
                     : s2_source_choose(&r->view, r->grid, plan, t, s, question, error);
    }
    s2p_plan_free(plan);
    return st;
}

s2p_status s2_source_recorded(const s2_recordings *recordings, const s2a_setting *setting,
                              int32_t n_settings, s2_trials *out, s2p_error *error)
{
    TRY(check_stages(setting, n_settings, error));
    for (int32_t i = 0; i < recordings->n; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "recording %d", i);
        TRY(s2_trials_add_picture(out, name, i, error));
        TRY(s2_trials_add_question(out, "", "", "recordings", i, error));
    }
    TRY(s2_trials_set(out, setting, n_settings, error));
    for (int32_t i = 0; i < recordings->n; i++) {
        s2_recording recording;
        TRY(recordings->open(recordings->user, i, &recording, error));
        TRY(choose_all(&recording, out, i, error));
        if (recordings->progress) recordings->progress((i + 1.0) / recordings->n, recordings->user);
    }
    return S2P_OK;
}
