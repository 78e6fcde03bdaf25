/* verify_merges.c - published methods that merge: what they keep, and the rows that come out.
 *
 * The plan is applied to the recorded rows; 1e-4 relative, 1e-4 absolute.
 */
#include "verify/checks.h"
#include "verify/trial.h"

#include "prune/methods/prumerge.h"
#include "prune/methods/sparsevlm.h"
#include "prune/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rows of `token` as the plan leaves them, after an optional `first` row as it is. */
static void expect_rows(const json_t *c, const char *key, const s2_trial *trial, const float *x,
                        int32_t dim, const s2_tensor *first, const int32_t *token, int32_t n,
                        s2_verdict *verdict)
{
    const size_t n_first = first && first->shape[1] == dim ? (size_t)dim : 0;
    const size_t count = n_first + (size_t)n * (size_t)dim;
    double *rows = malloc(count * sizeof *rows);
    if (!rows) {
        s2_differs(verdict, "no memory for %d rows", n);
        return;
    }
    for (size_t d = 0; d < n_first; d++) rows[d] = (double)first->data[d];
    s2_trial_rows(trial, x, dim, token, n, rows + n_first);
    s2_expect_reals(c, key, rows, count, S2_ROW_TOLERANCE, 0, verdict);
    free(rows);
}

/* --- VisionZip ------------------------------------------------------------------------ */

static void check_visionzip(const json_t *c, const char *const *fields, const char *dominants,
                            bool is_clip, s2_verdict *verdict)
{
    s2_trial trial;
    int32_t *token = NULL, *target = NULL;
    if (s2_trial_read(c, "visionzip", fields, &trial, verdict) && s2_trial_run(&trial, verdict)) {
        const json_t *contextual = json_object_get(c, "contextual");
        const int32_t n = trial.n_keep, n_dominant = n - (int32_t)json_integer_value(contextual);
        token = malloc((size_t)n * sizeof *token);
        target = malloc((size_t)trial.n * sizeof *target);
        if (n_dominant < 0 || !token || !target) {
            s2_differs(verdict, "%d rows kept", n);
        } else {
            memcpy(token, trial.order, (size_t)n * sizeof *token);
            s2p_sort(token, n_dominant);
            s2_expect_ints(c, dominants, token, (size_t)n_dominant, verdict);
            s2_expect_ints(c, "contextual_targets", token + n_dominant, (size_t)(n - n_dominant),
                           verdict);
            /* For each token that is neither dominant nor a target, in raster order: which target
             * took it. */
            int32_t n_merges, n_assigned = 0;
            const s2p_merge *merge = s2p_plan_merges(trial.plan, &n_merges);
            for (int32_t i = 0; i < trial.n; i++) target[i] = -1;
            for (int32_t m = 0; m < n_merges; m++)
                for (int32_t t = n_dominant; t < n; t++)
                    if (trial.order[t] == merge[m].into) target[merge[m].from] = t - n_dominant;
            for (int32_t i = 0; i < trial.n; i++)
                if (target[i] >= 0) target[n_assigned++] = target[i];
            s2_expect_ints(c, "assign", target, (size_t)n_assigned, verdict);
            if (!is_clip) s2_expect_ints(c, "selected", trial.keep, (size_t)n, verdict);
            const s2_tensor *x = &trial.fields.field[S2_FIELD_HIDDEN];
            if (json_is_string(json_object_get(c, "output")))
                expect_rows(c, "output", &trial, x->data, x->shape[1],
                            is_clip ? &trial.fields.field[S2_FIELD_CLS_HIDDEN] : NULL,
                            is_clip ? token : trial.keep, n, verdict);
        }
    }
    free(target);
    free(token);
    s2_trial_free(&trial);
}

void s2_check_visionzip_clip(const json_t *c, s2_verdict *verdict)
{
    check_visionzip(c,
                    (const char *const[]){ "hidden", "cls_hidden", "keys", "cls_attn_heads", NULL },
                    "dominant_patches", true, verdict);
}

void s2_check_visionzip_qwen(const json_t *c, s2_verdict *verdict)
{
    check_visionzip(c, (const char *const[]){ "hidden", "keys", "score", NULL }, "dominant_idx",
                    false, verdict);
}

/* --- SparseVLM -------------------------------------------------------------------------- */

