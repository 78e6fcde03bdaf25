/* reader.c - a head line by line, chunks byte by byte. */
#include "serve/front/http/reader.h"

#include <string.h>
#include <strings.h>

/* --- the head --------------------------------------------------------------------------- */

static bool refuse_size(const s2_head_reader *r, size_t n, s2_http_error *error)
{
    if (r->line == 0 && n > S2_READER_MAX_LINE)
        return s2_http_fail(error, 414, NULL, "request line too long (limit %zu bytes)",
                            S2_READER_MAX_LINE);
    if (n > S2_READER_MAX_HEAD)
        return s2_http_fail(error, 431, NULL, "head too long (limit %zu bytes)",
                            S2_READER_MAX_HEAD);
    if (r->n_lines > S2_GATE_MAX_FIELDS + 1)
        return s2_http_fail(error, 431, NULL, "too many headers (limit %d)", S2_GATE_MAX_FIELDS);
    return true;
}

s2_read s2_read_head(s2_head_reader *r, const uint8_t *data, size_t n, size_t *n_head,
                     s2_http_error *error)
{
    for (; r->at < n; r->at++) {
        const uint8_t c = data[r->at];
        const bool follows_cr = r->at > r->line && data[r->at - 1] == '\r';
        if (follows_cr != (c == '\n')) {
            (void)s2_http_fail(error, 400, NULL, "lines must end with CR LF");
            return S2_READ_REFUSED;
        }
        if (c == '\n') {
            if (r->at == r->line + 1 && r->line > 0) {
                *n_head = r->at + 1;
                return S2_READ_END;
            }
            if (r->at == r->line + 1) {
                (void)s2_http_fail(error, 400, NULL, "an empty line instead of a request");
                return S2_READ_REFUSED;
            }
            r->line = r->at + 1;
            r->n_lines++;
        } else if ((c < 0x20 && c != '\t' && c != '\r') || c == 0x7F) {
            (void)s2_http_fail(error, 400, NULL, "the head contains a control character");
            return S2_READ_REFUSED;
        }
        if (!refuse_size(r, r->at + 1, error)) return S2_READ_REFUSED;
    }
    return S2_READ_MORE;
}

/* The value of "name:  value  ", and the field that it makes. */
static bool split_field(char *line, size_t n, s2_head_field *out, s2_http_error *error)
{
    char *colon = memchr(line, ':', n);
    if (line[0] == ' ' || line[0] == '\t')
        return s2_http_fail(error, 400, NULL, "a header must not continue on a second line");
    if (!colon || colon == line)
        return s2_http_fail(error, 400, NULL, "a header line without a name");
    char *value = colon + 1, *end = line + n;
    while (value < end && (*value == ' ' || *value == '\t')) value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t')) end--;
    *colon = *end = '\0';
    *out = (s2_head_field){ line, value, (size_t)(colon - line), (size_t)(end - value) };
    return true;
}

bool s2_head_split(char *text, size_t n, s2_head *out, s2_http_error *error)
{
    char *line = text, *end = text + n - 2; /* of the empty line */
    char *stop = strstr(line, "\r\n");
    *stop = '\0';
    char *target = strchr(line, ' '), *version = strrchr(line, ' ');
    if (!target || target == version)
        return s2_http_fail(error, 400, NULL, "the request line must be METHOD TARGET HTTP/1.1");
    *target++ = *version++ = '\0';
    out->method = line;
    out->target = target;
    out->version = version;
    out->n_fields = 0;
    for (line = stop + 2; line < end && out->n_fields <= S2_GATE_MAX_FIELDS; line = stop + 2) {
        stop = strstr(line, "\r\n");
        if (!split_field(line, (size_t)(stop - line), &out->field[out->n_fields], error))
            return false;
        out->n_fields++;
    }
    return true;
}

bool s2_head_lists(const s2_head *head, const char *name, const char *item)
{
    const size_t n_item = strlen(item);
    for (size_t i = 0; i < head->n_fields; i++) {
        if (strcasecmp(head->field[i].name, name) != 0) continue;
        for (const char *at = head->field[i].value; *at;) {
            at += strspn(at, " \t,");
            const size_t n = strcspn(at, " \t,");
            if (n == n_item && strncasecmp(at, item, n) == 0) return true;
            at += n;
        }
    }
    return false;
}

/* --- the body ----------------------------------------------------------------------------- */

enum { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, LAST_CR, LAST_LF, OVER };

void s2_body_begin(s2_body_reader *r, const s2_head *head)
{
    const bool has_length = !head->is_chunked && head->content_length > 0;
    *r = (s2_body_reader){ .is_chunked = head->is_chunked,
                           .left = has_length ? (uint64_t)head->content_length : 0,
                           .step = head->is_chunked ? SIZE
                                   : has_length     ? DATA
                                                    : OVER };
}

static int digit_of(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* One byte of the framing; false: it is wrong. */
static bool take_framing(s2_body_reader *r, uint8_t c)
{
    const int digit = digit_of(c);
    switch (r->step) {
    case SIZE:
        if (digit >= 0) {
            r->left = r->left * 16 + (uint64_t)digit;
            return ++r->n_line <= 8;
        }
        if (r->n_line == 0 || (c != ';' && c != '\r')) return false;
        r->n_line = 0;
        r->step = c == ';' ? EXTENSION : SIZE_LF;
        return true;
    case EXTENSION:
        if (c == '\r') r->step = SIZE_LF;
        return c == '\r' ||
               (((c >= 0x20 && c < 0x7F) || c == '\t') && ++r->n_line <= S2_READER_MAX_EXTENSION);
    case SIZE_LF:
        r->step = r->left > 0 ? DATA : LAST_CR;
        r->n_line = 0;
        return c == '\n';
    case DATA_CR:
        r->step = DATA_LF;
        return c == '\r';
    case DATA_LF:
        r->step = SIZE;
        return c == '\n';
    case LAST_CR: /* a trailer would begin here: nobody needs one, and none is taken */
        r->step = LAST_LF;
        return c == '\r';
    default:
        r->step = OVER;
        return c == '\n';
    }
}

s2_read s2_read_body(s2_body_reader *r, const uint8_t *data, size_t n, size_t *used,
                     s2_http_error *error)
{
    *used = 0;
    while (r->step != OVER && r->step != DATA && *used < n)
        if (!take_framing(r, data[(*used)++])) {
            (void)s2_http_fail(error, 400, NULL, "invalid chunk in the request body");
            return S2_READ_REFUSED;
        }
    if (r->step == OVER) return S2_READ_END;
    if (r->step != DATA || *used > 0 || n == 0) return S2_READ_MORE;
    *used = r->left < n ? (size_t)r->left : n;
    r->left -= *used;
    if (r->left == 0) r->step = r->is_chunked ? DATA_CR : OVER;
    return S2_READ_PIECE;
}
