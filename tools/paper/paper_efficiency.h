/* paper_efficiency.h - Table 3: the printed numbers, ours by the formulas, ours by the clock. */
#ifndef S2_TOOLS_PAPER_EFFICIENCY_H
#define S2_TOOLS_PAPER_EFFICIENCY_H

#include "analyze/study.h"
#include "asking/asker.h"

/* Printed and computed for the paper's model; no model is needed. */
void s2_paper_formulas(s2_study *study);

/* The same methods on the model of the options, and the first picture of its benchmark. */
s2p_status s2_paper_clock(const ask_options *options, const char *picture, s2_study *study,
                          s2p_error *error);

#endif /* S2_TOOLS_PAPER_EFFICIENCY_H */
