/* received.h - how much attention every patch receives in one head.
 *
 * The sum over queries of softmax(q k^T / sqrt(dim)), without ever holding more of
 * the matrix than a few rows. One text (received_kernel.h) is compiled for every
 * x86-64 or Arm and once more for AVX2.
 */
#ifndef S2_ENGINE_TOWER_RECEIVED_H
#define S2_ENGINE_TOWER_RECEIVED_H

#include <stddef.h>
#include <stdint.h>

typedef struct s2v_head { /* one head over patches that see each other, and no others */
    const float *q, *k;   /* of the first patch, [dim] */
    ptrdiff_t pitch;      /* floats from one patch to the next */
    int32_t n, dim;       /* patches, both at least 1 */
} s2v_head;

/* received: [n] out. scratch: s2v_received_scratch(n, dim) floats. */
typedef void (*s2v_received)(const s2v_head *head, float *scratch, float *received);

#define S2V_RECEIVED_BLOCK 24 /* queries at a time */
#define S2V_RECEIVED_PANEL 16 /* keys are padded to a multiple of this at most */

size_t s2v_received_scratch(int32_t n, int32_t dim);

void s2v_received_plain(const s2v_head *head, float *scratch, float *received);
void s2v_received_avx2(const s2v_head *head, float *scratch, float *received); /* x86-64 */

/* What this CPU can run, slowest first; NULL past the end. */
s2v_received s2v_received_at(size_t index);

/* The fastest. */
s2v_received s2v_received_choose(void);

#endif /* S2_ENGINE_TOWER_RECEIVED_H */
