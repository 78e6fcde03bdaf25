/* source_pictures.c - run the pruning library on decoded pictures. */
#include "analyze/sources/sources.h"

#include "base/error.h"
#include "image/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

s2p_status s2_measure_heterogeneity(const s2p_image *picture, s2p_grid grid, int32_t side,
                                    double *out)
{
    const size_t n = (size_t)side * (size_t)side;
    s2p_moments *moments = calloc(n, sizeof *moments);
    float *variance = calloc(n, sizeof *variance);
    s2p_status st = moments && variance ? s2p_laplacian(picture, grid, side, moments) : S2P_ENOMEM;
    for (size_t i = 0; st == S2P_OK && i < n; i++) variance[i] = (float)s2p_variance(moments[i]);
    if (st == S2P_OK) *out = s2p_heterogeneity(variance, (int32_t)n);
    free(moments);
    free(variance);
    return st;
}

s2p_status s2_source_choose(const s2p_view *seen, s2p_grid grid, s2p_plan *plan, s2_trials *t,
                            int32_t setting, int32_t question, s2p_error *error)
{
    const s2a_setting *s = &t->setting[setting];
    s2p_view view = *seen;
    view.budget = s2a_budget_tokens(s->budget, grid.rows * grid.cols);
    view.mode = s->published ? S2P_MODE_PUBLISHED : S2P_MODE_DEFAULT;
    view.choice = s->choice;
    view.choice.seed = (uint64_t)question;
    view.parameters = &s->parameters;
    s2p_error why = { S2P_OK, "" };
    const s2p_status st = s2p_method_run(s2p_method_find(s->method), &view, plan, &why);
    if (st != S2P_OK)
        return s2_fail(error, st, "%.200s, %s: %s", t->picture[question].file, s->method,
                       why.message);
    int32_t n_kept;
    const int32_t *kept = s2p_plan_keep(plan, &n_kept);
    return s2_trial_fill(t, setting, question, NAN, NULL, grid, kept, n_kept, error);
}

s2p_status s2_source_pictures(const char *const *file, int32_t n_files, s2p_grid grid,
                              const s2a_setting *setting, int32_t n_settings,
                              void (*progress)(double done, void *user), void *user, s2_trials *out,
                              s2p_error *error)
{
    for (int32_t s = 0; s < n_settings; s++) {
        const s2p_method *method = s2p_method_find(setting[s].method);
        const uint32_t needs = s2p_method_needs(method, &setting[s].choice);
        if (needs & ~(uint32_t)S2P_NEED_PIXELS)
            return s2_fail(error, S2P_EINVAL, "%s needs %s, which pictures alone do not have",
                           setting[s].method, s2p_need_text(needs & ~(uint32_t)S2P_NEED_PIXELS));
    }
    for (int32_t i = 0; i < n_files; i++) {
        TRY(s2_trials_add_picture(out, file[i], i, error));
        TRY(s2_trials_add_question(out, "", "", "pictures", i, error));
    }
    TRY(s2_trials_set(out, setting, n_settings, error));
    s2p_plan *plan;
    TRY(s2p_plan_create(&plan, grid));
    s2p_status st = S2P_OK;
    for (int32_t i = 0; i < n_files && st == S2P_OK; i++) {
        s2_image picture;
        st = s2_image_load(file[i], S2_PIXELS_REFERENCE, NULL, &picture, error);
        if (st != S2P_OK) break;
        for (int32_t s = 0; s < n_settings && st == S2P_OK; s++)
            st = s2_source_choose(&(s2p_view){ .image = &picture.view }, grid, plan, out, s, i,
                                  error);
        s2_image_free(&picture);
        if (progress) progress((i + 1.0) / n_files, user);
    }
    s2p_plan_free(plan);
    return st;
}
