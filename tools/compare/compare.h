/* compare.h - several methods and budgets on the same pictures and question.
 *
 * Rows are made one after the other on one session and keep all they need, so that every writer
 * (table, CSV, JSON, page) only reads.
 */
#ifndef S2_TOOLS_COMPARE_H
#define S2_TOOLS_COMPARE_H

#include "asking/asker.h"
#include "image/draw/contact_sheet.h"

typedef struct compare_row {
    s2a_setting setting;
    s2p_error error;   /* status S2P_OK: it worked; else why not, and there is no answer */
    s2a_answer answer; /* owned */
} compare_row;

typedef struct compare_report { /* all borrowed */
    const compare_row *row;
    int32_t n_rows;
    const char *model, *question, *mode;
    const char *expect;    /* NULL: no answer is right or wrong */
    const char *reference; /* label of the setting the IoU is taken with */
    const char *const *path;
    const s2p_image *picture; /* as the model saw them: padded if it did */
    int32_t n_pictures;
    double image_ms, vision_ms; /* once, before the first row */
    double watch_ms;            /* and what the tower attended to, for the methods that ask */
} compare_report;

/* --- measures (compare_measure.c); -1 stands for "not defined" ---------------- */

/* What a row kept of a picture seen whole; NULL when it failed. */
const s2a_part *s2_compare_part(const compare_row *row, int32_t picture);

/* Share of the kept tokens in the outer two rows and columns of the grid, and in the middle half
 * of both: rows [R/4, R - R/4), columns likewise. All pictures count together. In grids below 8
 * tokens a side the two overlap. */
double s2_compare_edge(const compare_row *row);
double s2_compare_center(const compare_row *row);

/* Tokens both keep over tokens one of them keeps, all pictures together. */
double s2_compare_iou(const compare_row *a, const compare_row *b);

/* The row of report->reference with the same budget; NULL when there is none, it failed, or it is
 * this one. A row without a budget is compared only with a reference without one. */
const compare_row *s2_compare_reference(const compare_report *report, const compare_row *row);

/* Of the prompt through the decoder, with what attempts that did not count took. */
double s2_compare_prompt_ms(const compare_row *row);

/* How many times faster than "full" the prompt went through the decoder. */
double s2_compare_speedup(const compare_report *report, const compare_row *row);

/* Tokens per second after the first. */
double s2_compare_decode_speed(const compare_row *row);

/* Choosing and removing, and what the method had to look at. */
double s2_compare_select_ms(const compare_row *row);

/* Whether `expect` occurs in the answer as whole words: upper and lower case are the same (ASCII),
 * spaces around `expect` do not count, and where it begins or ends with a letter or digit none may
 * touch it there. Scripts without spaces between words (Chinese, Japanese, Korean) touch nothing.
 */
bool s2_compare_is_right(const char *answer, const char *expect);

/* --- writers -------------------------------------------------------------------- */

enum compare_format { S2_COMPARE_TEXT, S2_COMPARE_MARKDOWN, S2_COMPARE_JSON, S2_COMPARE_CSV };
const char *s2_compare_format_name(size_t index); /* NULL past the end */

/* The columns people read, for the table and the page. */
enum compare_column {
    S2_COLUMN_METHOD,
    S2_COLUMN_BUDGET,
    S2_COLUMN_KEPT,
    S2_COLUMN_ANSWER, /* its first line, shortened */
    S2_COLUMN_OK,
    S2_COLUMN_EDGE,
    S2_COLUMN_CENTER,
    S2_COLUMN_IOU,
    S2_COLUMN_PREFILL,
    S2_COLUMN_SPEEDUP,
    S2_COLUMN_SELECT,
    S2_COLUMN_DECODE,
    S2_COLUMN_KV,
    S2_N_COLUMNS
};
#define S2_CELL_SIZE S2A_LABEL_SIZE
const char *s2_compare_heading(enum compare_column column);
bool s2_compare_has_column(const compare_report *report, enum compare_column column);
const char *s2_compare_cell(const compare_report *report, const compare_row *row,
                            enum compare_column column, char out[S2_CELL_SIZE]);

/* Text, Markdown, CSV (RFC 4180 quoting) or JSON (schema s2prune.compare/1). */
void s2_compare_write(const compare_report *report, enum compare_format format, s2_buffer *out);

void s2_compare_json(const compare_report *report, s2_buffer *out);

/* One self-contained page: no script, no reference to anything outside the file. */
s2p_status s2_compare_html(const compare_report *report, s2_buffer *out, s2p_error *error);

/* The tiles of row `index` of the sheet, one for each picture, drawn from the last answer. */
s2p_status s2_compare_place(const s2_asker *asker, const compare_report *report, int32_t index,
                            s2_sheet *sheet, s2p_error *error);

#endif /* S2_TOOLS_COMPARE_H */
