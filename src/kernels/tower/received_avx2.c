/* received_avx2.c - the kernel for x86-64 with AVX2 and fused multiply-add. */
#define S2V_RECEIVED s2v_received_avx2
#include "kernels/tower/received_kernel.h"
