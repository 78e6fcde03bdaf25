/* bench_peak.c - the peak of each unit of this machine's cores that the tower multiplies with.
 *
 *   bench_peak [threads]
 *
 * One line for each table of kernels that runs here: its name, GFLOP/s (or GOP/s) of all threads
 * together, the unit. Each thread counts its own CPU time.
 */
#include "kernels/tower/kernels.h"
#include "peak.h"
#include "timing.h"

#include <pthread.h>

#define TURNS 25
#define MAX_THREADS 256

typedef struct worker {
    const peak_unit *unit;
    double rate;
} worker;

static void *measure(void *context)
{
    worker *w = context;
    double us[TURNS];
    for (int i = 0; i < TURNS; i++) {
        const double start = now_us();
        w->unit->run();
        us[i] = now_us() - start;
    }
    w->rate = peak_gflop(w->unit) / summarise(us, TURNS).median * 1e6;
    return NULL;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1;
    if (n < 1 || n > MAX_THREADS) return 1;
    for (size_t i = 1; s2v_kernels_at(i); i++) {
        const peak_unit *unit = peak_of(s2v_kernels_at(i)->name);
        pthread_t thread[MAX_THREADS];
        worker w[MAX_THREADS];
        double rate = 0;
        for (int t = 0; t < n; t++) {
            w[t].unit = unit;
            if (pthread_create(&thread[t], NULL, measure, &w[t]) != 0) return 1;
        }
        for (int t = 0; t < n; t++) {
            pthread_join(thread[t], NULL);
            rate += w[t].rate;
        }
        printf("%s %.1f %s\n", s2v_kernels_at(i)->name, rate, unit->name);
    }
    return 0;
}
