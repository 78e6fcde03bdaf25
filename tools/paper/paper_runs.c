/* paper_runs.c - one folder for each benchmark, one for all, or anything between. */
#include "paper/paper_runs.h"

#include "asking/model_kind.h"
#include "eval/eval_command.h"
#include "eval/run/fingerprint.h"

#include <stdlib.h>
#include <string.h>

/* The first run of the same table; its model has to be this one's. */
static s2p_status check_model(const s2_paper_runs *runs, const json_t *values, bool is_llava,
                              const char *folder, s2p_error *error)
{
    const char *mine = s2_json_string(values, S2E_IS "model");
    for (int32_t i = 0; i < runs->n; i++) {
        const char *name = s2_json_string(runs->values[i], S2E_ABOUT "model");
        const char *kind = s2_json_string(runs->values[i], S2E_ABOUT "kind");
        const char *other = s2_json_string(runs->values[i], S2E_IS "model");
        if (s2_model_is_llava_onevision(kind, name) != is_llava) continue;
        if (mine && other && strcmp(mine, other) == 0) return S2P_OK;
        return s2_fail(
            error, S2P_EINVAL,
            "'%.200s' is a run of another model file than the runs before it (%.80s); make "
            "one report for each model",
            folder, name ? name : "unknown");
    }
    return S2P_OK;
}

static s2p_status add(s2_paper_runs *runs, const char *folder, const s2e_results *results,
                      s2p_error *error)
{
    const char *kind = s2_json_string(results->values, S2E_ABOUT "kind");
    const bool is_llava = s2_model_is_llava_onevision(kind, results->model);
    TRY(check_model(runs, results->values, is_llava, folder, error));
    runs->values[runs->n++] = json_incref(results->values);
    return s2_paper_scores_of(results, is_llava ? &runs->llava : &runs->main, error);
}

s2p_status s2_paper_runs_load(const char *const *folder, size_t n, const char *data_dir,
                              s2_paper_runs *out, s2p_error *error)
{
    if (n > S2_PAPER_MAX_RUNS)
        return s2_fail(error, S2P_ELIMIT, "more than %d runs", S2_PAPER_MAX_RUNS);
    for (size_t i = 0; i < n; i++) {
        eval_report *report = calloc(1, sizeof *report);
        if (!report) return s2_fail_memory(error, sizeof *report, "the runs");
        s2p_status st = eval_report_load(folder[i], data_dir, report, error);
        if (st == S2P_OK) st = add(out, folder[i], &report->results, error);
        eval_report_free(report);
        free(report);
        TRY(st);
    }
    return S2P_OK;
}

void s2_paper_runs_free(s2_paper_runs *runs)
{
    for (int32_t i = 0; i < runs->n; i++) json_decref(runs->values[i]);
    s2_paper_scores_free(&runs->main);
    s2_paper_scores_free(&runs->llava);
    runs->n = 0;
}
