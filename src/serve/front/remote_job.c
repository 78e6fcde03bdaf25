/* remote_job.c - one detached thread for each request; the server counts them and waits for the last. */
#include "serve/front/routes.h"

#include "serve/front/pictures.h"

#include <stdlib.h>
#include <time.h>

typedef struct remote_job {
    s2_exchange *x; /* a reference */
    s2_chat_request request;
    s2_remote_then then;
} remote_job;

static void *run(void *user)
{
    remote_job *j = user;
    s2_exchange *x = j->x;
    s2_server *server = x->server;
    s2_http_error error;
    s2_chat_request *r = &j->request;
    bool is_fine = true;
    for (size_t i = 0; is_fine && i < r->n_pictures; i++)
        is_fine = !r->remote[i].url ||
                  s2_remote_fetch(server->options->image_hosts, r->remote[i].url,
                                  r->remote[i].param, &server->is_over, &r->picture[i], &error);
    if (!is_fine || !j->then(x, r, &error)) {
        pthread_mutex_lock(&x->lock);
        s2_exchange_break(x, &error);
        s2_exchange_wake(x);
        pthread_mutex_unlock(&x->lock);
    }
    s2_chat_request_free(&j->request);
    s2_exchange_release(x);
    free(j);
    atomic_fetch_sub(&server->n_fetching, 1);
    return NULL;
}

bool s2_remote_job_start(s2_exchange *x, s2_chat_request *request, s2_remote_then then,
                         s2_http_error *error)
{
    s2_server *server = x->server;
    if (atomic_fetch_add(&server->n_fetching, 1) >= S2_REMOTE_AT_ONCE) {
        atomic_fetch_sub(&server->n_fetching, 1);
        return s2_http_fail(error, 429, NULL,
                            "too many requests with remote images (limit %d); try again",
                            S2_REMOTE_AT_ONCE);
    }
    pthread_t thread;
    remote_job *j = malloc(sizeof *j);
    if (j) {
        *j = (remote_job){ .x = x, .request = *request, .then = then };
        atomic_fetch_add(&x->n_references, 1);
        if (pthread_create(&thread, NULL, run, j) == 0) {
            (void)pthread_detach(thread);
            *request = (s2_chat_request){ .job = NULL };
            return true;
        }
        s2_exchange_release(x);
    }
    free(j);
    atomic_fetch_sub(&server->n_fetching, 1);
    return s2_http_fail(error, 503, NULL, "out of memory");
}

void s2_remote_jobs_end(s2_server *server)
{
    const struct timespec moment = { .tv_nsec = 10000000L };
    atomic_store(&server->is_over, true); /* libcurl polls it several times a second */
    while (atomic_load(&server->n_fetching) > 0) (void)nanosleep(&moment, NULL);
}
