/* timing.h - CPU time of this thread, and what a row of measurements says.
 *
 * Whoever is compared runs in turn within one loop, so that a busy machine slows all of them;
 * a claim is the median of the ratios of one turn, with the tenth and ninetieth percentile.
 */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static inline int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct summary {
    double min, p10, median, p90;
} summary;

static inline summary summarise(const double *value, int n)
{
    double *sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted) abort();
    memcpy(sorted, value, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
    const summary s = { sorted[0], sorted[n / 10], sorted[n / 2], sorted[n - 1 - n / 10] };
    free(sorted);
    return s;
}

static inline summary summarise_ratio(const double *a, const double *b, int n)
{
    double *ratio = malloc((size_t)n * sizeof *ratio);
    if (!ratio) abort();
    for (int i = 0; i < n; i++) ratio[i] = a[i] / b[i];
    const summary s = summarise(ratio, n);
    free(ratio);
    return s;
}

/* "# machine: ..." of a CSV file. */
static inline void print_machine(FILE *out)
{
    char line[256], model[200] = "unknown CPU";
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && fgets(line, sizeof line, info)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        snprintf(model, sizeof model, "%s", colon + 2);
        model[strcspn(model, "\n")] = 0;
        break;
    }
    if (info) fclose(info);
#if defined(__clang__)
    const char *compiler = "";
#else
    const char *compiler = "gcc ";
#endif
    fprintf(out, "# machine: %s; compiler: %s%s; clock: thread CPU time\n", model, compiler,
            __VERSION__);
}

#endif /* BENCH_TIMING_H */
