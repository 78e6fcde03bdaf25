/* plan_report.h - a plan as JSON and as text. */
#ifndef S2_TOOLS_PLAN_REPORT_H
#define S2_TOOLS_PLAN_REPORT_H

#include "base/buffer.h"

typedef struct s2_plan_timings { /* milliseconds */
    double decode, plan, draw;
} s2_plan_timings;

typedef struct s2_plan_report {
    const char *path; /* of the picture */
    const char *allocator;
    int32_t width, height;
    s2p_layout layout;
    const int32_t *keep; /* [n_keep]; none without token scores */
    int32_t n_keep;
    const int32_t *entered; /* [n_entered] tokens that would enter the tower; NULL: not asked */
    int32_t n_entered;
    int32_t n_marked, n_dropped; /* tokens that boxes keep, and those they drop */
    s2_plan_timings timings;
} s2_plan_report;

/* Schema s2prune.plan/1, one line. */
void s2_plan_json(const s2_plan_report *report, s2_buffer *out);

void s2_plan_head(const s2_plan_report *report, s2_buffer *out); /* sizes, heterogeneity, table */
void s2_plan_tail(const s2_plan_report *report, s2_buffer *out); /* kept tokens, times */

/* Tokens per region as a table, then sum, min, max and how many regions are full. */
void s2_plan_table(const s2p_layout *layout, const char *title, s2_buffer *out);

#endif /* S2_TOOLS_PLAN_REPORT_H */
