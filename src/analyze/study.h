/* study.h - what analyses found: figures, tables, arrays and pictures, in the order of the report.
 *
 *     s2_buffer *svg = s2_study_figure(&study, "spatial_maps_64", "Selection frequencies ...");
 *     s2_table *table = s2_study_table(&study, "spatial_shares", "Share of the kept tokens ...");
 *
 * Returned items belong to the study. A study that ran out of memory stays failed and returns a
 * dummy item, so a writer checks once, at the end.
 */
#ifndef S2_ANALYZE_STUDY_H
#define S2_ANALYZE_STUDY_H

#include "analyze/table.h"
#include "base/npy.h"
#include "image/image.h"

typedef enum s2_study_kind {
    S2_STUDY_HEADING,
    S2_STUDY_NOTE,    /* a paragraph */
    S2_STUDY_COMMAND, /* a blank: what would fill it */
    S2_STUDY_FIGURE,
    S2_STUDY_TABLE,
    S2_STUDY_ARRAY,
    S2_STUDY_PICTURE
} s2_study_kind;

typedef struct s2_study_item {
    s2_study_kind kind;
    char name[64];   /* of its files */
    char *caption;   /* or the text */
    s2_buffer bytes; /* SVG of a figure, PNG of a picture */
    s2_table table;
    s2_array array; /* float64 */
} s2_study_item;

typedef struct s2_study { /* all zero: empty. Free with s2_study_free */
    s2_study_item **item;
    int32_t n, capacity;
    s2_study_item scrap;
    s2p_status status;
    double width; /* of its figures: S2_PLOT_COLUMN or S2_PLOT_PAGE; 0: a page */
} s2_study;

double s2_study_width(const s2_study *study);

void s2_study_free(s2_study *study);

/* Only the first n items stay. */
void s2_study_cut(s2_study *study, int32_t n);

void s2_study_heading(s2_study *study, const char *text);
void s2_study_note(s2_study *study, const char *text);
void s2_study_command(s2_study *study, const char *command); /* of a blank */
s2_buffer *s2_study_figure(s2_study *study, const char *name, const char *caption);
s2_table *s2_study_table(s2_study *study, const char *name, const char *caption);
s2p_status s2_study_picture(s2_study *study, const char *name, const char *caption,
                            const s2p_image *picture, s2p_error *error);

/* A sentence behind the captions of all figures, tables and pictures from item `first` on. */
void s2_study_extend(s2_study *study, int32_t first, const char *sentence);

/* [rows][cols] out, all zero; NULL without memory. */
double *s2_study_array(s2_study *study, const char *name, const char *caption, int32_t rows,
                       int32_t cols);

/* One self-contained page: no script, no reference to anything outside. settings: "name: value"
 * lines on how it was made. */
s2p_status s2_study_html(const s2_study *study, const char *title, const char *settings,
                         s2_buffer *out);

#define S2_STUDY_REPORT 80

/* The file of the report: report.html, or report-NAME.html where that is the report of something else. */
void s2_study_report_name(const char *folder, const char *title, const char *name,
                          char out[S2_STUDY_REPORT]);

/* NAME.svg, .csv, .npy, .png of every item and the report below `folder`, which is there. */
s2p_status s2_study_save(const s2_study *study, const char *folder, const char *report,
                         const char *title, const char *settings, s2p_error *error);

#endif /* S2_ANALYZE_STUDY_H */
