/* inbox.c - the reading thread. */
#include "serve/engine/channel.h"

#include <stdlib.h>
#include <string.h>

static void add_job(s2_inbox *inbox, const s2_frame *frame, s2_inbox_job *job, uint8_t *payload)
{
    if (frame->n > 0) memcpy(payload, frame->payload, frame->n);
    *job = (s2_inbox_job){ .request = frame->request,
                           .payload = payload,
                           .n = frame->n,
                           .is_quick = frame->type == S2_FRAME_QUICK };
    pthread_mutex_lock(&inbox->lock);
    s2_inbox_job **end = &inbox->first;
    while (*end) end = &(*end)->next;
    *end = job;
    pthread_cond_signal(&inbox->has_job);
    pthread_mutex_unlock(&inbox->lock);
}

/* Until the socket is closed, a frame is invalid, or memory is exhausted. */
static void *read_frames(void *user)
{
    s2_inbox *inbox = user;
    s2_buffer bytes;
    s2_buffer_init(&bytes, 2 * (S2_FRAME_MAX + S2_FRAME_HEADER));
    bool is_fine = true;
    while (is_fine && s2_frame_receive(inbox->fd, &bytes)) {
        size_t at = 0, used = 1;
        while (is_fine && used > 0) {
            s2_frame frame;
            is_fine =
                s2_frame_parse(bytes.data + at, bytes.size - at, &frame, &used, NULL) == S2P_OK;
            if (!is_fine || used == 0) break;
            if (frame.type == S2_FRAME_JOB || frame.type == S2_FRAME_QUICK) {
                s2_inbox_job *job = calloc(1, sizeof *job);
                uint8_t *payload = malloc(frame.n ? frame.n : 1);
                is_fine = job && payload;
                if (is_fine) {
                    add_job(inbox, &frame, job, payload);
                } else {
                    free(job);
                    free(payload);
                }
            } else if (frame.type == S2_FRAME_CANCEL) {
                pthread_mutex_lock(&inbox->lock);
                for (s2_inbox_job *job = inbox->first; job; job = job->next)
                    if (job->request == frame.request) atomic_store(&job->is_cancelled, true);
                pthread_mutex_unlock(&inbox->lock);
            } else if (frame.type == S2_FRAME_PING) {
                const uint64_t beat = atomic_load(&inbox->beat);
                s2_outbox_bytes(inbox->outbox, S2_FRAME_BEAT, 0, &beat, sizeof beat);
            } else {
                is_fine = false;
            }
            at += used;
        }
        memmove(bytes.data, bytes.data + at, bytes.size - at);
        bytes.size -= at;
    }
    s2_buffer_free(&bytes);
    inbox->gone();
    return NULL;
}

s2p_status s2_inbox_start(s2_inbox *inbox, int fd, s2_outbox *outbox, void (*gone)(void),
                          s2p_error *error)
{
    *inbox = (s2_inbox){ .fd = fd, .outbox = outbox, .gone = gone };
    pthread_mutex_init(&inbox->lock, NULL);
    pthread_cond_init(&inbox->has_job, NULL);
    if (pthread_create(&inbox->thread, NULL, read_frames, inbox) != 0)
        return s2_fail(error, S2P_ENOMEM, "cannot start a thread to read jobs");
    return S2P_OK;
}

s2_inbox_job *s2_inbox_take(s2_inbox *inbox, s2_inbox_which which)
{
    s2_inbox_job *job = NULL;
    const bool waits = which == S2_INBOX_WAIT || which == S2_INBOX_WAIT_QUICK;
    const bool is_any = which == S2_INBOX_ANY || which == S2_INBOX_WAIT;
    pthread_mutex_lock(&inbox->lock);
    for (;;) {
        job = inbox->first;
        while (job && (job->is_taken || (!is_any && !job->is_quick))) job = job->next;
        if (job || !waits || inbox->is_poked) break;
        pthread_cond_wait(&inbox->has_job, &inbox->lock);
    }
    if (job) job->is_taken = true;
    if (waits) inbox->is_poked = false;
    pthread_mutex_unlock(&inbox->lock);
    return job;
}

void s2_inbox_poke(s2_inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    inbox->is_poked = true;
    pthread_cond_signal(&inbox->has_job);
    pthread_mutex_unlock(&inbox->lock);
}

void s2_inbox_release(s2_inbox *inbox, s2_inbox_job *job)
{
    pthread_mutex_lock(&inbox->lock);
    s2_inbox_job **at = &inbox->first;
    while (*at && *at != job) at = &(*at)->next;
    if (*at) *at = job->next;
    pthread_mutex_unlock(&inbox->lock);
    free(job->payload);
    free(job);
}
