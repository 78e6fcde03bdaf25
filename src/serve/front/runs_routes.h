/* runs_routes.h - what `eval` left in the folder of results, for the page to show. Read-only. */
#ifndef S2_SERVE_RUNS_ROUTES_H
#define S2_SERVE_RUNS_ROUTES_H

#include "serve/front/server.h"

bool s2_handle_runs(s2_exchange *x, s2_http_error *error);
bool s2_handle_run(s2_exchange *x, s2_http_error *error); /* the last part of the path names it */

#endif /* S2_SERVE_RUNS_ROUTES_H */
