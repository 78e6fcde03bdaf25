/* compare_measure.c - figures of a row that need no model. */
#define _XOPEN_SOURCE 700 /* strnlen */

#include "compare/compare.h"

#include "ask/kept.h"
#include "text/unicode.h"

#include <ctype.h>
#include <string.h>

static bool has_worked(const compare_row *row) { return row->error.status == S2P_OK; }

const s2a_part *s2_compare_part(const compare_row *row, int32_t picture)
{
    for (int32_t p = 0; p < row->answer.n_parts; p++) {
        const s2a_part *part = &row->answer.part[p];
        if (part->picture == picture && !part->is_tiles) return part;
    }
    return NULL;
}

/* --- where tokens are --------------------------------------------------------- */

static double share(const compare_row *row, bool (*is_there)(s2p_grid grid, int32_t token))
{
    int64_t n = 0, n_there = 0;
    for (int32_t p = 0; has_worked(row) && p < row->answer.n_parts; p++) {
        const s2a_part *part = &row->answer.part[p];
        for (int32_t i = 0; i < part->n_keep; i++, n++)
            n_there += is_there(part->grid, part->keep[i]);
    }
    return n > 0 ? (double)n_there / (double)n : -1.0;
}

double s2_compare_edge(const compare_row *row) { return share(row, s2a_is_edge); }

double s2_compare_center(const compare_row *row) { return share(row, s2a_is_center); }

/* --- what two rows have in common ---------------------------------------------- */

double s2_compare_iou(const compare_row *a, const compare_row *b)
{
    int64_t n_common = 0, n_all = 0;
    if (!has_worked(a) || !has_worked(b) || a->answer.n_parts != b->answer.n_parts) return -1.0;
    for (int32_t p = 0; p < a->answer.n_parts; p++) {
        const s2a_part *x = &a->answer.part[p], *y = &b->answer.part[p];
        if (x->grid.rows != y->grid.rows || x->grid.cols != y->grid.cols) return -1.0;
        const int64_t n = s2a_count_common(x->keep, x->n_keep, y->keep, y->n_keep);
        n_common += n;
        n_all += x->n_keep + y->n_keep - n;
    }
    return n_all > 0 ? (double)n_common / (double)n_all : -1.0;
}

const compare_row *s2_compare_reference(const compare_report *report, const compare_row *row)
{
    char label[S2A_LABEL_SIZE];
    for (int32_t i = 0; i < report->n_rows; i++) {
        const compare_row *other = &report->row[i];
        if (strcmp(s2a_setting_label(&other->setting, label), report->reference) != 0) continue;
        const s2a_budget budget = other->setting.budget;
        if (!s2a_budget_is_none(budget) && !s2a_budget_is_same(budget, row->setting.budget))
            continue;
        return other != row && has_worked(other) ? other : NULL;
    }
    return NULL;
}

/* --- times ---------------------------------------------------------------------- */

double s2_compare_prompt_ms(const compare_row *row)
{
    return row->answer.stats.prompt_ms + row->answer.attempts.earlier_ms;
}

double s2_compare_speedup(const compare_report *report, const compare_row *row)
{
    const double ms = s2_compare_prompt_ms(row);
    for (int32_t i = 0; has_worked(row) && i < report->n_rows; i++) {
        const compare_row *full = &report->row[i];
        if (!s2a_keeps_all(&full->setting) || !has_worked(full)) continue;
        return ms > 0.0 ? s2_compare_prompt_ms(full) / ms : -1.0;
    }
    return -1.0;
}

double s2_compare_decode_speed(const compare_row *row)
{
    const double speed = s2a_tokens_per_second(&row->answer);
    return has_worked(row) && speed > 0.0 ? speed : -1.0;
}

double s2_compare_select_ms(const compare_row *row)
{
    return has_worked(row) ? row->answer.stats.select_ms + row->answer.stats.probe_ms : -1.0;
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
