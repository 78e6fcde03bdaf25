/* convert_tables.h - one table per family: names and shapes of a checkpoint, names of the result.
 */
#ifndef S2_CONVERT_CONVERT_TABLES_H
#define S2_CONVERT_CONVERT_TABLES_H

#include "convert/convert_internal.h"

#define S2V_MAP_MAX_ROWS 40
#define S2V_MAP_MAX_DIMS 5

typedef enum s2v_dim { /* sizes a shape is made of */
                       END,
                       EMBD,
                       FF,
                       KEYS,
                       VOCAB,
                       V_EMBD,
                       V_THREE,
                       V_FF,
                       V_FOUR,
                       V_PATCH,
                       V_PLACES,
                       TWO,
                       THREE
} s2v_dim;

typedef enum s2v_action {
    WHOLE,
    THIRDS, /* rows of queries, keys and values: three tensors, '?' in the name is q, k, v */
    FRAMES, /* kernels of two pictures of a film: two tensors, the second named ".1" */
    IGNORE
} s2v_action;

typedef struct s2v_map_row {
    const char *from, *to;
    uint8_t shape[S2V_MAP_MAX_DIMS]; /* slowest first */
    s2v_action action;
    bool is_optional;
} s2v_map_row;

typedef struct s2v_map {
    const char *const (*prefixes)[2]; /* as found, as in the table; NULL ends */
    const s2v_map_row *text, *vision; /* from NULL ends */
} s2v_map;

const s2v_map *s2v_map_of(s2v_family family);

#endif /* S2_CONVERT_CONVERT_TABLES_H */
