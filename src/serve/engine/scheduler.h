/* scheduler.h - slots with a session each, and the order in which they run.
 *
 *     scheduler.c    prompts as they arrive, one token for each answer, quick jobs in between
 *     several.c      several answers to one prompt
 *     slot.c         what the client of a slot receives
 *     answer_json.c  the figures of one answer
 *     score_memory.c ERC scores of pictures that were asked about before
 */
#ifndef S2_SERVE_SCHEDULER_H
#define S2_SERVE_SCHEDULER_H

#include "ask/thought_text.h"
#include "serve/engine/constraint_cache.h"
#include "serve/engine/jobs.h"
#include "serve/engine/logprobs.h"
#include "serve/engine/side.h"

/* --- ERC scores -------------------------------------------------------------------------------
 * A picture found in the engine's cache is not computed again, so its scores cannot be recorded, but
 * a client may still ask for them. ERC of layer 0 depends on the picture and on the text before it,
 * not on the method or the question. */

#define S2_SCORE_MEMORY 16

typedef struct s2_score_memory { /* all zero: empty */
    struct {
        uint8_t key[32];
        float *score; /* [n] owned */
        int32_t n;
    } entry[S2_SCORE_MEMORY];
    size_t next; /* to be overwritten */
} s2_score_memory;

/* A hash of everything the scores of the first picture of a job depend on. */
void s2_score_key(const s2_ask_job *job, const s2a_setting *setting, uint8_t out[32]);
void s2_score_remember(s2_score_memory *memory, const uint8_t key[32], const float *score,
                       int32_t n);
float *s2_score_recall(const s2_score_memory *memory, const uint8_t key[32],
                       int32_t *n); /* a copy that the caller frees; NULL: not known */
void s2_score_memory_free(s2_score_memory *memory);

/* --- the result of one answer ------------------------------------------------------------------ */

typedef struct s2_result {
    const s2_ask_job *job;
    const s2a_prune_request *setting;
    const s2v_prune_options *prune; /* as the prompt ran with it */
    const s2v_session *session;
    const s2v_stats *stats;
    const s2a_attempts *attempts;
    const float *score; /* [n_scores] ERC of the first picture, NULL: not recorded */
    int32_t n_scores;
    int32_t n_tokens; /* generated, including the end token */
    bool is_stopped;
    double generate_ms;
} s2_result;

typedef struct s2_work { /* of this process, since it was started */
    uint64_t towers;     /* pictures the tower ran for */
    uint64_t passes;     /* over the weights, for the next tokens of answers */
    uint64_t tokens;     /* of these passes, one for each session */
} s2_work;

/* {"finish_reason":,"usage":{},"timings":{},"prune":{}}; a new reference, NULL without memory. */
json_t *s2_result_json(const s2_result *result);
json_t *s2_work_json(const s2_work *work);

/* --- slots ---------------------------------------------------------------------------------------- */

typedef struct s2_scheduler s2_scheduler;

typedef struct s2_slot s2_slot;

typedef struct s2_decoding { /* of the pictures of a slot, on the side */
    s2_side_task task;
    s2_slot *slot;
    const s2_engine_setup *setup;
    bool is_begun; /* the slot waits for it; */
    atomic_bool is_over;
    s2p_status status;
    s2p_error error;
    char param[S2_JSON_PARAM];
} s2_decoding;

/* Several answers to one prompt: the slot that ran it leads, each other one is a fork of its session. */
typedef struct s2_slot_group {
    s2_slot *leader;     /* NULL: this slot leads, or is alone */
    int32_t index;       /* of this answer */
    bool is_over;        /* it has ended; the slot waits for the others */
    int32_t n_over;      /* leader: answers that have ended, */
    int32_t n_generated; /* and their tokens */
} s2_slot_group;

