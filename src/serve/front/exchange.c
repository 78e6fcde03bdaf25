/* exchange.c - output that grows while it is sent. */
#include "serve/front/api/door.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define MAX_OUT ((size_t)96 << 20)

s2_exchange *s2_exchange_create(struct s2_server *server, const char *target)
{
    s2_exchange *x = calloc(1, sizeof *x);
    char *copy = x ? strdup(target) : NULL;
    if (!copy) {
        free(x);
        return NULL;
    }
    atomic_init(&x->n_references, 1);
    pthread_mutex_init(&x->lock, NULL);
    x->server = server;
    x->link = server->models.link[0];
    x->target = copy;
    s2_buffer_init(&x->body, 0);
    s2_buffer_init(&x->out, MAX_OUT);
    x->chat.n_choices = 1;
    for (size_t i = 0; i < S2_CHAT_MAX_ANSWERS; i++) {
        s2_buffer_init(&x->chat.choice[i].text, MAX_OUT / 4);
        s2_buffer_init(&x->chat.choice[i].thoughts, MAX_OUT / 4);
        s2_tool_text_init(&x->chat.choice[i].tools);
    }
    s2_buffer_init(&x->job.frame, S2_FRAME_MAX + S2_FRAME_HEADER);
    return x;
}

void s2_exchange_release(s2_exchange *x)
{
    if (atomic_fetch_sub(&x->n_references, 1) > 1) return;
    s2_buffer_free(&x->body);
    s2_buffer_free(&x->out);
    for (size_t i = 0; i < S2_CHAT_MAX_ANSWERS; i++) {
        s2_choice *c = &x->chat.choice[i];
        s2_buffer_free(&c->text);
        s2_buffer_free(&c->thoughts);
        json_decref(c->tokens);
        json_decref(c->calls);
        s2_tool_text_free(&c->tools);
    }
    json_decref(x->chat.repeated);
    s2_buffer_free(&x->job.frame);
    pthread_mutex_destroy(&x->lock);
    free(x->target);
    free(x);
}

/* --- whole answers ---------------------------------------------------------------------- */

void s2_exchange_text(s2_exchange *x, int status, const char *type, const void *text, size_t n)
{
    x->out.size = 0;
    s2_buffer_append(&x->out, text, n);
    x->status = x->out.status == S2P_OK ? status : 500;
    x->content_type = type;
    x->is_done = true;
}

void s2_exchange_json(s2_exchange *x, int status, json_t *value)
{
    x->out.size = 0;
    const bool is_fine = value && s2_json_write(value, 9, &x->out) == S2P_OK;
    json_decref(value);
    x->status = is_fine ? status : 500;
    x->content_type = "application/json";
    x->is_done = true;
}

/* As clients of the route's API read it. */
static json_t *error_json(const s2_exchange *x, const s2_http_error *error)
{
    const s2_door *door = x->route ? x->route->door : NULL;
    return door && door->error ? door->error(error) : s2_http_error_json(error);
}

void s2_exchange_fail(s2_exchange *x, const s2_http_error *error)
{
    x->retry_after_s = error->retry_after_s;
    if (x->retry_after_s == 0 && (error->status == 429 || error->status == 503))
        x->retry_after_s = 1;
    s2_exchange_json(x, error->status, error_json(x, error));
}

/* --- streams ---------------------------------------------------------------------------- */

void s2_exchange_stream(s2_exchange *x)
{
    if (x->status) return;
    x->status = 200;
    x->content_type = x->route && x->route->door && x->route->door->is_lines
                          ? "application/x-ndjson"
                          : "text/event-stream";
    x->streams = true;
}

void s2_exchange_line(s2_exchange *x, const char *line)
{
    s2_buffer_append(&x->out, line, strlen(line));
    x->sent_ms = s2_now_ms();
}

void s2_exchange_json_line(s2_exchange *x, json_t *value)
{
    if (!value || s2_json_write(value, 9, &x->out) != S2P_OK) x->out.status = S2P_ENOMEM;
    s2_exchange_line(x, "\n");
    json_decref(value);
}

void s2_exchange_event(s2_exchange *x, json_t *value)
{
    s2_exchange_line(x, "data: ");
    if (!value || s2_json_write(value, 9, &x->out) != S2P_OK) x->out.status = S2P_ENOMEM;
    s2_exchange_line(x, "\n\n");
    json_decref(value);
}

void s2_exchange_finish(s2_exchange *x) { x->is_done = true; }

void s2_exchange_break(s2_exchange *x, const s2_http_error *error)
{
    if (x->is_done) return;
    if (!x->streams) {
        s2_exchange_fail(x, error);
        return;
    }
    const s2_door *door = x->route ? x->route->door : NULL;
    if (door && door->is_lines) s2_exchange_json_line(x, error_json(x, error));
    if (door && door->error && !door->is_lines) s2_exchange_line(x, "event: error\n");
    if (!(door && door->is_lines)) s2_exchange_event(x, error_json(x, error));
    s2_exchange_finish(x);
}

void s2_exchange_wake(s2_exchange *x)
{
    if (!x->is_suspended || !(x->status || x->is_gone)) return;
    if (x->streams && !x->is_done && x->n_taken == x->out.size && !x->is_gone) return;
    x->is_suspended = false;
    s2_ready_push(&x->server->ready, x);
}
