/* overlap.h - how much two methods keep in common. */
#ifndef S2_ANALYZE_OVERLAP_H
#define S2_ANALYZE_OVERLAP_H

#include "analyze/study.h"
#include "analyze/trials.h"

/* Tokens both keep over tokens either keeps. */
double s2_overlap_of(const s2_trial *a, const s2_trial *b);

/* A map of mean overlaps for each budget, and all of them as a table. */
s2p_status s2_analyze_overlap(const s2_trials *trials, s2_study *study, s2p_error *error);

#endif /* S2_ANALYZE_OVERLAP_H */
