/* set_hash.h - what is asked, as one number: the data and the prompts made of them. */
#ifndef S2_EVAL_RUN_SET_HASH_H
#define S2_EVAL_RUN_SET_HASH_H

#include "eval/task.h"

/* SHA-256 over every sample: its texts, answers, choices, categories, and the bytes of its pictures,
 * whichever format they were read from. A picture that is not there counts as that. out:
 * [S2_SHA256_HEX]. progress: fraction done, or NULL; not 0 is S2P_ECANCELLED. */
s2p_status s2e_set_hash(const s2e_set *set, int (*progress)(double done, void *user), void *user,
                        char *out, s2p_error *error);

/* The same over the text of every question under a protocol. */
s2p_status s2e_prompts_hash(const s2e_task *task, const s2e_set *set, s2e_protocol protocol,
                            char *out, s2p_error *error);

#endif /* S2_EVAL_RUN_SET_HASH_H */