struct s2_slot {
    s2_scheduler *scheduler;
    s2v_session *session;
    s2_inbox_job *from; /* NULL: free */
    s2_ask_job ask;
    s2_decoding decoding;
    s2v_constraint *constraint; /* what the answer follows; NULL: nothing */
    bool is_read;               /* `ask` holds something */
    bool is_ready;              /* the session is set up for setting[i_setting] */
    bool is_started;            /* its prompt is in the session */
    int32_t i_setting;
    s2_slot_group group;
    int32_t i_step;         /* of its budgets */
    s2a_attempts attempts;  /* with these */
    s2_buffer held;         /* text of an answer that may not count */
    bool owes_kept;         /* the client has to learn which tokens were kept before the text */
    uint64_t waiting_since; /* a number that grows: the prompt with the smallest is next */
    s2v_prune_options prune;
    s2v_prompt prompt;
    const s2v_ask *asked; /* NULL: it is not being prefilled */
    s2v_stats stats;
    s2a_generation generation;
    double first_ms;        /* when the first token was asked for */
    double reported_ms;     /* when the progress of the prompt was last sent */
    s2v_thought_text split; /* thoughts and answer */
    s2_buffer text;         /* of this answer, for comparisons */
    s2_logprobs logprobs;
    float *score; /* [n_scores] of the first picture */
    int32_t n_scores;
    uint8_t score_key[32];
    int32_t *kept[S2_SERVE_MAX_SETTINGS]; /* of the first picture, for the overlaps */
    int32_t n_kept[S2_SERVE_MAX_SETTINGS];
    double prompt_ms[S2_SERVE_MAX_SETTINGS];
};

struct s2_scheduler {
    s2v_engine *engine;
    const s2_quick *quick;
    s2_inbox *inbox;
    s2_outbox *outbox;
    s2_side *side;
    int32_t n_slots, n_vocab;
    s2_slot *slot;
    uint64_t n_waits;           /* the last number given to waiting_since */
    double step_ms, stepped_ms; /* duration and end of the last pass */
    s2_work work;
    s2_score_memory scores;
    s2_constraint_cache constraints;
};

/* Takes over the session of *opened as the first one; the rest is borrowed. Further sessions are
 * created when they are needed. */
s2p_status s2_scheduler_create(s2_scheduler **out, s2a_opened *opened, const s2_quick *quick,
                               s2_inbox *inbox, s2_side *side, s2p_error *error);
void s2_scheduler_free(s2_scheduler *scheduler);

/* Serve until the process ends. */
void s2_scheduler_run(s2_scheduler *scheduler);

/* Ends the job with an error and frees the slot. param: the field at fault, or NULL. */
void s2_slot_refuse(s2_scheduler *s, s2_slot *slot, s2p_status status, const s2p_error *error,
                    const char *param);

/* The answer is complete, or this setting of a comparison failed: go on with the next setting, or
 * send the result and free the slot. */
void s2_slot_finish(s2_scheduler *s, s2_slot *slot, bool is_stopped);
void s2_slot_fail(s2_scheduler *s, s2_slot *slot, s2p_status status, const s2p_error *error);

/* --- several.c --- */

/* Forks the session of a slot whose prompt has run into vacant slots, one for each further answer. */
s2p_status s2_slot_fork(s2_scheduler *s, s2_slot *slot, s2p_error *error);

s2_slot *s2_slot_leader(s2_slot *slot); /* itself, where it is alone */

/* An answer of several has ended; true: it was the last one. */
bool s2_slot_over(s2_scheduler *s, s2_slot *slot, bool is_stopped);

/* The answer is not confident: the same setting goes on with the next budget. */
void s2_slot_repeat(s2_slot *slot);

/* Sends a piece of the answer, or holds it while the answer may not count. is_end: no more tokens will be reported after it. */
void s2_slot_send_text(s2_scheduler *s, s2_slot *slot, const char *text, bool is_end);

/* Sends the progress of the prompt, if the client asked for it. */
void s2_slot_send_progress(s2_scheduler *s, s2_slot *slot, const char *step, double done);

/* Sends that a setting of a comparison begins; and which tokens were kept, before the first text,
 * so that a client can draw them early. */
void s2_slot_send_begin(s2_scheduler *s, const s2_slot *slot);
void s2_slot_send_kept(s2_scheduler *s, const s2_slot *slot);

#endif /* S2_SERVE_SCHEDULER_H */
