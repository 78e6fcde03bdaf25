/* bench_pixels.c - the pixel stage against OpenCV and against reading the bytes once.
 *
 *   bench_pixels [pixels.csv]
 *
 * Per size and K, in turn: ours with each table of kernels, OpenCV with a 16-bit and with a double
 * Laplacian, one pass that only reads the picture, one memcpy of it. The claims use the fastest
 * table and the faster OpenCV.
 */
#include "opencv_peer.h"
#include "prune/structure.h"
#include "timing.h"

#include <math.h>

#define MAX_TURNS 400
#define MAX_SIDE 9
#define MAX_TABLES 4

typedef enum contestant {
    READ,
    COPY,
    OPENCV16,
    OPENCV64,
    OURS,
    N_CONTESTANTS = OURS + MAX_TABLES
} contestant;

uint64_t read_once(const uint8_t *p, size_t n);

typedef struct bench {
    s2p_image image;
    s2p_grid grid;
    int32_t side;
    uint8_t *pixels, *copy;
    size_t n_bytes;
    uint64_t sink; /* printed, so that nothing is optimised away */
    s2p_rows rows;
    s2p_moments moments[MAX_SIDE * MAX_SIDE];
    opencv_peer *peer;
    int rectangle[MAX_SIDE * MAX_SIDE * 4];
    double variance[MAX_SIDE * MAX_SIDE]; /* OpenCV's */
    double us[N_CONTESTANTS][MAX_TURNS];
} bench;

/* Sixteen sums of words, which compilers turn into vectors as wide as the CPU has them: as fast as
 * one core reads. */
#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
uint64_t
read_once(const uint8_t *p, size_t n)
{
    uint64_t sum[16] = { 0 };
    for (size_t i = 0; i + 8 * 16 <= n; i += 8 * 16) {
        for (size_t j = 0; j < 16; j++) {
            uint64_t word;
            memcpy(&word, p + i + 8 * j, sizeof word);
            sum[j] += word;
        }
    }
    for (int j = 1; j < 16; j++) sum[0] += sum[j];
    return sum[0];
}

#ifndef BENCH_OPENCV
opencv_peer *opencv_peer_create(uint8_t *rgb, int width, int height)
{
    (void)rgb, (void)width, (void)height;
    return NULL;
}
void opencv_peer_free(opencv_peer *peer) { (void)peer; }
void opencv_peer_run(opencv_peer *peer, int is_double, const int *rectangles, int n,
                     double *variance)
{
    (void)peer, (void)is_double, (void)rectangles, (void)n, (void)variance;
}
#endif

static void run(bench *b, int who)
{
    switch (who) {
    case READ:
        b->sink += read_once(b->pixels, b->n_bytes);
        break;
    case COPY:
        memcpy(b->copy, b->pixels, b->n_bytes);
        b->sink += b->copy[b->n_bytes / 2];
        break;
    case OPENCV16:
    case OPENCV64:
        opencv_peer_run(b->peer, who == OPENCV64, b->rectangle, b->side * b->side, b->variance);
        break;
    default:
        break;
    }
}

static void run_ours(bench *b, const s2p_kernels *kernels)
{
    if (s2p_measure_regions(&b->image, b->grid, b->side, S2P_MEASURE_LAPLACIAN, kernels, &b->rows,
                            b->moments) != S2P_OK)
        abort();
}

/* Something between a photograph and noise: smooth shades with a little grain. */
static void paint(bench *b, int32_t width, int32_t height)
{
    uint32_t seed = 1;
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < 3 * width; x++) {
            seed = seed * 1664525u + 1013904223u;
            const double shade = 110 + 80 * sin(x * 0.004) * cos(y * 0.007);
            b->pixels[(size_t)y * 3 * (size_t)width + (size_t)x] = (uint8_t)(shade + (seed >> 27));
        }
}

static void set_up(bench *b, int32_t width, int32_t height, int32_t side)
{
    *b = (bench){ .grid = { 24, 24 }, .side = side };
    b->n_bytes = 3 * (size_t)width * (size_t)height;
    b->pixels = malloc(b->n_bytes);
    b->copy = malloc(b->n_bytes);
    s2p_rect region[MAX_SIDE * MAX_SIDE];
    if (!b->pixels || !b->copy || s2p_partition(b->grid, side, region) != S2P_OK) abort();
    paint(b, width, height);
    memset(b->copy, 1, b->n_bytes);
    b->image = (s2p_image){ width, height, 3 * (ptrdiff_t)width, b->pixels };
    b->peer = opencv_peer_create(b->pixels, width, height);
    for (int32_t i = 0; i < side * side; i++) {
        const s2p_rect r = s2p_support(region[i], b->grid, width, height);
        const int corner[4] = { r.col0, r.row0, r.col1, r.row1 };
        memcpy(b->rectangle + 4 * i, corner, sizeof corner);
    }
}

