/* s2prune.h - choose which visual tokens a vision-language model keeps.
 *
 *   pixels -> structure -> budgets -> cells -> plan        (the paper, step by step)
 *
 * This library needs libc and libm only. It never sees a model: the caller
 * hands it arrays and receives a plan, the list of rows to keep.
 *
 *     s2p_plan *plan = NULL;
 *     s2p_status st = s2p_plan_create(&plan, grid);
 *     if (st == S2P_OK) st = s2p_s2prune(&image, 64, 0, erc, plan);
 *     if (st != S2P_OK) fprintf(stderr, "%s\n", s2p_status_text(st));
 *     else              keep = s2p_plan_keep(plan, &n_keep);
 *     s2p_plan_free(plan);
 *
 * Ownership: inputs are const and borrowed for the call. Outputs go into
 * arrays or objects the caller made. *_free accepts NULL.
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

/* "0.1.0"; lets a binding check what it loaded. */
S2P_API const char *s2p_version(void);

/* --- Status ------------------------------------------------------------- */

/* Values are pinned: add at the end, never renumber. */
typedef enum s2p_status {
    S2P_OK = 0,
    S2P_EINVAL = 1,       /* an argument breaks its documented range */
    S2P_ENOMEM = 2,       /* an allocation failed */
    S2P_EBUDGET = 3,      /* budget below the region count or above the token count */
    S2P_EIO = 4,          /* the operating system said no; errno has more */
    S2P_EFORMAT = 5,      /* a file is not what it claims to be */
    S2P_EUNSUPPORTED = 6, /* valid input, but no code path for it */
    S2P_ELIMIT = 7,       /* larger than a limit set by the caller */
    S2P_ECANCELLED = 8    /* a callback asked to stop */
} s2p_status;

/* One English sentence, static storage. */
S2P_API const char *s2p_status_text(s2p_status status);

/* Optional detail for calls that can fail in many ways; pass NULL to ignore. */
typedef struct s2p_error {
    s2p_status status;
    char message[256];
} s2p_error;

/* --- Data --------------------------------------------------------------- */

#define S2P_MAX_SIDE 4096        /* rows or columns of a token grid */
#define S2P_MAX_TOKENS (1 << 20) /* rows * columns */

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

typedef struct s2p_moments { /* exact integer sums over the pixels of a region */
    int64_t count, sum, sum_sq;
} s2p_moments;

typedef struct s2p_method s2p_method;
typedef struct s2p_view s2p_view; /* what a method looks at */
typedef struct s2p_plan s2p_plan; /* opaque: a layout, rows to keep, and the scratch to find them */

/* --- Simple API: the paper in one call ---------------------------------- */

/* Fill `plan` with exactly `budget` rows (paper Alg. S1). The picture is measured as it is given:
 * hand over the source picture, not the one resized for the tower.
 * side: K of the coarse grid, 0 for s2p_coarse_side(). erc: [rows * cols] finite, from s2p_erc().
 * S2P_EUNSUPPORTED: the picture has a side below 3, or a region without a pixel. */
S2P_API s2p_status s2p_s2prune(const s2p_image *image, int32_t budget, int32_t side,
                               const float *erc, s2p_plan *plan);

/* --- The paper step by step, in order ----------------------------------- */

/* A.1  Side K of the coarse grid for a budget: 32->4, 64->5, 128->8, 192->9; in between and
 * beyond rint(2 sqrt(B) / 3), never above the shorter side of the grid. */
S2P_API int32_t s2p_coarse_side(s2p_grid grid, int32_t budget);

/* A.1  The side + 1 boundaries of `side` parts of [0, n): edge[i] = rint(i * n / side). */
S2P_API s2p_status s2p_edges(int32_t n, int32_t side, int32_t *edges);

/* A.1  Cut the grid into side * side regions, row-major. regions: [side * side] out. */
S2P_API s2p_status s2p_partition(s2p_grid grid, int32_t side, s2p_rect *regions);

/* A.2  The pixels under a token rectangle: edges scaled to the picture and rounded half to even.
 * May be empty when the picture has fewer pixels than the grid has tokens. */
S2P_API s2p_rect s2p_support(s2p_rect tokens, s2p_grid grid, int32_t width, int32_t height);

/* A.2, Eq. 2  Sums of the 4-neighbour Laplacian of the gray picture over each region of
 * s2p_partition(grid, side). One pass over the rows of the picture. out: [side * side]. */
S2P_API s2p_status s2p_laplacian(const s2p_image *image, s2p_grid grid, int32_t side,
                                 s2p_moments *out);

/* The same sums of the gray levels themselves (the fft allocator, by Parseval). */
S2P_API s2p_status s2p_intensity(const s2p_image *image, s2p_grid grid, int32_t side,
                                 s2p_moments *out);

/* Population variance; 0 when count is 0. Exact up to the final division. */
S2P_API double s2p_variance(s2p_moments moments);

/* A.2, Eq. 3  Min-max in float32 with a floor of 2^-23 on the range. raw: [n] finite. score may
 * be raw. */
S2P_API s2p_status s2p_normalise(const float *raw, int32_t n, float *score);

/* A.3, Eq. 4, Alg. S2  Split the budget: 1 <= out[g] <= capacity[g], sum == budget.
 * score: [n] finite, >= 0. capacity: [n] >= 1. out: [n]. S2P_EBUDGET if it cannot fit. */
S2P_API s2p_status s2p_budget(const double *score, const int32_t *capacity, int32_t n,
                              int32_t budget, int32_t *out);

/* A.4, Alg. S3  Halve a region until it has n_cells cells. cells: [n_cells] out, list order. */
S2P_API s2p_status s2p_cells(s2p_rect region, int32_t n_cells, s2p_rect *cells);

