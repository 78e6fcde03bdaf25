/* gate.h - what is checked before a request is handled: its head, its key, the host and the origin.
 *
 * The HTTP library is lenient. Whatever two parsers could read in two ways is refused here:
 * contradicting lengths, invalid names, control characters, invalid targets.
 */
#ifndef S2_SERVE_GATE_H
#define S2_SERVE_GATE_H

#include "serve/front/http_error.h"

#define S2_GATE_MAX_FIELDS 100
#define S2_GATE_MAX_TARGET 8192
#define S2_GATE_MAX_HEADERS ((size_t)32 << 10)

typedef struct s2_head_field {
    const char *name, *value; /* both NUL-terminated; lengths may say that a NUL is inside */
    size_t n_name, n_value;
} s2_head_field;

typedef struct s2_head { /* all borrowed */
    const char *method, *target, *version;
    s2_head_field field[S2_GATE_MAX_FIELDS + 1];
    size_t n_fields;
    /* filled by s2_gate_check; NULL: not given */
    const char *host, *origin, *authorization, *api_key, *content_type, *accept_encoding,
        *if_none_match, *request_id;
    const char *preflight_method, *preflight_headers, *private_network; /* of a browser */
    int64_t content_length;                                             /* below 0: not given */
    bool is_chunked;
} s2_head;

bool s2_gate_check(s2_head *head, s2_http_error *error);

/* Bytes of the path of a target: all before the '?'. */
size_t s2_target_path(const char *target);

/* The value of a name in the query, not decoded; "" if it is absent. */
void s2_target_query(const char *target, const char *name, char *out, size_t capacity);

/* text[0..n) with %XX as the byte, without one '/' at the end; false: no valid text, or no room. */
bool s2_target_decode(const char *text, size_t n, char *out, size_t capacity);

/* --- keys, hosts, origins ------------------------------------------------------------------ */

#define S2_MAX_KEYS 64

typedef struct s2_access {
    uint8_t key[S2_MAX_KEYS][32]; /* SHA-256: the keys themselves are not kept */
    size_t n_keys;                /* 0: no key is needed */
    const char *host;             /* the server listens on; borrowed, like the two lists */
    const char *allowed_hosts;    /* more host names: "a.example,b.example", or NULL */
    const char *cors_origins;     /* "https://a.example", NULL: none */
} s2_access;

/* S2P_ELIMIT: too many keys; S2P_EINVAL: an empty key, or one that no header can bring. */
s2p_status s2_access_add_key(s2_access *access, const char *key, size_t n, s2p_error *error);

/* One key per line. Only the owner may have access to the file. */
s2p_status s2_access_read_keys(s2_access *access, const char *path, s2p_error *error);

/* The number of the key in the request, from 1; 0: it has none of them. */
int32_t s2_access_find_key(const s2_access *access, const s2_head *head);

/* A number of 63 bits that only this key has, and that says nothing about it; not 0. */
uint64_t s2_access_salt(const s2_access *access, int32_t number);

/* 401 for a missing and for a wrong key, with the same message in the same time. */
bool s2_access_check_key(const s2_access *access, const s2_head *head, s2_http_error *error);

/* Refuses host names that a page elsewhere could have pointed at this address (DNS rebinding), and
 * requests from pages of other origins. */
bool s2_access_check_names(const s2_access *access, const s2_head *head, s2_http_error *error);

/* The origin may read answers. */
bool s2_access_is_shared(const s2_access *access, const char *origin);

/* The question of a browser whether a page of an allowed origin may send a request (CORS). */
bool s2_cors_is_preflight(const s2_access *access, const s2_head *head);

typedef void s2_add_header(void *user, const char *name, const char *value);

/* The headers that let a page of an allowed origin read the answer; none for others. */
void s2_cors_headers(const s2_access *access, const s2_head *head, s2_add_header *add, void *user);

/* "127.0.0.1", "::1", "localhost" */
bool s2_host_is_loopback(const char *host);

#endif /* S2_SERVE_GATE_H */
