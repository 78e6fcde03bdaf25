/* gate.c - RFC 9110 and 9112, read strictly. */
#include "serve/front/gate.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* "token" of RFC 9110: methods and header names. */
static bool is_token(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        const bool is_alnum =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!is_alnum && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c))) return false;
    }
    return n > 0;
}

static bool has_control(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)text[i] < 0x20 && text[i] != '\t') || text[i] == 0x7F) return true;
    return false;
}

static bool take_field(s2_head *head, const s2_head_field *f, s2_http_error *error)
{
    const struct { /* headers that may occur once */
        const char *name;
        const char **value;
    } once[] = { { "Host", &head->host },
                 { "Origin", &head->origin },
                 { "Authorization", &head->authorization },
                 { "X-Api-Key", &head->api_key },
                 { "Content-Type", &head->content_type },
                 { "If-None-Match", &head->if_none_match },
                 { "X-Request-Id", &head->request_id },
                 { "Access-Control-Request-Method", &head->preflight_method },
                 { "Access-Control-Request-Headers", &head->preflight_headers },
                 { "Access-Control-Request-Private-Network", &head->private_network } };
    if (!is_token(f->name, f->n_name) || strlen(f->name) != f->n_name)
        return s2_http_fail(error, 400, NULL, "invalid header name");
    if (strlen(f->value) != f->n_value || has_control(f->value, f->n_value))
        return s2_http_fail(error, 400, NULL, "header %.40s contains a control character", f->name);
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        if (strcasecmp(f->name, once[i].name) != 0) continue;
        if (*once[i].value)
            return s2_http_fail(error, 400, NULL, "duplicate header %.40s", f->name);
        *once[i].value = f->value;
    }
    if (strcasecmp(f->name, "Content-Length") == 0) {
        const size_t n = strspn(f->value, "0123456789");
        if (head->content_length >= 0)
            return s2_http_fail(error, 400, NULL, "duplicate header Content-Length");
        if (n == 0 || n > 15 || f->value[n])
            return s2_http_fail(error, 400, NULL, "invalid Content-Length");
        head->content_length = 0;
        for (size_t i = 0; i < n; i++)
            head->content_length = head->content_length * 10 + (f->value[i] - '0');
    }
    if (strcasecmp(f->name, "Transfer-Encoding") == 0) {
        if (head->is_chunked || strcasecmp(f->value, "chunked") != 0)
            return s2_http_fail(error, 400, NULL,
                                "unsupported Transfer-Encoding; only 'chunked' is accepted");
        head->is_chunked = true;
    }
    if (strcasecmp(f->name, "Accept-Encoding") == 0) head->accept_encoding = f->value;
    if (strcasecmp(f->name, "Content-Encoding") == 0 && strcasecmp(f->value, "identity") != 0)
        return s2_http_fail(error, 415, NULL, "compressed request bodies are not supported");
    if (strcasecmp(f->name, "Upgrade") == 0)
        return s2_http_fail(error, 400, NULL, "protocol upgrade is not supported");
    return true;
}

bool s2_gate_check(s2_head *head, s2_http_error *error)
{
    size_t n_bytes = strlen(head->target);
    head->host = head->origin = head->authorization = head->api_key = head->content_type = NULL;
    head->accept_encoding = head->if_none_match = head->request_id = NULL;
    head->preflight_method = head->preflight_headers = head->private_network = NULL;
    head->content_length = -1;
    head->is_chunked = false;
    if (strcmp(head->version, "HTTP/1.1") != 0 && strcmp(head->version, "HTTP/1.0") != 0)
        return s2_http_fail(error, 400, NULL, "unsupported HTTP version; use HTTP/1.1");
    if (!is_token(head->method, strlen(head->method)))
        return s2_http_fail(error, 400, NULL, "invalid HTTP method");
    if (n_bytes > S2_GATE_MAX_TARGET)
        return s2_http_fail(error, 414, NULL, "request target too long: %zu bytes (limit %d)",
                            n_bytes, S2_GATE_MAX_TARGET);
    if (head->target[0] != '/')
        return s2_http_fail(error, 400, NULL, "the request target must begin with '/'");
    for (const char *c = head->target; *c; c++)
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7F)
            return s2_http_fail(error, 400, NULL,
                                "the request target contains a byte that must be percent-encoded");
    if (strstr(head->target, "%00"))
        return s2_http_fail(error, 400, NULL, "the request target contains a NUL byte");
    if (head->n_fields > S2_GATE_MAX_FIELDS)
        return s2_http_fail(error, 431, NULL, "too many headers (limit %d)", S2_GATE_MAX_FIELDS);
    for (size_t i = 0; i < head->n_fields; i++) {
        n_bytes += head->field[i].n_name + head->field[i].n_value + 4;
        if (!take_field(head, &head->field[i], error)) return false;
    }
    if (n_bytes > S2_GATE_MAX_HEADERS)
        return s2_http_fail(error, 431, NULL, "headers too long: %zu bytes (limit %zu)", n_bytes,
                            S2_GATE_MAX_HEADERS);
    if (head->is_chunked && head->content_length >= 0)
        return s2_http_fail(error, 400, NULL,
                            "Content-Length and Transfer-Encoding must not both be given");
    if (head->is_chunked && strcmp(head->version, "HTTP/1.0") == 0)
        return s2_http_fail(error, 400, NULL, "Transfer-Encoding is not allowed in HTTP/1.0");
    if (!head->host) return s2_http_fail(error, 400, NULL, "missing header Host");
    return true;
}

size_t s2_target_path(const char *target) { return strcspn(target, "?"); }

void s2_target_query(const char *target, const char *name, char *out, size_t capacity)
{
    const char *at = target + s2_target_path(target);
    const size_t n_name = strlen(name);
    out[0] = '\0';
    while (*at) {
        at++;
        const size_t n = strcspn(at, "&");
        if (n > n_name && strncmp(at, name, n_name) == 0 && at[n_name] == '=') {
            (void)snprintf(out, capacity, "%.*s", (int)(n - n_name - 1), at + n_name + 1);
            return;
        }
        at += n;
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool s2_target_decode(const char *text, size_t n, char *out, size_t capacity)
{
    size_t used = 0;
    if (n > 0 && text[n - 1] == '/') n--;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)text[i];
        if (c == '%') {
            const int high = n - i > 2 ? hex_digit(text[i + 1]) : -1;
            const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
            if (low < 0) return false;
            c = high * 16 + low;
            i += 2;
        }
        if (c < 0x20 || c == 0x7F || used + 1 >= capacity) return false;
        out[used++] = (char)c;
    }
    out[used] = '\0';
    return used > 0;
}
