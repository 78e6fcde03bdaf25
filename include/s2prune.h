/* s2prune.h - choose which visual tokens a vision-language model keeps.
 *
 *   pixels -> structure -> budgets -> cells -> plan        (the paper, step by step)
 *   signals of any engine -> a published method -> plan
 *
 * This library needs libc and libm only. It never sees a model: the caller
 * passes arrays and receives a plan, the list of rows to keep.
 *
 *     s2p_plan *plan = NULL;
 *     s2p_status st = s2p_plan_create(&plan, grid);
 *     if (st == S2P_OK) st = s2p_s2prune(&image, 64, 0, erc, plan);
 *     if (st != S2P_OK) fprintf(stderr, "%s\n", s2p_status_text(st));
 *     else              keep = s2p_plan_keep(plan, &n_keep);
 *     s2p_plan_free(plan);
 *
 * Ownership: inputs are const and borrowed during the call. Outputs go into
 * arrays or objects that the caller created. *_free accepts NULL.
 * Threads:   no global state; one object, one thread at a time.
 * Numbers:   the default rounding mode (to nearest, ties to even) is assumed.
 */
#ifndef S2PRUNE_H
#define S2PRUNE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define S2P_API __attribute__((visibility("default")))
#else
#define S2P_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define S2P_VERSION_MAJOR 0
#define S2P_VERSION_MINOR 1
#define S2P_VERSION_PATCH 0

/* "0.1.0"; lets a binding check which version it loaded. */
S2P_API const char *s2p_version(void);

typedef struct s2p_abi {
    const char *type, *field; /* field "": the struct itself */
    size_t value;             /* offset of the field, or size of the struct */
} s2p_abi;

/* Sizes and offsets of the structs in this header as the library was compiled, so that a binding can
 * compare them with its own. Call with index 0, 1, ... until it returns NULL. */
S2P_API const s2p_abi *s2p_abi_at(size_t index);

/* --- Status ------------------------------------------------------------- */

/* Values are pinned: add at the end, never renumber. */
typedef enum s2p_status {
    S2P_OK = 0,
    S2P_EINVAL = 1,       /* an argument breaks its documented range */
    S2P_ENOMEM = 2,       /* an allocation failed */
    S2P_EBUDGET = 3,      /* budget below the region count or above the token count */
    S2P_EIO = 4,          /* the operating system reported an error; see errno */
    S2P_EFORMAT = 5,      /* a file is damaged or in the wrong format */
    S2P_EUNSUPPORTED = 6, /* valid input, but no code path for it */
    S2P_ELIMIT = 7,       /* larger than a limit set by the caller */
    S2P_ECANCELLED = 8    /* a callback asked to stop */
} s2p_status;

/* One English sentence, static storage. */
S2P_API const char *s2p_status_text(s2p_status status);

/* Optional detail for calls that can fail in many ways; pass NULL to ignore. */
typedef struct s2p_error {
    s2p_status status;
    char message[512];
} s2p_error;

/* --- Data --------------------------------------------------------------- */

#define S2P_MAX_SIDE 4096        /* rows or columns of a token grid */
#define S2P_MAX_TOKENS (1 << 20) /* rows * columns */
#define S2P_AUTO_LEAST \
    64 /* an automatic budget keeps at least this many tokens, or all if there are fewer */

typedef struct s2p_image { /* 8-bit RGB, row-major, channel-interleaved */
    int32_t width, height;
    ptrdiff_t stride; /* bytes from one row to the next, >= 3 * width */
    const uint8_t *pixels;
} s2p_image;

typedef struct s2p_grid { /* visual tokens as the decoder sees them, row-major */
    int32_t rows, cols;
} s2p_grid;

typedef struct s2p_rect { /* half-open: rows [row0,row1), cols [col0,col1) */
    int32_t row0, col0, row1, col1;
} s2p_rect;

#define S2P_MAX_REGIONS 256 /* per picture */

typedef enum s2p_region_kind {
    S2P_REGION_KEEP =
        0, /* its tokens are always kept, within the budget; S2P_REGION_DROP takes precedence */
    S2P_REGION_DROP =
        1 /* its tokens never enter the decoder. This does not ensure privacy: the tower has mixed
                            them into other tokens; paint over the pixels for that */
} s2p_region_kind;

