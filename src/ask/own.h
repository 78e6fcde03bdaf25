/* own.h - user-defined methods, for settings on the command line.
 *
 *     file:kept.jsonl          which tokens to keep of each sample (selections.h)
 *     exec:python3 mine.py     a process that selects for each picture (exec_messages.h, process.h)
 *     largest                  a method of a plug-in that was loaded (plugin.h)
 *
 * All are methods of s2p_method_make, so the engine checks what they keep as it does for any caller.
 * An error with one sample fails only that sample. A process that failed is restarted for the next one;
 * after S2A_OWN_TRIES failures in a row the run ends.
 */
#ifndef S2_ASK_OWN_H
#define S2_ASK_OWN_H

#include "ask/plugin.h"
#include "ask/settings.h"

#define S2A_OWN_TRIES 4
#define S2A_MAX_OWN 32
#define S2A_MAX_PLUGINS 8

typedef struct s2a_own_options {
    double timeout_ms;                          /* for an answer from a process */
    void (*note)(const char *text, void *user); /* NULL, or lines of its standard error */
    bool (*cancelled)(void *user);              /* NULL, or called while waiting */
    void *user;
} s2a_own_options;

typedef struct s2a_owns { /* of a command, each opened once; all zero except the options: none */
    s2a_own_options options;
    bool plugins_only; /* file: and exec: are refused */
    s2a_own *own[S2A_MAX_OWN];
    int32_t n;
    s2a_plugin *plugin[S2A_MAX_PLUGINS];
    int32_t n_plugins;
} s2a_owns;

/* text[0..n): "file:..." or "exec:...". If already open, returns the same one. `source` begins error
 * messages. S2P_EINVAL: no such kind, or another one has its name. */
s2p_status s2a_owns_open(s2a_owns *owns, const char *source, const char *text, size_t n,
                         s2a_own **out, s2p_error *error);
void s2a_owns_close(s2a_owns *owns);

/* Load a plug-in, whose methods then have their plain names. No effect if it is already loaded. */
s2p_status s2a_owns_load(s2a_owns *owns, const char *source, const char *path, s2p_error *error);

/* For s2a_lists and s2a_method_use; NULL: an opener that refuses. */
s2a_own_opener s2a_owns_opener(s2a_owns *owns);

/* Valid until it is closed. Its name is "file:" or "exec:" and a name in the letters of methods, or the
 * one of a plug-in's method. */
const s2p_method *s2a_own_method(const s2a_own *own);

/* Its identity, for fingerprints: the SHA-256 of a file, for plug-ins with the method's version; the command
 * and the hello of a process. */
const char *s2a_own_identity(const s2a_own *own);

/* S2P_EBUDGET: no line of the file keeps as many tokens as the setting requests. */
s2p_status s2a_own_check(const s2a_own *own, const s2a_setting *setting, s2p_error *error);

/* Set what comes next: task and sample. */
void s2a_own_begin(s2a_own *own, const s2a_sample *sample);

typedef enum s2a_fault {
    S2A_FAULT_NONE,   /* the method did nothing wrong since s2a_own_begin */
    S2A_FAULT_SAMPLE, /* it failed for this sample */
    S2A_FAULT_OVER    /* it cannot continue */
} s2a_fault;

s2a_fault s2a_own_fault(const s2a_own *own);

#endif /* S2_ASK_OWN_H */
