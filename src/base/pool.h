/* pool.h - many small pieces of memory that live and go together. */
#ifndef S2_BASE_POOL_H
#define S2_BASE_POOL_H

#include <stddef.h>

typedef struct s2_pool { /* all zero: empty */
    struct s2_pool_block *block;
} s2_pool;

/* n bytes of zeros, aligned for anything; n = 0 is fine. NULL when there is no memory. */
void *s2_pool_take(s2_pool *pool, size_t n);

/* n bytes of text and a final NUL. */
char *s2_pool_text(s2_pool *pool, const char *text, size_t n);
char *s2_pool_copy(s2_pool *pool, const char *text); /* the same of a whole string */

void s2_pool_free(s2_pool *pool);

#endif /* S2_BASE_POOL_H */
