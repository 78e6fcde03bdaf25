/* parquet_meta.h - the footer of a Parquet file: the tree of columns, and where their chunks are. */
#ifndef S2_EVAL_PARQUET_META_H
#define S2_EVAL_PARQUET_META_H

#include "eval/readers/input.h"
#include "eval/readers/parquet/thrift.h"

typedef enum s2e_physical {
    S2E_PHYSICAL_BOOLEAN,
    S2E_PHYSICAL_INT32,
    S2E_PHYSICAL_INT64,
    S2E_PHYSICAL_INT96,
    S2E_PHYSICAL_FLOAT,
    S2E_PHYSICAL_DOUBLE,
    S2E_PHYSICAL_BYTES,
    S2E_PHYSICAL_FIXED,
    S2E_PHYSICAL_GROUP /* ours: no leaf */
} s2e_physical;

typedef enum s2e_meaning {
    S2E_MEANS_NOTHING, /* the physical type is all */
    S2E_MEANS_TEXT,
    S2E_MEANS_LIST,
    S2E_MEANS_UNSIGNED,
    S2E_MEANS_DECIMAL,
    S2E_MEANS_HALF /* a float of two bytes */
} s2e_meaning;

typedef enum s2e_repetition { S2E_REQUIRED, S2E_OPTIONAL, S2E_REPEATED } s2e_repetition;

typedef struct s2e_schema_node {
    char *name;
    s2e_physical physical;
    s2e_meaning meaning;
    s2e_repetition repetition;
    int32_t length; /* of S2E_PHYSICAL_FIXED */
    int32_t scale;  /* of a decimal */
    int32_t n_children;
    int32_t end;              /* the node after the subtree; the first child is the next node */
    int32_t leaf;             /* number of its first leaf */
    int32_t max_def, max_rep; /* levels when it is there, itself included */
} s2e_schema_node;

typedef struct s2e_chunk { /* of one leaf in one row group */
    int32_t codec;
    int64_t n_values; /* nulls included */
    uint64_t at, end; /* its pages in the file */
} s2e_chunk;

typedef struct s2e_parquet_meta {
    uint8_t *footer;
    s2e_schema_node *node; /* [n_nodes] depth first; 0 is the root */
    int32_t n_nodes, n_leaves;
    s2e_thrift groups; /* at the next row group */
    size_t groups_left;
    uint64_t data_end; /* where the footer begins */
} s2e_parquet_meta;

s2p_status s2e_parquet_meta_read(const s2e_input *input, s2e_parquet_meta *out, s2p_error *error);
void s2e_parquet_meta_free(s2e_parquet_meta *meta); /* all-zero is fine */

/* The next row group: chunk[n_leaves] and its rows. S2P_EFORMAT: the group cannot be read, *n_rows
 * says what is lost and the next call has the next one. *end: there is none. */
s2p_status s2e_parquet_meta_group(s2e_parquet_meta *meta, const s2e_input *input, s2e_chunk *chunk,
                                  int64_t *n_rows, bool *end, s2p_error *error);

#endif /* S2_EVAL_PARQUET_META_H */
