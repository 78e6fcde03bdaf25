/* boxes.c - four numbers, and what they are measured in. */
#include "eval/scoring/boxes.h"

#include "eval/scoring/answer_reading.h"

#include <math.h>

#define N_NUMBERS 4

/* --- numbers ------------------------------------------------------------------------- */

static int32_t code_at(s2e_str s, size_t at) { return at < s.n ? s.code[at] : 0; }

static size_t skip_digits(s2e_str s, size_t at)
{
    while (at < s.n && s2e_is_digit(s.code[at])) at++;
    return at;
}

/* -?\d+(\.\d+)?: where it ends, `at` when there is none. */
static size_t plain_end(s2e_str s, size_t at)
{
    const size_t from = at + (code_at(s, at) == '-'), whole = skip_digits(s, from);
    if (whole == from) return at;
    const size_t end = code_at(s, whole) == '.' ? skip_digits(s, whole + 1) : whole;
    return end > whole + 1 ? end : whole;
}

/* [-+]?\d*\.?\d+([eE][-+]?\d+)? */
static size_t any_end(s2e_str s, size_t at)
{
    const size_t from = at + (code_at(s, at) == '-' || code_at(s, at) == '+');
    size_t end = skip_digits(s, from);
    const size_t fraction = code_at(s, end) == '.' ? skip_digits(s, end + 1) : end;
    if (fraction > end + 1) end = fraction;
    if (end == from) return at;
    if (code_at(s, end) == 'e' || code_at(s, end) == 'E') {
        const size_t sign = end + 1 + (code_at(s, end + 1) == '-' || code_at(s, end + 1) == '+');
        const size_t exponent = skip_digits(s, sign);
        if (exponent > sign) end = exponent;
    }
    return end;
}

static bool number_at(s2e_scratch *scratch, s2e_str s, size_t *at,
                      size_t (*end_of)(s2e_str, size_t), double *out)
{
    const size_t end = end_of(s, *at);
    if (end == *at || !s2e_float(scratch, s2e_slice(s, *at, end), out)) return false;
    *at = end;
    return true;
}

/* --- forms --------------------------------------------------------------------------- */

typedef struct quad { /* four numbers as they stand */
    double number[N_NUMBERS];
    size_t at, n;
} quad;

/* How numbers are separated: a comma with spaces around it or spaces; lmms-eval: spaces after it. */
static bool skip_separator(s2e_str s, size_t *at, bool only_comma)
{
    size_t next = only_comma ? *at : s2e_skip_spaces(s, *at);
    const bool has_comma = code_at(s, next) == ',';
    if (!has_comma && (only_comma || next == *at)) return false;
    if (has_comma) next = s2e_skip_spaces(s, next + 1);
    *at = next;
    return true;
}

/* An opening, four numbers, the closing that belongs to it. */
static bool listed_at(s2e_scratch *scratch, s2e_str s, size_t from, s2e_box_rule rule, quad *out)
{
    const bool is_plain = rule == S2E_BOX_LMMS;
    const int32_t opening = code_at(s, from);
    if (opening != '[' && !(opening == '(' && rule == S2E_BOX_OFFICIAL)) return false;
    size_t at = s2e_skip_spaces(s, from + 1);
    for (int i = 0; i < N_NUMBERS; i++) {
        if (i > 0 && !skip_separator(s, &at, is_plain)) return false;
        if (!number_at(scratch, s, &at, is_plain ? plain_end : any_end, &out->number[i]))
            return false;
    }
    at = s2e_skip_spaces(s, at);
    if (code_at(s, at) != (opening == '[' ? ']' : ')')) return false;
    out->at = from;
    out->n = at + 1 - from;
    return true;
}

static bool find_listed(s2e_scratch *scratch, s2e_str s, s2e_box_rule rule, quad *out)
{
    for (size_t i = 0; i < s.n; i++)
        if (listed_at(scratch, s, i, rule, out)) return true;
    return false;
}

