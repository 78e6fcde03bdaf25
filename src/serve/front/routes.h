/* routes.h - from a path and a method to the function that answers, and what these functions share. */
#ifndef S2_SERVE_ROUTES_H
#define S2_SERVE_ROUTES_H

#include "serve/front/chat_request.h"
#include "serve/front/server.h"

/* --- route_table.c --------------------------------------------------------------------------- */

/* The row of path[0..n) and a method. NULL: none, and *allow is the method the path has, or NULL. */
const s2_route *s2_route_find(const char *method, const char *path, size_t n, const char **allow);

const s2_route *s2_route_at(size_t index); /* NULL past the end */

/* --- chat_routes.c: routes that need the engine ----------------------------------------------- */

bool s2_handle_chat(s2_exchange *x, s2_http_error *error);
bool s2_handle_door(s2_exchange *x, s2_http_error *error); /* what the route's door reads */
bool s2_handle_count(s2_exchange *x, s2_http_error *error);
bool s2_handle_compare(s2_exchange *x, s2_http_error *error);
bool s2_handle_plan(s2_exchange *x, s2_http_error *error);
bool s2_handle_methods(s2_exchange *x, s2_http_error *error);
bool s2_handle_tokenize(s2_exchange *x, s2_http_error *error);
bool s2_handle_detokenize(s2_exchange *x, s2_http_error *error);
bool s2_handle_template(s2_exchange *x, s2_http_error *error);
bool s2_handle_crash(s2_exchange *x, s2_http_error *error); /* for tests only */

/* --- info_routes.c: routes the front answers by itself ----------------------------------------- */

bool s2_handle_health(s2_exchange *x, s2_http_error *error);
bool s2_handle_models(s2_exchange *x, s2_http_error *error);
bool s2_handle_model(s2_exchange *x, s2_http_error *error); /* named by the last part of the path */
bool s2_handle_props(s2_exchange *x, s2_http_error *error);
bool s2_handle_slots(s2_exchange *x, s2_http_error *error);
bool s2_handle_metrics(s2_exchange *x, s2_http_error *error);

/* --- api/ollama_info.c ------------------------------------------------------------------------- */

bool s2_handle_ollama_version(s2_exchange *x, s2_http_error *error);
bool s2_handle_ollama_tags(s2_exchange *x, s2_http_error *error);
bool s2_handle_ollama_show(s2_exchange *x, s2_http_error *error);
bool s2_handle_embeddings(s2_exchange *x, s2_http_error *error); /* refused with a sentence */

/* --- runs_routes.c: results of `eval` in the folder of --results-dir, read-only ----------------- */

bool s2_handle_runs(s2_exchange *x, s2_http_error *error);
bool s2_handle_run(s2_exchange *x, s2_http_error *error); /* named by the last part of the path */

/* --- chat_answer.c: frames of the engine to what clients read; all with the lock ----------------- */

void s2_chat_receive_stream(s2_exchange *x, const s2_frame *frame);
void s2_chat_receive_whole(s2_exchange *x, const s2_frame *frame);
void s2_door_receive(s2_exchange *x, const s2_frame *frame); /* of other APIs (api/door.h) */
void s2_compare_receive(s2_exchange *x, const s2_frame *frame);
void s2_count_receive(s2_exchange *x, const s2_frame *frame); /* the length of a prompt */
void s2_plain_receive(s2_exchange *x, const s2_frame *frame); /* JSON, or bytes of x->result_type */

/* --- remote_job.c: requests whose pictures are on other servers ---------------------------------- */

#define S2_REMOTE_AT_ONCE 4 /* requests; further ones are refused with 429 */

typedef bool (*s2_remote_then)(s2_exchange *x, const s2_chat_request *request,
                               s2_http_error *error);

/* Fetches the pictures on a thread of their own and then calls `then` there. Takes over *request when
 * it returns true. */
bool s2_remote_job_start(s2_exchange *x, s2_chat_request *request, s2_remote_then then,
                         s2_http_error *error);

/* Cancels all of them and waits until the last one has ended. */
void s2_remote_jobs_end(s2_server *server);

#endif /* S2_SERVE_ROUTES_H */
