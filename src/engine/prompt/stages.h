/* stages.h - a method's prune points, and the prefill through them. */
#ifndef S2_ENGINE_STAGES_H
#define S2_ENGINE_STAGES_H

#include "engine/prompt/job.h"

/* Where the method prunes in a model of this many layers: its own layers if they are there, else
 * moved down in proportion. S2P_EUNSUPPORTED when there are fewer boundaries than stages. */
s2p_status s2v_stage_layers(const s2p_method *method, int32_t n_layers, int32_t *after,
                            s2p_error *error);

/* From embedded rows to logits. */
s2p_status s2v_run_stages(s2v_job *job);

/* Of a prompt without pictures that ran otherwise: nothing was there to be removed. */
void s2v_stages_pass(s2v_job *job);

#endif /* S2_ENGINE_STAGES_H */
