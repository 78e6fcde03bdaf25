/* ask_job.h - a question as the front sent it, ready to be asked. */
#ifndef S2_SERVE_ASK_JOB_H
#define S2_SERVE_ASK_JOB_H

#include "base/pool.h"
#include "serve/engine/engine_setup.h"
#include "serve/engine/prune_object.h"
#include "serve/protocol/frame.h"

#define S2_SERVE_MAX_STOPS 16
#define S2_SERVE_MAX_SETTINGS 16 /* of one comparison */

typedef struct s2_ask_job { /* free with s2_ask_job_free */
    s2_pool pool;
    json_t *json; /* strings of messages and stops are its own */
    s2v_message *message;
    size_t n_messages;
    s2_image picture[S2_SERVE_MAX_PICTURES];
    s2p_image view[S2_SERVE_MAX_PICTURES];
    s2v_image_options option[S2_SERVE_MAX_PICTURES];
    s2v_budget image_budget[S2_SERVE_MAX_PICTURES]; /* by their detail */
    bool has_details;                               /* one of them counts */
    int32_t n_pictures;
    s2v_session_options session; /* .sampling.stop points into `stop` */
    const char *stop[S2_SERVE_MAX_STOPS];
    int32_t n_predict; /* below 0: until the context is full */
    bool has_predict;  /* the request gave it */
    int32_t n_top;     /* how many of the likeliest tokens are told of; below 0: nothing is */
    s2_prune_wish wish[S2_SERVE_MAX_SETTINGS];
    int32_t n_wishes;
    bool is_compare, wants_progress;
    double image_ms; /* decoding */
} s2_ask_job;

/* *param: the field at fault, NULL when there is none to name. */
s2p_status s2_ask_job_read(const s2_job_parts *parts, json_t *json, const s2_engine_setup *setup,
                           s2_ask_job *out, const char **param, s2p_error *error);
void s2_ask_job_free(s2_ask_job *job);

/* The picture of a blob through the one door for pictures; `index` is for the sentence. */
s2p_status s2_job_picture(const s2_job_parts *parts, size_t index, const s2_engine_setup *setup,
                          s2_image *out, s2p_error *error);

/* One wish as the engine takes it; all borrowed from the job. */
s2v_prune_options s2_ask_job_prune(const s2_ask_job *job, const s2_prune_wish *wish);
s2v_prompt s2_ask_job_prompt(const s2_ask_job *job);

#endif /* S2_SERVE_ASK_JOB_H */