static void tear_down(bench *b)
{
    opencv_peer_free(b->peer);
    s2p_rows_free(&b->rows);
    free(b->pixels);
    free(b->copy);
}

/* OpenCV's gray is rounded a little differently, so this is a check that both measured the same. */
static double largest_difference(const bench *b)
{
    double worst = 0;
    for (int32_t i = 0; i < b->side * b->side; i++) {
        const double ours = s2p_variance(b->moments[i]);
        worst = fmax(worst, fabs(ours - b->variance[i]) / ours);
    }
    return worst;
}

static void report(FILE *csv, const bench *b, const char *what, const char *unit, summary s)
{
    printf("  %-28s %9.2f %s   p10 %.2f  p90 %.2f  min %.2f\n", what, s.median, unit, s.p10, s.p90,
           s.min);
    fprintf(csv, "pixels,%d,%d,%d,%s,%s,%.4f,%.4f,%.4f,%.4f\n", b->image.width, b->image.height,
            b->side, what, unit, s.median, s.p10, s.p90, s.min);
}

static void compare(FILE *csv, bench *b, int n_turns)
{
    int n_tables = 0;
    const s2p_kernels *table[MAX_TABLES];
    for (size_t i = 0; i < MAX_TABLES && s2p_kernels_at(i); i++)
        table[n_tables++] = s2p_kernels_at(i);

    for (int turn = -2; turn < n_turns; turn++) { /* two to warm up */
        for (int k = 0; k < OURS + n_tables; k++) {
            const int who = (k + turn + 2) % (OURS + n_tables); /* nobody always follows the same */
            if (!b->peer && (who == OPENCV16 || who == OPENCV64)) continue;
            const double start = now_us();
            if (who >= OURS)
                run_ours(b, table[who - OURS]);
            else
                run(b, who);
            if (turn >= 0) b->us[who][turn] = now_us() - start;
        }
    }

    const double *ours = b->us[OURS + n_tables - 1];
    printf("%dx%d, %dx%d regions, %d turns (sink %016llx)\n", b->image.width, b->image.height,
           b->side, b->side, n_turns, (unsigned long long)b->sink);
    for (int i = 0; i < n_tables; i++) {
        char name[40];
        snprintf(name, sizeof name, "ours-%s", table[i]->name);
        report(csv, b, name, "us", summarise(b->us[OURS + i], n_turns));
    }
    report(csv, b, "read-once", "us", summarise(b->us[READ], n_turns));
    report(csv, b, "memcpy", "us", summarise(b->us[COPY], n_turns));
    report(csv, b, "ours/read-once", "x", summarise_ratio(ours, b->us[READ], n_turns));
    report(csv, b, "ours/memcpy", "x", summarise_ratio(ours, b->us[COPY], n_turns));
    if (!b->peer) return;
    const summary narrow = summarise(b->us[OPENCV16], n_turns);
    const summary wide = summarise(b->us[OPENCV64], n_turns);
    const int faster = narrow.median < wide.median ? OPENCV16 : OPENCV64;
    report(csv, b, "opencv-16s", "us", narrow);
    report(csv, b, "opencv-64f", "us", wide);
    report(csv, b, "opencv/ours", "x", summarise_ratio(b->us[faster], ours, n_turns));
    printf("  variances differ from OpenCV's by at most %.2g\n", largest_difference(b));
}

int main(int argc, char **argv)
{
    FILE *csv = fopen(argc > 1 ? argv[1] : "pixels.csv", "w");
    bench *b = malloc(sizeof *b);
    if (!csv || !b) return 1;
    print_machine(csv);
    fprintf(csv, "bench,width,height,k,what,unit,median,p10,p90,min\n");
    static const int32_t size[2][2] = { { 4000, 3000 }, { 672, 672 } };
    for (int i = 0; i < 2; i++) {
        for (int32_t side = 5; side <= 9; side += 4) {
            set_up(b, size[i][0], size[i][1], side);
            compare(csv, b, i == 0 ? 60 : MAX_TURNS);
            tear_down(b);
        }
    }
    free(b);
    return fclose(csv) ? 1 : 0;
}
