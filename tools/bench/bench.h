/* bench.h - what a prefill costs: by formula, and by the clock.
 *
 * Both make a table; the command writes it.
 */
#ifndef S2_TOOLS_BENCH_H
#define S2_TOOLS_BENCH_H

#include "analyze/table.h"
#include "ask/settings.h"
#include "asking/asker.h"

#define S2_MIB 1048576.0

/* --- bench_estimate.c -------------------------------------------------------------- */

typedef struct bench_estimate {
    const char *models;         /* "qwen2.5-vl-7b,..." or "all" */
    const s2a_setting *setting; /* [n_settings] */
    int32_t n_settings;
    const char *prompts; /* "pope,64": text tokens of the prompt, each a row; NULL: pope */
    const char *layers;  /* NULL, or "0,1,2": full layers instead of the methods' own */
} bench_estimate;

/* Rows of every model, prompt and setting. S2P_EINVAL: an unknown model or a number that is none. */
s2p_status s2_bench_estimate(const bench_estimate *estimate, s2_table *table, s2p_error *error);

/* --- bench_spread.c ------------------------------------------------------------------ */

typedef struct bench_spread { /* of repeats */
    double median, low, high; /* quartiles */
} bench_spread;

bench_spread s2_bench_spread(const double *value, int32_t n); /* n >= 1; S2_MAX_REPEATS at most */

#define S2_MAX_REPEATS 1000

/* How many times faster `fast` is than `slow`, as the median of the ratios of the rounds, which ran
 * next to each other. *is_sure: half of the ratios lie closer together than their median from 1. */
bench_spread s2_bench_ratio(const double *slow, const double *fast, int32_t n, bool *is_sure);

/* --- bench_machine.c ------------------------------------------------------------------- */

typedef struct bench_machine {
    char cpu[96];
    int32_t n_cores;
    double memory_gib;     /* 0: unknown */
    double others_percent; /* of all cores, used by other processes since s2_machine_start; below 0:
                              unknown */
    double start_busy, start_all, start_own; /* clock ticks */
} bench_machine;

void s2_machine_start(bench_machine *machine);
void s2_machine_stop(bench_machine *machine);

/* Forget the peak of the memory in use, where the system can; bytes since then, 0: unknown. */
void s2_memory_peak_reset(void);
double s2_memory_peak(void);

/* bench_measure.c: settings on a model and a picture, by the clock.
 *
 * Every round runs every row once, so that what slows the machine for a while slows all rows alike;
 * the first round warms up and is thrown away. Nothing is remembered between runs: each pays for
 * the tower.
 */

#define S2_BENCH_MAX_ROWS 512

typedef struct bench_row {
    s2a_setting setting;
    int32_t n_prompt; /* text tokens wanted; 0: the question as it is */
    int32_t n_predict;
    const char *question; /* owned by the context */
    s2v_stats stats;      /* of the last run: counts, not times */
    double *vision, *layer0, *layers, *select, *prompt, *first, *decode; /* [repeats], owned */
    double peak_bytes;
    double tower_flops; /* of what the tower saw; 0: unknown */
} bench_row;

typedef struct bench_context { /* free with s2_bench_context_free */
    s2_asker *asker;
    const char *question, *prompts, *predicts; /* lists "64,128" of -p and -n; prompts NULL: none */
    int32_t repeats;
    bool is_forced; /* print speedups the spread does not bear out */
    bench_row *row;
    int32_t n_rows;
    char **made; /* questions of a wanted length */
    int32_t n_made;
    bench_machine machine;
} bench_context;

s2p_status s2_bench_measure(bench_context *context, const s2a_setting *setting, int32_t n_settings,
                            s2p_error *error);
void s2_bench_context_free(bench_context *context);

/* The rows as a table (bench_rows.c). */
void s2_bench_rows(const bench_context *context, s2_table *table);

#endif /* S2_TOOLS_BENCH_H */
