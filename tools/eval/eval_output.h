/* eval_output.h - what comes out of a run: tables on standard output, files in its folder. */
#ifndef S2_TOOLS_EVAL_OUTPUT_H
#define S2_TOOLS_EVAL_OUTPUT_H

#include "eval/eval_job.h"

/* The tables in the form of -o, on standard output; the exit code. */
int eval_print_tables(const s2e_results *results, int32_t form);

typedef struct eval_report { /* a run that is complete, with what it is compared with */
    s2e_store *store;
    eval_data data;
    s2e_results results;
} eval_report;

/* Load what `folder` holds; data_dir NULL: from where it says its data are. */
s2p_status eval_report_load(const char *folder, const char *data_dir, eval_report *out,
                            s2p_error *error);
void eval_report_free(eval_report *report);

/* Tables on standard output; with `folder` every document there; --samples; against --baseline. The
 * exit code. */
int eval_report_write(const eval_options *options, const s2e_results *results, s2e_store *store,
                      const char *folder);

/* --judge: "local", "export". Anything else is refused, with what there is instead. */
s2p_status eval_judge_check(const char *judge, s2p_error *error);

/* Every answer as a line of JSON, by the order of the data; the exit code. */
int eval_write_samples(const char *path, s2e_store *store, const s2e_results *results);

#endif /* S2_TOOLS_EVAL_OUTPUT_H */
