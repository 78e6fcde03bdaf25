/* curves.h - accuracy by budget as a drawing. */
#ifndef S2_EVAL_REPORT_CURVES_H
#define S2_EVAL_REPORT_CURVES_H

#include "eval/report/results.h"

/* An SVG element: a panel for each task, a line for each method over the tokens it kept, with 95 %
 * intervals; dashed: every token. */
s2p_status s2e_curves_write(const s2e_results *results, s2_buffer *out, s2p_error *error);

#endif /* S2_EVAL_REPORT_CURVES_H */
