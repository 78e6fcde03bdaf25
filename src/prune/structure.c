/* structure.c - how much goes on in each region of the picture.
 *
 * Paper: App. A.2 Eq. 2. Choices the paper leaves open: the picture
 * is measured at source resolution, gray is Pillow's mode "L", pixel boundaries are
 * rounded half to even, and the Laplacian repeats the outermost pixels at the border.
 *
 * One pass over the rows. Three rows of gray roll along; a row's Laplacian is added
 * to the regions it crosses as soon as the row below is gray. Nothing the size of the
 * picture is ever written, and all sums are exact integers: |L| <= 1020 and at most
 * 2^40 pixels keep the sum of squares below 2^61.
 */
#include "prune/structure.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PICTURE_SIDE (1 << 20)
#define N_ROWS 3

typedef struct cuts { /* boundaries of the regions in pixels, [side + 1] each, rising */
    const int32_t *column, *row;
    int32_t side;
} cuts;

static s2p_status check(const s2p_image *image, s2p_grid grid, int32_t side)
{
    if (!image || !image->pixels) return S2P_EINVAL;
    if (image->width < 3 || image->height < 3) return S2P_EUNSUPPORTED;
    if (image->width > MAX_PICTURE_SIDE || image->height > MAX_PICTURE_SIDE) return S2P_ELIMIT;
    if (image->stride < 3 * (ptrdiff_t)image->width) return S2P_EINVAL;
    if (grid.rows < 1 || grid.rows > S2P_MAX_SIDE || grid.cols < 1 || grid.cols > S2P_MAX_SIDE)
        return S2P_EINVAL;
    if (grid.rows * grid.cols > S2P_MAX_TOKENS) return S2P_EINVAL;
    if (side < 1 || side > grid.rows || side > grid.cols) return S2P_EINVAL;
    /* More regions across than pixels: one of them is empty. */
    return side > image->width || side > image->height ? S2P_EUNSUPPORTED : S2P_OK;
}

/* From one row of gray to the next: the width and a margin on both sides. */
static size_t pitch(int32_t width) { return (size_t)width + 2; }

static s2p_status reserve(s2p_rows *rows, int32_t width)
{
    if (rows->width >= width) return S2P_OK;
    uint8_t *gray = malloc(N_ROWS * pitch(width));
    int32_t *edges = malloc(2 * ((size_t)width + 1) * sizeof *edges);
    if (!gray || !edges) {
        free(gray);
        free(edges);
        return S2P_ENOMEM;
    }
    s2p_rows_free(rows);
    *rows = (s2p_rows){ gray, edges, width };
    return S2P_OK;
}

static bool is_rising(const int32_t *edge, int32_t n)
{
    for (int32_t i = 1; i < n; i++)
        if (edge[i - 1] >= edge[i]) return false;
    return true;
}

/* Region boundaries in tokens, then in pixels, in place. */
static s2p_status cut_picture(const s2p_image *image, s2p_grid grid, int32_t side, int32_t *column,
                              int32_t *row)
{
    s2p_status status = s2p_edges(grid.cols, side, column);
    if (status == S2P_OK) status = s2p_edges(grid.rows, side, row);
    if (status != S2P_OK) return status;
    for (int32_t i = 0; i <= side; i++) {
        const s2p_rect tokens = { 0, 0, row[i], column[i] };
        const s2p_rect pixels = s2p_support(tokens, grid, image->width, image->height);
        column[i] = pixels.col1;
        row[i] = pixels.row1;
    }
    return is_rising(column, side + 1) && is_rising(row, side + 1) ? S2P_OK : S2P_EUNSUPPORTED;
}

/* Gray of picture row y into `down`, Laplacian of `mid` into the regions of its band. */
static void add_row(const s2p_kernels *kernels, const s2p_image *image, int32_t y,
                    const uint8_t *up, const uint8_t *mid, uint8_t *down, const cuts *cut,
                    s2p_moments *region)
{
    const uint8_t *rgb = image->pixels + y * image->stride;
    const int32_t width = image->width;
    kernels->laplacian_row(rgb, up, mid, down, cut->column, cut->side, region);
    down[-1] = down[0];
    down[width] = down[width - 1];
}

