/* mmmu_open.h - open answers of MMMU, as the official scorer reads them. */
#ifndef S2_EVAL_SCORING_MMMU_OPEN_H
#define S2_EVAL_SCORING_MMMU_OPEN_H

#include "eval/scoring/str.h"

typedef struct s2e_reading { /* one way to read an answer: a number of two decimals, or a text */
    bool is_number;
    double number;
    s2e_str text;
} s2e_reading;

typedef struct s2e_readings {
    s2e_reading *reading;
    size_t n, capacity;
} s2e_readings;

/* Numbers in a text as they are written: with thousands commas, scientific, then simple ones. */
s2e_words s2e_numbers_in(s2e_scratch *scratch, s2e_str text);

/* Every reading of an answer, none twice. */
s2e_readings s2e_open_readings(s2e_scratch *scratch, s2e_str answer);

/* Does one of them hold or equal one of the gold answers? *hit: which reading. */
bool s2e_open_is_right(s2e_scratch *scratch, const s2e_readings *readings, const char *const *gold,
                       int32_t n_gold, size_t *hit);

/* What Python's float() reads; false where it refuses. */
bool s2e_float(s2e_scratch *scratch, s2e_str text, double *out);

#endif /* S2_EVAL_SCORING_MMMU_OPEN_H */
