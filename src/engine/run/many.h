/* many.h - several sessions advance together: s2v_decode_many of s2vlm.h. */
#ifndef S2_ENGINE_MANY_H
#define S2_ENGINE_MANY_H

#include "engine/model/graph.h"

#define S2V_MANY_MAX 64 /* sessions in one pass, as s2vlm.h says */

typedef struct s2v_many { /* of the session that comes first; all zero: it never has */
    int32_t capacity;     /* rows the graph has nodes for */
    s2v_graph graph;
    int32_t id[S2V_MANY_MAX], position[4 * S2V_MANY_MAX]; /* its inputs */
} s2v_many;

void s2v_many_free(s2v_many *many);

#endif /* S2_ENGINE_MANY_H */
