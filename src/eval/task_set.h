/* task_set.h - the samples of a benchmark and the pictures they are about.
 *
 * A reader starts a set, adds pictures and samples, notes what it could not use, and finishes it:
 * then the samples about one first picture are neighbors, and pictures are numbered in the order
 * in which the samples mention them.
 */
#ifndef S2_EVAL_TASK_SET_H
#define S2_EVAL_TASK_SET_H

#include "base/pool.h"
#include "base/names.h"
#include "eval/sample.h"

#define S2E_MAX_CATEGORIES 128
#define S2E_MAX_SAMPLES 2000000
#define S2E_MAX_PROBLEMS 1000 /* kept; all are counted */

typedef struct s2e_set { /* all zero: empty. Free with s2e_set_free */
    char folder[4096];   /* files of pictures are below it */
    s2e_sample *sample;  /* [n_samples] */
    s2e_picture *picture;
    int32_t n_samples, n_pictures;
    const char *category[S2E_MAX_CATEGORIES]; /* in the order of the table */
    int32_t n_categories;
    s2e_problem *problem; /* [min(n_problems, S2E_MAX_PROBLEMS)] */
    int32_t n_problems;
    s2_pool pool; /* every string and array of the samples */
    s2_names ids, pictures_seen;
    json_t *extras;          /* owns every `extra` */
    int32_t *at_row;         /* [ids.n] index of the sample, -1: dropped; once finished */
    int32_t *number_of_seen; /* [pictures_seen.n] index of the picture */
    int32_t sample_capacity, picture_capacity, seen_capacity;
} s2e_set;

/* S2P_ELIMIT: the path is too long. */
s2p_status s2e_set_start(s2e_set *set, const char *folder, s2p_error *error);

/* The index of a picture, through *out. One that was added under the same `key` is not added again;
 * key NULL: always a new one. The strings of `picture` are copied, its place is borrowed. */
s2p_status s2e_set_add_picture(s2e_set *set, const char *key, const s2e_picture *picture,
                               int32_t *out, s2p_error *error);

/* The number of a category; a new one comes last. -1: there are S2E_MAX_CATEGORIES, or no memory. */
int32_t s2e_set_category(s2e_set *set, const char *name);

/* A copy of `draft`, with the next row; `extra` is taken over (a new reference), also on failure.
 * An id that is there already is S2P_EFORMAT. */
s2p_status s2e_set_add(s2e_set *set, const s2e_sample *draft, json_t *extra, s2p_error *error);

/* Set the one picture of a sample, before the set is finished. */
void s2e_set_give_picture(s2e_set *set, int32_t sample, int32_t picture);

/* Take a sample out again; those behind it move up. Its id stays taken. */
void s2e_set_drop(s2e_set *set, int32_t sample);

/* Note an item that could not be used, and go on. */
void s2e_set_note(s2e_set *set, const char *file, int64_t row, const char *sentence);

s2p_status s2e_set_finish(s2e_set *set, s2p_error *error);

void s2e_set_free(s2e_set *set);

/* Keep the first n samples, and the pictures they are about. */
void s2e_set_limit(s2e_set *set, int32_t n);

/* The index of a sample of a finished set, -1: no such id, or no sample has this row. */
int32_t s2e_set_find(const s2e_set *set, const char *id);
int32_t s2e_set_at_row(const s2e_set *set, int64_t row);

/* The encoded bytes of a picture, into an initialized buffer; its max is the limit. */
s2p_status s2e_set_picture_bytes(const s2e_set *set, int32_t picture, s2_buffer *out,
                                 s2p_error *error);

#endif /* S2_EVAL_TASK_SET_H */
