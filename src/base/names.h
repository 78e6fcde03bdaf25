/* names.h - names and the numbers they were given: 0, 1, 2, ... in order of arrival. */
#ifndef S2_BASE_NAMES_H
#define S2_BASE_NAMES_H

#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct s2_names { /* all zero: empty */
    s2_pool pool;
    const char **name; /* [n] */
    int32_t *slot;     /* [n_slots] number + 1; 0: free. Open addressing, at most half full */
    int32_t n, capacity, n_slots;
} s2_names;

/* The number of a name; -1 when it has none. */
int32_t s2_names_find(const s2_names *names, const char *name);

/* The same; a new name gets the next number, and *is_new (NULL is fine) says so. -1: no memory. */
int32_t s2_names_add(s2_names *names, const char *name, bool *is_new);

void s2_names_free(s2_names *names);

#endif /* S2_BASE_NAMES_H */
