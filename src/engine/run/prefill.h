/* prefill.h - one prefill on its way, for the files that share the work.
 *
 *   prefill.c   pictures and text become rows
 *   units.c     which rows are the tokens of which picture, and how many may stay
 *   stages.c    layers, select, compact, layers, ... until the logits are there
 *   views.c     what a method sees of one unit
 *   prefix.c    instead of the pictures and what came before them, what is left of it
 */
#ifndef S2_ENGINE_PREFILL_H
#define S2_ENGINE_PREFILL_H

#include "engine/run/probe.h"

typedef struct s2v_unit { /* a grid of visual tokens pruned for itself: a part of a picture */
    int32_t picture, part;
    int32_t budget, n_tokens; /* n_tokens is 0 where a picture has fewer parts */
    int32_t n_alive;
    int32_t *alive; /* [n_alive] tokens still there, ascending; room for n_tokens, owned */
    int32_t *row;   /* [n_alive] where they stand among the rows */
    float *feature; /* [n_tokens][n_embd] as they entered the decoder, or NULL; owned */
    s2p_plan *plan; /* the session's */
} s2v_unit;

typedef struct s2v_job {
    s2v_session *s;
    const s2v_prompt *prompt;
    const s2v_prune_options *prune;
    const s2p_method *method;
    uint32_t needs; /* of the method with its choice; 0 when nothing will be pruned */
    int32_t after[S2P_MAX_STAGES]; /* the layer each stage follows in this model */
    s2v_chat chat;
    s2v_frame *frames;    /* [n_images] */
    s2v_watched *watched; /* [n_images] */
    int32_t *first_row;   /* [n_images] */
    int32_t n_newlines;   /* rows of all pictures that are never pruned */
    s2v_unit *unit;       /* [S2V_MAX_PARTS * n_images], as s2v_rows.unit counts them */
    int32_t n_units;
    int32_t n_text;     /* question tokens: the last rows */
    float *text;        /* [n_text][n_embd] as they entered the decoder, or NULL */
    bool is_recalled;   /* the pictures are in the cache already: only the question is to run */
    bool is_remembered; /* what comes before the question will be kept */
    s2v_stats stats;
    s2p_error *error;
} s2v_job;

typedef struct s2v_looks { /* what was read off the decoder for one stage; owned */
    s2v_probe probe;
    float *erc;       /* [rows] */
    float *attention; /* [n_queries][rows] */
    float *normed;    /* [rows][n_embd] */
    int32_t n_queries;
} s2v_looks;

/* How picture i is to be seen. */
s2v_image_options s2v_job_options(const s2v_job *job, int32_t i);

/* One line for the user. */
void s2v_job_note(const s2v_job *job, const char *text);

/* --- units.c --- */

/* Tokens of a picture that may be pruned. */
int32_t s2v_frame_tokens(const s2v_frame *frame);

/* After the frames are known: units, their budgets and plans; and what the method needs. */
s2p_status s2v_units_make(s2v_job *job);

/* Where the tokens of each unit stand now. */
void s2v_units_find(s2v_job *job);

/* Rows that are only there before layer 0: features and the question, as far as needed. */
s2p_status s2v_units_read(s2v_job *job);

/* Where a token stands in an ascending list that has it. */
int32_t s2v_place_of(const int32_t *alive, int32_t n, int32_t token);

void s2v_units_free(s2v_job *job);

/* --- stages.c --- */

/* Where the method prunes in a model of this many layers: its own layers if they are there, else
 * moved down in proportion. S2P_EUNSUPPORTED when there are fewer boundaries than stages. */
s2p_status s2v_stage_layers(const s2p_method *method, int32_t n_layers, int32_t *after,
                            s2p_error *error);

/* From embedded rows to logits. */
s2p_status s2v_run_stages(s2v_job *job);

/* --- views.c --- */

/* Let the method choose among the tokens of a unit: fills its plan. */
s2p_status s2v_select_unit(s2v_job *job, s2v_unit *unit, int32_t stage, const s2v_looks *looks);

#endif /* S2_ENGINE_PREFILL_H */
