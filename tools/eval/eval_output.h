/* eval_output.h - what comes out of a run: tables on standard output, files in its folder. */
#ifndef S2_TOOLS_EVAL_OUTPUT_H
#define S2_TOOLS_EVAL_OUTPUT_H

#include "eval/eval_job.h"

/* The tables in the form of -o, on standard output; the exit code. */
int eval_print_tables(const s2e_results *results, int32_t form);

/* Every answer as a line of JSON, by the order of the data; the exit code. */
int eval_write_samples(const char *path, s2e_store *store, const s2e_results *results);

#endif /* S2_TOOLS_EVAL_OUTPUT_H */
