/* readings.h - what a method wants to know of the decoder at one of its prune points. */
#ifndef S2_ENGINE_READINGS_H
#define S2_ENGINE_READINGS_H

#include "engine/session/decoder_probe.h"
#include "engine/prompt/job.h"

typedef struct s2v_readings { /* owned; NULL where the method does not ask */
    s2v_decoder_probe probe;
    float *erc;       /* [rows] */
    float *attention; /* [n_queries][rows] */
    float *normed;    /* [rows][n_embd] */
    int32_t n_queries;
} s2v_readings;

/* Run layers [*at, layer]; *at is `layer + 1` then, and *out what job->needs asks of the last of
 * them. out: all NULL; to be freed whatever happens. The time that takes beside the layers is added
 * to the job's probe_ms. */
s2p_status s2v_readings_take(s2v_job *job, int32_t *at, int32_t layer, s2v_readings *out);
void s2v_readings_free(s2v_readings *readings);

#endif /* S2_ENGINE_READINGS_H */