static void add_laplacian(const s2p_kernels *kernels, const s2p_image *image, const cuts *cut,
                          uint8_t *const ring[N_ROWS], s2p_moments *out)
{
    /* The first row of gray by way of a Laplacian nobody wants. */
    s2p_moments ignored = { 0 };
    const int32_t whole[2] = { 0, image->width };
    add_row(kernels, image, 0, ring[1], ring[2], ring[0], &(cuts){ whole, NULL, 1 }, &ignored);
    const uint8_t *up = ring[0], *mid = ring[0]; /* the row above the first is the first */
    for (int32_t y = 0, band = 0; y < image->height; y++) {
        const int32_t below = y + 1 < image->height ? y + 1 : y; /* and below the last the last */
        uint8_t *down = ring[(y + 1) % N_ROWS];
        if (y == cut->row[band + 1]) band++;
        add_row(kernels, image, below, up, mid, down, cut, &out[(ptrdiff_t)band * cut->side]);
        up = mid;
        mid = down;
    }
}

/* Below rows of zeros the Laplacian is the gray level itself. */
static void add_intensity(const s2p_kernels *kernels, const s2p_image *image, const cuts *cut,
                          uint8_t *const ring[N_ROWS], s2p_moments *out)
{
    for (int32_t y = 0, band = 0; y < image->height; y++) {
        if (y == cut->row[band + 1]) band++;
        add_row(kernels, image, y, ring[1], ring[2], ring[0], cut,
                &out[(ptrdiff_t)band * cut->side]);
    }
}

s2p_status s2p_measure_regions(const s2p_image *image, s2p_grid grid, int32_t side,
                               s2p_measure measure, const s2p_kernels *kernels, s2p_rows *rows,
                               s2p_moments *out)
{
    if (!kernels || !rows || !out) return S2P_EINVAL;
    s2p_status status = check(image, grid, side);
    if (status == S2P_OK) status = reserve(rows, image->width);
    if (status != S2P_OK) return status;
    int32_t *column = rows->edges, *row = rows->edges + side + 1;
    status = cut_picture(image, grid, side, column, row);
    if (status != S2P_OK) return status;

    const cuts cut = { column, row, side };
    memset(out, 0, (size_t)side * (size_t)side * sizeof *out);
    memset(rows->gray, 0, N_ROWS * pitch(image->width));
    uint8_t *ring[N_ROWS];
    for (size_t i = 0; i < N_ROWS; i++) ring[i] = rows->gray + i * pitch(image->width) + 1;
    if (measure == S2P_MEASURE_LAPLACIAN)
        add_laplacian(kernels, image, &cut, ring, out);
    else
        add_intensity(kernels, image, &cut, ring, out);
    return S2P_OK;
}

void s2p_rows_free(s2p_rows *rows)
{
    free(rows->gray);
    free(rows->edges);
    *rows = (s2p_rows){ 0 };
}

/* The public calls: scratch for one picture only. */
static s2p_status measure_once(const s2p_image *image, s2p_grid grid, int32_t side,
                               s2p_measure measure, s2p_moments *out)
{
    s2p_rows rows = { 0 };
    const s2p_status status =
        s2p_measure_regions(image, grid, side, measure, s2p_kernels_choose(), &rows, out);
    s2p_rows_free(&rows);
    return status;
}

s2p_status s2p_laplacian(const s2p_image *image, s2p_grid grid, int32_t side, s2p_moments *out)
{
    return measure_once(image, grid, side, S2P_MEASURE_LAPLACIAN, out);
}

s2p_status s2p_intensity(const s2p_image *image, s2p_grid grid, int32_t side, s2p_moments *out)
{
    return measure_once(image, grid, side, S2P_MEASURE_INTENSITY, out);
}
