/* eval_interrupt.c - a run stops between two answers, and everything answered is kept. */
#include "eval/eval_job.h"
#include "report.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t stops;

static void note_interrupt(int signal_number)
{
    (void)signal_number;
    if (stops) _exit(S2_EXIT_INTERRUPTED); /* what is in the store is safe */
    stops = 1;
}

void eval_catch_interrupt(void)
{
    struct sigaction action = { .sa_handler = note_interrupt, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    stops = 0;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

bool eval_is_interrupted(void *unused)
{
    (void)unused;
    return stops != 0;
}