/* "(12,34)" */
static bool corner_at(s2e_scratch *scratch, s2e_str s, size_t *at, double *out)
{
    size_t next = *at + 1;
    if (code_at(s, *at) != '(') return false;
    next = s2e_skip_spaces(s, next);
    if (!number_at(scratch, s, &next, any_end, &out[0]) || !skip_separator(s, &next, false) ||
        !number_at(scratch, s, &next, any_end, &out[1]))
        return false;
    next = s2e_skip_spaces(s, next);
    if (code_at(s, next) != ')') return false;
    *at = next + 1;
    return true;
}

/* "(x1,y1),(x2,y2)" */
static bool find_corners(s2e_scratch *scratch, s2e_str s, quad *out)
{
    for (size_t i = 0; i < s.n; i++) {
        size_t at = i;
        if (!corner_at(scratch, s, &at, &out->number[0])) continue;
        if (!skip_separator(s, &at, false)) continue;
        if (!corner_at(scratch, s, &at, &out->number[2])) continue;
        out->at = i;
        out->n = at - i;
        return true;
    }
    return false;
}

static bool find_loose(s2e_scratch *scratch, s2e_str s, quad *out)
{
    int n = 0;
    for (size_t i = 0; i < s.n && n < N_NUMBERS;) {
        const size_t from = i;
        if (!number_at(scratch, s, &i, any_end, &out->number[n])) {
            i++;
            continue;
        }
        if (n++ == 0) out->at = from;
        out->n = i - out->at;
    }
    return n == N_NUMBERS;
}

static bool find_four(s2e_scratch *scratch, s2e_str s, quad *out)
{
    return find_listed(scratch, s, S2E_BOX_KIT, out) || find_loose(scratch, s, out);
}

bool s2e_box_numbers(s2e_scratch *scratch, s2e_str text, double out[4])
{
    quad q = { .n = 0 };
    if (!find_four(scratch, text, &q)) return false;
    for (int i = 0; i < N_NUMBERS; i++) out[i] = q.number[i];
    return true;
}

/* --- units --------------------------------------------------------------------------- */

typedef struct extent {
    double width, height;
} extent;

/* From a picture of one size to the same of another; fractions are of one of size 1. */
static s2e_box scaled(const quad *q, extent from, extent to)
{
    return (s2e_box){ q->number[0] / from.width * to.width, q->number[1] / from.height * to.height,
                      q->number[2] / from.width * to.width,
                      q->number[3] / from.height * to.height };
}

static extent square(double side) { return (extent){ side, side }; }

static double largest(const quad *q)
{
    double most = 0.0;
    for (int i = 0; i < N_NUMBERS; i++)
        if (fabs(q->number[i]) > most) most = fabs(q->number[i]);
    return most;
}

static bool stands_before(s2e_scratch *scratch, s2e_str s, size_t at, const char *mark)
{
    const s2e_str text = s2e_str_of(scratch, mark);
    return at >= text.n && s2e_same(s2e_slice(s, at - text.n, at), text);
}

static s2e_box_reading reading_of(bool is_there, s2e_box box, const quad *q,
                                  s2e_box_arithmetic arithmetic)
{
    return (s2e_box_reading){
        is_there,  box, q->at, q->n, { q->number[0], q->number[1], q->number[2], q->number[3] },
        arithmetic
    };
}

static s2e_box_reading read_official(s2e_scratch *scratch, s2e_str s, const s2e_frame *f)
{
    quad listed = { .n = 0 }, corners = { .n = 0 };
    const bool is_listed = find_listed(scratch, s, S2E_BOX_OFFICIAL, &listed),
               has_corners = find_corners(scratch, s, &corners);
    const bool by_corners = has_corners && (!is_listed || corners.at < listed.at);
    const quad *q = by_corners ? &corners : &listed;
    const extent picture = { f->width, f->height }, seen = { f->seen_width, f->seen_height };
    extent from = square(1.0);
    s2e_box_arithmetic arithmetic = S2E_BOX_PIXELS;
    if (by_corners && stands_before(scratch, s, q->at, "<|box_start|>"))
        from = square(1000.0);
    else if (by_corners && largest(q) > 1.0) {
        from = square(999.0);
        arithmetic = S2E_BOX_SINGLE;
    } else if (largest(q) > 1.0)
        from = seen.width > 0.0 && seen.height > 0.0 ? seen : picture;
    return reading_of(is_listed || has_corners, scaled(q, from, picture), q, arithmetic);
}

