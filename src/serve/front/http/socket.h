/* socket.h - bytes of a connection, in the clear or through TLS; nothing waits. */
#ifndef S2_SERVE_HTTP_SOCKET_H
#define S2_SERVE_HTTP_SOCKET_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct s2_tls s2_tls; /* key and certificate of the server */

/* PEM texts; S2P_EIO: they are no pair, or this build has no TLS. */
s2p_status s2_tls_open(s2_tls **out, const char *key, const char *certificate, s2p_error *error);
void s2_tls_close(s2_tls *tls); /* NULL is fine */

typedef struct s2_socket {
    int fd;
    void *session;    /* of TLS, or NULL */
    bool is_greeting; /* TLS is not agreed yet */
    bool wants_write; /* reading has to wait until something can be written */
} s2_socket;

/* tls NULL: in the clear. False: no memory. */
bool s2_socket_open(s2_socket *s, int fd, s2_tls *tls);
void s2_socket_close(s2_socket *s);

/* The client may send no more than it has; it is told that no more will come. */
void s2_socket_end(s2_socket *s);

#define S2_SOCKET_AGAIN (-1)
#define S2_SOCKET_BROKEN (-2)

/* Bytes moved; reading 0: the end. */
ssize_t s2_socket_read(s2_socket *s, uint8_t *out, size_t room);
ssize_t s2_socket_write(s2_socket *s, const uint8_t *data, size_t n);

#endif /* S2_SERVE_HTTP_SOCKET_H */
