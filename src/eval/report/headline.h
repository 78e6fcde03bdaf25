/* headline.h - how sure the number of the tables is.
 *
 * An F1, a sum over pairs, a share of whole groups: these are no means of scores. A task says from
 * which counts its number is computed (s2e_parts); the counts of every picture are kept, pictures
 * are drawn, and the number is computed anew from the counts of each draw.
 */
#ifndef S2_EVAL_REPORT_HEADLINE_H
#define S2_EVAL_REPORT_HEADLINE_H

#include "eval/metrics.h"
#include "eval/report/results.h"

/* The headline in the run's own protocol with its 95 % interval, in its own unit. With `other`, a
 * column on the same data under the same protocol: of one minus other, paired. NAN where there is
 * no headline. S2P_ENOMEM only. */
s2p_status s2e_headline_interval(const s2e_task_results *task, s2e_protocol protocol,
                                 const s2e_result *one, const s2e_result *other, s2e_interval *out);

#endif /* S2_EVAL_REPORT_HEADLINE_H */
