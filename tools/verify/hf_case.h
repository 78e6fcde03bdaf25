/* hf_case.h - a case recorded by Hugging Face: what belongs to it, and the files that check it. */
#ifndef S2_TOOLS_HF_CASE_H
#define S2_TOOLS_HF_CASE_H

#include "engine/prompt/trace.h"
#include "image/image.h"
#include "verify/verify.h"

#define HF_PATH_CAPACITY 4096
#define HF_MAX_PICTURES 16
#define HF_MAX_SIDE 32 /* regions along a side */

/* Layers with a state: the norm behind the delta rule divides by the size of what a row reads, which may be
 * near zero and then magnifies rounding. The goldens' own checker measured it. */
#define HF_STATE_LOOSER 5.0

typedef struct hf_case {
    s2_verdict *verdict;
    char folder[HF_PATH_CAPACITY]; /* model and pictures */
    s2v_gguf *golden, *full;       /* the case, and the unpruned one that has its prompt */
    s2_image picture[HF_MAX_PICTURES];
    s2p_image view[HF_MAX_PICTURES];
    int32_t n_pictures;
    int32_t n_views[HF_MAX_PICTURES];        /* of pictures in tiles; 0: not told */
    int32_t whole_grid[HF_MAX_PICTURES];     /* which of the stored grids is the whole picture, */
    int32_t tile_grid[HF_MAX_PICTURES];      /* and which its tiles; -1: none */
    int32_t patch;                           /* pixels per patch side of the model */
    bool is_stretched;                       /* pictures without a framing in their label are */
    s2v_image_options size[HF_MAX_PICTURES]; /* as the tower saw them */
    s2v_budget budget[HF_MAX_PICTURES];
    int32_t side[HF_MAX_PICTURES];
    s2v_budget tile_budget[HF_MAX_PICTURES];
    int32_t tile_side[HF_MAX_PICTURES];
    bool is_pruned;
    bool counts_deepstack; /* the other reading of ERC */
    bool has_states;       /* of the model: some layers remember a state */
    bool keeps_choice;     /* the session only chooses: */
    int32_t *chosen[HF_MAX_PICTURES], n_chosen[HF_MAX_PICTURES]; /* tokens of each picture */
    const char *pair;                                            /* "f32" or "f16" */
    size_t n_seen, n_views_seen;     /* tokens and views of the pictures before */
    int32_t picture_seen, view_seen; /* the picture a view was shown of last, and how many of it */
    int32_t pair_dim;     /* of a head whose neighbors are rotated together; 0: its halves are */
    size_t n_tower_seen;  /* values compared by s2_hf_check_tower */
    size_t n_stages_seen; /* and by s2_hf_check_stage */
    int32_t n_blocks;     /* of the tower */
    int32_t merge;        /* patches along a side of a token, where rows are stored line by line */
    bool has_last_norm;   /* behind the tower's blocks, on patches alone */
} hf_case;

/* verify_hf_files.c: files and stored tensors of a case. */

/* The first file below `folder` whose name starts and ends so, by name order. */
bool s2_hf_find_file(const char *folder, const char *start, const char *end, bool has_mmproj,
                     char out[HF_PATH_CAPACITY]);

/* Where gguf/ and the pictures are: beside the golden, else below `arrays` in a folder of the same
 * name. */
void s2_hf_find_folder(const char *path, const char *arrays, char out[HF_PATH_CAPACITY]);

/* What the mmproj in gguf/ says: pixels per patch side (14 where it says nothing), and whether its pictures are
 * stretched to one size. */
void s2_hf_read_tower(hf_case *c);

/* The pair "f32" or "f16" in gguf/ below a folder, where the verdict says models run. */
typedef s2p_status (*hf_engine_open)(s2v_engine **out, const s2v_engine_options *options,
                                     s2p_error *error);
s2p_status s2_hf_open_pair(const char *folder, const char *pair, const s2_verdict *verdict,
                           hf_engine_open open, s2v_engine **out, s2p_error *error);

bool s2_hf_text(const s2v_gguf *file, const char *key, char *out, size_t capacity);

