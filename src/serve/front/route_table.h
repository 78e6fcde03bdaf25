/* route_table.h - from a path and a method to who answers. */
#ifndef S2_SERVE_ROUTE_TABLE_H
#define S2_SERVE_ROUTE_TABLE_H

#include "serve/front/server.h"

/* The row of path[0..n) and a method; NULL: none, and *allow is the method the path has, or NULL. */
const s2_route *s2_route_find(const char *method, const char *path, size_t n, const char **allow);

const s2_route *s2_route_at(size_t index); /* NULL past the end */

#endif /* S2_SERVE_ROUTE_TABLE_H */
