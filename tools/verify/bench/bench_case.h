/* bench_case.h - what the checks of the scorers share, and the checks by the part they look at. */
#ifndef S2_TOOLS_BENCH_CASE_H
#define S2_TOOLS_BENCH_CASE_H

#include "eval/scoring/answer_reading.h"
#include "verify/verify.h"

#define S2_BENCH_MAX_ANSWERS 64

typedef struct s2_bench_case {
    const json_t *c;
    s2_verdict *verdict;
    s2e_scratch scratch;
} s2_bench_case;

/* A member as a string of the scratch; empty (and the verdict knows) when it is none. */
s2e_str s2_bench_str(s2_bench_case *b, const char *key);

/* A member that is a text or a list of texts; how many, at most S2_BENCH_MAX_ANSWERS. */
int32_t s2_bench_texts(const json_t *value, const char *out[S2_BENCH_MAX_ANSWERS]);

/* "A": "cat", "B": "dog" of an object; how many. */
int32_t s2_bench_choices(const json_t *object, s2e_choice out[S2E_MAX_CHOICES]);

/* Compare with a member; one that is missing is not compared. */
void s2_bench_same_text(s2_bench_case *b, const char *key, const char *got);
void s2_bench_same_str(s2_bench_case *b, const char *key, s2e_str got);
void s2_bench_same_letter(s2_bench_case *b, const char *key, char got); /* 0: null or "" */
void s2_bench_same_real(s2_bench_case *b, const char *key, double got, double tolerance);

void s2_bench_check_task(s2_bench_case *b);   /* any benchmark, by its own judge */
void s2_bench_check_vqa(s2_bench_case *b);    /* normalisers, VQA accuracy, GQA, OCRBench */
void s2_bench_check_choice(s2_bench_case *b); /* options, MMMU, ScienceQA, MMBench */
void s2_bench_check_yes_no(s2_bench_case *b); /* POPE, MME */
void s2_bench_check_means(s2_bench_case *b);  /* MM-Vet, the paper's tables */
void s2_bench_check_prompt(s2_bench_case *b); /* what is asked */

#endif /* S2_TOOLS_BENCH_CASE_H */
