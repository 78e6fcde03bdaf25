/* bench_select.c - budgets, cells and selection on a plan that is already there.
 *
 *   bench_select [select.csv]
 *
 * The picture is small, so that what is left is the method itself; its pixel stage is measured
 * alone in the same turn and its median taken off. Counts allocations: after set-up there are none.
 */
#include "prune/structure.h"
#include "timing.h"

#define TURNS 2000
#define N_TOKENS 576
#define PICTURE 96

static long n_allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    n_allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    n_allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    n_allocations++;
    return __real_realloc(old, size);
}

typedef struct times {
    double whole[TURNS], pixels[TURNS], rest[TURNS];
} times;

static void must(s2p_status status)
{
    if (status == S2P_OK) return;
    fprintf(stderr, "%s\n", s2p_status_text(status));
    exit(1);
}

static void report(FILE *csv, int32_t budget, const char *what, summary s)
{
    printf("  %-28s %9.2f us   p10 %.2f  p90 %.2f  min %.2f\n", what, s.median, s.p10, s.p90,
           s.min);
    fprintf(csv, "select,%d,%d,%s,us,%.4f,%.4f,%.4f,%.4f\n", N_TOKENS, budget, what, s.median,
            s.p10, s.p90, s.min);
}

static void measure(FILE *csv, const s2p_image *image, const float *erc, int32_t budget, times *t)
{
    const s2p_grid grid = { 24, 24 };
    const int32_t side = s2p_coarse_side(grid, budget);
    const s2p_kernels *kernels = s2p_kernels_choose();
    s2p_moments moments[N_TOKENS];
    s2p_rows rows = { 0 };
    s2p_plan *plan = NULL;
    must(s2p_plan_create(&plan, grid));
    must(s2p_s2prune(image, budget, side, erc, plan)); /* takes its rows of gray */
    must(s2p_measure_regions(image, grid, side, S2P_MEASURE_LAPLACIAN, kernels, &rows, moments));

    n_allocations = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        const double start = now_us();
        must(s2p_s2prune(image, budget, side, erc, plan));
        const double middle = now_us();
        must(
            s2p_measure_regions(image, grid, side, S2P_MEASURE_LAPLACIAN, kernels, &rows, moments));
        const double end = now_us();
        t->whole[turn] = middle - start;
        t->pixels[turn] = end - middle;
    }
    const long n_taken = n_allocations;

    const double pixels_us = summarise(t->pixels, TURNS).median;
    for (int turn = 0; turn < TURNS; turn++) t->rest[turn] = t->whole[turn] - pixels_us;
    printf("%d tokens, budget %d, %dx%d regions, %d turns, %ld allocations\n", N_TOKENS, budget,
           side, side, TURNS, n_taken);
    report(csv, budget, "whole", summarise(t->whole, TURNS));
    report(csv, budget, "pixels-of-a-small-picture", summarise(t->pixels, TURNS));
    report(csv, budget, "budgets+cells+selection", summarise(t->rest, TURNS));
    fprintf(csv, "select,%d,%d,allocations,count,%ld,,,\n", N_TOKENS, budget, n_taken);
    s2p_rows_free(&rows);
    s2p_plan_free(plan);
}

int main(int argc, char **argv)
{
    static uint8_t pixels[3 * PICTURE * PICTURE];
    static float erc[N_TOKENS];
    static times t;
    uint32_t seed = 1;
    for (int i = 0; i < 3 * PICTURE * PICTURE; i++) { /* busier to the right */
        seed = seed * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(100 + (int)(seed >> 24) * (i / 3 % PICTURE) / (2 * PICTURE));
    }
    for (int i = 0; i < N_TOKENS; i++) {
        seed = seed * 1664525u + 1013904223u;
        erc[i] = (float)(seed >> 8) * 0x1p-20f;
    }
    const s2p_image image = { PICTURE, PICTURE, 3 * PICTURE, pixels };
    FILE *csv = fopen(argc > 1 ? argv[1] : "select.csv", "w");
    if (!csv) return 1;
    print_machine(csv);
    fprintf(csv, "bench,tokens,budget,what,unit,median,p10,p90,min\n");
    static const int32_t budgets[] = { 32, 64, 128, 192 };
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
        measure(csv, &image, erc, budgets[i], &t);
    return fclose(csv) ? 1 : 0;
}
