/* analysis.h - the analyses by name: what each asks for by itself, and who draws it. */
#ifndef S2_TOOLS_ANALYSIS_H
#define S2_TOOLS_ANALYSIS_H

#include "analyze/study.h"
#include "analyze/trials.h"

typedef struct s2_analysis {
    const char *name, *summary;
    const char *methods, *budgets; /* when nothing else is asked for */
    int32_t per_picture;           /* questions of a picture */
    /* Settings instead of methods times budgets; NULL: those. budgets are a list as above. out:
     * [S2A_MAX_SETTINGS]. */
    s2p_status (*settings)(const s2a_setting *base, const char *budgets, s2a_setting *out,
                           int32_t *n, s2p_error *error);
    s2p_status (*run)(const s2_trials *trials, s2_study *study, s2p_error *error);
    bool takes_pictures; /* needs no answers: pictures alone will do */
} s2_analysis;

const s2_analysis *s2_analysis_at(size_t index); /* NULL past the end */
const s2_analysis *s2_analysis_find(const char *name);
const char *s2_analysis_name(size_t index);

#endif /* S2_TOOLS_ANALYSIS_H */
