/* steps.h - one prefill: its input, its state, and its steps.
 *
 *   prefill.c       the overview: pictures and text become rows, rows become a KV cache and logits
 *   prefill_many.c  several prompts with only text to compute, with one pass over the weights
 *   layout.c        which rows there will be, and at which positions
 *   units.c         which rows are the tokens of which picture, and how many may stay
 *   picture_rows.c  the tower writes a picture's rows
 *   stages.c        layers, select, compact, layers, ... until the logits are there
 *   layers.c        a range of layers over all rows
 *   readings.c      what a method needs of a decoder layer
 *   views.c         what a method reads of one unit, and its selection
 *   compact.c       rows leave
 *   prefix.c        the start of a prompt taken from the engine's cache instead of computed
 *   tokens.c        prompts as tokens and counts, for callers that do not run them
 *   estimate.c      memory that a prompt needs
 *   trace.c         intermediate arrays, for tests
 */
#ifndef S2_ENGINE_STEPS_H
#define S2_ENGINE_STEPS_H

#include "engine/prompt/prefix.h"
#include "engine/session/session.h"
#include "engine/vision/tower_probe.h"
#include "prune/method.h"
#include "text/template.h"

typedef struct s2v_unit { /* a grid of visual tokens pruned by itself: a part of a picture */
    int32_t picture, part;
    int32_t budget, n_tokens; /* that enter the decoder; 0 if a picture has fewer parts */
    int32_t n_kept;           /* of these, kept by a region */
    int32_t n_grid;           /* including those that never entered the tower */
    int32_t n_alive;
    int32_t *alive;      /* [n_alive] tokens still present, ascending; room for n_grid, owned */
    int32_t *row;        /* [n_alive] which rows they are */
    int32_t first, last; /* the smallest and the largest of these */
    float *feature;      /* [n_tokens][n_embd] as they entered the decoder, or NULL; owned */
    uint8_t *mark;  /* [n_grid] marks of the picture's regions (vision/regions.h), or NULL; owned */
    s2p_plan *plan; /* the session's */
} s2v_unit;

typedef struct s2v_prefill {
    s2v_session *s;
    s2v_prompt prompt; /* borrows what it points to */
    s2v_prune_options prune;
    const s2p_method *method;
    uint32_t needs; /* of the method with its settings; 0 when nothing will be pruned */
    int32_t after[S2P_MAX_STAGES]; /* the layer each stage follows in this model */
    bool prunes_cache;             /* dropped rows also leave the cache of layers that ran */
    s2v_chat chat;
    s2v_framing usual;            /* of pictures with S2V_FRAMING_AUTO */
    s2v_frame *frames;            /* [n_images] */
    s2v_tower_probe *tower_probe; /* [n_images] */
    int32_t *first_row;           /* [n_images] */
    int32_t n_newlines;           /* rows of all pictures that are never pruned */
    int32_t n_dropped;            /* tokens the tower made that do not enter the decoder */
    s2v_unit *unit;               /* [S2V_MAX_PARTS * n_images], as s2v_rows.unit counts them */
    int32_t n_units;
    int32_t n_positions; /* the prompt takes, as if nothing were pruned */
    int32_t first_pos;   /* of its first row */
    int32_t n_text;      /* question tokens: the last rows */
    float *text;         /* [n_text][n_embd] as they entered the decoder, or NULL */
    s2v_plans earlier;   /* of the prompt before */
    s2v_prefix prefix;   /* found in the engine's cache, or being made for it */
    bool is_open;        /* the session is busy with this prefill */
    bool is_continued;   /* a later turn of the conversation */
    bool is_recalled;    /* its start was cached: the rows are those of the question */
    bool has_begun;      /* the conversation has changed */
    s2v_stats stats;
    s2p_error *error;
} s2v_prefill;

/* --- prefill.c ------------------------------------------------------------------------- */

/* Lay out the rows and copy those in the engine's cache into the session. A refused prefill must be
 * closed, too. */
s2p_status s2v_prefill_open(s2v_prefill *prefill);

/* From here on the conversation has changed. */
void s2v_prefill_begin(s2v_prefill *prefill);