/* A.5, Eq. 5  erc[i] = || h1[i] - h0[i] ||_2 in float32. h0, h1: [n][dim]. erc: [n] out. */
S2P_API s2p_status s2p_erc(const float *h0, const float *h1, int32_t n, int32_t dim, float *erc);

/* A.5, Eq. 6  First best token of each cell, in the order of the cells. pick: [n_cells] out.
 * score: [rows * cols]; S2P_EINVAL when a score in a cell is not finite. */
S2P_API s2p_status s2p_select(s2p_grid grid, const s2p_rect *cells, int32_t n_cells,
                              const float *score, int32_t *pick);

/* A.6  Ascending token order, in place. */
S2P_API void s2p_sort(int32_t *token, int32_t n);

/* Sec. 3.4  H_str = std(c) / (mean(c) + 1e-12) of the raw regional variances. c: [n]. */
S2P_API double s2p_heterogeneity(const float *variance, int32_t n);

/* --- Ablations: other allocators and selectors on the same scaffold ------ */

typedef struct s2p_signals { /* what a choice may look at; NULL where not at hand */
    const s2p_image *image;  /* the source picture */
    const float *erc;        /* [n] */
    const float *hidden;     /* [n][hidden_dim] visual rows after decoder layer 0 */
    int32_t hidden_dim;
    const float *feature; /* [n][feature_dim] visual rows as they enter the decoder */
    int32_t feature_dim;
    const float *query_attn; /* [n_queries][n] head-averaged layer-0 attention of the question
                                tokens; the last row is the last prompt token */
    int32_t n_queries;
} s2p_signals;

typedef struct s2p_choice { /* all zero: the paper's */
    int32_t side;           /* 0: s2p_coarse_side() */
    const char *allocator;  /* NULL or "laplacian", "uniform", "random", "fft", "erank" */
    const char *selector; /* NULL or "erc", "random", "norm", "query-all", "query-last", "centre" */
    uint64_t seed;        /* for the two that draw */
} s2p_choice;

/* Like s2p_s2prune with any allocator and selector. Without the selector's signal the plan gets its
 * regions, budgets and cells but keeps nothing (s2p_plan_keep: 0 rows): that is how `plan` works on
 * a picture alone. A missing allocator signal is S2P_EINVAL. */
S2P_API s2p_status s2p_prune(const s2p_signals *signals, int32_t budget, const s2p_choice *choice,
                             s2p_plan *plan, s2p_error *error);

/* Names in table order, NULL past the end. */
S2P_API const char *s2p_allocator_name(size_t index);
S2P_API const char *s2p_selector_name(size_t index);

/* --- Parameters of a method ---------------------------------------------- */

typedef struct s2p_parameter { /* a row of the method that reads it */
    const char *name, *help;
    int is_integer;
    double min, max; /* what may be set */
    double fallback; /* when nothing is; outside of min and max: by a rule, which `help` gives */
} s2p_parameter;

#define S2P_MAX_PARAMETERS 8

typedef struct s2p_parameters { /* in the order of the method's rows */
    double value[S2P_MAX_PARAMETERS];
} s2p_parameters;

/* NULL past the end. */
S2P_API const s2p_parameter *s2p_method_parameter(const s2p_method *method, size_t index);

/* The fallbacks. */
S2P_API void s2p_parameters_init(const s2p_method *method, s2p_parameters *out);

/* From text. S2P_EINVAL: the method has no such parameter, or no such value for it. */
S2P_API s2p_status s2p_parameters_set(const s2p_method *method, s2p_parameters *parameters,
                                      const char *name, const char *value, s2p_error *error);

/* --- Plans --------------------------------------------------------------- */

/* All memory the steps need is taken here; pruning the same grid again allocates nothing, apart
 * from a few rows of gray when a wider picture than before comes in. */
S2P_API s2p_status s2p_plan_create(s2p_plan **out, s2p_grid grid);
S2P_API void s2p_plan_free(s2p_plan *plan);

/* Borrowed until the plan changes: ascending original token indices. */
S2P_API const int32_t *s2p_plan_keep(const s2p_plan *plan, int32_t *n_keep);

/* The same tokens in the order the method picked them. */
S2P_API const int32_t *s2p_plan_order(const s2p_plan *plan, int32_t *n_keep);

typedef struct s2p_merge { /* the kept row `into` also takes weight times the row `from` */
    double weight;
    int32_t into, from;
} s2p_merge;

/* What goes into kept rows besides themselves; borrowed like s2p_plan_keep, NULL when there is
 * nothing. out[into] = x[into] + the sum of weight * x[from], every x as it was before: where a
 * row is to be scaled, `from` is `into`. */
S2P_API const s2p_merge *s2p_plan_merges(const s2p_plan *plan, int32_t *n_merges);

/* Rows of zeros a published method adds after the kept ones where it finds no token (HoloV); 0 for
 * all others, and outside the published mode. */
S2P_API int32_t s2p_plan_blanks(const s2p_plan *plan);

typedef struct s2p_layout { /* how the budget was spread; arrays borrowed like s2p_plan_keep */
    s2p_grid grid;
    int32_t side, budget;     /* side * side regions; 0 before the first prune */
    const s2p_rect *region;   /* [side * side] tokens */
    const s2p_rect *support;  /* [side * side] pixels; empty rectangles without a picture */
    const float *raw, *score; /* [side * side] raw structure and its min-max */
    const int32_t *share;     /* [side * side] tokens given to each region */
    const s2p_rect *cell;     /* [budget] tokens, region after region */
    double heterogeneity;     /* H_str of raw */
} s2p_layout;

S2P_API s2p_layout s2p_plan_layout(const s2p_plan *plan);

#ifdef __cplusplus
}
#endif
#endif /* S2PRUNE_H */
