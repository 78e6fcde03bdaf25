/* source_answers.h - answers given earlier, a line of JSON each.
 *
 *     {"model":"m.gguf","run":"3fa9c1","task":"synth","image":"images/0000.jpg","question":"...","setting":
 *      "s2prune/64/0/laplacian/erc","answer":"red","score":1.0,"tokens":[24,24],"kept":[3,17]}
 *
 * Lines of `s2prune eval --samples` do as well; which tokens were kept they do not say.
 */
#ifndef S2_ANALYZE_SOURCE_ANSWERS_H
#define S2_ANALYZE_SOURCE_ANSWERS_H

#include "analyze/trials.h"

#include <stdio.h>

/* Fill the trials that `path` has answers for: the same model, run, task, picture, question and
 * setting.
 * Other lines do not matter. *n_filled, *n_bad: lines used, and lines that are no answers (the last
 * one of a run that was stopped). S2P_OK when there is no such file. */
s2p_status s2_answers_read(const char *path, s2_trials *trials, int32_t *n_filled, int32_t *n_bad,
                           s2p_error *error);

/* The same for bytes at hand. */
void s2_answers_parse(const char *text, size_t n, s2_trials *trials, int32_t *n_filled,
                      int32_t *n_bad);

/* Open to add lines; a line that was cut off is ended first. NULL: error. */
FILE *s2_answers_open(const char *path, s2p_error *error);
s2p_status s2_answers_append(FILE *file, const s2_trials *trials, int32_t setting, int32_t question,
                             s2p_error *error);

#endif /* S2_ANALYZE_SOURCE_ANSWERS_H */
