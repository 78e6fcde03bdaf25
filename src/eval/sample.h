/* sample.h - one question of a benchmark, with everything any of them asks for. */
#ifndef S2_EVAL_SAMPLE_H
#define S2_EVAL_SAMPLE_H

#include "base/json.h"
#include "base/sha256.h"

#define S2E_MAX_PICTURES 16 /* of a sample */
#define S2E_MAX_CHOICES 26  /* A to Z */

typedef struct s2e_choice {
    char letter;
    const char *text;
} s2e_choice;

typedef struct s2e_sample { /* all of it belongs to the set */
    const char *id;         /* unique in its task: the name in answer files and stores */
    int32_t row;            /* its place in the data, from 0; samples may be in another order */
    const char *question, *hint; /* as in the data, "<image 1>" left in; hint "": none */
    const char *const *answer;   /* [n_answers] every accepted one; of choices the letter */
    int32_t n_answers;
    const s2e_choice *choice; /* [n_choices]; 0: open */
    int32_t n_choices;
    const char *const
        *category; /* [n_categories] of the names in s2e_set.category, the same pointers */
    int32_t n_categories;
    const char *group;      /* what rows judged together share; NULL: nothing */
    const int32_t *picture; /* [n_pictures] indices into s2e_set.picture, in order of mention */
    int32_t n_pictures;
    const json_t *extra; /* object of what one benchmark alone has; NULL: nothing */
    /* While its answer is judged: the tokens the model saw of its first picture; 0: not known. */
    int32_t seen_rows, seen_cols;
} s2e_sample;

struct s2e_place; /* eval/readers: a picture inside a table */

typedef struct s2e_picture {
    const char *file; /* absolute, or below the folder of the set; NULL: `place` has it */
    const struct s2e_place *place; /* NULL: `file` has it */
    char sha256[S2_SHA256_HEX];    /* of the encoded bytes; "": not known before it is read */
    double heterogeneity;          /* H_str as the data state it; negative: unknown */
} s2e_picture;

typedef struct s2e_problem { /* an item that could not be used */
    const char *file;
    int64_t row; /* from 1; 0: the file as a whole */
    const char *sentence;
} s2e_problem;

/* The picture a sample is grouped under; -1: none. */
static inline int32_t s2e_first_picture(const s2e_sample *sample)
{
    return sample->n_pictures > 0 ? sample->picture[0] : -1;
}

#endif /* S2_EVAL_SAMPLE_H */
