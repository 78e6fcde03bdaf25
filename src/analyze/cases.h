/* cases.h - pictures where one method is right and the others are wrong, with what each kept. */
#ifndef S2_ANALYZE_CASES_H
#define S2_ANALYZE_CASES_H

#include "analyze/study.h"
#include "analyze/trials.h"

/* The first `most` questions (0: six), one a picture, that `reference` answers and all other
 * settings of its budget do not; a sheet for each budget. The full model is shown, and need not be
 * right. */
s2p_status s2_analyze_cases(const s2_trials *trials, const char *reference, int32_t most,
                            s2_study *study, s2p_error *error);

/* What every setting of each budget keeps of one picture, side by side (Figure 2a). */
s2p_status s2_analyze_example(const s2_trials *trials, int32_t question, s2_study *study,
                              s2p_error *error);

#endif /* S2_ANALYZE_CASES_H */
