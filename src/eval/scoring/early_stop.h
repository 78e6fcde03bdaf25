/* early_stop.h - where the release of S2Prune ends an answer; that changes answers ("A bird" is "A").
 */
#ifndef S2_EVAL_SCORING_EARLY_STOP_H
#define S2_EVAL_SCORING_EARLY_STOP_H

#include <stdbool.h>
#include <stdint.h>

/* The whole text so far, spaces aside, is one letter A to E in any case: "(" before it, ")" after it,
 * then one of '.' ')', all optional. */
bool s2e_stops_at_letter(const char *text_so_far);

/* The same for yes or no, with one of '.' '!' after it. */
bool s2e_stops_at_yes_no(const char *text_so_far);

/* An answer whose last tokens are some n-gram, 1 <= n <= 64, three times over is cut: the number of
 * tokens before the three; n_tokens when there is no such thing. */
int32_t s2e_repeats_from(const int32_t *token, int32_t n_tokens);

#endif /* S2_EVAL_SCORING_EARLY_STOP_H */
