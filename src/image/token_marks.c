/* token_marks.c - rectangles and masks of pixels to tokens.
 *
 * A token is marked if it shows any part: boxes grow to whole tokens. Framings put the picture into the middle
 * of a larger one or take its middle, so that a pixel moves by half of the difference.
 */
#include "image/token_marks.h"

#include <math.h>

typedef struct span { /* of tokens, half-open */
    int32_t from, to;
} span;

/* Tokens that show any of [from, from + length) of `size` pixels, of which n tokens show `shown`. */
static span tokens_of(double from, double length, int32_t size, int32_t shown, int32_t n)
{
    const double nearly = 1e-9; /* a percentage of a side is rarely a whole number */
    const double first = fmax(from, 0.0), last = fmin(from + length, size);
    const double move = (shown - size) / 2;
    const double low = floor((first + move) * n / shown + nearly),
                 high = ceil((last + move) * n / shown - nearly);
    return (span){ (int32_t)fmin(fmax(low, 0.0), n), (int32_t)fmin(fmax(high, 0.0), n) };
}

static void mark_tokens(span rows, span cols, int32_t n_cols, uint8_t kind, uint8_t *mark)
{
    for (int32_t r = rows.from; r < rows.to; r++)
        for (int32_t c = cols.from; c < cols.to; c++) mark[(ptrdiff_t)r * n_cols + c] |= kind;
}

/* Runs of marked pixels, line by line. */
void s2_mark_pixels(const uint8_t *mask, s2_size size, s2_size shown, s2p_grid grid, uint8_t kind,
                    uint8_t *mark)
{
    for (int32_t y = 0; y < size.height; y++) {
        const uint8_t *line = mask + (ptrdiff_t)y * size.width;
        const span rows = tokens_of(y, 1.0, size.height, shown.height, grid.rows);
        for (int32_t x = 0, end; x < size.width; x = end + 1) {
            while (x < size.width && !line[x]) x++;
            for (end = x; end < size.width && line[end];) end++;
            if (x < end)
                mark_tokens(rows, tokens_of(x, end - x, size.width, shown.width, grid.cols),
                            grid.cols, kind, mark);
        }
    }
}

void s2_mark_box(double x, double y, double width, double height, s2_size size, s2_size shown,
                 s2p_grid grid, uint8_t kind, uint8_t *mark)
{
    mark_tokens(tokens_of(y, height, size.height, shown.height, grid.rows),
                tokens_of(x, width, size.width, shown.width, grid.cols), grid.cols, kind, mark);
}
