/* picture_rows.h - a picture becomes rows of the decoder. */
#ifndef S2_ENGINE_PICTURE_ROWS_H
#define S2_ENGINE_PICTURE_ROWS_H

#include "engine/prompt/job.h"

/* The rows of picture `index`, from job->first_row[index] on: the tower, once for each view, and the
 * newlines; or those remembered. What the tower attended to goes to job->tower_probe[index] if
 * job->needs asks for it. tower: a graph for the tower. */
s2p_status s2v_picture_rows(s2v_job *job, s2v_graph *tower, int32_t index);

#endif /* S2_ENGINE_PICTURE_ROWS_H */
