/* remote_rules.h - which other servers a picture may come from. No network here: names and addresses
 * are judged, nothing is fetched. */
#ifndef S2_SERVE_REMOTE_RULES_H
#define S2_SERVE_REMOTE_RULES_H

#include <stdbool.h>
#include <stddef.h>

struct sockaddr;

/* A list such as "pictures.example,http://10.0.0.5:9000": names, or "*" for any. HTTPS on port 443
 * unless an item says http:// or another port. */
bool s2_remote_allows(const char *list, const char *scheme, const char *host, long port);

/* The list names this very address, so its owner means it, whatever network it is in. */
bool s2_remote_names_address(const char *list, const struct sockaddr *address);

/* An address of the public network: not this machine, its neighbours, a cloud's metadata, or another
 * network wrapped into IPv6. */
bool s2_address_is_public(const struct sockaddr *address);

#endif /* S2_SERVE_REMOTE_RULES_H */
