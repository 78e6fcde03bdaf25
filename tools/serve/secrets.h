/* secrets.h - what the engine process of `serve` must not know, and other processes must not read. */
#ifndef S2_TOOLS_SECRETS_H
#define S2_TOOLS_SECRETS_H

#include "base/error.h"

#include <stdbool.h>

/* Whether this word of the command line gives a secret; *takes_next: which is the next word. */
bool s2_is_secret_option(const char *word, bool *takes_next);

/* Overwrites a value of the command line or the environment, where other processes could read it. */
void s2_wipe_secret(const char *value);

/* No other process of this user may look into this one or dump its memory, and the secrets of its
 * environment are overwritten. */
void s2_hide_secrets(void);

/* The variables that the engine gets, ended by NULL: those it has a use for, none of them a secret.
 * The caller frees the array, not the strings. */
s2p_status s2_engine_environment(char ***out, s2p_error *error);

#endif /* S2_TOOLS_SECRETS_H */
