/* run_options.h - what `run` was asked for, and the model it runs. */
#ifndef S2_TOOLS_RUN_OPTIONS_H
#define S2_TOOLS_RUN_OPTIONS_H

#include "bundled.h"
#include "image/image.h"
#include "options.h"
#include "record.h"
#include "s2vlm.h"

#define S2_RUN_MAX_IMAGES 20

typedef struct run_options {
    const char *model, *mmproj, *device, *rpc;
    s2_list images, stop;
    const char *prompt, *prompt_file, *system, *image_size, *image_budgets, *image_grids;
    const char *overlay, *logits, *record;
    bool raw, ignore_eos, quiet, list_devices, list_methods;
    int32_t predict, threads, context, batch, gpu_layers, kv_type;
    double temperature, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty;
    int32_t top_k;
    uint64_t seed;
    int32_t method, mode, grid, allocator, selector, preset, structure, view, pixels, output,
        display;
    s2_budget budget;
    int64_t min_pixels, max_pixels, max_image_pixels;
    int32_t keep_picture; /* of s2v_session_options; no option sets it */
} run_options;

typedef struct run_job { /* everything `run` owns */
    const run_options *options;
    s2_bundled_model bundled; /* paths, when no model was given */
    s2v_engine *engine;
    s2v_session *session;
    s2_image picture[S2_RUN_MAX_IMAGES];
    s2p_image view[S2_RUN_MAX_IMAGES];
    int32_t n_pictures;
    s2v_image_options size[S2_RUN_MAX_IMAGES];
    int32_t image_budget[S2_RUN_MAX_IMAGES], image_grid[S2_RUN_MAX_IMAGES];
    s2v_prune_options prune;
    s2_buffer answer;  /* text so far */
    float *logits;     /* of the last prompt token, for --logits */
    s2_record *record; /* NULL without --record */
    s2v_stats stats;
    double predicted_ms;
    bool has_history; /* the session holds a turn already */
    bool stopped;     /* by the model or a stop string, not by -n */
} run_job;

/* Open the engine and a session, set up job->prune; notes and progress go to standard error.
 * Whether it worked or not, s2_run_close frees what the job holds. */
s2p_status s2_run_open(run_job *job, s2p_error *error);
void s2_run_close(run_job *job);

/* The question of -p or -f into an initialised buffer, NUL-terminated. */
s2p_status s2_run_question(const run_options *options, s2_buffer *text, s2p_error *error);

/* Add a picture to the prompt. */
s2p_status s2_run_add_picture(run_job *job, const char *path, s2p_error *error);

/* One turn: prefill, then tokens until the end. Text goes to standard output as it comes, unless
 * the result is JSON. n_turn_pictures: the last ones added belong to this turn. */
s2p_status s2_run_turn(run_job *job, const char *text, int32_t n_turn_pictures, s2p_error *error);

/* The conversation on a terminal, until /quit or the end of input; the exit code. */
int s2_run_chat(run_job *job);

/* Two lines on standard error: kept tokens; times, speed, cache. */
void s2_run_summary(const run_job *job);

/* Schema s2prune.run/1. */
void s2_run_json(const run_job *job, s2_buffer *out);

/* The overlay of picture `index` into a file (.png or .svg by name), or onto the terminal. */
int s2_run_overlay(const run_job *job, int32_t index, const char *path);
int s2_run_show(const run_job *job, int32_t index);

/* The same as a picture to be freed; its .pixels are NULL where there is nothing to draw. */
s2p_status s2_run_draw(const run_job *job, int32_t index, s2_image *out, s2p_error *error);

/* Picture `index` of the last turn as the tower saw it; *squared holds it when it was padded, and
 * is to be freed. */
const s2p_image *s2_run_seen(const run_job *job, int32_t index, s2_image *squared);

#endif /* S2_TOOLS_RUN_OPTIONS_H */