/* A stored tensor; NULL when there is none of that type. *n: values. */
const float *s2_hf_floats(const s2v_gguf *file, const char *name, size_t *n);
const int32_t *s2_hf_ints(const s2v_gguf *file, const char *name, size_t *n);

/* verify_hf_pictures.c: the pictures of a case. */

/* Pictures of a case and how they are seen; false: the verdict knows. */
bool s2_hf_read_case(hf_case *c);

/* Then their budgets, of a pruned one. */
bool s2_hf_read_budgets(hf_case *c);

/* Each region of a grid got the tokens its stored budget says. */
void s2_hf_check_budgets(hf_case *c, int32_t grid, const int32_t *kept, int32_t n);

/* The source that a label names, "a" or "a672"; the label may go on after '_' or ':'. */
bool s2_hf_add_named(hf_case *c, const char *label, const s2v_image_options *options);

/* verify_hf_tiles.c: InternVL and SmolVLM. */

/* The case tells the tiles of its pictures. */
bool s2_hf_is_tiled(const s2v_gguf *full);

/* Pictures of such a case, and the limit on their tiles that gives those it tells. */
bool s2_hf_read_tiles(hf_case *c, const s2v_model *model);

/* Where view `view` of picture i, counted as the engine runs them, is among the stored ones. */
size_t s2_hf_stored_view(const hf_case *c, int32_t picture, int32_t view);

/* Views of all pictures. */
size_t s2_hf_n_views(const hf_case *c);

/* <case>.pixel_values, and the tables of sizes, of a preprocess.gguf. */
void s2_hf_check_tiles(hf_case *c, const s2v_model *model, const char *name);
void s2_hf_check_tile_sizes(hf_case *c, const s2v_model *model);

/* The source of a view called "a672", "b" or "a_base", seen with these options. */
/* LLaVA-1.5: the picture of a label and how it is framed: "b_crop", "b_pad", "a672_crop". Gemma 3: "b". */
bool s2_hf_add_framed(hf_case *c, const char *label);

bool s2_hf_add_source_of(hf_case *c, const char *view, const s2v_image_options *options);

/* LLaVA-OneVision: the pictures of a kind of view, "base" or "pad", in the order of their names. */
bool s2_hf_add_pictures(hf_case *c, const char *kind, int32_t n, const s2v_image_options *options);

/* verify_hf_pixels.c: what the tower is shown. */

/* preprocess.gguf against our frames. */
void s2_hf_check_pixels(hf_case *c, const s2v_model *model);

/* verify_hf_chat.c: tokens of prompts. */

/* The prompt of a run as tokens, a picture's rows among them. */
void s2_hf_check_ids(hf_case *c, const s2v_engine *engine, const char *prompt);

/* verify_hf_compare.c: our rows against stored ones. row: which of ours they are; NULL: every step-th. */

/* The largest difference; *largest grows to the largest stored value. */
double s2_hf_farthest(const float *expected, size_t n_rows, size_t width, const float *got,
                      const int32_t *row, size_t step, double *largest);
void s2_hf_compare_rows(hf_case *c, const char *name, const float *expected, size_t n_rows,
                        size_t width, const float *got, const int32_t *row, size_t step);

/* A tensor that is not stored is not compared. */
void s2_hf_compare_values(hf_case *c, const char *name, const float *got, size_t n);

/* Whether a stored list of rows can be trusted. */
bool s2_hf_are_rows(const int32_t *row, size_t n, size_t n_rows);

/* verify_hf_past.c: states and cached keys and values; is_end: after the answer, states only. */
void s2_hf_compare_past(hf_case *c, const s2v_session *session, bool is_end);

/* verify_hf_tower.c: the tower's stages and its attention. */

/* An array of a block for one picture; false: it is none. */
bool s2_hf_check_tower(hf_case *c, const char *name, int32_t block, const float *data, size_t rows,
                       size_t width);

/* Rows before the tower's blocks, after one of them, or behind them; false: it is no stage. */
bool s2_hf_check_stage(hf_case *c, const char *name, int32_t block, const float *data, size_t rows,
                       size_t width);

/* At the end: everything stored has been compared. */
void s2_hf_check_tower_whole(hf_case *c);

#endif /* S2_TOOLS_HF_CASE_H */
