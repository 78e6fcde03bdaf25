/* verify.h - one case of a golden: its members, and telling what differs.
 *
 * A check looks at one case, a JSON object, and reports through the verdict; it never stops the run.
 */
#ifndef S2_TOOLS_VERIFY_H
#define S2_TOOLS_VERIFY_H

#include "base/json.h"
#include "base/npy.h"
#include "s2vlm.h"

#define S2_GOLDEN_MAX_BYTES ((size_t)256 << 20)

typedef struct s2_where { /* models run on this device; exact results are a property of the CPU */
    const char *device;   /* "CPU", or another of s2v_device_name() */
    int32_t gpu_layers;
    bool tower_on_cpu;
    const char *kernels; /* NULL: the fastest that are exact */
    double slack;        /* what numbers may be off by, in multiples of what they may on the CPU */
} s2_where;

typedef struct s2_verdict { /* on one file; the check sees it case by case */
    size_t n_cases, n_failed;
    bool is_malformed;   /* a case lacks a field or has one of the wrong kind */
    bool has_difference; /* a result is not what the case says */
    bool case_failed;
    char label[64];        /* of the current case */
    const char *arrays[2]; /* folders that paths inside cases are relative to; NULL: none */
    const s2_where *where; /* set before a check */
    size_t n_lines;
    s2_buffer lines; /* what differs, the first few, a line each */
} s2_verdict;

void s2_verdict_free(s2_verdict *verdict);

static inline void s2_verdict_place(const s2_verdict *verdict, s2v_engine_options *options)
{
    options->device = verdict->where->device;
    options->gpu_layers = verdict->where->gpu_layers;
    options->tower_on_cpu = verdict->where->tower_on_cpu;
    options->kernels = verdict->where->kernels;
    options->tower = "f32"; /* what the outputs were recorded with */
}

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

#endif /* S2_TOOLS_VERIFY_H */
