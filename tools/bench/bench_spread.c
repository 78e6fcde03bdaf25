/* bench_spread.c - medians and quartiles of repeats, and when a ratio means something. */
#include "base/statistics.h"
#include "bench/bench.h"

#include <math.h>

bench_spread s2_bench_spread(const double *value, int32_t n)
{
    double sorted[S2_MAX_REPEATS];
    for (int32_t i = 0; i < n; i++) sorted[i] = value[i];
    s2_sort_numbers(sorted, (size_t)n);
    return (bench_spread){ s2_quantile(sorted, (size_t)n, 0.5),
                           s2_quantile(sorted, (size_t)n, 0.25),
                           s2_quantile(sorted, (size_t)n, 0.75) };
}

bench_spread s2_bench_ratio(const double *slow, const double *fast, int32_t n, bool *is_sure)
{
    double ratio[S2_MAX_REPEATS];
    for (int32_t i = 0; i < n; i++) ratio[i] = slow[i] / fast[i];
    const bench_spread spread = s2_bench_spread(ratio, n);
    *is_sure = n >= 3 && spread.high - spread.low < fabs(spread.median - 1.0);
    return spread;
}