typedef struct s2p_region { /* of a picture; contains each token that covers any of its pixels */
    double x, y, width, height; /* in pixels; those outside the picture are ignored */
    const uint8_t *mask; /* NULL, or used instead: [height][width] of the picture, 0 is outside */
    s2p_region_kind kind;
} s2p_region;

typedef struct s2p_moments { /* exact integer sums over the pixels of a region */
    int64_t count, sum, sum_sq;
} s2p_moments;

typedef struct s2p_method s2p_method;
typedef struct s2p_view s2p_view; /* what a method reads, and how many rows it may keep */
typedef struct s2p_plan s2p_plan; /* opaque: a layout, the rows to keep, and scratch memory */

/* --- Simple API: the paper in one call ---------------------------------- */

/* Fill `plan` with exactly `budget` rows (paper Alg. S1). The picture is measured as passed: pass
 * the source picture, not the one resized for the tower.
 * side: K of the coarse grid, 0 for s2p_coarse_side(). erc: [rows * cols] finite, from s2p_erc().
 * S2P_EUNSUPPORTED: a side of the picture is below 3 pixels, or a region has no pixels. */
S2P_API s2p_status s2p_s2prune(const s2p_image *image, int32_t budget, int32_t side,
                               const float *erc, s2p_plan *plan);

/* --- The paper step by step, in order ----------------------------------- */

/* A.1  Side K of the coarse grid for a budget: 32->4, 64->5, 128->8, 192->9; any other budget B
 * gives rint(2 sqrt(B) / 3). K is never above the shorter side of the grid. */
S2P_API int32_t s2p_coarse_side(s2p_grid grid, int32_t budget);

/* A.1  The side + 1 boundaries that cut [0, n) into `side` ranges: edge[i] = rint(i * n / side). */
S2P_API s2p_status s2p_edges(int32_t n, int32_t side, int32_t *edges);

/* A.1  Cut the grid into side * side regions, row-major. regions: [side * side] out. */
S2P_API s2p_status s2p_partition(s2p_grid grid, int32_t side, s2p_rect *regions);

/* A.2  The pixels under a token rectangle: edges scaled to the picture and rounded half to even.
 * May be empty if the picture has fewer pixels than the grid has tokens. */
S2P_API s2p_rect s2p_support(s2p_rect tokens, s2p_grid grid, int32_t width, int32_t height);

/* A.2, Eq. 2  Sums of the 4-neighbor Laplacian of the gray picture over each region of
 * s2p_partition(grid, side). One pass over the rows of the picture. out: [side * side]. */
S2P_API s2p_status s2p_laplacian(const s2p_image *image, s2p_grid grid, int32_t side,
                                 s2p_moments *out);

/* The same sums of the gray levels themselves (for the fft allocator, by Parseval's theorem). */
S2P_API s2p_status s2p_intensity(const s2p_image *image, s2p_grid grid, int32_t side,
                                 s2p_moments *out);

/* Population variance; 0 when count is 0. Exact up to the final division. */
S2P_API double s2p_variance(s2p_moments moments);

/* A.2, Eq. 3  Min-max normalization in float32; a range below 2^-23 counts as 2^-23. raw: [n]
 * finite. score may be the same array as raw. */
S2P_API s2p_status s2p_normalise(const float *raw, int32_t n, float *score);

/* A.3, Eq. 4, Alg. S2  Split the budget: 1 <= out[g] <= capacity[g], sum == budget.
 * score: [n] finite, >= 0. capacity: [n] >= 1. out: [n]. S2P_EBUDGET if no split exists. */
S2P_API s2p_status s2p_budget(const double *score, const int32_t *capacity, int32_t n,
                              int32_t budget, int32_t *out);

/* A.4, Alg. S3  Split a region by halving into n_cells cells. cells: [n_cells] out, list order. */
S2P_API s2p_status s2p_cells(s2p_rect region, int32_t n_cells, s2p_rect *cells);

/* A.5, Eq. 5  erc[i] = || h1[i] - h0[i] ||_2 in float32. h0, h1: [n][dim]. erc: [n] out. */
S2P_API s2p_status s2p_erc(const float *h0, const float *h1, int32_t n, int32_t dim, float *erc);

