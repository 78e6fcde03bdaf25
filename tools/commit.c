/* commit.c - the commit, from a header that every build writes. */
#include "commit.h"

#include "s2_commit.h"

const char *s2_commit(void) { return S2_COMMIT; }
