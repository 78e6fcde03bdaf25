/* table.h - rows of named values, written the way each reader wants them.
 *
 *     s2_table_init(&t, "efficiency");
 *     s2_table_column(&t, "method", "method", S2_TEXT_COLUMN);
 *     s2_table_column(&t, "flops_t", "FLOPs (T)", 3);
 *     s2_table_text(&t, "s2prune");
 *     s2_table_number(&t, 1.59551);
 *     s2_table_write(&t, S2_TABLE_MARKDOWN, &out);
 *
 * Cells come row by row. Programs read every column at full precision; people read rounded values,
 * without the columns marked as detail. A value that is not finite is an empty cell.
 */
#ifndef S2_ANALYZE_TABLE_H
#define S2_ANALYZE_TABLE_H

#include "base/buffer.h"

#include <stdbool.h>

#define S2_MAX_COLUMNS 64
#define S2_TEXT_COLUMN (-1)

typedef struct s2_column {
    char key[40];     /* for programs: lower case, unit included */
    char heading[48]; /* for people */
    int32_t decimals; /* shown; S2_TEXT_COLUMN: words */
    bool is_detail;
} s2_column;

typedef enum s2_cell_mark { S2_CELL_PLAIN, S2_CELL_BEST, S2_CELL_SECOND } s2_cell_mark;

typedef struct s2_cell {
    double number; /* of a number column */
    char *text;    /* of a text column, or what people read instead of the number; NULL: none */
    s2_cell_mark mark;
} s2_cell;

typedef struct s2_table { /* one that failed stays failed: s2_table_write says so */
    char name[48];        /* of the SQL table and of files */
    const char *caption;  /* of LaTeX, borrowed; NULL: none */
    int32_t n_leading;    /* columns every block of text begins with */
    int32_t max_width;    /* of text; 0: any */
    s2_column column[S2_MAX_COLUMNS];
    int32_t n_columns, n_cells, capacity;
    s2_cell *cell; /* [n_cells], row after row */
    s2p_status status;
} s2_table;

typedef enum s2_table_format {
    S2_TABLE_TEXT,
    S2_TABLE_MARKDOWN,
    S2_TABLE_CSV,
    S2_TABLE_JSON,  /* an array of objects */
    S2_TABLE_JSONL, /* an object a line */
    S2_TABLE_SQL,   /* CREATE TABLE and INSERTs */
    S2_TABLE_TEX,   /* booktabs, see s2_table_tex */
    S2_TABLE_HTML
} s2_table_format;

const char *s2_table_format_name(size_t index); /* of those a user may ask for; NULL past the end */

void s2_table_init(s2_table *table, const char *name);
void s2_table_free(s2_table *table);

/* All columns before the first cell. */
void s2_table_column(s2_table *table, const char *key, const char *heading, int32_t decimals);
void s2_table_detail(s2_table *table, const char *key, int32_t decimals);

void s2_table_text(s2_table *table, const char *text);
void s2_table_number(s2_table *table, double value);

/* A number people read in other words. */
void s2_table_shown(s2_table *table, double value, const char *format, ...) S2_PRINTF(3, 4);

/* The last cell is the best of its kind (bold) or the second (underlined), where the form has type. */
void s2_table_mark(s2_table *table, s2_cell_mark mark);

static inline int32_t s2_table_n_rows(const s2_table *table)
{
    return table->n_columns ? table->n_cells / table->n_columns : 0;
}

static inline const s2_cell *s2_table_cell(const s2_table *table, int32_t row, int32_t column)
{
    return &table->cell[row * table->n_columns + column];
}

s2p_status s2_table_write(const s2_table *table, s2_table_format format, s2_buffer *out);

/* table_tex.c: LaTeX with rules of booktabs, groups by budget, small intervals, citations. */
void s2_table_tex(const s2_table *table, const char *caption, s2_buffer *out);

#endif /* S2_ANALYZE_TABLE_H */
