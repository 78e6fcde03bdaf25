/* jobs.h - jobs as the front sends them: questions, and quick jobs that need no session. */
#ifndef S2_SERVE_JOBS_H
#define S2_SERVE_JOBS_H

#include "ask/regions.h"
#include "base/pool.h"
#include "serve/engine/channel.h"
#include "serve/engine/serve_engine.h"

/* --- questions ------------------------------------------------------------------------------ */

#define S2_SERVE_MAX_STOPS 16
#define S2_SERVE_MAX_SETTINGS 16 /* of one comparison */

typedef struct s2_ask_job { /* free with s2_ask_job_free */
    s2_pool pool;
    json_t *json; /* owns the strings of messages and stops */
    s2v_message *message;
    size_t n_messages;
    s2_image picture[S2_SERVE_MAX_PICTURES];
    s2p_image view[S2_SERVE_MAX_PICTURES];
    s2v_image_options option[S2_SERVE_MAX_PICTURES];
    s2a_regions region[S2_SERVE_MAX_SETTINGS][S2_SERVE_MAX_PICTURES];
    s2v_budget image_budget[S2_SERVE_MAX_PICTURES]; /* by their detail */
    bool is_usual[S2_SERVE_MAX_PICTURES];           /* that detail is "default" */
    bool has_details;                               /* one of them gives a budget */
    int32_t n_pictures;
    s2v_session_options session; /* .sampling.stop points into `stop` */
    const char *stop[S2_SERVE_MAX_STOPS];
    int32_t n_predict; /* below 0: until the context is full */
    bool has_predict;  /* the request gave it */
    int32_t n_answers; /* to the prompt, with seeds one apart */
    int32_t n_top;     /* most likely tokens to report for each token; below 0: no report */
    s2a_prune_request setting[S2_SERVE_MAX_SETTINGS];
    int32_t n_settings;
    bool is_compare, wants_progress;
    bool thinks, thoughts_in_text; /* the answer begins with thoughts; which are not told apart */
    int32_t thought_budget;        /* tokens; 0: no limit */
    uint64_t salt;     /* of the cache: what clients of other numbers stored is not found */
    bool is_raw;       /* the text of its message is the prompt, without a chat format */
    double image_ms;   /* decoding */
    int32_t n_counted; /* tokens of a prompt that was refused by its headers; 0: it was not */
} s2_ask_job;

/* Everything but the pixels: of pictures only the headers are read, and a prompt that cannot fit into
 * the context is refused. On failure `param` is the field at fault, or "" when no single field is. */
s2p_status s2_ask_job_read(const s2_job_parts *parts, json_t *json, const s2_engine_setup *setup,
                           const s2v_engine *engine, s2_ask_job *out, char param[S2_JSON_PARAM],
                           s2p_error *error);

/* The pictures of a job that was read. Needs nothing of the engine. */
s2p_status s2_ask_job_decode(const s2_job_parts *parts, const s2_engine_setup *setup,
                             const atomic_bool *is_cancelled, s2_ask_job *job,
                             char param[S2_JSON_PARAM], s2p_error *error);
void s2_ask_job_free(s2_ask_job *job);

/* [[token or text, bias or false], ...] into the sampling of the job. */
s2p_status s2_ask_job_bias(const json_t *list, const s2v_engine *engine, s2_ask_job *out,
                           s2p_error *error);

/* Decode the picture of a blob; its index is for the message. */
s2p_status s2_job_picture(const s2_job_parts *parts, size_t index, const s2_engine_setup *setup,
                          s2_image *out, s2p_error *error);

/* How many of its files are pictures: masks come behind them. */
size_t s2_job_pictures(const s2_job_parts *parts, const json_t *json);

/* The masks of one setting behind its boxes; their names are borrowed from the job. */
s2p_status s2_job_masks_add(const json_t *json, int32_t setting, s2a_boxes *boxes,
                            s2p_error *error);

typedef struct s2_job_mask_source {
    const s2_job_parts *parts;
    const json_t *json;
    const s2_engine_setup *setup;
    const atomic_bool *is_cancelled; /* or NULL */
} s2_job_mask_source;

/* An s2a_mask_reader; user: an s2_job_mask_source. */
s2p_status s2_job_mask(const char *name, void *user, s2_image *out, s2p_error *error);

/* One setting as the engine takes it; all borrowed from the job. */
s2v_prune_options s2_ask_job_prune(s2_ask_job *job, const s2a_prune_request *setting, int32_t step);

/* Whether a further budget of the setting would change anything. */
bool s2_ask_job_has_steps(const s2_ask_job *job, const s2a_prune_request *setting);
s2v_prompt s2_ask_job_prompt(s2_ask_job *job, const s2a_prune_request *setting);

/* --- plans, tokens, templates, methods ------------------------------------------------------- */

typedef struct s2_quick { /* what quick jobs work with */
    const s2_engine_setup *setup;
    const s2v_engine *engine;
    s2_outbox *outbox;
} s2_quick;

/* Run the job and send its result or a refusal. */
void s2_quick_job(const s2_quick *quick, const s2_inbox_job *job);

#endif /* S2_SERVE_JOBS_H */
