/* listen.c - bind, and say in words why not. */
#if defined(__linux__)
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#endif
#include "serve/front/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 511

static s2p_status bind_one(const struct addrinfo *at, const char *host, int32_t *port, int *fd,
                           s2p_error *error)
{
    const int yes = 1;
    struct sockaddr_storage bound;
    socklen_t n = sizeof bound;
    *fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0) return s2_fail(error, S2P_EIO, "no socket: %s", strerror(errno));
    (void)setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(*fd, at->ai_addr, at->ai_addrlen) != 0 || listen(*fd, BACKLOG) != 0 ||
        getsockname(*fd, (struct sockaddr *)&bound, &n) != 0) {
        const int why = errno;
        close(*fd);
        *fd = -1;
        return s2_fail(error, S2P_EIO, "cannot listen on %.100s port %d: %s", host, *port,
                       strerror(why));
    }
    *port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                              : ((struct sockaddr_in *)&bound)->sin_port);
    return S2P_OK;
}

s2p_status s2_listen_tcp(const char *host, int32_t *port, int *fd, s2p_error *error)
{
    char service[16];
    struct addrinfo *list = NULL;
    const struct addrinfo wish = { .ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    (void)snprintf(service, sizeof service, "%d", *port);
    const int failed = getaddrinfo(host, service, &wish, &list);
    if (failed)
        return s2_fail(error, S2P_EINVAL, "cannot listen on '%.100s': %s", host,
                       gai_strerror(failed));
    const s2p_status st = bind_one(list, host, port, fd, error);
    freeaddrinfo(list);
    return st;
}

s2p_status s2_listen_unix(const char *path, int *fd, s2p_error *error)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct stat info;
    if (strlen(path) >= sizeof at.sun_path)
        return s2_fail(error, S2P_EINVAL, "the path of the socket is longer than %zu bytes",
                       sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, strlen(path) + 1);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0) return s2_fail(error, S2P_EIO, "no socket: %s", strerror(errno));
    if (lstat(path, &info) == 0 && S_ISSOCK(info.st_mode) &&
        connect(*fd, (const struct sockaddr *)&at, sizeof at) != 0 && errno == ECONNREFUSED)
        (void)unlink(path);
    const mode_t mask = umask(S_IRWXG | S_IRWXO);
    const bool is_bound =
        bind(*fd, (const struct sockaddr *)&at, sizeof at) == 0 && listen(*fd, BACKLOG) == 0;
    const int why = errno;
    (void)umask(mask);
    if (is_bound) return S2P_OK;
    close(*fd);
    *fd = -1;
    return s2_fail(error, S2P_EIO, "cannot listen on '%.200s': %s", path, strerror(why));
}
