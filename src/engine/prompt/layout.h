/* layout.h - a prompt's rows, laid out. */
#ifndef S2_ENGINE_LAYOUT_H
#define S2_ENGINE_LAYOUT_H

#include "engine/prompt/job.h"

/* The method, the text as tokens, the pictures as frames, which rows are what, and where they stand. Of
 * the session only rows and plans change; those of the prompt before are in job->earlier. */
s2p_status s2v_layout_make(s2v_job *job);

/* When the prefill is over: the frame stays for the next question about the same picture. */
void s2v_layout_keep_frame(s2v_job *job);

#endif /* S2_ENGINE_LAYOUT_H */
