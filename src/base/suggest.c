/* suggest.c - "did you mean": the nearest name by edits, or the one it abbreviates.
 *
 * Distance counts insertions, deletions, substitutions and swaps of neighbors (optimal string
 * alignment), the four common typing errors.
 */
#include "base/suggest.h"

#include <string.h>

#define MAX_LENGTH 63u

static size_t smallest(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Names longer than MAX_LENGTH are never near anything. */
static size_t distance(const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    if (n > MAX_LENGTH || m > MAX_LENGTH) return MAX_LENGTH;
    size_t row[3][MAX_LENGTH + 1]; /* row[i % 3][j]: first i letters of a against first j of b */
    for (size_t j = 0; j <= m; j++) row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *above = row[(i - 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = smallest(above[j] + 1, now[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                const size_t swapped = row[(i - 2) % 3][j - 2] + 1;
                if (swapped < now[j]) now[j] = swapped;
            }
        }
    }
    return row[n % 3][m];
}

const char *s2_suggest(const char *typed, const char *(*next)(const void *context, size_t index),
                       const void *context)
{
    const size_t length = strlen(typed);
    const char *best = NULL;
    size_t best_distance = 2 + length / 5; /* one slip in a short word, a few in a long one */
    for (size_t i = 0;; i++) {
        const char *name = next(context, i);
        if (!name) return best;
        size_t d = distance(typed, name);
        if (length >= 3 && strncmp(typed, name, length) == 0) d = 1; /* --alloc */
        if (d < best_distance && d < length) {                       /* not every letter replaced */
            best_distance = d;
            best = name;
        }
    }
}
