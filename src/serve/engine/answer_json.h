/* answer_json.h - what is told about an answer: usage, timings, what was kept. */
#ifndef S2_SERVE_ANSWER_JSON_H
#define S2_SERVE_ANSWER_JSON_H

#include "serve/engine/ask_job.h"

typedef struct s2_told { /* of one answer */
    const s2_ask_job *job;
    const s2_prune_wish *wish;
    const s2v_session *session;
    const s2v_stats *stats;
    const float *score; /* [n_scores] ERC of the first picture, NULL: not recorded */
    int32_t n_scores;
    int32_t n_tokens; /* generated, the end token not counted */
    bool is_stopped;
    double generate_ms;
} s2_told;

typedef struct s2_work { /* of this process, since it was started */
    uint64_t towers;     /* pictures the tower ran for */
    uint64_t passes;     /* over the weights, for the next tokens of answers */
    uint64_t tokens;     /* of all of them: one for each session that took part */
} s2_work;

/* A new reference, NULL without memory. */
json_t *s2_work_json(const s2_work *work);

/* {"finish_reason":,"usage":{},"timings":{},"prune":{}}; a new reference, NULL without memory. */
json_t *s2_told_json(const s2_told *told);

#endif /* S2_SERVE_ANSWER_JSON_H */
