/* pages.h - large pages for what a product reads and writes in big strides. */
#ifndef S2_ENGINE_TOWER_PAGES_H
#define S2_ENGINE_TOWER_PAGES_H

#include <stddef.h>

/* Asks the system to back [memory, memory + n_bytes) by large pages when it is first written. Costs
 * a system call; where there is no such thing, nothing. Contents stay. */
void s2v_huge_pages(void *memory, size_t n_bytes);

#endif /* S2_ENGINE_TOWER_PAGES_H */
