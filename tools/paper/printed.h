/* printed.h - the numbers the paper prints, as it prints them, and what follows from them.
 *
 * Tables 1, 2, 3, 4, S1, S2 and S3 cell by cell with their bold and underlined marks, and the numbers
 * its text states about figures. They are data to compare with: nothing here is computed by a model.
 */
#ifndef S2_TOOLS_PAPER_PRINTED_H
#define S2_TOOLS_PAPER_PRINTED_H

#include "analyze/study.h"
#include "eval/report/documents.h"

#define S2_PRINTED_COLUMNS 12
#define S2_PRINTED_ROWS 32
#define S2_PRINTED_FULL "-" /* the group of the row that keeps every token */

typedef struct s2_printed_row {
    const char *group;  /* rows of one group are ranked together: the budget, or a pair of them */
    const char *method; /* what this program calls it */
    const char *label;  /* what the paper calls it */
    const char *cells;  /* "51.3 *66.3 _34.1": in the order of the columns; * bold, _ underlined */
} s2_printed_row;

typedef struct s2_printed_table {
    const char *name;     /* "table1" */
    const char *title;    /* "Table 1" */
    const char *about;    /* what it shows */
    const char *model;    /* "qwen2.5-vl-7b" */
    const char *columns;  /* "gqa,...,acc,rel": benchmarks by our names, see s2_printed_task */
    int32_t n_benchmarks; /* the first columns, whose means acc and rel are; 0: it has none */
    uint32_t is_lower;    /* bit c: in column c less is better */
    const s2_printed_row *row;
    int32_t n_rows;
} s2_printed_table;

typedef struct s2_printed_cell {
    double value;
    double half; /* of the last digit printed: the value lies so far to both sides at most */
    s2e_mark mark;
} s2_printed_cell;

const s2_printed_table *s2_printed_at(size_t index); /* NULL past the end */
const s2_printed_table *s2_printed_find(const char *name);

/* The cells of a row in order; their number, at most S2_PRINTED_COLUMNS. */
int32_t s2_printed_cells(const s2_printed_row *row, s2_printed_cell out[S2_PRINTED_COLUMNS]);

/* Column `index` by name; the number of columns. out: [24]. */
bool s2_printed_column(const s2_printed_table *table, int32_t index, char out[24]);
int32_t s2_printed_column_find(const s2_printed_table *table, const char *name); /* -1: none */

/* The task of a benchmark's column: names of columns have no '-', which SQL would not take. */
const char *s2_printed_task(const char *column);

/* A row by its group and our name; NULL: none. */
const s2_printed_row *s2_printed_row_find(const s2_printed_table *table, const char *group,
                                          const char *method);

/* What every token gives in the benchmarks of a table; NAN where the paper does not say. */
void s2_printed_full(const s2_printed_table *table, s2_printed_cell out[S2_PRINTED_COLUMNS]);

/* The largest score of a benchmark in the unit the tables have. */
double s2_printed_best(const char *benchmark);

/* Numbers the text states about a figure. */
typedef struct s2_printed_fact {
    const char *figure; /* "figure2" */
    const char *what;
    const char *value; /* as printed */
    double scale;      /* ours times this is in its unit */
    /* Where ours is: "method=fastv-top,budget=64" of a table of the study; of "scores", at 64 tokens, the
     * best of "LABEL|LABEL" on a benchmark. */
    const char *table, *row, *column;
} s2_printed_fact;

const s2_printed_fact *s2_printed_fact_at(size_t index); /* NULL past the end */

/* --- printed_check.c: the paper's tables recomputed ------------------------------------------ */

typedef enum s2_printed_verdict {
    S2_PRINTED_SAME,    /* the same digits, the same mark */
    S2_PRINTED_ROUNDED, /* others, within what rounding of the cells allows */
    S2_PRINTED_AGAINST  /* no digits behind those printed would do */
} s2_printed_verdict;

typedef struct s2_printed_checked { /* a row */
    double acc, rel;                /* from the printed cells; NAN: the table has none */
    s2_printed_verdict acc_verdict, rel_verdict;
    s2e_mark mark[S2_PRINTED_COLUMNS];                   /* by rank of the printed cells */
    s2_printed_verdict mark_verdict[S2_PRINTED_COLUMNS]; /* of the printed marks */
} s2_printed_checked;

/* out: [table->n_rows], at most S2_PRINTED_ROWS. */
void s2_printed_check(const s2_printed_table *table, s2_printed_checked *out);

/* printed_claims.c: sentences of the paper about its tables. Rows of both tables are appended: every
 * claim, and the ones its cells contradict. */
void s2_printed_claims(s2_table *all, s2_table *against);

/* printed_report.c */

/* What people read above a column. */
const char *s2_printed_heading(const char *column);

/* Every table with its means and marks computed anew, and what the paper says of its own numbers
 * against them. */
void s2_printed_report(s2_study *study);

#endif /* S2_TOOLS_PAPER_PRINTED_H */