/* A.5, Eq. 6  Best token of each cell (the first of equal ones), in the order of the cells.
 * pick: [n_cells] out. score: [rows * cols]; S2P_EINVAL if a score in a cell is not finite. */
S2P_API s2p_status s2p_select(s2p_grid grid, const s2p_rect *cells, int32_t n_cells,
                              const float *score, int32_t *pick);

/* A.6  Sort tokens in ascending order, in place. */
S2P_API void s2p_sort(int32_t *token, int32_t n);

/* Sec. 3.4  H_str = std(c) / (mean(c) + 1e-12) of the raw regional variances. c: [n]. */
S2P_API double s2p_heterogeneity(const float *variance, int32_t n);

/* --- Before the tower: tokens whose pixels follow from their neighbors --- */

/* PixelPrune, arXiv 2604.00886. It works on the picture as the tower sees it, cut into squares of one
 * token each. Every dropped square is within the threshold of a kept one (except with `sliding`).
 * There is no budget: the picture determines how many squares are kept. */
typedef enum s2p_scan {
    S2P_SCAN_PREDICT = 0,    /* from left, above and above left ("pred_2d"), the authors' default */
    S2P_SCAN_RASTER = 1,     /* compare with the square kept last, row by row */
    S2P_SCAN_SERPENTINE = 2, /* the same, odd rows from right to left */
    S2P_SCAN_COMPONENTS = 3  /* a connected component keeps evenly spaced squares ("conncomp") */
} s2p_scan;

typedef enum s2p_distance {
    S2P_DISTANCE_MAX = 0, /* the largest difference of two bytes, divided by 255 */
    S2P_DISTANCE_MAE = 1, /* the mean difference */
    S2P_DISTANCE_RMSE = 2 /* the root mean square difference */
} s2p_distance;

typedef struct s2p_pixelprune {
    s2p_scan scan;
    s2p_distance metric;
    double threshold;  /* 0 to 1; two squares match at this distance or less; 0: equal bytes */
    int sliding;       /* S2P_SCAN_PREDICT: compare with the neighbors themselves, not with what a
                          dropped neighbor was predicted from */
    double skip_ratio; /* S2P_SCAN_COMPONENTS: share of a component that is dropped, 0 to 1 */
} s2p_pixelprune;

/* The authors' defaults: predict, max, threshold 0. */
S2P_API void s2p_pixelprune_init(s2p_pixelprune *options);

/* image: the tower's input; its sides are multiples of the sides of the grid. keep: [tokens] out,
 * ascending; *n_keep is how many were kept, at least 1. */
S2P_API s2p_status s2p_pixelprune_select(const s2p_image *image, s2p_grid grid,
                                         const s2p_pixelprune *options, int32_t *keep,
                                         int32_t *n_keep);

/* Parse "pixelprune", "pixelprune:0.01", "pixelprune:mae:0.01" from text[0..n); and the reverse. */
#define S2P_PIXELPRUNE_TEXT 64u
S2P_API s2p_status s2p_pixelprune_read(const char *text, size_t n, s2p_pixelprune *out,
                                       s2p_error *error);
S2P_API const char *s2p_pixelprune_text(const s2p_pixelprune *options,
                                        char out[S2P_PIXELPRUNE_TEXT]);

/* --- Every method: signals in, a plan out -------------------------------- */

/*     const s2p_method *method = s2p_method_find("divprune");
 *     s2p_view view = { .budget = 64 };
 *     view.signal[S2P_FEATURE] = (s2p_signal){ features, { 576, 896 } };
 *     status = s2p_method_run(method, &view, plan, &error);
 *
 * s2p_method_about() says which signals a method needs and after which layers it runs. A method with
 * more than one stage runs again later, on the tokens it kept so far: view.alive. */

