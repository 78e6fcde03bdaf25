/* cost_cells.h - what a setting costs, next to what it is worth: the same cells in every table.
 *
 * FLOPs are those of the prefill by the paper's formula (Table 3), for the decoder alone and with the
 * vision tower; the prefill's time and the cache of the visual tokens are measured. All are means over
 * the answers. What the store of an older run does not have is "-" or null.
 */
#ifndef S2_EVAL_REPORT_COST_CELLS_H
#define S2_EVAL_REPORT_COST_CELLS_H

#include "base/buffer.h"
#include "eval/report/results.h"

typedef struct s2e_cost {
    double tokens;             /* visual tokens used, of all attempts; 0: nothing was answered */
    double flops, tower_flops; /* NAN: unknown */
    double prefill_ms;         /* of a whole prompt; NAN: none was computed */
    double kv_bytes;
    char after[S2E_AFTER_TEXT]; /* "0", "8,12", "before 0"; "": unknown, or nothing was pruned */
    char own[S2E_AFTER_TEXT];   /* where the setting asks for it, if that is elsewhere; else "" */
} s2e_cost;

s2e_cost s2e_cost_of_result(const s2e_result *result);
s2e_cost s2e_cost_of(const s2e_results *results, int32_t row); /* over all tasks */

/* The visual tokens a setting used on average, next to its budget where that is another number: "64",
 * "30 (32)", "107 (32..128)"; of a setting that keeps all, "576"; where every answer failed, "- (64)". */
#define S2E_TOKENS_TEXT (S2A_BUDGET_TEXT + 40)
const char *s2e_tokens_text(const s2e_column *column, double tokens, char out[S2E_TOKENS_TEXT]);
/* The text of it would have both. */
bool s2e_tokens_differ(const s2e_column *column, double tokens);

/* Cells of a row: their headings, NULL past the end, and texts. A moved prune point has a star. */
#define S2E_COST_TEXT 64u
const char *s2e_cost_heading(size_t index);
const char *s2e_cost_text(const s2e_cost *cost, size_t index, char out[S2E_COST_TEXT]);

/* Members flops, flops_with_tower, prunes_after and, where it was moved, prunes_after_own. */
void s2e_cost_json(const s2e_cost *cost, json_t *out);

/* The sentence that explains the star; nothing when no prune point was moved. escape: of escape.h, for
 * the names of settings; NULL: as they are. */
void s2e_cost_notes(const s2e_task_results *task, void (*escape)(s2_buffer *, const char *),
                    s2_buffer *out);

/* Fields of a row of CSV, each with a comma before it; those without a value are empty. */
#define S2E_COST_FIELDS "tflops,tflops_with_tower,prefill_ms,kv_mib,prunes_after,prunes_after_own"
void s2e_cost_csv(const s2e_result *result, s2_buffer *out);

#endif /* S2_EVAL_REPORT_COST_CELLS_H */
