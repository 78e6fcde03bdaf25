/* stranger.c - a library that calls itself a backend of ggml and leaves a mark when it is opened. */
#include <stdlib.h>

__attribute__((constructor)) static void leave_mark(void) { (void)setenv("S2_STRANGER", "1", 1); }
