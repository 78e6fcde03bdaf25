/* job.h - one prefill on its way: what was asked, and what has become of it so far.
 *
 *   prefill.c       pictures and text become rows, rows a cache and logits: all of it, on one page
 *   prefill_many.c  several prompts that have text alone to run, with one pass over the weights
 *   layout.c        which rows there will be, and where they stand
 *   units.c         which rows are the tokens of which picture, and how many may stay
 *   picture_rows.c  the tower writes a picture's rows
 *   stages.c        layers, select, compact, layers, ... until the logits are there
 *   readings.c      what a method wants to know of a decoder layer
 *   views.c         what it sees of one unit, and its choice
 *   prefix.c        instead of the pictures and what came before them, what is left of it
 *   stats.c         the figures of all that
 */
#ifndef S2_ENGINE_JOB_H
#define S2_ENGINE_JOB_H

#include "engine/prompt/prefix.h"
#include "engine/session/session.h"
#include "engine/vision/tower_probe.h"
#include "prune/method.h"
#include "text/template.h"

typedef struct s2v_unit s2v_unit;

typedef struct s2v_job {
    s2v_session *s;
    s2v_prompt prompt; /* borrows what it points to */
    s2v_prune_options prune;
    const s2p_method *method;
    uint32_t needs; /* of the method with its choice; 0 when nothing will be pruned */
    int32_t after[S2P_MAX_STAGES]; /* the layer each stage follows in this model */
    s2v_chat chat;
    s2v_framing usual;            /* how pictures are seen that say nothing of it */
    s2v_frame *frames;            /* [n_images] */
    s2v_tower_probe *tower_probe; /* [n_images] */
    int32_t *first_row;           /* [n_images] */
    int32_t n_newlines;           /* rows of all pictures that are never pruned */
    s2v_unit *unit;               /* [S2V_MAX_PARTS * n_images], as s2v_rows.unit counts them */
    int32_t n_units;
    int32_t n_positions; /* the prompt takes, as if nothing were pruned */
    int32_t n_text;      /* question tokens: the last rows */
    float *text;         /* [n_text][n_embd] as they entered the decoder, or NULL */
    s2v_plans earlier;   /* of the prompt before */
    s2v_prefix prefix;   /* found in the engine's cache, or being made for it */
    bool is_open;        /* the session is busy with it */
    bool is_continued;   /* it stands behind others */
    bool is_recalled; /* its start was in the engine's cache: the rows are those of the question */
    bool has_begun;   /* the conversation is no longer as it was before */
    s2v_stats stats;
    s2p_error *error;
} s2v_job;

/* Set it up to do this; prune NULL: every token stays. */
s2p_status s2v_job_init(s2v_job *job, s2v_session *session, const s2v_prompt *prompt,
                        const s2v_prune_options *prune, s2p_error *error);

/* Everything it owns. */
void s2v_job_free(s2v_job *job);

/* The method its options name. */
s2p_status s2v_job_find_method(s2v_job *job);

/* As many pictures are marked in the rendered prompt as were given. */
s2p_status s2v_job_check_marks(const s2v_job *job);

/* How picture i is to be seen. */
s2v_image_options s2v_job_options(const s2v_job *job, int32_t i);

/* One line for the user. */
void s2v_job_note(const s2v_job *job, const char *text);

#endif /* S2_ENGINE_JOB_H */