void s2_check_sparsevlm(const json_t *c, s2_verdict *verdict)
{
    s2_trial trial;
    int32_t n_clusters, layer, *kept = NULL;
    if (s2_trial_read(c, "sparsevlm", (const char *const[]){ "vis", "text", "attn", NULL }, &trial,
                      verdict) &&
        s2_take_int(c, "n_clusters", &n_clusters, verdict) &&
        s2_take_int(c, "layer", &layer, verdict)) {
        const s2p_method *m = trial.recorded.method;
        while (trial.view.stage < s2p_method_about(m)->n_stages - 1 &&
               s2p_method_about(m)->after[trial.view.stage] != layer)
            trial.view.stage++;
        if (s2_trial_run(&trial, verdict)) {
            const int32_t n_kept = trial.n_keep - n_clusters;
            kept = malloc((size_t)trial.n_keep * sizeof *kept);
            if (n_clusters < 0 || n_kept < 0 || !kept) {
                s2_differs(verdict, "n_clusters: %d of %d rows", n_clusters, trial.n_keep);
            } else {
                memcpy(kept, trial.order, (size_t)trial.n_keep * sizeof *kept);
                s2p_sort(kept, n_kept);
                s2_expect_ints(c, "kept", kept, (size_t)n_kept, verdict);
                /* Raters, and the best of the dropped in descending order. */
                int32_t n_raters = 0, *rank = malloc((size_t)trial.n * sizeof *rank);
                int32_t *rater =
                    malloc((size_t)trial.view.signal[S2P_TEXT].shape[0] * sizeof *rater);
                double *score = malloc((size_t)trial.n * sizeof *score);
                s2_ints recycled = { NULL, 0 };
                if (!rank || !rater || !score ||
                    s2p_sparsevlm_raters(&trial.view, trial.n, rater, &n_raters, NULL) != S2P_OK ||
                    s2p_sparsevlm_score(&trial.view, trial.n, trial.n, score, NULL) != S2P_OK ||
                    s2p_rank(score, trial.n, trial.n, rank) != S2P_OK) {
                    s2_differs(verdict, "the ranking was refused");
                } else {
                    s2_expect_ints(c, "raters", rater, (size_t)n_raters, verdict);
                    if (s2_take_ints(c, "recycled", &recycled, verdict)) {
                        int32_t n_merges;
                        (void)s2p_plan_merges(trial.plan,
                                              &n_merges); /* one for each recycled token */
                        const int32_t left = trial.n - n_kept;
                        s2_same_ints(verdict, "recycled", &recycled, rank + n_kept,
                                     (size_t)(n_merges < left ? n_merges : left));
                    }
                }
                free(recycled.data);
                free(score);
                free(rater);
                free(rank);
                const s2_tensor *x = &trial.fields.field[S2_FIELD_VIS];
                expect_rows(c, "merged", &trial, x->data, x->shape[1], NULL, kept + n_kept,
                            n_clusters, verdict);
            }
        }
    }
    free(kept);
    s2_trial_free(&trial);
}

/* --- PruMerge+ --------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void expect_ratio(const json_t *c, const s2_trial *trial, s2_verdict *verdict)
{
    double *sorted = malloc((size_t)trial->n * sizeof *sorted);
    if (!sorted) {
        s2_differs(verdict, "no memory for %d tokens", trial->n);
        return;
    }
    const float *attn = trial->view.signal[S2P_VISION_ATTN].data;
    const double expected = json_number_value(json_object_get(c, "outlier_ratio"));
    for (int32_t i = 0; i < trial->n; i++) sorted[i] = (double)attn[i];
    qsort(sorted, (size_t)trial->n, sizeof *sorted, compare_doubles);
    const double got = s2p_outlier_ratio(sorted, trial->n);
    if (!(fabs(got - expected) <= 1e-9))
        s2_differs(verdict, "outlier_ratio: expected %.9g, got %.9g", expected, got);
    free(sorted);
}

void s2_check_prumerge(const json_t *c, s2_verdict *verdict)
{
    s2_trial trial;
    int32_t n_out;
    if (s2_trial_read(c, "prumerge+", (const char *const[]){ "q", "hidden", "k", NULL }, &trial,
                      verdict) &&
        s2_take_int(c, "n_out", &n_out, verdict) && s2_trial_run(&trial, verdict)) {
        const s2p_signal *feature = &trial.view.signal[S2P_FEATURE];
        expect_ratio(c, &trial, verdict);
        if (s2_same_number(verdict, "n_out", n_out, trial.n_keep + s2p_plan_blanks(trial.plan)))
            expect_rows(c, "output", &trial, feature->data, feature->shape[1], NULL, trial.order,
                        trial.n_keep, verdict);
    }
    s2_trial_free(&trial);
}
