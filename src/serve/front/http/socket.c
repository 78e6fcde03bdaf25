/* socket.c - recv and send, or GnuTLS above them. */
#include "serve/front/http/socket.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct s2_tls {
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority;
};

s2p_status s2_tls_open(s2_tls **out, const char *key, const char *certificate, s2p_error *error)
{
    const gnutls_datum_t key_text = { (unsigned char *)(uintptr_t)key, (unsigned)strlen(key) };
    const gnutls_datum_t certificate_text = { (unsigned char *)(uintptr_t)certificate,
                                              (unsigned)strlen(certificate) };
    *out = NULL;
    s2_tls *tls = calloc(1, sizeof *tls);
    if (!tls) return s2_fail_memory(error, sizeof *tls, "TLS");
    const bool is_fine =
        gnutls_certificate_allocate_credentials(&tls->credentials) == 0 &&
        gnutls_certificate_set_x509_key_mem(tls->credentials, &certificate_text, &key_text,
                                            GNUTLS_X509_FMT_PEM) == 0 &&
        gnutls_priority_init(&tls->priority, "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1", NULL) == 0;
    if (is_fine) {
        *out = tls;
        return S2P_OK;
    }
    s2_tls_close(tls);
    return s2_fail(error, S2P_EIO,
                   "cannot start HTTPS; check that key and certificate are PEM files of one pair");
}

void s2_tls_close(s2_tls *tls)
{
    if (!tls) return;
    if (tls->priority) gnutls_priority_deinit(tls->priority);
    if (tls->credentials) gnutls_certificate_free_credentials(tls->credentials);
    free(tls);
}

bool s2_socket_open(s2_socket *s, int fd, s2_tls *tls)
{
    static const gnutls_datum_t http = { (unsigned char *)"http/1.1", 8 };
    gnutls_session_t session = NULL;
    *s = (s2_socket){ .fd = fd };
    if (!tls) return true;
    if (gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) != 0)
        return false;
    if (gnutls_priority_set(session, tls->priority) != 0 ||
        gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->credentials) != 0) {
        gnutls_deinit(session);
        return false;
    }
    (void)gnutls_alpn_set_protocols(session, &http, 1, 0);
    gnutls_transport_set_int(session, fd);
    s->session = session;
    s->is_greeting = true;
    return true;
}

void s2_socket_close(s2_socket *s)
{
    if (s->session) gnutls_deinit(s->session);
    close(s->fd);
    *s = (s2_socket){ .fd = -1 };
}

void s2_socket_end(s2_socket *s)
{
    if (s->session && !s->is_greeting) (void)gnutls_bye(s->session, GNUTLS_SHUT_WR);
    (void)shutdown(s->fd, SHUT_WR);
}

static ssize_t tls_result(s2_socket *s, ssize_t n)
{
    s->wants_write = false;
    if (n >= 0) return n;
    if (n == GNUTLS_E_PREMATURE_TERMINATION) return 0; /* closed without a word */
    if (gnutls_error_is_fatal((int)n)) return S2_SOCKET_BROKEN;
    s->wants_write = gnutls_record_get_direction(s->session) == 1;
    return S2_SOCKET_AGAIN;
}

static ssize_t plain_result(ssize_t n)
{
    if (n >= 0) return n;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? S2_SOCKET_AGAIN
                                                                     : S2_SOCKET_BROKEN;
}

ssize_t s2_socket_read(s2_socket *s, uint8_t *out, size_t room)
{
    if (!s->session) return plain_result(recv(s->fd, out, room, 0));
    if (s->is_greeting) {
        const int status = gnutls_handshake(s->session);
        if (status != GNUTLS_E_SUCCESS) return tls_result(s, status);
        s->is_greeting = false;
    }
    return tls_result(s, gnutls_record_recv(s->session, out, room));
}

ssize_t s2_socket_write(s2_socket *s, const uint8_t *data, size_t n)
{
    if (!s->session) return plain_result(send(s->fd, data, n, MSG_NOSIGNAL));
    return tls_result(s, gnutls_record_send(s->session, data, n));
}
