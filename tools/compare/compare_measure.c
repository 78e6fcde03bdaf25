/* compare_measure.c - figures of a row that need no model. */
#define _XOPEN_SOURCE 700 /* strnlen */

#include "compare/compare.h"

#include "text/unicode.h"

#include <ctype.h>
#include <string.h>

#define EDGE 2 /* rows and columns of the margin */

static bool has_worked(const compare_row *row) { return row->error.status == S2P_OK; }

const compare_part *s2_compare_part(const compare_row *row, int32_t picture)
{
    for (int32_t p = 0; p < row->n_parts; p++)
        if (row->part[p].picture == picture && !row->part[p].is_tiles) return &row->part[p];
    return NULL;
}

/* --- where tokens are --------------------------------------------------------- */

static bool is_edge(s2p_grid grid, int32_t token)
{
    const int32_t row = token / grid.cols, col = token % grid.cols;
    return row < EDGE || col < EDGE || row >= grid.rows - EDGE || col >= grid.cols - EDGE;
}

static bool is_center(s2p_grid grid, int32_t token)
{
    const int32_t row = token / grid.cols, col = token % grid.cols;
    return row >= grid.rows / 4 && row < grid.rows - grid.rows / 4 && col >= grid.cols / 4 &&
           col < grid.cols - grid.cols / 4;
}

static double share(const compare_row *row, bool (*is_there)(s2p_grid grid, int32_t token))
{
    int64_t n = 0, n_there = 0;
    for (int32_t p = 0; has_worked(row) && p < row->n_parts; p++)
        for (int32_t i = 0; i < row->part[p].n_keep; i++, n++)
            n_there += is_there(row->part[p].grid, row->part[p].keep[i]);
    return n > 0 ? (double)n_there / (double)n : -1.0;
}

double s2_compare_edge(const compare_row *row) { return share(row, is_edge); }

double s2_compare_center(const compare_row *row) { return share(row, is_center); }

/* --- what two rows have in common ---------------------------------------------- */

/* Both lists ascend. */
static int64_t count_common(const compare_part *a, const compare_part *b)
{
    int64_t n = 0;
    for (int32_t i = 0, k = 0; i < a->n_keep && k < b->n_keep;) {
        n += a->keep[i] == b->keep[k];
        const int32_t x = a->keep[i], y = b->keep[k];
        i += x <= y;
        k += y <= x;
    }
    return n;
}

double s2_compare_iou(const compare_row *a, const compare_row *b)
{
    int64_t n_common = 0, n_all = 0;
    if (!has_worked(a) || !has_worked(b) || a->n_parts != b->n_parts) return -1.0;
    for (int32_t p = 0; p < a->n_parts; p++) {
        const compare_part *x = &a->part[p], *y = &b->part[p];
        if (x->grid.rows != y->grid.rows || x->grid.cols != y->grid.cols) return -1.0;
        const int64_t n = count_common(x, y);
        n_common += n;
        n_all += x->n_keep + y->n_keep - n;
    }
    return n_all > 0 ? (double)n_common / (double)n_all : -1.0;
}

static bool has_same_budget(const compare_row *a, const compare_row *b)
{
    return a->budget.count == b->budget.count && a->budget.percent == b->budget.percent;
}

const compare_row *s2_compare_reference(const compare_report *report, const compare_row *row)
{
    for (int32_t i = 0; i < report->n_rows; i++) {
        const compare_row *other = &report->row[i];
        if (strcmp(other->method, report->reference) != 0) continue;
        const bool has_budget = other->budget.count > 0 || other->budget.percent > 0.0;
        if (has_budget && !has_same_budget(other, row)) continue;
        return other != row && has_worked(other) ? other : NULL;
    }
    return NULL;
}

/* --- times ---------------------------------------------------------------------- */

double s2_compare_speedup(const compare_report *report, const compare_row *row)
{
    for (int32_t i = 0; has_worked(row) && i < report->n_rows; i++) {
        const compare_row *full = &report->row[i];
        if (strcmp(full->method, "full") != 0 || !has_worked(full)) continue;
        return row->stats.prompt_ms > 0.0 ? full->stats.prompt_ms / row->stats.prompt_ms : -1.0;
    }
    return -1.0;
}

double s2_compare_decode_speed(const compare_row *row)
{
    if (!has_worked(row) || row->n_generated < 2 || !(row->predicted_ms > 0.0)) return -1.0;
    return 1e3 * (row->n_generated - 1) / row->predicted_ms;
}

double s2_compare_select_ms(const compare_row *row)
{
    return has_worked(row) ? row->stats.select_ms + row->stats.probe_ms : -1.0;
}

/* --- the answer ------------------------------------------------------------------- */

#define FIRST_CJK 0x2E80 /* from here on words stand without spaces */

/* A letter or digit of a script that puts spaces between words. */
static bool is_word_part(int32_t code)
{
    const s2v_class kind = s2v_class_of(code);
    return code < FIRST_CJK && (kind == S2V_LETTER || kind == S2V_NUMBER);
}

/* Whether a word goes on at text[0], or comes up to it from before. */
static bool goes_on(const char *text)
{
    int32_t code;
    const size_t n = strnlen(text, 4);
    return n > 0 && s2v_utf8_read((const uint8_t *)text, n, &code) > 0 && is_word_part(code);
}

static bool comes_up_to(const char *start, const char *text)
{
    do {
        if (text == start) return false;
        text--;
    } while (((unsigned char)*text & 0xC0) == 0x80); /* back to the first byte of a character */
    return goes_on(text);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool stands_at(const char *text, const char *expect, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!text[i] || lower(text[i]) != lower(expect[i])) return false;
    return true;
}

bool s2_compare_is_right(const char *answer, const char *expect)
{
    while (isspace((unsigned char)*expect)) expect++;
    size_t n = strlen(expect);
    while (n > 0 && isspace((unsigned char)expect[n - 1])) n--;
    if (n == 0) return false;
    for (const char *at = answer; *at; at++) {
        if (!stands_at(at, expect, n)) continue;
        const bool is_joined_before = goes_on(expect) && comes_up_to(answer, at);
        const bool is_joined_after = comes_up_to(expect, expect + n) && goes_on(at + n);
        if (!is_joined_before && !is_joined_after) return true;
    }
    return false;
}
