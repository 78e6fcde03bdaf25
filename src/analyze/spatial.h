/* spatial.h - where the kept tokens lie: Figure 2, Figures S1 and S2, Table S1. */
#ifndef S2_ANALYZE_SPATIAL_H
#define S2_ANALYZE_SPATIAL_H

#include "analyze/study.h"
#include "analyze/trials.h"

/* The outer two rows and columns; the middle half of both. */
bool s2_is_edge(s2p_grid grid, int32_t token);
bool s2_is_centre(s2p_grid grid, int32_t token);

typedef struct s2_banding { /* of rows, or of columns */
    double share;           /* of the map's variance that their means explain, 0 to 1 */
    double p;               /* chance of that when every picture is shifted round at random */
    double period;          /* of the strongest wave of the means, in tokens */
    double period_share;    /* of their variance */
} s2_banding;

/* kept: trials of one setting, [n] of them; is_rows: else columns. S2P_ENOMEM. */
s2p_status s2_banding_of(const s2_trial *const *kept, int32_t n, s2p_grid grid, bool is_rows,
                         s2_banding *out);

/* Shares, bandings, correlations across budgets, a map for each setting. Settings whose tokens are
 * not known are left out. */
s2p_status s2_analyze_spatial(const s2_trials *trials, s2_study *study, s2p_error *error);

#endif /* S2_ANALYZE_SPATIAL_H */
