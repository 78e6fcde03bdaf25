/* access.h - who may ask: keys, the name the server is called by, the page a request comes from. */
#ifndef S2_SERVE_ACCESS_H
#define S2_SERVE_ACCESS_H

#include "serve/front/gate.h"

#define S2_MAX_KEYS 64

typedef struct s2_access {
    uint8_t key[S2_MAX_KEYS][32]; /* SHA-256: the keys themselves are not kept */
    size_t n_keys;                /* 0: none is needed */
    const char *host;             /* it listens on; borrowed, as the two lists */
    const char *allowed_hosts;    /* "a.example,b.example", NULL: none besides */
    const char *cors_origins;     /* "https://a.example", NULL: none */
} s2_access;

/* S2P_ELIMIT: too many; S2P_EINVAL: an empty one. */
s2p_status s2_access_add_key(s2_access *access, const char *key, size_t n, s2p_error *error);

/* A key on each line. The file must be the owner's alone. */
s2p_status s2_access_read_keys(s2_access *access, const char *path, s2p_error *error);

/* 401 for a missing and for a wrong key, in the same words and the same time. */
bool s2_access_check_key(const s2_access *access, const s2_head *head, s2_http_error *error);

/* Names a page elsewhere could have pointed at this address are refused, and so are its requests. */
bool s2_access_check_names(const s2_access *access, const s2_head *head, s2_http_error *error);

/* The origin may read answers. */
bool s2_access_is_shared(const s2_access *access, const char *origin);

/* "127.0.0.1", "::1", "localhost" */
bool s2_host_is_loopback(const char *host);

#endif /* S2_SERVE_ACCESS_H */
