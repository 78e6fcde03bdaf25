/* spatial_figures.h - what spatial.c measured, and its figures. Private to src/analyze. */
#ifndef S2_ANALYZE_SPATIAL_FIGURES_H
#define S2_ANALYZE_SPATIAL_FIGURES_H

#include "analyze/analyses.h"
#include "base/statistics.h"

typedef struct s2_kept_map { /* of the tokens one setting kept */
    double *map;             /* [tokens] how often */
    double edge, centre;
    s2_interval edge_range, centre_range;
    s2_banding rows, cols;
    int32_t n; /* trials; 0: nothing known */
} s2_kept_map;

/* places.c: the share of the grid that is_inside is true for. */
double s2_area_share(s2p_grid grid, bool (*is_inside)(s2p_grid, int32_t));

/* A figure of maps and one of shares for each budget, all on the same scales. map: [n_settings]. */
s2p_status s2_spatial_figures(const s2_trials *trials, const s2_kept_map *map, s2_study *study);

#endif /* S2_ANALYZE_SPATIAL_FIGURES_H */
