/* documents.h - the files a run leaves for people: one row of a table each.
 *
 *     report.md, report.html     tables, figures by category, comparisons; the page has the samples too
 *     table.tex                  the paper's table
 *     curves.svg                 accuracy by budget
 *     results.csv                every figure of every protocol, one a row
 *     per_sample.csv             every answer, in the columns of the authors' release and some more
 *     summary.json               everything above as JSON, schema s2prune.eval-summary/1
 *     run_config.json            what the run is
 *
 * None but per_sample.csv and summary.json (members "..._ms", "seconds") holds a time: the same
 * answers give the same bytes.
 */
#ifndef S2_EVAL_REPORT_DOCUMENTS_H
#define S2_EVAL_REPORT_DOCUMENTS_H

#include "eval/report/comparison.h"
#include "eval/report/results.h"

typedef struct s2e_report_input { /* all borrowed */
    const s2e_results *results;
    s2e_store *store;
    const s2e_comparison *comparison; /* [n_comparisons] */
    int32_t n_comparisons;
    const char *baseline; /* name of the run compared with; NULL: none */
} s2e_report_input;

typedef struct s2e_document {
    const char *name; /* of the file */
    s2p_status (*write)(const s2e_report_input *input, s2_buffer *out, s2p_error *error);
} s2e_document;

const s2e_document *s2e_document_at(size_t index); /* NULL past the end */

/* "s2prune/64", "full" */
#define S2E_COLUMN_TEXT (S2E_NAME + S2A_BUDGET_TEXT)
const char *s2e_column_text(const s2e_column *column, char out[S2E_COLUMN_TEXT]);

#endif /* S2_EVAL_REPORT_DOCUMENTS_H */
