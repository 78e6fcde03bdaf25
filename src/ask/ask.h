/* ask.h - one question to a model, its answer and the statistics.
 *
 *     s2a_ask(session, &prompt, &setting, &(s2a_limits){ .n_tokens = 128 }, NULL, &answer, &error);
 *     puts(answer.text);
 *     s2a_answer_free(&answer);
 *
 * The session determines the rest: sampling, what ends an answer, and whether the conversation
 * continues or was reset by s2v_session_reset.
 */
#ifndef S2_ASK_ASK_H
#define S2_ASK_ASK_H

#include "ask/settings.h"

typedef struct s2a_part { /* what was kept of one grid of tokens */
    s2p_grid grid;
    int32_t picture; /* of the prompt */
    bool is_tiles;   /* the second grid of a picture seen whole and in tiles */
    int32_t side;    /* K x K regions; 0: the method has none */
    int32_t *keep;   /* [n_keep] ascending, owned */
    int32_t n_keep;
    int32_t *share;     /* [side * side] budget of each region, owned; NULL: no regions */
    float *raw, *score; /* [side * side] structure, raw and min-max; owned by `share` */
} s2a_part;

typedef struct s2a_attempt { /* one of the answers to a question, the last one included */
    s2v_budget budget;
    int32_t image_tokens, prompt_tokens; /* prefilled */
    double confidence;                   /* lowest probability of its first tokens */
    double ms;                           /* prefill and generation, without pictures and tower */
    double flops;
} s2a_attempt;

typedef struct s2a_attempts {        /* all zero: none */
    s2a_attempt list[S2A_MAX_STEPS]; /* [n]; with one budget: none */
    int32_t n;
    double earlier_ms; /* of attempts before the last */
    s2v_stats paid;    /* of all attempts so far */
} s2a_attempts;

typedef struct s2a_answer { /* all zero: none. Free with s2a_answer_free */
    char *text;             /* UTF-8, NUL-terminated, owned */
    char *thoughts; /* what came before it, owned; NULL: the answer did not begin with any */
    int32_t *token; /* [n_tokens] generated, including the end token; owned */
    int32_t n_tokens;
    bool is_stopped; /* by the model, a stop string or ends_after, not by n_tokens */
    s2a_part *part;  /* [n_parts] owned */
    int32_t n_parts;
    float *logits;   /* [n_logits] after the last token of the prompt, owned; NULL: not requested */
    s2v_stats stats; /* of the last attempt; pictures, tower, saved_ms and cost of all */
    double generate_ms;
    s2a_attempts attempts;
    float *logprob; /* [n_tokens][2] of each token, and the margin to the next likely one, owned;
                          NULL: not requested */
} s2a_answer;

typedef struct s2a_limits {
    int32_t n_tokens; /* maximum of an answer */
    const s2v_budget
        *image_budget;         /* NULL, or a budget for each picture instead of the setting's */
    const int32_t *image_side; /* NULL, or K for each picture */
    int32_t n_logits;          /* above 0: return this many, the vocabulary of the model */
    /* NULL, or called after each token with the text so far; returns after how many tokens the
     * answer ends; below 0: it continues. */
    int32_t (*ends_after)(const int32_t *token, int32_t n_tokens, const char *text, void *user);
    void *user;
    int32_t n_vocab;          /* of the model; needed if the setting has several budgets */
    bool wants_logprobs;      /* also needed for these */
    const s2a_sample *sample; /* NULL, or the sample, for user-defined methods */
} s2a_limits;

typedef struct s2a_listener { /* text as it is generated; not S2P_OK ends the answer */
    s2p_status (*receive)(const char *text, size_t n, void *user, s2p_error *error);
    void *user;
    s2p_status (*think)(const char *text, size_t n, void *user,
                        s2p_error *error); /* NULL, or thoughts */
} s2a_listener;

/* If the setting has several budgets and the prompt has pictures: ask with the first; as long as the answer is
 * below the setting's confidence, reset the conversation and ask with the next one that keeps more tokens. The
 * listener receives only the last answer, once it is known to be the last. In a later turn, where the
 * conversation cannot be reset, the last budget is used at once.
 * listener: may be NULL. On failure *answer is all zero; S2P_ELIMIT: the answer is too long. */
s2p_status s2a_ask(s2v_session *session, const s2v_prompt *prompt, const s2a_setting *setting,
                   const s2a_limits *limits, const s2a_listener *listener, s2a_answer *answer,
                   s2p_error *error);
void s2a_answer_free(s2a_answer *answer);

/* The engine's options for a setting with its first budget; borrows from both. */
s2v_prune_options s2a_prune_options(const s2a_setting *setting, const s2a_limits *limits);

/* Record a finished attempt, with the stats of its prefill and the time since. Adds to *stats the picture
 * and tower times of earlier attempts, and their cost. */
void s2a_attempts_end(s2a_attempts *attempts, s2v_budget budget, double confidence,
                      double generate_ms, s2v_stats *stats);

/* The first step after `step` that keeps more tokens of the session's pictures than `step`; above n_more:
 * none. */
int32_t s2a_next_step(const s2v_session *session, const s2a_setting *setting, int32_t step);

/* Tokens per second after the first; 0 when there are not two. */
double s2a_tokens_per_second(const s2a_answer *answer);

/* --- generating, one answer or several ------------------------------------------------------
 *
 * The generation loop: s2a_ask runs it for one session, the server for all sessions that are answering.
 */

typedef enum s2a_ending {
    S2A_RUNNING,
    S2A_STOPPED, /* by the model, a stop string or `receive` */
    S2A_LENGTH,  /* max_tokens, or the context is full */
    S2A_UNSURE,  /* below min_confidence; the token that decided was not received */
    S2A_FAILED   /* see status and error */
} s2a_ending;

typedef struct s2a_generation { /* one answer in progress */
    s2v_session *session;       /* prefilled */
    int32_t max_tokens;         /* below 0: until the context is full */
    /* Called for every token with the text it adds, which may be empty; and at the end of an answer
     * with ending S2A_LENGTH, with the text that was held back (is_rest). While `ending` is S2A_RUNNING
     * it may set S2A_STOPPED. A status other than S2P_OK ends the answer. */
    s2p_status (*receive)(struct s2a_generation *g, const char *text, bool is_rest,
                          s2p_error *error);
    void *user;
    int32_t n_vocab;       /* above 0: the confidence is measured */
    double min_confidence; /* above 0: this answer may still be discarded. Text already
                              received may have to be taken back; decided, this becomes 0 */
    double confidence;     /* so far; 1 before the first token */
    int32_t n_tokens;      /* so far */
    s2a_ending ending;
    s2p_status status;
    s2p_error error;
    char piece[S2V_TEXT_BYTES]; /* scratch */
} s2a_generation;

/* After the caller has set session, max_tokens, receive, user, n_vocab and min_confidence. A limit of 0
 * tokens ends it. */
void s2a_generation_start(s2a_generation *g);

/* One pass over the weights: the next token of each of n (1 to 64) running answers of one engine. */
void s2a_generate(s2a_generation *const *answers, size_t n);

#endif /* S2_ASK_ASK_H */
