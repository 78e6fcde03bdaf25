/* body.c - scan the text, cut out data URIs, parse; decode data URIs. */
#include "serve/front/body.h"

#include "base/base64_decode.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CUT_FROM 1024 /* shorter strings stay */
#define MARK '\x01'
#define MAX_TYPE 160 /* bytes of "data:image/png;name=a.png;base64," */
#define ENCODING ";base64"

/* --- the scan --------------------------------------------------------------------------- */

typedef struct scan {
    const char *text;
    size_t n, at;
    size_t n_values, depth;
    s2_buffer *out;
    s2_body *body;
    s2_http_error *error;
    bool takes_base64;
} scan;

/* The offset of the quote that closes the string at s->at; n or more: it is not closed. Each byte is read
 * twice at most: megabytes of a picture have no backslash. */
static size_t find_end(const scan *s)
{
    size_t at = s->at, quote = 0;
    while (at < s->n) {
        if (quote < at) {
            const char *found = memchr(s->text + at, '"', s->n - at);
            if (!found) return s->n;
            quote = (size_t)(found - s->text);
        }
        const char *escape = memchr(s->text + at, '\\', quote - at);
        if (!escape) return quote;
        at = (size_t)(escape - s->text) + 2;
    }
    return s->n;
}

/* "data:image/...": other texts may begin with "data:", too. At least CUT_FROM bytes; '/' may be escaped. */
static bool is_picture_uri(const char *text)
{
    return strncasecmp(text, "data:image/", 11) == 0 || strncasecmp(text, "data:image\\/", 12) == 0;
}

/* From a quote to after the quote that closes it. */
static bool scan_string(scan *s)
{
    const size_t start = ++s->at;
    s->at = find_end(s);
    if (s->at >= s->n)
        return s2_http_fail(s->error, 400, NULL, "unterminated string at byte %zu", start - 1);
    const char *text = s->text + start;
    const size_t n = s->at++ - start;
    if ((n >= 6 && memcmp(text, "\\u0001", 6) == 0))
        return s2_http_fail(s->error, 400, NULL,
                            "the string at byte %zu begins with a control character", start - 1);
    const bool is_uri = n >= CUT_FROM && is_picture_uri(text);
    const bool is_base64 = !is_uri && s->takes_base64 && n > S2_BODY_MAX_STRING;
    if (!is_uri && !is_base64) {
        if (n > S2_BODY_MAX_STRING)
            return s2_http_fail(s->error, 400, NULL,
                                "the string at byte %zu is too long: %zu bytes (limit %zu)",
                                start - 1, n, S2_BODY_MAX_STRING);
        s2_buffer_append(s->out, text - 1, n + 2);
        return true;
    }
    if (s->body->n_cuts == S2_BODY_MAX_CUTS)
        return s2_http_fail(s->error, 400, NULL, "too many data URIs (limit %d)", S2_BODY_MAX_CUTS);
    s->body->cut[s->body->n_cuts].text = text;
    s->body->cut[s->body->n_cuts].n = n;
    s->body->cut[s->body->n_cuts].is_base64 = is_base64;
    s2_buffer_printf(s->out, "\"\\u0001%zu\"", s->body->n_cuts++);
    return true;
}

static bool is_structure(char c)
{
    return c == '"' || c == ',' || c == '[' || c == ']' || c == '{' || c == '}';
}

static bool scan_all(scan *s)
{
    while (s->at < s->n) {
        const size_t start = s->at;
        while (s->at < s->n && !is_structure(s->text[s->at])) s->at++;
        s2_buffer_append(s->out, s->text + start, s->at - start);
        if (s->at == s->n) break;
        const char c = s->text[s->at];
        if (c == '"') {
            if (!scan_string(s)) return false;
            continue;
        }
        if (c == '[' || c == '{') s->depth++;
        if ((c == ']' || c == '}') && s->depth > 0) s->depth--;
        if (s->depth > S2_JSON_MAX_DEPTH)
            return s2_http_fail(s->error, 400, NULL,
                                "the JSON is nested too deeply (limit %d) at byte %zu",
                                S2_JSON_MAX_DEPTH, s->at);
        if (++s->n_values > S2_BODY_MAX_VALUES)
            return s2_http_fail(s->error, 400, NULL,
                                "the JSON has too many values (limit %u) at byte %zu",
                                S2_BODY_MAX_VALUES, s->at);
        s2_buffer_append(s->out, &c, 1);
        s->at++;
    }
    return true;
}

