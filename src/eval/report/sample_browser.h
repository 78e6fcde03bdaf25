/* sample_browser.h - pictures, kept tokens and answers for the page, as JSON. */
#ifndef S2_EVAL_REPORT_SAMPLE_BROWSER_H
#define S2_EVAL_REPORT_SAMPLE_BROWSER_H

#include "eval/report/documents.h"

#define S2E_BROWSER_SAMPLES 1000             /* of a task */
#define S2E_BROWSER_BYTES ((size_t)24 << 20) /* of all pictures */

/* {"columns": [...], "kept": [...], "pictures": [...], "tasks": [{"title", "shown", "of",
 *   "samples": [{"id", "q", "gold", "cat", "p", "g", "a": [[text, score, kept, failure], ...]}]}]}
 * with '<' written as an escape, so that it can stand inside a page. The first samples of each task,
 * as far as their pictures fit. */
s2p_status s2e_browser_write(const s2e_report_input *input, s2_buffer *out, s2p_error *error);

#endif /* S2_EVAL_REPORT_SAMPLE_BROWSER_H */