/* For a prompt whose start came from the cache: the time of the rest. */
void s2v_prefill_question_ran(s2v_prefill *prefill, double took_ms);

/* Finish with `status`; returns the final status. stats: out, or NULL. */
s2p_status s2v_prefill_close(s2v_prefill *prefill, s2p_status status, s2v_stats *stats);

/* The same for a prefill that is open but has not begun: the session is unchanged. */
void s2v_prefill_undo(s2v_prefill *prefill);

/* Run an open prefill and close it. */
s2p_status s2v_prefill_alone(s2v_prefill *prefill, s2v_stats *stats);

/* --- layout.c -------------------------------------------------------------------------- */

/* The method, the text as tokens, the pictures as frames, which rows are what, and their positions. Of
 * the session only rows and plans change; the plans of the prompt before move to prefill->earlier. */
s2p_status s2v_layout_make(s2v_prefill *prefill);

/* After the prefill: keep the frame for the next question about the same picture. */
void s2v_layout_keep_frame(s2v_prefill *prefill);

/* --- units.c --------------------------------------------------------------------------- */

/* Set it up; prune NULL: every token stays. session NULL: for tokens.c, which runs nothing. */
s2p_status s2v_prefill_init(s2v_prefill *prefill, s2v_session *session, const s2v_prompt *prompt,
                            const s2v_prune_options *prune, s2p_error *error);

/* The method its options name. */
s2p_status s2v_prefill_find_method(s2v_prefill *prefill);

/* Check that the rendered prompt marks as many pictures as were passed. */
s2p_status s2v_prefill_check_marks(const s2v_prefill *prefill);

/* Whether its answer begins with thoughts. */
bool s2v_prompt_thinks(const s2v_engine *engine, const s2v_prompt *prompt);

/* Whether the variant of ERC is requested that includes what is added after a layer. */
bool s2v_prefill_counts_deepstack(const s2v_prefill *prefill);

/* S2P_EUNSUPPORTED: positions cannot be renumbered because they are not one-dimensional. */
s2p_status s2v_prefill_check_positions(const s2v_prefill *prefill);

/* The framing of picture i. */
s2v_image_options s2v_prefill_image(const s2v_prefill *prefill, int32_t i);

/* And how the tower sees it, which is smaller with the method `resize`: *n_all is then how many tokens it had
 * otherwise, else -1. prefill->usual is known. */
s2p_status s2v_prefill_shown(const s2v_prefill *prefill, const s2v_model *model, int32_t i,
                             s2v_image_options *out, int32_t *n_all);

/* What S2V_FRAMING_AUTO stands for. */
s2v_framing s2v_prefill_usual(const s2v_prefill *prefill, const s2v_engine *engine);

/* S2P_EUNSUPPORTED: tokens cannot be dropped before this tower, which needs all of them. */
s2p_status s2v_prefill_check_before(const s2v_arch *arch, const s2v_image_options *options,
                                    s2p_error *error);

/* One line for the user. */
void s2v_prefill_note(const s2v_prefill *prefill, const char *text);

/* The budget of picture i with n_tokens; may be more than it has. */
int32_t s2v_picture_budget(const s2v_prefill *prefill, int32_t i, int32_t n_tokens);

/* The regions of picture i: S2P_EINVAL, S2P_ELIMIT. */
s2p_status s2v_prefill_check_regions(const s2v_prefill *prefill, int32_t i);

/* The marks of picture i's regions for the tokens of a part: [tokens of its grid], to be freed; NULL: it has
 * no regions. model: of the session, or of the engine before there is one. */
s2p_status s2v_prefill_mark(const s2v_prefill *prefill, const s2v_model *model, int32_t i,
                            s2v_framing framing, s2p_grid grid, uint8_t **mark);

/* After the frames are known: units, their budgets and plans; and what the method needs. */
s2p_status s2v_units_make(s2v_prefill *prefill);

/* Find the rows of each unit's tokens. */
void s2v_units_find(s2v_prefill *prefill);

/* Copy rows that exist only before layer 0: features and the question, if needed. */
s2p_status s2v_units_read(s2v_prefill *prefill);

