/* contest.h - who is compared runs in turn; rates as shares of the peak of each one's unit. */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include "peak.h"
#include "timing.h"

#include <stdint.h>

#define MAX_TURNS 60
#define MAX_WHO 56 /* every table of a machine with AMX, twice, and the peaks */

typedef struct contestant {
    char name[40];
    void (*run)(void *context);
    void *context;
    int unit; /* whose peak it is measured by: an index of who[], itself for a peak */
    double us[MAX_TURNS];
} contestant;

typedef struct contest {
    contestant who[MAX_WHO];
    int n, n_turns;
    FILE *csv;
} contest;

static inline void *take(size_t n)
{
    void *p = aligned_alloc(64, (n + 63) / 64 * 64);
    if (!p) abort();
    memset(p, 0, n);
    return p;
}

static inline contestant *enter(contest *c, const char *name, void (*run)(void *), void *context)
{
    contestant *who = &c->who[c->n++];
    snprintf(who->name, sizeof who->name, "%s", name);
    who->run = run;
    who->context = context;
    who->unit = 0;
    return who;
}

static inline void run_peak(void *context) { ((const peak_unit *)context)->run(); }

/* The contestant that is the peak of a table's unit; the first is that of float32. */
static inline int enter_peak(contest *c, const char *table)
{
    const peak_unit *unit = peak_of(table);
    for (int i = 0; i < c->n; i++)
        if (c->who[i].context == unit) return i;
    contestant *who = enter(c, unit->name, run_peak, (void *)(uintptr_t)unit);
    return who->unit = c->n - 1;
}

static inline void run_all(contest *c)
{
    for (int turn = -1; turn < c->n_turns; turn++) /* one to warm up */
        for (int k = 0; k < c->n; k++) {
            contestant *who = &c->who[(k + turn + 1) % c->n]; /* nobody always follows the same */
            const double start = now_us();
            who->run(who->context);
            if (turn >= 0) who->us[turn] = now_us() - start;
        }
}

/* Rates, share of the peak of each one's unit, and time of the contestant `base` over each one's. */
static inline void report(contest *c, const char *what, double gflop, int base)
{
    printf("%s: %.1f GFLOP\n", what, gflop);
    for (int i = 0; i < c->n; i++) {
        const contestant *who = &c->who[i], *unit = &c->who[who->unit];
        const summary s = summarise(who->us, c->n_turns);
        if (who == unit) {
            printf("  peak, %-16s %27.1f GFLOP/s\n", who->name,
                   peak_gflop(who->context) / s.median * 1e6);
            continue;
        }
        const double top = peak_gflop(unit->context);
        const summary ratio = summarise_ratio(c->who[base].us, who->us, c->n_turns);
        summary share = summarise_ratio(unit->us, who->us, c->n_turns);
        share = (summary){ share.min * gflop / top, share.p10 * gflop / top,
                           share.median * gflop / top, share.p90 * gflop / top };
        const double rate = gflop / s.median * 1e6;
        printf(
            "  %-16s %9.2f ms (p10 %.2f p90 %.2f)  %6.1f GFLOP/s  %5.1f %% of peak (p10 %.1f p90 "
            "%.1f)  %.2fx %s (p10 %.2f p90 %.2f)\n",
            who->name, s.median / 1e3, s.p10 / 1e3, s.p90 / 1e3, rate, 100 * share.median,
            100 * share.p10, 100 * share.p90, ratio.median, c->who[base].name, ratio.p10,
            ratio.p90);
        fprintf(c->csv, "%s,%s,%.3f,%.3f,%.3f,%.3f,%.2f,\"%s\",%.4f,%.4f,%.4f,%.3f,%.3f,%.3f\n",
                what, who->name, s.median / 1e3, s.p10 / 1e3, s.p90 / 1e3, s.min / 1e3, rate,
                unit->name, share.median, share.p10, share.p90, ratio.median, ratio.p10, ratio.p90);
    }
    fflush(stdout);
}

/* The first lines of the CSV file. */
static inline void print_header(contest *c)
{
    print_machine(c->csv);
    fprintf(c->csv, "what,who,median_ms,p10_ms,p90_ms,min_ms,gflops,unit,share_of_peak,share_p10,"
                    "share_p90,times_faster,times_p10,times_p90\n");
}

static inline float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)((int32_t)(*seed >> 9) - (1 << 22)) * 0x1p-22f;
}

#endif /* BENCH_CONTEST_H */
