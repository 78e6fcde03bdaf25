/* early_stop.c - the three ways an answer of the release ends early. */
#include "eval/scoring/answer_reading.h"

#include <string.h>

#define SPACES " \t\r\n\v\f"
#define MAX_GRAM 64

/* `text` between spaces: *n bytes from the result. */
static const char *trimmed(const char *text, size_t *n)
{
    text += strspn(text, SPACES);
    *n = strlen(text);
    while (*n > 0 && strchr(SPACES, text[*n - 1])) --*n;
    return text;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

bool s2e_stops_at_letter(const char *text_so_far)
{
    size_t n, i = 0;
    const char *text = trimmed(text_so_far, &n);
    if (i < n && text[i] == '(') i++;
    if (i == n || lower(text[i]) < 'a' || lower(text[i]) > 'e') return false;
    i++;
    if (i < n && text[i] == ')') i++;
    if (i < n && (text[i] == '.' || text[i] == ')')) i++;
    return i == n;
}

bool s2e_stops_at_yes_no(const char *text_so_far)
{
    size_t n;
    const char *text = trimmed(text_so_far, &n);
    if (n > 0 && (text[n - 1] == '.' || text[n - 1] == '!')) n--;
    if (n == 2) return lower(text[0]) == 'n' && lower(text[1]) == 'o';
    return n == 3 && lower(text[0]) == 'y' && lower(text[1]) == 'e' && lower(text[2]) == 's';
}

int32_t s2e_repeats_from(const int32_t *token, int32_t n_tokens)
{
    for (int32_t n = 1; n <= MAX_GRAM && 3 * n <= n_tokens; n++) {
        const int32_t *last = token + n_tokens - n;
        const size_t size = (size_t)n * sizeof *token;
        if (memcmp(last, last - n, size) == 0 && memcmp(last, last - 2 * n, size) == 0)
            return n_tokens - 3 * n;
    }
    return n_tokens;
}