static bool read_body(const void *bytes, size_t n, bool takes_base64, s2_body *out,
                      s2_http_error *error)
{
    *out = (s2_body){ .json = NULL };
    if (n == 0) return s2_http_fail(error, 400, NULL, "empty request body; expected a JSON object");
    s2_buffer_init(&out->text, n + 16 * S2_BODY_MAX_CUTS + 16);
    const s2_buffer *text = &out->text;
    scan s = { .text = bytes,
               .n = n,
               .out = &out->text,
               .body = out,
               .error = error,
               .takes_base64 = takes_base64 };
    bool is_fine = memchr(bytes, 0, n)
                       ? s2_http_fail(error, 400, NULL, "the JSON contains a NUL byte")
                       : scan_all(&s);
    if (is_fine && text->status != S2P_OK)
        is_fine = s2_http_fail(error, 503, NULL, "out of memory");
    if (is_fine) {
        json_error_t why;
        out->json = json_loadb((const char *)text->data, text->size, JSON_REJECT_DUPLICATES, &why);
        if (!out->json) {
            /* the offset in the text of the client, which has the data URIs */
            size_t at = why.position > 0 ? (size_t)why.position : 0;
            for (size_t i = 0; i < out->n_cuts; i++) {
                const size_t n_mark = i < 10 ? 7 : 8; /* "\u0001" and the number */
                if ((size_t)(out->cut[i].text - (const char *)bytes) > at) break;
                at += out->cut[i].n - n_mark;
            }
            const enum json_error_code code = json_error_code(&why);
            is_fine = s2_http_fail(error, 400, NULL, "%s at byte %zu",
                                   code == json_error_duplicate_key  ? "duplicate JSON key"
                                   : code == json_error_invalid_utf8 ? "the JSON is not valid UTF-8"
                                   : code == json_error_numeric_overflow
                                       ? "the JSON has a number that is out of range"
                                       : "invalid JSON",
                                   at < n ? at : n);
        } else if (!json_is_object(out->json)) {
            is_fine = s2_http_fail(error, 400, NULL, "the request body must be a JSON object");
        }
    }
    if (!is_fine) s2_body_free(out);
    return is_fine;
}

bool s2_body_read(const void *bytes, size_t n, s2_body *out, s2_http_error *error)
{
    return read_body(bytes, n, false, out, error);
}

bool s2_body_read_base64(const void *bytes, size_t n, s2_body *out, s2_http_error *error)
{
    return read_body(bytes, n, true, out, error);
}

void s2_body_free(s2_body *body)
{
    json_decref(body->json);
    s2_buffer_free(&body->text);
    *body = (s2_body){ .json = NULL };
}

/* --- data URIs -------------------------------------------------------------------------- */

bool s2_body_is_cut(const json_t *string)
{
    const char *text = json_string_value(string);
    return text && text[0] == MARK;
}

/* The part up to the comma, with "\/" as '/'; returns its length in the text, 0: no comma. */
static size_t read_type(const char *text, size_t n, char out[MAX_TYPE])
{
    size_t k = 0, i = 0;
    for (; i < n && k < MAX_TYPE - 1 && text[i] != ','; i++) {
        if (text[i] == '\\' && i + 1 < n && text[i + 1] == '/') continue;
        out[k++] = text[i];
    }
    out[k] = '\0';
    return i < n && text[i] == ',' ? i + 1 : 0;
}

/* Whether a type is "data:KIND;base64", perhaps with parameters such as ";charset=utf-8" in between. */
static bool is_type(const char *type, const char *kind)
{
    const size_t n = strlen(type), n_kind = strlen(kind);
    return strncasecmp(type, kind, n_kind) == 0 && type[n_kind] == ';' &&
           n >= n_kind + strlen(ENCODING) && strcasecmp(type + n - strlen(ENCODING), ENCODING) == 0;
}

static bool read_file(const s2_body *body, const json_t *string, bool is_base64, const char *param,
                      s2_buffer *out, s2_http_error *error)
{
    static const char *const known[] = { "data:image/png", "data:image/jpeg", "data:image/webp",
                                         "data:image/jpg", "data:image/gif",  "data:image/bmp" };
    const bool is_cut = s2_body_is_cut(string);
    const char *text = json_string_value(string);
    size_t n = json_string_length(string);
    if (is_cut) {
        const size_t index = (size_t)strtoul(text + 1, NULL, 10);
        text = body->cut[index].text;
        n = body->cut[index].n;
        is_base64 = body->cut[index].is_base64;
    }
    char type[MAX_TYPE];
    const size_t start = is_base64 ? 0 : read_type(text, n, type);
    size_t i = 0;
    while (start > 0 && i < sizeof known / sizeof *known && !is_type(type, known[i])) i++;
    if (!is_base64 && (start == 0 || i == sizeof known / sizeof *known))
        return s2_http_fail(
            error, 400, param,
            "%s must begin with data:image/png;base64, or the same with jpeg, webp, gif "
            "or bmp",
            param);
    s2_base64 state = { .escapes = is_cut };
    const size_t room = S2_BASE64_ROOM(n - start);
    uint8_t *at = s2_buffer_extend(out, room);
    if (!at) return s2_http_fail(error, 503, NULL, "out of memory for an image of %zu bytes", n);
    const size_t used = s2_base64_decode(&state, text + start, n - start, at);
    out->size -= room - used;
    if (!s2_base64_is_whole(&state))
        return s2_http_fail(error, 400, param, "%s is not valid base64", param);
    if (used == 0) return s2_http_fail(error, 400, param, "%s is empty", param);
    return true;
}

bool s2_body_data_uri(const s2_body *body, const json_t *string, const char *param, s2_buffer *out,
                      s2_http_error *error)
{
    return read_file(body, string, false, param, out, error);
}

bool s2_body_base64(const s2_body *body, const json_t *string, const char *param, s2_buffer *out,
                    s2_http_error *error)
{
    const bool is_plain = strncasecmp(json_string_value(string), "data:", 5) != 0;
    return read_file(body, string, is_plain, param, out, error);
}
