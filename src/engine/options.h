/* options.h - the options of the public header, read from structs of any version of it.
 *
 * Every function fills *out with the defaults and then with what the caller set. S2P_EINVAL: the
 * caller's size was not set, or it sets fields that this version does not know.
 */
#ifndef S2_ENGINE_OPTIONS_H
#define S2_ENGINE_OPTIONS_H

#include "s2vlm.h"

#define S2V_MAX_IMAGES 64 /* pictures in one prompt */

s2p_status s2v_engine_options_read(s2v_engine_options *out, const s2v_engine_options *from,
                                   s2p_error *error);
/* from NULL: the defaults. */
s2p_status s2v_session_options_read(s2v_session_options *out, const s2v_session_options *from,
                                    s2p_error *error);
s2p_status s2v_sampling_read(s2v_sampling *out, const s2v_sampling *from, s2p_error *error);
/* Its image_options have sizes that s2v_prompt_image_options can trust. */
s2p_status s2v_prompt_read(s2v_prompt *out, const s2v_prompt *from, s2p_error *error);
/* from NULL: every token is kept. */
s2p_status s2v_prune_options_read(s2v_prune_options *out, const s2v_prune_options *from,
                                  s2p_error *error);

/* Those of picture i of a prompt that was read. */
s2v_image_options s2v_prompt_image_options(const s2v_prompt *prompt, int32_t i);

#endif /* S2_ENGINE_OPTIONS_H */