/* The index of a token in an ascending list that contains it. */
int32_t s2v_place_of(const int32_t *alive, int32_t n, int32_t token);

void s2v_units_free(s2v_prefill *prefill);

/* --- picture_rows.c -------------------------------------------------------------------- */

/* Compute the rows of picture `index`, from prefill->first_row[index]: the tower, once for each view, and
 * the newlines; or take them from the engine's cache. The tower's attention goes to
 * prefill->tower_probe[index] if prefill->needs includes it. tower: a graph for the tower. */
s2p_status s2v_picture_rows(s2v_prefill *prefill, s2v_graph *tower, int32_t index);

/* --- stages.c -------------------------------------------------------------------------- */

/* Signals that only a layer of attention has. */
#define S2V_READS_ATTENTION                                                                  \
    (S2P_NEED_LAST_QUERY | S2P_NEED_MEAN_QUERY | S2P_NEED_PLAIN_KEY | S2P_NEED_ROTATED_KEY | \
     S2P_NEED_LAST_ATTN | S2P_NEED_QUERY_ATTN)

/* Set prefill->after, where the method prunes in this model: the requested layer; else the method's own
 * layers, moved down in proportion if the model has fewer; if a layer has no attention, the next that has.
 * S2P_EUNSUPPORTED if there are fewer boundaries than stages, or the requested layer is not one. */
s2p_status s2v_stage_layers(s2v_prefill *prefill, const s2v_decoder_params *params);

/* Rows of a prompt that reach a layer, of n_rows before pruning and n_left after it, if each stage removes
 * an equal share. */
int64_t s2v_stage_rows(const s2v_prefill *prefill, int32_t layer, int64_t n_rows, int64_t n_left);

/* From embedded rows to logits. */
s2p_status s2v_run_stages(s2v_prefill *prefill);

/* Statistics of a prompt without pictures that ran in a joint pass: no tokens were removed. */
void s2v_stages_pass(s2v_prefill *prefill);

/* --- layers.c -------------------------------------------------------------------------- */

/* Layers [first, last) over all rows, in chunks. erc: [rows.n] out or NULL. The last layer leaves
 * logits in the session. */
s2p_status s2v_run_layers(s2v_session *session, int32_t first, int32_t last, float *erc,
                          s2p_error *error);

/* --- readings.c ------------------------------------------------------------------------ */

typedef struct s2v_readings { /* owned; NULL if the method does not read it */
    s2v_decoder_probe probe;
    float *erc;       /* [rows] */
    float *attention; /* [n_queries][rows] */
    float *normed;    /* [rows][n_embd] */
    int32_t n_queries;
} s2v_readings;

/* Run layers [*at, layer], set *at to `layer + 1`, and read what prefill->needs requests of the last
 * one into *out. out: all NULL before; must be freed in every case. The extra time is added to
 * probe_ms. */
s2p_status s2v_readings_take(s2v_prefill *prefill, int32_t *at, int32_t layer, s2v_readings *out);
void s2v_readings_free(s2v_readings *readings);

/* --- views.c --------------------------------------------------------------------------- */

/* Run the method on the tokens of a unit: fills its plan. */
s2p_status s2v_select_unit(s2v_prefill *prefill, s2v_unit *unit, int32_t stage,
                           const s2v_readings *readings);

/* --- compact.c ------------------------------------------------------------------------- */

/* Keep rows keep[0..n_keep) of the prompt, in this order (-1: a padding row of zeros): hidden states,
 * positions, and the KV cache of the first n_layers layers. */
s2p_status s2v_compact(s2v_session *session, const int32_t *keep, int32_t n_keep, int32_t n_layers,
                       s2p_error *error);

/* Rotate the cached keys of a layer by `shift` positions; for one-dimensional positions. */
s2p_status s2v_shift_layer(s2v_session *session, int32_t layer, int32_t shift, s2p_error *error);

/* Apply the merges of a plan to the rows that are kept. alive, row: [n] tokens and their rows. */
s2p_status s2v_merge_rows(s2v_session *session, const s2p_plan *plan, const int32_t *alive,
                          const int32_t *row, int32_t n, s2p_error *error);

#endif /* S2_ENGINE_STEPS_H */
