/* paper_means.c - Acc. and Rel. of Tables 1 and S1. */
#include "eval/scoring/means.h"

double s2e_paper_acc(const double *score, const double *best, int32_t n)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; i++) sum += 100.0 * score[i] / best[i];
    return n ? sum / n : 0.0;
}

double s2e_paper_rel(const double *score, const double *full, int32_t n)
{
    double sum = 0.0;
    int32_t n_compared = 0;
    for (int32_t i = 0; i < n; i++) {
        if (full[i] == 0.0) continue;
        sum += score[i] / full[i];
        n_compared++;
    }
    return n_compared ? 100.0 * sum / n_compared : 0.0;
}