/* clang-format off */
typedef enum s2p_signal_id { /* index of s2p_view.signal; pinned, add at the end. Sizes: n tokens
                                that entered the decoder (the whole grid, or the `alive` of the
                                first stage), a visual rows still alive, L rows of the prompt */
    S2P_PIXELS      = 0,  /*           the source picture: s2p_view.image */
    S2P_ERC         = 1,  /* [a]       how far decoder layer `after` moved a row: s2p_erc() */
    S2P_HIDDEN      = 2,  /* [a][d]    visual rows after that layer */
    S2P_FEATURE     = 3,  /* [n][d]    visual rows as they enter the decoder */
    S2P_QUERY_ATTN  = 4,  /* [q][a]    attention of the question tokens in that layer, mean over heads;
                                       the last row is that of the last prompt token */
    S2P_LAST_ATTN   = 5,  /* [a]       the same for the last prompt token only */
    S2P_VISION_ATTN = 6,  /* [v][n]    attention received in the tower's last block: mean over
                                       queries, or the class token's row; one head if averaged */
    S2P_VISION_KEY  = 7,  /* [n][d]    keys of that block, mean over heads */
    S2P_TEXT        = 8,  /* [t][d]    question tokens as they enter the decoder */
    S2P_LAST_QUERY  = 9,  /* [h][e]    query of the last prompt token before RoPE, in decoder layer
                                       `after` (with `ahead`: in the next one) */
    S2P_MEAN_QUERY  = 10, /* [h][e]    the same, mean over rows 0 to the last visual one */
    S2P_PLAIN_KEY   = 11, /* [k][a][e] keys before RoPE, each shared by h / k heads */
    S2P_ROTATED_KEY = 12, /* [k][L][e] keys of the whole prompt after RoPE */
    S2P_NORMED      = 13, /* [L][d]    that layer's output after the final norm */
    S2P_ALIGNED     = 14, /* [n][d]    visual rows in the space of S2P_TEXT, if features are not */
    S2P_N_SIGNALS
} s2p_signal_id;

enum { /* bits of `needs` */
    S2P_NEED_PIXELS      = 1 << S2P_PIXELS,      S2P_NEED_ERC         = 1 << S2P_ERC,
    S2P_NEED_HIDDEN      = 1 << S2P_HIDDEN,      S2P_NEED_FEATURE     = 1 << S2P_FEATURE,
    S2P_NEED_QUERY_ATTN  = 1 << S2P_QUERY_ATTN,  S2P_NEED_LAST_ATTN   = 1 << S2P_LAST_ATTN,
    S2P_NEED_VISION_ATTN = 1 << S2P_VISION_ATTN, S2P_NEED_VISION_KEY  = 1 << S2P_VISION_KEY,
    S2P_NEED_TEXT        = 1 << S2P_TEXT,        S2P_NEED_LAST_QUERY  = 1 << S2P_LAST_QUERY,
    S2P_NEED_MEAN_QUERY  = 1 << S2P_MEAN_QUERY,  S2P_NEED_PLAIN_KEY   = 1 << S2P_PLAIN_KEY,
    S2P_NEED_ROTATED_KEY = 1 << S2P_ROTATED_KEY, S2P_NEED_NORMED      = 1 << S2P_NORMED,
    S2P_NEED_ALIGNED     = 1 << S2P_ALIGNED
};
/* clang-format on */

typedef struct s2p_signal_info {
    const char *name;  /* as `s2prune select --in` takes it and `run --record` writes it */
    const char *words; /* "ERC scores" */
    const char *shape; /* a letter for each dimension, as above; "" for the picture */
    const char *from;  /* where it comes from */
} s2p_signal_info;

/* The signals: call with id 0, 1, ... until it returns NULL. */
S2P_API const s2p_signal_info *s2p_signal_at(size_t id);

typedef struct s2p_signal {
    const float *data; /* NULL: not available */
    int32_t shape[3];
} s2p_signal;

typedef struct s2p_choice { /* for the S2Prune family; all zero: as in the paper */
    int32_t side;           /* 0: s2p_coarse_side() */
    const char *allocator;  /* NULL or "laplacian", "uniform", "random", "fft", "erank" */
    const char *selector; /* NULL or "erc", "random", "norm", "query-all", "query-last", "centre" */
    uint64_t seed;        /* for random choices */
} s2p_choice;

