/* info_routes.h - routes the front answers by itself. */
#ifndef S2_SERVE_INFO_ROUTES_H
#define S2_SERVE_INFO_ROUTES_H

#include "serve/front/server.h"

bool s2_handle_health(s2_exchange *x, s2_http_error *error);
bool s2_handle_models(s2_exchange *x, s2_http_error *error);
bool s2_handle_props(s2_exchange *x, s2_http_error *error);
bool s2_handle_slots(s2_exchange *x, s2_http_error *error);
bool s2_handle_metrics(s2_exchange *x, s2_http_error *error);

#endif /* S2_SERVE_INFO_ROUTES_H */
