/* target.h - a budget from a time to first token, or from the size of the cache.
 *
 *     s2a_target_measure(session, &prompt, &setting, &points, &error);    this machine, this model
 *     s2a_target_choose(&points, target, &choice);                        arithmetic
 */
#ifndef S2_ASK_TARGET_H
#define S2_ASK_TARGET_H

#include "ask/settings.h"

#define S2A_TARGET_LEAST 16 /* tokens of a picture: the minimum for any target */

typedef struct s2a_target { /* 0: no limit */
    double ms;              /* from the question to the first token */
    double mib;             /* of keys and values after the prompt */
} s2a_target;

typedef struct s2a_points { /* a prompt with few of its visual tokens, and with all */
    double picture_ms;      /* preparing pictures and the tower: the same for every budget */
    int32_t n_tokens[2];
    double prompt_ms[2], kv_bytes[2];
} s2a_points;

typedef struct s2a_target_choice {
    int32_t n_tokens, n_all; /* tokens kept, and all tokens */
    double ms, mib;          /* expected with n_tokens */
    bool is_met;             /* false: even the minimum exceeds a limit */
} s2a_target_choice;

/* Runs the decoder three times on a prompt with pictures, the tower once if the engine has a cache, and
 * leaves the session as after s2v_session_reset. S2P_EINVAL: no picture, or a method that keeps all. */
s2p_status s2a_target_measure(s2v_session *session, const s2v_prompt *prompt,
                              const s2a_setting *setting, s2a_points *out, s2p_error *error);

/* The most tokens within every limit, by linear interpolation between both points: decoder time grows
 * faster than linearly, so between the points it is below the line. */
void s2a_target_choose(const s2a_points *points, s2a_target target, s2a_target_choice *out);

/* The choice as a share, for pictures of any size; and a sentence about it. */
s2a_budget s2a_target_budget(const s2a_target_choice *choice);
#define S2A_TARGET_TEXT 256u
const char *s2a_target_text(const s2a_target_choice *choice, s2a_target target,
                            char out[S2A_TARGET_TEXT]);

#endif /* S2_ASK_TARGET_H */