typedef enum s2p_mode {
    S2P_MODE_DEFAULT = 0,  /* exactly `budget` rows at the end, whatever the authors' code does */
    S2P_MODE_PUBLISHED = 1 /* what the authors' code does, including its counts and defects */
} s2p_mode;

#define S2P_MAX_PARAMETERS 8

typedef struct s2p_parameters { /* of a method, in the order of its table: s2p_parameters_init() */
    double value[S2P_MAX_PARAMETERS];
} s2p_parameters;

#define S2P_MAX_SIGNALS 32

struct s2p_view {   /* of one picture; all borrowed */
    int32_t budget; /* rows to keep after the last stage */
    s2p_mode mode;
    const s2p_image *image; /* NULL: not available */
    s2p_signal signal[S2P_MAX_SIGNALS];
    int32_t first_row;    /* the visual rows of the prompt are [first_row, first_row + n) */
    int32_t stage;        /* index into s2p_method_info.after */
    const int32_t *alive; /* [n_alive] tokens still present, ascending; at stage 0 those that
                             entered the tower; NULL: the whole grid */
    int32_t n_alive;
    int16_t picture; /* index in the prompt, from 0; the engine sets it for methods of your own */
    int16_t part;    /* 0: the only grid of the picture, or the whole picture; 1: its tiles */
    s2p_choice choice;
    const s2p_parameters *parameters; /* NULL: the method's defaults */
};

typedef struct s2p_parameter { /* one parameter of a method */
    const char *name, *help;
    int is_integer;
    double min, max; /* allowed values */
    double fallback; /* the default; if outside min to max, a rule that `help` describes sets it */
} s2p_parameter;

#define S2P_MAX_STAGES 4
#define S2P_BEFORE_DECODER (-1)

enum { S2P_READS_SIDE = 1, S2P_READS_ALLOCATOR = 2, S2P_READS_SELECTOR = 4 }; /* s2p_choice */

typedef struct s2p_method_info {   /* later versions add fields at the end */
    const char *name;              /* as typed on the command line and in JSON */
    const char *source;            /* paper and venue */
    const char *published;         /* what S2P_MODE_PUBLISHED changes; NULL: nothing */
    uint32_t needs;                /* signals; a choice may add others: s2p_method_needs() */
    uint32_t takes;                /* signals it also reads if available */
    int sees_question;             /* if set, the pruned prefix cannot be reused */
    int keeps_all;                 /* nothing is dropped, whatever the budget */
    int draws;                     /* always uses the seed; a choice may, too: s2p_method_draws() */
    int merges;                    /* kept rows may absorb others: s2p_plan_merges */
    int prunes_cache;              /* dropped rows also leave the cache of layers that already ran;
                                      otherwise it stays whole, as in most authors' code */
    int as_picked;                 /* published: rows are in the order picked, not ascending */
    int ahead;                     /* queries and keys are those of the next layer */
    int32_t n_stages;              /* 1 for nearly all methods */
    int32_t after[S2P_MAX_STAGES]; /* decoder layer each stage follows, or S2P_BEFORE_DECODER */
    int32_t n_parameters;
    const s2p_parameter *parameters; /* [n_parameters] */
    const char *title;               /* display name, UTF-8, as its authors write it */
    uint32_t reads; /* S2P_READS_...: parts of the choice that change what it keeps */
    int resizes; /* the engine passes the tower a smaller picture, with at most as many tokens as the
                       budget; the method itself keeps them all */
} s2p_method_info;

/* Valid as long as the method. */
S2P_API const s2p_method_info *s2p_method_about(const s2p_method *method);

/* By name, NULL if it is unknown; by index, 0, 1, ... until it returns NULL. */
S2P_API const s2p_method *s2p_method_find(const char *name);
S2P_API const s2p_method *s2p_method_at(size_t index);

/* With this choice: the signals the method needs, and whether the seed or the question can change
 * what it keeps. choice NULL: as in the paper. */
S2P_API uint32_t s2p_method_needs(const s2p_method *method, const s2p_choice *choice);
S2P_API int s2p_method_draws(const s2p_method *method, const s2p_choice *choice);
S2P_API int s2p_method_sees_question(const s2p_method *method, const s2p_choice *choice);

