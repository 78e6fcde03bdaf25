/* evidence.c - the wealth of several players, as logarithms. */
#include "base/evidence.h"

#include <math.h>

#define LARGEST_STAKE 0.99 /* of what one observation can take at worst */
#define SMALLEST_STAKE 0.05

/* The logarithm of what all have together, of their wealth for each 1 they began with. */
static double log_total(const s2_evidence *evidence, const double *log_wealth)
{
    double most = log_wealth[0], sum = 0.0, stakes = 0.0;
    for (int i = 1; i < S2_STAKES; i++) most = fmax(most, log_wealth[i]);
    for (int i = 0; i < S2_STAKES; i++) {
        sum += evidence->stake[i] * exp(log_wealth[i] - most);
        stakes += evidence->stake[i];
    }
    return most + log(sum / stakes);
}

void s2_evidence_start(s2_evidence *evidence, double worst)
{
    const double step = log(LARGEST_STAKE / SMALLEST_STAKE) / (S2_STAKES - 1);
    for (int i = 0; i < S2_STAKES; i++) {
        evidence->stake[i] = SMALLEST_STAKE * exp(step * i) / worst;
        evidence->log_wealth[i] = 0.0;
    }
    evidence->highest = 0.0;
}

void s2_evidence_add(s2_evidence *evidence, double gain)
{
    const double worst = LARGEST_STAKE / evidence->stake[S2_STAKES - 1];
    const double counted = fmax(gain, -worst);
    for (int i = 0; i < S2_STAKES; i++)
        evidence->log_wealth[i] += log1p(evidence->stake[i] * counted);
    evidence->highest = fmax(evidence->highest, log_total(evidence, evidence->log_wealth));
}

double s2_evidence_after(const s2_evidence *evidence, double gain, size_t n)
{
    double log_wealth[S2_STAKES];
    for (int i = 0; i < S2_STAKES; i++)
        log_wealth[i] = evidence->log_wealth[i] + (double)n * log1p(evidence->stake[i] * gain);
    return fmax(evidence->highest, log_total(evidence, log_wealth));
}
