/* source_recorded.h - signals written down earlier: methods choose again from them, without a model.
 *
 * Who reads the files is not this file's business: a recording is a view with its signals.
 */
#ifndef S2_ANALYZE_SOURCE_RECORDED_H
#define S2_ANALYZE_SOURCE_RECORDED_H

#include "analyze/trials.h"

typedef struct s2_recording { /* borrowed until the next is opened */
    s2p_view view;            /* signals and picture; all else is the setting's */
    s2p_grid grid;
    const char *name;
} s2_recording;

typedef struct s2_recordings {
    int32_t n;
    s2p_status (*open)(void *user, int32_t index, s2_recording *out, s2p_error *error);
    void (*progress)(double done, void *user); /* NULL: nobody wants to know */
    void *user;
} s2_recordings;

/* A trial for each recording and setting, without a question or an answer. S2P_EINVAL: a recording
 * lacks what a setting needs, or the method prunes at more than one stage. */
s2p_status s2_source_recorded(const s2_recordings *recordings, const s2a_setting *setting,
                              int32_t n_settings, s2_trials *out, s2p_error *error);

#endif /* S2_ANALYZE_SOURCE_RECORDED_H */