/* Whether a method can prune after decoder layer `after` (from 0; S2P_BEFORE_DECODER) instead of its
 * own. S2P_EUNSUPPORTED: it prunes more than once, it needs a layer that has not run by then, or
 * as published it prunes before the decoder. A method that keeps everything can, with no effect. */
S2P_API s2p_status s2p_method_check_after(const s2p_method *method, const s2p_choice *choice,
                                          s2p_mode mode, int32_t after, s2p_error *error);

/* The bits of `needs` that the view does not satisfy; the description of the lowest of such bits. */
S2P_API uint32_t s2p_view_missing(const s2p_view *view, uint32_t needs);
S2P_API const char *s2p_need_text(uint32_t needs);

/* Parameters of a method: look one up (NULL past the end), set all to their defaults, set one from
 * text. S2P_EINVAL: the method has no such parameter, or the value is not allowed. */
S2P_API const s2p_parameter *s2p_method_parameter(const s2p_method *method, size_t index);
S2P_API void s2p_parameters_init(const s2p_method *method, s2p_parameters *out);
S2P_API s2p_status s2p_parameters_set(const s2p_method *method, s2p_parameters *parameters,
                                      const char *name, const char *value, s2p_error *error);

/* Fill `plan`, created for the picture's grid. A budget of all rows or more keeps all. S2P_EINVAL: a
 * signal is missing, has a wrong shape, or is not finite. On failure the plan keeps nothing. */
S2P_API s2p_status s2p_method_run(const s2p_method *method, const s2p_view *view, s2p_plan *plan,
                                  s2p_error *error);

/* --- A method of your own ------------------------------------------------- */

/* Write *n_keep tokens of the grid to keep[], in any order. *n_keep is how many to keep; in published
 * mode the function may set another number, at least 1. keep has room for all tokens of the grid. On
 * failure return a status; filling *error is optional. The view has every signal of `needs` in its
 * documented shape, and the values of the parameters. The function runs on the thread that called
 * s2p_method_run or prefilled the session. */
typedef s2p_status (*s2p_method_function)(const s2p_view *view, s2p_grid grid, int32_t *keep,
                                          int32_t *n_keep, void *user, s2p_error *error);

typedef struct s2p_method_definition {
    size_t size;           /* set by s2p_method_definition_init */
    const char *name;      /* 1 to 64 of a-z, 0-9 and "-_.:+"; not the name of a built-in method */
    const char *source;    /* NULL, or its origin, such as a paper */
    uint32_t needs, takes; /* signals, as in s2p_method_info */
    int sees_question, draws, prunes_cache, ahead;
    int32_t n_stages;              /* 1 by default */
    int32_t after[S2P_MAX_STAGES]; /* ascending; S2P_BEFORE_DECODER by default */
    int32_t n_parameters;          /* 0 to S2P_MAX_PARAMETERS */
    const s2p_parameter *parameters;
    s2p_method_function function;
    void *user;        /* passed to the function */
    const char *title; /* NULL: its name */
} s2p_method_definition;

S2P_API void s2p_method_definition_init_sized(s2p_method_definition *definition, size_t size);
static inline void s2p_method_definition_init(s2p_method_definition *definition)
{
    s2p_method_definition_init_sized(definition, sizeof *definition);
}

/* A method for s2p_method_run and s2v_prune_options.own_method. The definition is copied, except what
 * `user` points to. What the function keeps is checked: exactly the budget (in published mode: at
 * least one), distinct tokens of the grid that are still present. Nothing is registered:
 * s2p_method_find does not find it. */
S2P_API s2p_status s2p_method_make(s2p_method **out, const s2p_method_definition *definition,
                                   s2p_error *error);
S2P_API void s2p_method_free(s2p_method *method); /* only methods from s2p_method_make */

/* --- Methods in a shared object ------------------------------------------- */

#define S2P_PLUGIN_ABI 1

/* The functions that a plug-in may call: it links to no library itself. Later versions add fields at
 * the end. */
