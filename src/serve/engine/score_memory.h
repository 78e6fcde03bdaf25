/* score_memory.h - ERC of pictures asked about again.
 *
 * A picture found in the engine's cache is not run, so nobody sees its scores; who draws them wants them all
 * the same. ERC of layer 0 depends on the picture and on what stands before it, not on the method or the
 * question.
 */
#ifndef S2_SERVE_SCORE_MEMORY_H
#define S2_SERVE_SCORE_MEMORY_H

#include "serve/engine/ask_job.h"

#define S2_SCORE_MEMORY 16

typedef struct s2_score_memory { /* all zero: empty */
    struct {
        uint8_t key[32];
        float *score; /* [n] owned */
        int32_t n;
    } entry[S2_SCORE_MEMORY];
    size_t next; /* to be overwritten */
} s2_score_memory;

/* What the scores of the first picture of a job depend on. */
void s2_score_key(const s2_ask_job *job, uint8_t out[32]);

void s2_score_remember(s2_score_memory *memory, const uint8_t key[32], const float *score,
                       int32_t n);

/* A copy the caller frees; NULL: not known. */
float *s2_score_recall(const s2_score_memory *memory, const uint8_t key[32], int32_t *n);

void s2_score_memory_free(s2_score_memory *memory);

#endif /* S2_SERVE_SCORE_MEMORY_H */
