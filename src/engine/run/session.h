/* session.h - what an engine and a session hold, for the files that implement them. */
#ifndef S2_ENGINE_SESSION_H
#define S2_ENGINE_SESSION_H

#include "engine/vision/arch.h"
#include "engine/model/decoder.h"
#include "engine/run/prefix.h"
#include "text/sample.h"
#include "engine/vision/seen.h"
#include "text/template.h"
#include "prune/method.h"

#define S2V_MAX_IMAGES 64 /* pictures in one prompt */

struct s2v_engine {
    s2v_engine_options options; /* callbacks and their user; the paths are not kept */
    s2v_devices devices;
    s2v_gguf *text, *mmproj; /* mapped weights point into them */
    s2v_weights *weights;
    s2v_model model;
    s2v_tokenizer *tokenizer;
    char name[128];
    uint64_t n_parameters;
};

typedef struct s2v_rows { /* the rows of the prompt being prefilled, all layers long */
    int32_t n, capacity;
    int32_t n_tail; /* of them the last: the question after the pictures, or 0. They run in chunks
                       of their own, so that no bit of a row before depends on them */
    struct ggml_context *ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor *hidden; /* F32 [n_embd, capacity] */
    int32_t *unit;              /* [n] S2V_MAX_PARTS * picture + part of the row, -1 for text */
    int32_t *token;             /* [n] which token of that part's grid it is; -1 for text */
    int32_t *pos[3];            /* [n] time, row, column: never renumbered */
} s2v_rows;

/* Arrays on their way through, for checking against a reference and for recording. data:
 * [rows][cols] floats, valid during the call. name: "vis.merged" (index: picture; once for each of
 * its views), "h" (index: layers done), "erc" (index: picture; of its first part), "logits",
 * and with tap_attention "k_rope" (index: layer; keys as rotated) and "attn" (index: layer; [rows]
 * queries, mean over heads). */
typedef void (*s2v_tap)(const char *name, int32_t index, const float *data, int32_t rows,
                        int32_t cols, void *user);

typedef struct s2v_watched { /* what the tower's last block did to one picture; owned */
    float *attn;             /* [tokens of all parts] attention received: mean over heads, queries
                                and the patches of a token; raster order, part after part */
    float *key;              /* [tokens of all parts][key_dim] as rotated, mean over heads and
                                the patches of a token */
    int32_t key_dim;
} s2v_watched;

typedef struct s2v_picture_plan { /* owned plans, NULL where a picture has fewer parts */
    s2p_plan *part[S2V_MAX_PARTS];
    s2v_framing framing;
} s2v_picture_plan;

struct s2v_session {
    s2v_engine *engine;
    s2v_session_options options;
    s2v_backends backends;
    s2v_graph graph;
    s2v_kv kv;
    s2v_rows rows;
    s2v_seen seen[S2V_MAX_IMAGES]; /* with options.keep_picture */
    s2v_prefix prefix;             /* with options.keep_prefix */
    int32_t next_pos;              /* of the next text token, as if nothing had been pruned */
    int32_t pending;               /* picked but not yet in the cache; -1: none */
    bool has_logits;
    float *logits;     /* [n_vocab] */
    ggml_fp16_t *mask; /* scratch, n_batch * n_ctx at most */
    size_t n_mask;
    int32_t *positions; /* scratch, 4 * n_batch */

    s2v_picture_plan *plans; /* [n_plans] pictures of the last prefill */
    int32_t n_plans;
    s2v_sampler *sampler;
    s2v_stop *stop; /* options.stop */
    s2v_detokenizer detokenizer;
    s2_buffer text, shown; /* of one token; what of it is no stop string */
    s2v_tokens generated;

    s2v_tap tap;
    void *tap_user;
    bool tap_attention; /* "k_rope" and "attn" as well: slow */
    s2v_recorder recorder;
    void *recorder_user;
    double probe_ms;      /* of the prefill under way: side computations */
    bool masks_instead;   /* tests: hide dropped rows from attention instead of removing them */
    uint8_t *hidden_rows; /* [rows.n] then */
};

/* Milliseconds since an arbitrary moment. */
double s2v_now_ms(void);

/* Watch the next prefills; NULL stops. */
void s2v_session_set_tap(s2v_session *session, s2v_tap tap, void *user);

void s2v_plans_free(s2v_picture_plan *plans, int32_t n);

/* Forget the plans of the last prefill. */
void s2v_session_forget_plans(s2v_session *session);

/* --- rows (rows.c) --- */
s2p_status s2v_rows_reserve(s2v_session *session, int32_t n, int32_t n_spare, s2p_error *error);
void s2v_rows_free(s2v_rows *rows);
struct ggml_tensor *s2v_rows_view(struct ggml_context *ctx, const s2v_rows *rows, int32_t first,
                                  int32_t n);

/* Hidden states of the listed rows, read back or written. data: [n][n_embd]. */
void s2v_rows_read(const s2v_rows *rows, const int32_t *row, int32_t n, float *data);
void s2v_rows_write(const s2v_rows *rows, const int32_t *row, int32_t n, const float *data);

/* --- pictures (see.c) --- the rows of picture `index`, from `first_row` on: the tower, once for
 * each view, and the newlines. watched: NULL, or what its last block did, out; the time that takes
 * is added to session->probe_ms. */
s2p_status s2v_see_picture(s2v_session *session, s2v_graph *tower, const s2v_frame *frame,
                           int32_t index, int32_t first_row, s2v_watched *watched,
                           s2p_error *error);
void s2v_watched_free(s2v_watched *watched);

/* --- layers (layers.c) --- run decoder layers [first, last) over all rows, in chunks. erc:
 * [rows.n] out or NULL. The last layer leaves logits in the session. */
s2p_status s2v_run_layers(s2v_session *session, int32_t first, int32_t last, float *erc,
                          s2p_error *error);

/* Inputs of the graph being drawn, one of each at most: what rows [first, first + n) see of n_past
 * cells before them and of themselves, F16 [n_past + n, n]; and their positions, as s2v_span wants
 * them (n <= n_batch). */
s2p_status s2v_rows_mask(s2v_session *session, int32_t n_past, int32_t first, int32_t n,
                         struct ggml_tensor **out, s2p_error *error);
struct ggml_tensor *s2v_rows_positions(s2v_session *session, int32_t first, int32_t n);

/* Numbers the model computed, all of a contiguous F32 tensor, read back; S2P_EFORMAT unless all are
 * finite. */
s2p_status s2v_read_floats(const struct ggml_tensor *from, float *out, s2p_error *error);

/* One token through all layers; leaves logits. */
s2p_status s2v_run_token(s2v_session *session, int32_t token, s2p_error *error);

/* --- compaction (compact.c) --- keep rows keep[0..n_keep) of the prompt, in this order (-1: a row
 * of zeros at position -1): hidden states, positions, and the cache of the first n_layers layers.
 * The only place where tokens leave. */
s2p_status s2v_compact(s2v_session *session, const int32_t *keep, int32_t n_keep, int32_t n_layers,
                       s2p_error *error);

/* What a plan merges goes into the rows that will stay. alive, row: [n] tokens and their rows. */
s2p_status s2v_merge_rows(s2v_session *session, const s2p_plan *plan, const int32_t *alive,
                          const int32_t *row, int32_t n, s2p_error *error);

#endif /* S2_ENGINE_SESSION_H */
