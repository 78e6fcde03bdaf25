/* escape.h - text from data and models, made safe inside the documents of a report. */
#ifndef S2_EVAL_REPORT_ESCAPE_H
#define S2_EVAL_REPORT_ESCAPE_H

#include "base/buffer.h"

/* A field of CSV. A spreadsheet takes text that begins with = + - @ or a tab for a formula: it gets
 * an apostrophe before it. */
void s2e_csv_text(s2_buffer *out, const char *text);

/* A cell of a Markdown table: one line, no markup. */
void s2e_markdown_text(s2_buffer *out, const char *text);

/* Text of LaTeX, one line. */
void s2e_latex_text(s2_buffer *out, const char *text);

/* Text or attribute of HTML. */
void s2e_html_text(s2_buffer *out, const char *text);

#endif /* S2_EVAL_REPORT_ESCAPE_H */
