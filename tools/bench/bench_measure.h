/* bench_measure.h - settings on a model and a picture, by the clock.
 *
 * Every round runs every row once, so that what slows the machine for a while slows all rows alike;
 * the first round warms up and is thrown away. Nothing is remembered between runs: each pays for
 * the tower.
 */
#ifndef S2_TOOLS_BENCH_MEASURE_H
#define S2_TOOLS_BENCH_MEASURE_H

#include "asking/asker.h"
#include "bench/bench.h"

#define S2_BENCH_MAX_ROWS 512

typedef struct bench_row {
    s2a_setting setting;
    int32_t n_prompt; /* text tokens wanted; 0: the question as it is */
    int32_t n_predict;
    const char *question; /* owned by the job */
    s2v_stats stats;      /* of the last run: counts, not times */
    double *vision, *layer0, *layers, *select, *prompt, *first, *decode; /* [repeats], owned */
    double peak_bytes;
} bench_row;

typedef struct bench_job { /* free with s2_bench_job_free */
    s2_asker *asker;
    const char *question, *prompts, *predicts; /* lists "64,128" of -p and -n; prompts NULL: none */
    int32_t repeats;
    bool is_forced; /* print speed-ups the spread does not bear out */
    bench_row *row;
    int32_t n_rows;
    char **made; /* questions of a wanted length */
    int32_t n_made;
    double tower_flops; /* of the picture; 0: unknown */
    bench_machine machine;
} bench_job;

s2p_status s2_bench_measure(bench_job *job, const s2a_setting *setting, int32_t n_settings,
                            s2p_error *error);
void s2_bench_job_free(bench_job *job);

/* The rows as a table (bench_rows.c). */
void s2_bench_rows(const bench_job *job, s2_table *table);

#endif /* S2_TOOLS_BENCH_MEASURE_H */
