/* slot.h - one of the places where questions are answered, and what its client is told.
 *
 * For scheduler.c, which decides whose turn it is.
 */
#ifndef S2_SERVE_SLOT_H
#define S2_SERVE_SLOT_H

#include "serve/engine/answer_json.h"
#include "serve/engine/ask_job.h"
#include "serve/engine/logprobs.h"
#include "serve/engine/scheduler.h"
#include "serve/engine/score_memory.h"

typedef struct s2_slot {
    s2_scheduler *scheduler;
    s2v_session *session;
    s2_inbox_job *from; /* NULL: free */
    s2_ask_job ask;
    bool is_read;    /* `ask` holds something */
    bool is_ready;   /* the session is set up for wish[i_wish] */
    bool is_started; /* its prompt is in the session */
    int32_t i_wish;
    uint64_t turn;           /* when its prompt began to wait: the first is the next */
    s2v_prune_options prune; /* what wish[i_wish] asks */
    s2v_prompt prompt;
    const s2v_ask *asked; /* NULL: it is not being prefilled */
    s2v_stats stats;
    int32_t n_tokens;
    double first_ms; /* when its first token was asked for */
    double told_ms;  /* when the client last heard how far the prompt is */
    char piece[S2V_TEXT_BYTES];
    s2_buffer text; /* of this answer, for comparisons */
    s2_logprobs logprobs;
    float *score; /* [n_scores] of the first picture */
    int32_t n_scores;
    uint8_t score_key[32];
    int32_t *kept[S2_SERVE_MAX_SETTINGS]; /* of the first picture, for the overlaps */
    int32_t n_kept[S2_SERVE_MAX_SETTINGS];
    double prompt_ms[S2_SERVE_MAX_SETTINGS];
} s2_slot;

struct s2_scheduler {
    s2v_engine *engine;
    const s2_quick *quick;
    s2_inbox *inbox;
    s2_outbox *outbox;
    int32_t n_slots, n_vocab;
    s2_slot *slot;
    uint64_t n_turns;
    double step_ms, stepped_ms; /* what the last pass took; when it was over */
    s2_work work;
    s2_score_memory scores;
};

/* What is left of an answer goes; the question stays. */
void s2_slot_clear(s2_slot *slot);

/* The last word is an error, and the slot is free. param: what of the request it is about, or NULL. */
void s2_slot_refuse(s2_scheduler *s, s2_slot *slot, s2p_status status, const s2p_error *error,
                    const char *param);

/* The answer is complete, or this setting of a comparison failed: the next setting, or the last word. */
void s2_slot_finish(s2_scheduler *s, s2_slot *slot, bool is_stopped);
void s2_slot_fail(s2_scheduler *s, s2_slot *slot, s2p_status status, const s2p_error *error);

/* A piece of the answer. is_end: the model has no more to say, or may not. */
void s2_slot_say(s2_scheduler *s, s2_slot *slot, const char *text, bool is_end);
void s2_slot_say_rest(s2_scheduler *s, s2_slot *slot);

/* How far the prompt is, for who wants to know. */
void s2_slot_tell_progress(s2_scheduler *s, s2_slot *slot, const char *step, double done);

/* A setting of a comparison begins; what was kept, before the first word: whoever watches may draw it. */
void s2_slot_tell_begin(s2_scheduler *s, const s2_slot *slot);
void s2_slot_tell_kept(s2_scheduler *s, const s2_slot *slot);

#endif /* S2_SERVE_SLOT_H */
