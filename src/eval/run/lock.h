/* lock.h - one writer for a file. The lock goes with the process, however it ends. */
#ifndef S2_EVAL_RUN_LOCK_H
#define S2_EVAL_RUN_LOCK_H

#include "base/error.h"

typedef struct s2e_lock s2e_lock;

/* Through a file "PATH.lock" that stays. S2P_EIO: somebody else has it, named by process and
 * machine, or the folder cannot be written. */
s2p_status s2e_lock_take(const char *path, s2e_lock **out, s2p_error *error);
void s2e_lock_release(s2e_lock *lock); /* NULL is fine */

#endif /* S2_EVAL_RUN_LOCK_H */