typedef struct s2p_host {
    size_t size;
    uint32_t abi; /* S2P_PLUGIN_ABI of the program */
    void *context;
    /* Add a method to this command, as s2p_method_make. version: a new one for each change; NULL: "". */
    s2p_status (*add)(void *context, const s2p_method_definition *definition, const char *version,
                      s2p_error *error);
    void (*definition_init)(s2p_method_definition *definition, size_t size);
    const s2p_signal_info *(*signal_at)(size_t id);
    int32_t (*coarse_side)(s2p_grid grid, int32_t budget);
    s2p_status (*partition)(s2p_grid grid, int32_t side, s2p_rect *region);
    s2p_status (*laplacian)(const s2p_image *image, s2p_grid grid, int32_t side, s2p_moments *out);
    double (*variance)(s2p_moments moments);
    s2p_status (*normalise)(const float *raw, int32_t n, float *out);
    s2p_status (*budget)(const double *score, const int32_t *capacity, int32_t n, int32_t budget,
                         int32_t *out);
    s2p_status (*cells)(s2p_rect region, int32_t budget, s2p_rect *cell);
    s2p_status (*select)(s2p_grid grid, const s2p_rect *cell, int32_t n, const float *erc,
                         int32_t *keep);
} s2p_host;

/* The type of s2p_plugin, the one symbol a plug-in exports. It adds its methods and returns S2P_OK, or
 * another status and a message, for example S2P_EUNSUPPORTED if it does not support the host's `abi`. */
typedef s2p_status (*s2p_plugin_function)(const s2p_host *host, s2p_error *error);

/* --- Ablations: other allocators and selectors on the same scaffold ------ */

/* Runs the method "s2prune" on a view that may lack the selector's signal: the plan then gets its
 * regions, budgets and cells but keeps nothing (s2p_plan_keep: 0 rows). The command `plan` uses this
 * for a picture without a model. A missing allocator signal is S2P_EINVAL. */
S2P_API s2p_status s2p_prune(const s2p_view *view, s2p_plan *plan, s2p_error *error);

/* Names in table order, NULL past the end. */
S2P_API const char *s2p_allocator_name(size_t index);
S2P_API const char *s2p_selector_name(size_t index);

/* --- Plans --------------------------------------------------------------- */

/* Allocates all memory that the steps need; pruning the same grid again allocates nothing, except
 * a few rows of gray levels for a picture that is wider than all before. */
S2P_API s2p_status s2p_plan_create(s2p_plan **out, s2p_grid grid);
S2P_API void s2p_plan_free(s2p_plan *plan);

/* The tokens to keep: indices into the grid, ascending. Borrowed until the plan changes. */
S2P_API const int32_t *s2p_plan_keep(const s2p_plan *plan, int32_t *n_keep);

/* The same tokens in the order the method picked them. */
S2P_API const int32_t *s2p_plan_order(const s2p_plan *plan, int32_t *n_keep);

typedef struct s2p_merge { /* weight times the row `from` is added to the kept row `into` */
    double weight;
    int32_t into, from;
} s2p_merge;

/* What is added to kept rows, NULL for nothing; borrowed like s2p_plan_keep.
 * out[into] = x[into] + the sum of weight * x[from], where x are the rows before merging. To scale a
 * row, `from` is `into`. */
S2P_API const s2p_merge *s2p_plan_merges(const s2p_plan *plan, int32_t *n_merges);

/* Rows of zeros that a method in published mode appends to the kept rows if it finds too few tokens
 * (HoloV); 0 for all other methods, and outside published mode. */
S2P_API int32_t s2p_plan_blanks(const s2p_plan *plan);

typedef struct s2p_layout { /* how the budget was split; arrays borrowed like s2p_plan_keep */
    s2p_grid grid;
    int32_t side, budget;     /* side * side regions; 0 before the first prune */
    const s2p_rect *region;   /* [side * side] tokens */
    const s2p_rect *support;  /* [side * side] pixels; empty rectangles without a picture */
    const float *raw, *score; /* [side * side] raw structure; min-max normalized */
    const int32_t *share;     /* [side * side] tokens given to each region */
    const s2p_rect *cell;     /* [budget] tokens, region after region */
    double heterogeneity;     /* H_str of raw */
} s2p_layout;

S2P_API s2p_layout s2p_plan_layout(const s2p_plan *plan);

#ifdef __cplusplus
}
#endif
#endif /* S2PRUNE_H */
