/* interrupt.h - what Ctrl-C means while an answer is being given, or many are.
 *
 * Without a hold it ends the program (report.h). Within one the first is remembered, so that what is
 * running can end where it makes sense, and a second one ends the program.
 */
#ifndef S2_TOOLS_INTERRUPT_H
#define S2_TOOLS_INTERRUPT_H

#include <stdbool.h>

typedef enum s2_hold {
    S2_HOLD_ANSWER, /* reading a line ends too */
    S2_HOLD_RUN     /* work of hours: SIGTERM counts as well, and no system call is interrupted */
} s2_hold;

void s2_interrupt_hold(s2_hold hold); /* from now on, with none remembered */
void s2_interrupt_release(void);      /* as it was before */
bool s2_interrupted(void);            /* since the hold */

#endif /* S2_TOOLS_INTERRUPT_H */
