/* paper_facts.h - numbers the paper states about figures, beside those of the study. */
#ifndef S2_TOOLS_PAPER_FACTS_H
#define S2_TOOLS_PAPER_FACTS_H

#include "paper/paper_tables.h"

/* A table FIGURE_printed; nothing where the paper states none. scores: of the figure's settings. why_not:
 * why there are no differences; NULL: model and data are the paper's. */
void s2_paper_facts(const char *figure, const s2_paper_scores *scores, const char *why_not,
                    s2_study *study);

/* Table S1 beside the correlations of the study. */
void s2_paper_correlations(const char *why_not, s2_study *study);

#endif /* S2_TOOLS_PAPER_FACTS_H */
