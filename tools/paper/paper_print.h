/* paper_print.h - the tables of the report on standard output. */
#ifndef S2_TOOLS_PAPER_PRINT_H
#define S2_TOOLS_PAPER_PRINT_H

#include "analyze/study.h"

/* Every table with its caption, in the order of the report; the exit code. As JSON one object, schema
 * s2prune.paper/1:
 *
 *     {"schema", "tables": {"NAME": [rows]}, "captions": {"NAME": "..."},
 *      "blanks": [{"section", "command"}]}
 */
int s2_paper_print(const s2_study *study, s2_table_format format);

#endif /* S2_TOOLS_PAPER_PRINT_H */
