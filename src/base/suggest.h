/* suggest.h - "did you mean". */
#ifndef S2_BASE_SUGGEST_H
#define S2_BASE_SUGGEST_H

#include <stddef.h>

/* The name closest to a misspelled one, NULL when none is near. next(context, i): NULL past the end.
 */
const char *s2_suggest(const char *typed, const char *(*next)(const void *context, size_t index),
                       const void *context);

#endif /* S2_BASE_SUGGEST_H */
