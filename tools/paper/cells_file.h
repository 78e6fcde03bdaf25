/* cells_file.h - a table of scores as somebody typed it: methods down, benchmarks across. */
#ifndef S2_TOOLS_PAPER_CELLS_FILE_H
#define S2_TOOLS_PAPER_CELLS_FILE_H

#include "base/error.h"

#include <stdbool.h>

#define S2_CELLS_BENCHMARKS 20
#define S2_CELLS_ROWS 1000
#define S2_CELLS_NAME 40u

typedef struct s2_cells_row {
    char method[S2_CELLS_NAME], tokens[S2_CELLS_NAME];
    bool is_full;
    double value[S2_CELLS_BENCHMARKS]; /* NAN: empty */
    double acc, rel;                   /* the author's own; NAN: none */
} s2_cells_row;

typedef struct s2_cells { /* all zero: none. Free row with free() */
    char benchmark[S2_CELLS_BENCHMARKS][S2_CELLS_NAME];
    int32_t n_benchmarks;
    bool has_acc, has_rel;
    s2_cells_row *row; /* [n] */
    int32_t n;
} s2_cells;

/* On failure `out` has to be freed all the same. S2P_EFORMAT, S2P_ELIMIT: what is wrong, and where. */
s2p_status s2_cells_read(const char *path, s2_cells *out, s2p_error *error);

#endif /* S2_TOOLS_PAPER_CELLS_FILE_H */
