/* interrupt.c - the first Ctrl-C asks for an orderly end, the second ends at once. */
#include "asking/interrupt.h"

#include "report.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t n_signals; /* a signal handler has nowhere else to write */

static void remember(int signal_number)
{
    (void)signal_number;
    if (n_signals > 0) _exit(S2_EXIT_INTERRUPTED);
    n_signals = 1;
}

void s2_interrupt_hold(s2_hold hold)
{
    n_signals = 0;
    struct sigaction action = { .sa_handler = remember,
                                .sa_flags = hold == S2_HOLD_RUN ? SA_RESTART : 0 };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    if (hold == S2_HOLD_RUN) sigaction(SIGTERM, &action, NULL);
}

void s2_interrupt_release(void)
{
    (void)signal(SIGTERM, SIG_DFL);
    s2_report_signals();
}

bool s2_interrupted(void) { return n_signals > 0; }
