/* prumerge.h - the part of PruMerge+ that tests call. */
#ifndef S2_PRUNE_PRUMERGE_H
#define S2_PRUNE_PRUMERGE_H

#include <stdint.h>

/* The fraction of n >= 1 values above Q3 + 1.5 (Q3 - Q1), quartiles as NumPy's linear percentiles.
 * sorted: [n] ascending. */
double s2p_outlier_ratio(const double *sorted, int32_t n);

#endif /* S2_PRUNE_PRUMERGE_H */