static double within(double value, double most) { return fmin(fmax(value, 0.0), most); }

static s2e_box_reading read_kit(s2e_scratch *scratch, s2e_str s, const s2e_frame *f)
{
    quad q = { .n = 0 };
    if (!find_four(scratch, s, &q)) return (s2e_box_reading){ .is_there = false };
    const double most = largest(&q);
    const extent picture = { f->width, f->height };
    const s2e_box b = most <= 1.5      ? scaled(&q, square(1.0), picture)
                      : most <= 1000.0 ? scaled(&q, square(1000.0), picture)
                                       : scaled(&q, square(1.0), square(1.0));
    const double x1 = within(b.x1, f->width), x2 = within(b.x2, f->width),
                 y1 = within(b.y1, f->height), y2 = within(b.y2, f->height);
    return reading_of(true, (s2e_box){ fmin(x1, x2), fmin(y1, y2), fmax(x1, x2), fmax(y1, y2) }, &q,
                      S2E_BOX_PIXELS);
}

s2e_box_reading s2e_read_box(s2e_scratch *scratch, s2e_box_rule rule, s2e_str answer,
                             const s2e_frame *frame)
{
    quad q = { .n = 0 };
    if (rule == S2E_BOX_OFFICIAL) return read_official(scratch, answer, frame);
    if (rule == S2E_BOX_KIT) return read_kit(scratch, answer, frame);
    const bool is_there = find_listed(scratch, answer, rule, &q);
    return reading_of(is_there, scaled(&q, square(1.0), (extent){ frame->width, frame->height }),
                      &q, S2E_BOX_FRACTIONS);
}

double s2e_iou(const s2e_box *a, const s2e_box *b)
{
    const double across = fmin(a->x2, b->x2) - fmax(a->x1, b->x1),
                 down = fmin(a->y2, b->y2) - fmax(a->y1, b->y1);
    if (!(across > 0.0) || !(down > 0.0)) return 0.0;
    const double both = across * down,
                 all = (a->x2 - a->x1) * (a->y2 - a->y1) + (b->x2 - b->x1) * (b->y2 - b->y1) - both;
    return all > 0.0 ? fmin(both / all, 1.0) : 0.0;
}

/* Every operation rounded to single precision, in the order of Qwen-VL's script. */
static double single_overlap(const s2e_box_reading *r, const s2e_box *gold, const s2e_frame *frame)
{
    const float width = (float)frame->width, height = (float)frame->height;
    const float x1 = (float)r->number[0] / 999.0f * width,
                y1 = (float)r->number[1] / 999.0f * height,
                x2 = (float)r->number[2] / 999.0f * width,
                y2 = (float)r->number[3] / 999.0f * height;
    const float gx1 = (float)gold->x1, gy1 = (float)gold->y1, gx2 = (float)gold->x2,
                gy2 = (float)gold->y2;
    const float across = fminf(x2, gx2) - fmaxf(x1, gx1), down = fminf(y2, gy2) - fmaxf(y1, gy1);
    if (!(across > 0.0f) || !(down > 0.0f)) return 0.0;
    const float both = across * down;
    const float all = (x2 - x1) * (y2 - y1) + (gx2 - gx1) * (gy2 - gy1) - both;
    return all > 0.0f ? fmin((double)(both / all), 1.0) : 0.0;
}

double s2e_overlap(const s2e_box_reading *r, const s2e_box *gold, const s2e_frame *frame)
{
    if (r->arithmetic == S2E_BOX_SINGLE) return single_overlap(r, gold, frame);
    if (r->arithmetic == S2E_BOX_PIXELS) return s2e_iou(&r->box, gold);
    const s2e_box said = { r->number[0], r->number[1], r->number[2], r->number[3] };
    const s2e_box wanted = { gold->x1 / frame->width, gold->y1 / frame->height,
                             gold->x2 / frame->width, gold->y2 / frame->height };
    return s2e_iou(&wanted, &said);
}
