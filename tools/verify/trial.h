/* trial.h - what the checks of published methods share. */
#ifndef S2_TOOLS_TRIAL_H
#define S2_TOOLS_TRIAL_H

#include "plan/golden_fields.h"
#include "verify/verify.h"

typedef struct s2_trial { /* one case, run */
    int32_t n;            /* tokens */
    s2_recorded recorded; /* about the case; its arrays are `fields` */
    s2_golden_fields fields;
    s2p_view view;
    s2p_parameters parameters;
    s2p_plan *plan;
    const int32_t *keep, *order; /* of the plan */
    int32_t n_keep;
} s2_trial;

/* Read the case's arrays and numbers for `method` as published; fields: names in any order, NULL
 * last. False, and the verdict knows, when one is missing or of another shape. Free in any case. */
bool s2_trial_read(const json_t *c, const char *method, const char *const *fields, s2_trial *out,
                   s2_verdict *verdict);

/* Run the method; a refusal is a difference. */
bool s2_trial_run(s2_trial *trial, s2_verdict *verdict);
void s2_trial_free(s2_trial *trial);

/* The member `key` lists exactly these. */
bool s2_expect_ints(const json_t *c, const char *key, const int32_t *got, size_t n,
                    s2_verdict *verdict);

#define S2_SCORE_TOLERANCE 2e-5 /* absolute */
#define S2_ROW_TOLERANCE 1e-4   /* of merged rows */

/* The array the member names: |got - expected| <= absolute + 1e-4 |expected|, but for `allowed`. */
bool s2_expect_reals(const json_t *c, const char *key, const double *got, size_t n, double absolute,
                     size_t allowed, s2_verdict *verdict);

/* The same between two arrays at hand; how many are outside. `worst`: the first of them. */
size_t s2_count_unlike(const float *expected, const double *got, size_t n, double absolute,
                       size_t *worst);

/* Rows as the plan leaves them: x[token] and what is merged into it. x: [trial->n][dim] as
 * recorded. out: [n][dim]. */
void s2_trial_rows(const s2_trial *trial, const float *x, int32_t dim, const int32_t *token,
                   int32_t n, double *out);

#endif /* S2_TOOLS_TRIAL_H */
