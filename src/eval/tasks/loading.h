/* loading.h - from files on disk to samples: what the readers of all benchmarks share.
 *
 * A benchmark lists its layouts: which files, and what a row of them means. The first layout whose
 * files are there is read. A row that cannot be used is noted with its file and number, and the next
 * one is read.
 */
#ifndef S2_EVAL_LOADING_H
#define S2_EVAL_LOADING_H

#include "eval/readers/references.h"
#include "eval/readers/rows.h"
#include "eval/task.h"

#define S2E_MAX_ANSWERS 64
#define S2E_MAX_DRAFT_CATEGORIES 16

typedef struct s2e_loading {
    s2e_set *set;
    const struct s2e_layout *layout;
    const char *folder;         /* of the set */
    const char *file;           /* at hand, its name */
    s2e_references *references; /* pictures by the index of their row */
    struct s2e_pending *pending;
    int32_t n_pending, pending_capacity;
    s2_names counts; /* how often a key was met so far: see s2e_nth */
    int32_t *count;
    int32_t count_capacity;
    void *user;     /* of the current walk */
    json_t *beside; /* what a layout keeps between rows or files; owned */
} s2e_loading;

typedef struct s2e_draft { /* a sample while its row is read; strings are the row's */
    s2e_sample sample;
    const char *answer[S2E_MAX_ANSWERS];
    s2e_choice choice[S2E_MAX_CHOICES];
    const char *category[S2E_MAX_DRAFT_CATEGORIES];
    int32_t picture[S2E_MAX_PICTURES];
    const char *reference; /* the picture is that of this row; NULL: it is there */
    const char *index;     /* what other rows call this one; NULL: nothing */
    json_t *extra;         /* owned until it is added */
    int32_t part;          /* which sample of its row this is, from 0 */
    bool more;             /* set by the layout: the row has another sample behind this one */
    char id[512], group[512], room[256]; /* room: for what a layout makes up */
} s2e_draft;

typedef struct s2e_layout {
    const char *files; /* below the folder; '*' stands for anything, '|' between alternatives */
    /* One row: fill the draft. *skip: the row is no sample, which is no problem. Where it sets
     * `more` of the draft, it is called again for the next part of the row. */
    s2p_status (*row)(s2e_loading *l, const s2e_row *row, s2e_draft *d, bool *skip,
                      s2p_error *error);
    const char *member, *key; /* of JSON, as in s2e_rows_options */
    /* Instead of rows: one line of a text, numbered from 1. Strings the draft keeps are the line's. */
    s2p_status (*line)(s2e_loading *l, const char *path, int64_t number, char *line, s2e_draft *d,
                       bool *skip, s2p_error *error);
    /* Before the first row; NULL: nothing to do. */
    s2p_status (*start)(s2e_loading *l, s2p_error *error);
} s2e_layout;

/* path: a folder, or one file of a layout. Layouts end with files NULL. */
s2p_status s2e_load(const char *path, const s2e_layout *layouts, s2e_set *out, s2p_error *error);

/* --- for rows --------------------------------------------------------------------- */

/* The text of the first of these columns that has one; NULL. `columns` are separated by spaces. */
const char *s2e_first_text(const s2e_row *row, const char *columns);
/* S2P_EFORMAT when no column has text. */
s2p_status s2e_need_text(const s2e_row *row, const char *columns, const char **out,
                         s2p_error *error);

s2p_status s2e_draft_id(s2e_draft *d, const char *format, const char *id, s2p_error *error);
void s2e_draft_answer(s2e_draft *d, const char *answer);
void s2e_draft_category(s2e_draft *d, const char *category); /* NULL and "" are left out */
void s2e_draft_categories(s2e_draft *d, const s2e_row *row, const char *text); /* "a,b" */
void s2e_draft_choice(s2e_draft *d, const char *text);                         /* the next letter */

/* Columns A, B, ...; missing ones are left out. */
void s2e_draft_lettered(s2e_draft *d, const s2e_row *row);
/* A list of texts, or of objects with a member "answer", or one text. */
s2p_status s2e_draft_answers(s2e_draft *d, const s2e_row *row, const char *column,
                             s2p_error *error);
s2p_status s2e_draft_choices(s2e_draft *d, const s2e_row *row, const char *column,
                             s2p_error *error);

/* Pictures of a column: inside the table, or those of another row. Nothing there: S2P_EFORMAT. */
s2p_status s2e_draft_pictures(s2e_loading *l, s2e_draft *d, const s2e_row *row, const char *column,
                              s2p_error *error);
/* A file: `name` in the first of the folders that has it. Folders are separated by '|', "" is the
 * folder of the set. */
s2p_status s2e_draft_file(s2e_loading *l, s2e_draft *d, const char *folders, const char *name,
                          s2p_error *error);

/* Pictures that stand in a table of their own: rows name them by `key`. `files` as in a layout. */
s2p_status s2e_load_pictures(s2e_loading *l, const char *files, const char *key, const char *column,
                             s2p_error *error);

/* How often this key was met before: 0, 1, ... */
int32_t s2e_nth(s2e_loading *l, const char *key);

/* Put a text under a name into the draft's extra; NULL text: nothing. */
void s2e_draft_extra(s2e_draft *d, const char *name, const char *text);

/* A JSON file beside, below the folder; S2P_EIO when it is not there. */
s2p_status s2e_read_beside(const s2e_loading *l, const char *name, json_t **out, s2p_error *error);

#endif /* S2_EVAL_LOADING_H */
