/* paper_cells.h - Acc., Rel. and places of a table somebody else made. */
#ifndef S2_TOOLS_PAPER_CELLS_H
#define S2_TOOLS_PAPER_CELLS_H

#include "analyze/study.h"
#include "base/error.h"

/* `path`: a CSV or TSV with the columns "method" and "tokens" and one for each benchmark; a row whose
 * tokens are "-", "all" or empty is the one Rel. is relative to. Rows with the same tokens are ranked
 * together. A column called mme has 2800 points, every other 100; columns called acc and rel are the
 * author's own, shown beside ours. The table is added to the study. S2P_EFORMAT: what is wrong, and
 * in which row. */
s2p_status s2_paper_cells(const char *path, s2_study *study, s2p_error *error);

#endif /* S2_TOOLS_PAPER_CELLS_H */
