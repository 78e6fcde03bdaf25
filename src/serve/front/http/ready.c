/* ready.c - a list and a pipe. */
#define _GNU_SOURCE /* pipe2 */
#include "serve/front/http/ready.h"

#include "serve/front/server.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

s2p_status s2_ready_open(s2_ready *ready, s2p_error *error)
{
    ready->first = NULL;
    if (pipe2(ready->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        ready->wake[0] = ready->wake[1] = -1;
        return s2_fail(error, S2P_EIO, "cannot create a pipe: %s", strerror(errno));
    }
    pthread_mutex_init(&ready->lock, NULL);
    return S2P_OK;
}

void s2_ready_close(s2_ready *ready)
{
    close(ready->wake[0]);
    close(ready->wake[1]);
    pthread_mutex_destroy(&ready->lock);
}

void s2_ready_push(s2_ready *ready, s2_exchange *x)
{
    pthread_mutex_lock(&ready->lock);
    const bool is_new = x && !x->is_ready;
    if (is_new) {
        atomic_fetch_add(&x->n_references, 1);
        x->is_ready = true;
        x->next_ready = ready->first;
        ready->first = x;
    }
    pthread_mutex_unlock(&ready->lock);
    if (is_new || !x) (void)!write(ready->wake[1], "", 1);
}

s2_exchange *s2_ready_pop(s2_ready *ready)
{
    pthread_mutex_lock(&ready->lock);
    s2_exchange *x = ready->first;
    if (x) {
        ready->first = x->next_ready;
        x->is_ready = false;
    }
    pthread_mutex_unlock(&ready->lock);
    return x;
}
