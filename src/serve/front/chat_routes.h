/* chat_routes.h - routes whose work is the engine's. */
#ifndef S2_SERVE_CHAT_ROUTES_H
#define S2_SERVE_CHAT_ROUTES_H

#include "serve/front/server.h"

bool s2_handle_chat(s2_exchange *x, s2_http_error *error);
bool s2_handle_count(s2_exchange *x, s2_http_error *error);
bool s2_handle_compare(s2_exchange *x, s2_http_error *error);
bool s2_handle_plan(s2_exchange *x, s2_http_error *error);
bool s2_handle_methods(s2_exchange *x, s2_http_error *error);
bool s2_handle_tokenize(s2_exchange *x, s2_http_error *error);
bool s2_handle_detokenize(s2_exchange *x, s2_http_error *error);
bool s2_handle_template(s2_exchange *x, s2_http_error *error);
bool s2_handle_crash(s2_exchange *x, s2_http_error *error); /* for tests only */

#endif /* S2_SERVE_CHAT_ROUTES_H */
