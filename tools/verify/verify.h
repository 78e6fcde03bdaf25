/* verify.h - golden files: reading them, checking a case, telling what differs.
 *
 * A golden file becomes a list of cases, each a JSON object, whether it was written as JSON or as
 * lines of text. A check looks at one case and reports through the verdict; it never stops the run.
 */
#ifndef S2_TOOLS_VERIFY_H
#define S2_TOOLS_VERIFY_H

#include "base/json.h"
#include "base/npy.h"

#define S2_GOLDEN_MAX_BYTES ((size_t)256 << 20)

typedef struct s2_verdict { /* on one file; the check sees it case by case */
    size_t n_cases, n_failed;
    bool is_malformed;   /* a case lacks a field or has one of the wrong kind */
    bool has_difference; /* a result is not what the case says */
    bool case_failed;
    char label[64];        /* of the case at hand */
    const char *arrays[2]; /* folders that paths inside cases are relative to; NULL: none */
    size_t n_lines;
    s2_buffer lines; /* what differs, the first few, a line each */
} s2_verdict;

typedef void (*s2_case_check)(const json_t *c, s2_verdict *verdict);

typedef struct s2_golden_kind {
    const char *name;   /* "alloc": the stage, or the list of a method */
    const char *family; /* "algo", "s2prune" */
    s2_case_check check;
} s2_golden_kind;

typedef struct s2_golden {
    const s2_golden_kind *kind; /* NULL: nothing we know; then cases is NULL too */
    json_t *cases;              /* array of objects, owned */
} s2_golden;

/* Read a .json or .txt file. S2P_OK with kind NULL when it is well-formed but not of a kind we
 * know. */
s2p_status s2_golden_read(const char *path, s2_golden *out, s2p_error *error);
void s2_golden_free(s2_golden *golden);

/* Lines of text to cases. *stage: which one, borrowed from a table; NULL when the text is none of
 * ours. */
s2p_status s2_golden_text(const char *text, size_t n, const char *name, const char **stage,
                          json_t **cases, s2p_error *error);

/* Run `kind->check` over every case. verdict is initialised here; free it with s2_verdict_free. */
void s2_golden_check(const s2_golden *golden, const char *const arrays[2], s2_verdict *verdict);
void s2_verdict_free(s2_verdict *verdict);

/* A picture stored as img_<kind>_<seed>_<width>x<height>.png; false when the name is not of that
 * form. */
bool s2_golden_is_picture(const char *path);
void s2_golden_check_picture(const char *path, s2_verdict *verdict);

/* Arrays of the vision tower, without a list of cases: window_index_RxC.npy, keymean_X.npy. */
bool s2_golden_is_vit(const char *path);
void s2_golden_check_vit(const char *path, s2_verdict *verdict);

/* Texts, their tokens and back; the vocabulary is beside them or below `arrays` (NULL: none). */
bool s2_golden_is_tokenizer(const char *path);
void s2_golden_check_tokenizer(const char *path, const char *arrays, s2_verdict *verdict);

/* A model's run recorded by Hugging Face (GGUF). S2P_EUNSUPPORTED, with the reason: a model this
 * version does not run. verdict is initialised here. */
bool s2_is_hf_golden(const char *path);
s2p_status s2_check_hf(const char *path, const char *arrays, s2_verdict *verdict, s2p_error *error);

/* --- for checks ----------------------------------------------------------- */

/* The case is wrong: "case 3, budgets: ...". */
void s2_differs(s2_verdict *verdict, const char *format, ...) S2_PRINTF(2, 3);
void s2_malformed(s2_verdict *verdict, const char *format, ...) S2_PRINTF(2, 3);

/* The case expects a refusal: "error": true, "ok": 0, or a null result. */
bool s2_expects_error(const json_t *c, const char *result);

/* Members; false (and the verdict knows) when missing or of another kind. */
bool s2_take_int(const json_t *c, const char *key, int32_t *out, s2_verdict *verdict);
bool s2_take_wide(const json_t *c, const char *key, int64_t *out, s2_verdict *verdict);

typedef struct s2_ints { /* whole numbers, nested arrays laid flat; free(data) */
    int64_t *data;
    size_t n;
} s2_ints;
typedef struct s2_reals {
    double *data;
    size_t n;
} s2_reals;
bool s2_take_ints(const json_t *c, const char *key, s2_ints *out, s2_verdict *verdict);
bool s2_take_reals(const json_t *c, const char *key, s2_reals *out, s2_verdict *verdict);

/* The array a member names, below one of the verdict's folders. true with *out untouched when the
 * member is missing or null. */
bool s2_take_array(const json_t *c, const char *key, s2_array *out, s2_verdict *verdict);

/* Lengths and every element equal. */
bool s2_same_ints(s2_verdict *verdict, const char *step, const s2_ints *expected,
                  const int32_t *got, size_t n);
bool s2_same_number(s2_verdict *verdict, const char *step, int64_t expected, int64_t got);

/* Rectangles as golden files write them: r0, r1, c0, c1. */
bool s2_same_rects(s2_verdict *verdict, const char *step, const s2_ints *expected,
                   const s2p_rect *got, size_t n);

/* --- the checks ----------------------------------------------------------- */

void s2_check_partition(const json_t *c, s2_verdict *verdict);
void s2_check_map(const json_t *c, s2_verdict *verdict);
void s2_check_alloc(const json_t *c, s2_verdict *verdict);
void s2_check_cells(const json_t *c, s2_verdict *verdict);
void s2_check_pipeline(const json_t *c, s2_verdict *verdict);
void s2_check_resize(const json_t *c, s2_verdict *verdict);
void s2_check_smart_resize(const json_t *c, s2_verdict *verdict);
void s2_check_anyres(const json_t *c, s2_verdict *verdict);
void s2_check_mrope(const json_t *c, s2_verdict *verdict);
void s2_check_prng(const json_t *c, s2_verdict *verdict);
void s2_check_s2prune(const json_t *c, s2_verdict *verdict);
void s2_check_allocator(const json_t *c, s2_verdict *verdict);
void s2_check_cell(const json_t *c, s2_verdict *verdict);
void s2_check_region(const json_t *c, s2_verdict *verdict);
void s2_check_ablation(const json_t *c, s2_verdict *verdict);
void s2_check_tiny(const json_t *c, s2_verdict *verdict);
void s2_check_fastv(const json_t *c, s2_verdict *verdict);
void s2_check_feather(const json_t *c, s2_verdict *verdict);
void s2_check_dart(const json_t *c, s2_verdict *verdict);
void s2_check_gprune(const json_t *c, s2_verdict *verdict);
void s2_check_visionzip_clip(const json_t *c, s2_verdict *verdict);
void s2_check_visionzip_qwen(const json_t *c, s2_verdict *verdict);
void s2_check_vispruner(const json_t *c, s2_verdict *verdict);
void s2_check_holov(const json_t *c, s2_verdict *verdict);
void s2_check_cdpruner(const json_t *c, s2_verdict *verdict);
void s2_check_divprune(const json_t *c, s2_verdict *verdict);
void s2_check_euti(const json_t *c, s2_verdict *verdict);
void s2_check_sparsevlm(const json_t *c, s2_verdict *verdict);
void s2_check_prumerge(const json_t *c, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_H */
