/* side.c - tasks in their order, until the process ends. */
#include "serve/engine/side.h"

static void *run_tasks(void *user)
{
    s2_side *side = user;
    for (;;) {
        pthread_mutex_lock(&side->lock);
        while (!side->first) pthread_cond_wait(&side->has_task, &side->lock);
        s2_side_task *task = side->first;
        side->first = task->next;
        pthread_mutex_unlock(&side->lock);
        task->run(task);
        s2_inbox_poke(side->inbox);
    }
    return NULL;
}

s2p_status s2_side_start(s2_side *side, s2_inbox *inbox, s2p_error *error)
{
    *side = (s2_side){ .inbox = inbox };
    pthread_mutex_init(&side->lock, NULL);
    pthread_cond_init(&side->has_task, NULL);
    if (pthread_create(&side->thread, NULL, run_tasks, side) != 0)
        return s2_fail(error, S2P_ENOMEM, "cannot start a thread to decode pictures");
    return S2P_OK;
}

void s2_side_add(s2_side *side, s2_side_task *task)
{
    task->next = NULL;
    pthread_mutex_lock(&side->lock);
    s2_side_task **end = &side->first;
    while (*end) end = &(*end)->next;
    *end = task;
    pthread_cond_signal(&side->has_task);
    pthread_mutex_unlock(&side->lock);
}
