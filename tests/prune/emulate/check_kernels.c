/* check_kernels.c - the promises of kernel_cases.h without a test framework, for other CPUs. */
#include "kernel_cases.h"

int main(void)
{
    const char *(*const promises[])(const s2p_kernels *) = { check_rows, check_colours,
                                                             check_distances };
    for (size_t i = 0; s2p_kernels_at(i); i++) {
        for (size_t p = 0; p < sizeof promises / sizeof *promises; p++) {
            const char *broken = promises[p](s2p_kernels_at(i));
            if (!broken) continue;
            fprintf(stderr, "%s\n", broken);
            return 1;
        }
        fprintf(stderr, "%s: ok\n", s2p_kernels_at(i)->name);
    }
    return 0;
}
