/* interrupt.h - what Ctrl-C means while an answer is being given.
 *
 * Without a hold it ends the program (report.h). Within one the first is remembered, so that what is
 * running can end where it makes sense, and a second one ends the program.
 */
#ifndef S2_TOOLS_INTERRUPT_H
#define S2_TOOLS_INTERRUPT_H

#include <stdbool.h>

void s2_interrupt_hold(void);    /* from now on, with none remembered */
void s2_interrupt_release(void); /* as it was before */
bool s2_interrupted(void);       /* since the hold */

#endif /* S2_TOOLS_INTERRUPT_H */
