/* stats.h - the figures of a prefill that follow from its tokens: FLOPs, bytes of the cache. */
#ifndef S2_ENGINE_STATS_H
#define S2_ENGINE_STATS_H

#include "engine/prompt/job.h"

/* Once the prefill is done. */
void s2v_stats_count(s2v_job *job);

#endif /* S2_ENGINE_STATS_H */
