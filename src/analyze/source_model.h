/* source_model.h - ask a model what no earlier answer says. */
#ifndef S2_ANALYZE_SOURCE_MODEL_H
#define S2_ANALYZE_SOURCE_MODEL_H

#include "analyze/trials.h"
#include "ask/ask.h"
#include "eval/task.h"

typedef struct s2_model_watch { /* callbacks, NULL: none */
    s2p_status (*filled)(const s2_trials *trials, int32_t setting, int32_t question, void *user,
                         s2p_error *error); /* not S2P_OK ends the work */
    void (*progress)(double done, void *user);
    void *user;
} s2_model_watch;

typedef struct s2_source_model { /* all borrowed */
    s2v_session *session;        /* one that keeps pictures and prefixes is fastest */
    const s2v_image_options *image_options;
    const s2e_task *task;
    const s2e_set *set;
    int32_t n_seeds; /* runs of a method that draws: their mean score, the tokens of the first */
    int32_t predict; /* most tokens of an answer */
    int32_t shard, n_shards; /* only pictures with index % n_shards == shard; n_shards 0: all */
    const s2_model_watch *watch;
} s2_source_model;

/* Fill every trial that is not done yet. */
s2p_status s2_source_ask(const s2_source_model *source, s2_trials *trials, s2p_error *error);

#endif /* S2_ANALYZE_SOURCE_MODEL_H */
