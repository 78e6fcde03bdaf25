/* gate.c - RFC 9110 and 9112, the strict reading. */
#include "serve/front/gate.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What a name may be made of: "token" of RFC 9110. */
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

static bool check_target(const char *target, s2_http_error *error)
{
    const size_t n = strlen(target);
    if (n > S2_GATE_MAX_TARGET)
        return s2_http_fail(error, 414, NULL, "the target has %zu bytes; the limit is %d", n,
                            S2_GATE_MAX_TARGET);
    if (target[0] != '/') return s2_http_fail(error, 400, NULL, "the target must begin with '/'");
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)target[i] <= 0x20 || (unsigned char)target[i] >= 0x7F)
            return s2_http_fail(error, 400, NULL, "the target holds a byte that must be escaped");
    if (strstr(target, "%00")) return s2_http_fail(error, 400, NULL, "the target holds a NUL");
    return true;
}

/* A field that may stand there once. */
static bool take(const char **slot, const s2_head_field *f, s2_http_error *error)
{
    if (*slot) return s2_http_fail(error, 400, NULL, "the header %.40s is there twice", f->name);
    *slot = f->value;
    return true;
}

static bool take_length(s2_head *head, const s2_head_field *f, s2_http_error *error)
{
    const size_t n = strspn(f->value, "0123456789");
    if (head->content_length >= 0)
        return s2_http_fail(error, 400, NULL, "the header Content-Length is there twice");
    if (n == 0 || n > 15 || f->value[n])
        return s2_http_fail(error, 400, NULL, "the header Content-Length is not a number");
    head->content_length = 0;
    for (size_t i = 0; i < n; i++)
        head->content_length = head->content_length * 10 + (f->value[i] - '0');
    return true;
}

static bool take_coding(s2_head *head, const s2_head_field *f, s2_http_error *error)
{
    if (head->is_chunked || strcasecmp(f->value, "chunked") != 0)
        return s2_http_fail(error, 400, NULL,
                            "the header Transfer-Encoding can only be 'chunked', once");
    head->is_chunked = true;
    return true;
}

static bool take_field(s2_head *head, const s2_head_field *f, s2_http_error *error)
{
    if (!is_token(f->name, f->n_name) || strlen(f->name) != f->n_name)
        return s2_http_fail(error, 400, NULL, "a header has a name that is none");
    if (strlen(f->value) != f->n_value || has_control(f->value, f->n_value))
        return s2_http_fail(error, 400, NULL, "the header %.40s holds a control character",
                            f->name);
    if (strcasecmp(f->name, "Content-Length") == 0) return take_length(head, f, error);
    if (strcasecmp(f->name, "Transfer-Encoding") == 0) return take_coding(head, f, error);
    if (strcasecmp(f->name, "Host") == 0) return take(&head->host, f, error);
    if (strcasecmp(f->name, "Origin") == 0) return take(&head->origin, f, error);
    if (strcasecmp(f->name, "Authorization") == 0) return take(&head->authorization, f, error);
    if (strcasecmp(f->name, "X-Api-Key") == 0) return take(&head->api_key, f, error);
    if (strcasecmp(f->name, "Content-Type") == 0) return take(&head->content_type, f, error);
    if (strcasecmp(f->name, "If-None-Match") == 0) return take(&head->if_none_match, f, error);
    if (strcasecmp(f->name, "Accept-Encoding") == 0) head->accept_encoding = f->value;
    if (strcasecmp(f->name, "Content-Encoding") == 0 && strcasecmp(f->value, "identity") != 0)
        return s2_http_fail(error, 415, NULL, "compressed bodies are not taken");
    if (strcasecmp(f->name, "Upgrade") == 0)
        return s2_http_fail(error, 400, NULL, "this server upgrades to nothing");
    return true;
}

bool s2_gate_check(s2_head *head, s2_http_error *error)
{
    size_t n_bytes = strlen(head->target);
    head->host = head->origin = head->authorization = head->api_key = head->content_type = NULL;
    head->accept_encoding = head->if_none_match = NULL;
    head->content_length = -1;
    head->is_chunked = false;
    if (strcmp(head->version, "HTTP/1.1") != 0 && strcmp(head->version, "HTTP/1.0") != 0)
        return s2_http_fail(error, 400, NULL, "this server speaks HTTP/1.1");
    if (!is_token(head->method, strlen(head->method)))
        return s2_http_fail(error, 400, NULL, "the method is none");
    if (!check_target(head->target, error)) return false;
    if (head->n_fields > S2_GATE_MAX_FIELDS)
        return s2_http_fail(error, 431, NULL, "more than %d headers", S2_GATE_MAX_FIELDS);
    for (size_t i = 0; i < head->n_fields; i++) {
        n_bytes += head->field[i].n_name + head->field[i].n_value + 4;
        if (!take_field(head, &head->field[i], error)) return false;
    }
    if (n_bytes > S2_GATE_MAX_HEADERS)
        return s2_http_fail(error, 431, NULL, "headers of %zu bytes; the limit is %zu", n_bytes,
                            S2_GATE_MAX_HEADERS);
    if (head->is_chunked && head->content_length >= 0)
        return s2_http_fail(error, 400, NULL,
                            "Content-Length and Transfer-Encoding contradict each other");
    if (head->is_chunked && strcmp(head->version, "HTTP/1.0") == 0)
        return s2_http_fail(error, 400, NULL, "HTTP/1.0 has no Transfer-Encoding");
    if (!head->host) return s2_http_fail(error, 400, NULL, "the header Host is missing");
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
