/* plot_text.c - text in lines: how wide it is, where it breaks.
 *
 * Nobody here can ask the reader's font. Widths are Helvetica's, which Arial, Liberation Sans and Nimbus
 * Sans share, with an allowance for wider fonts such as DejaVu Sans; characters of East Asia take a
 * whole square.
 */
#include "eval/figure/plot.h"

#include "base/markup.h"

#include <math.h>
#include <string.h>

#define ALLOWANCE 1.08

/* Thousandths of the size, from the space on. */
static const int16_t widths[95] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584
};

/* The bytes of the first character, at least one, and its width in thousandths. */
static size_t measure(const char *text, double *width)
{
    const unsigned char first = (unsigned char)*text;
    const size_t n = s2_markup_character(text, strlen(text));
    if (n <= 1)
        *width = first >= 0x20 && first < 0x7f ? widths[first - 0x20] : 556.0;
    else
        *width = n == 2 ? 620.0 : first >= 0xE2 && first < 0xE3 ? 700.0 : 1000.0;
    return n > 0 ? n : 1;
}

double s2_text_width(const char *text, double size)
{
    double sum = 0.0, width;
    while (*text) {
        text += measure(text, &width);
        sum += width;
    }
    return ALLOWANCE * sum * size / 1000.0;
}

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t'; }

size_t s2_text_fit(const char *text, double width, double size, size_t *next)
{
    size_t at = 0, fits = 0, word = 0; /* ends of what fits, and of its last whole word */
    double used = 0.0;
    while (text[at] && text[at] != '\n') {
        double wide;
        const size_t n = measure(text + at, &wide);
        used += ALLOWANCE * wide * size / 1000.0;
        if (used > width && fits > 0) break;
        if (is_space(text[at])) word = at;
        at += n;
        fits = at;
        if (n == 3 && (unsigned char)text[at - 3] >= 0xE3) word = at; /* breaks anywhere */
    }
    if (text[at] && !is_space(text[at]) && word > 0) fits = word;
    size_t end = fits;
    while (is_space(text[end])) {
        end++;
        if (text[end - 1] == '\n') break;
    }
    *next = end;
    while (fits > 0 && is_space(text[fits - 1])) fits--;
    return fits;
}
