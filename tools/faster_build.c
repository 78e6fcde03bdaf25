/* faster_build.c - start the program that was built for this CPU.
 *
 * Our own kernels are chosen at run time in every build, but ggml's are compiled for one CPU: a
 * build for any CPU computes F16 and BF16 weights up to eight times slower. So a package installs
 *
 *     bin/s2prune                           for any CPU of the architecture
 *     libexec/s2prune/x86-64-v3/s2prune     AVX2, FMA, BMI2, F16C
 *     libexec/s2prune/x86-64-v4/s2prune     and AVX-512 (F, BW, DQ, VL, CD)
 *
 * and the first becomes the last one that this CPU executes. `s2prune verify` stays: its program is
 * installed once.
 */
#include "faster_build.h"

#include "bundled.h"
#include "kernels/cpuid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(S2_IS_PORTABLE) && defined(__x86_64__)

static void try_level(const char *level, char *const *argv)
{
    char folder[S2_BUNDLED_PATH], path[S2_BUNDLED_PATH + 64];
    s2_program_folder(folder, sizeof folder);
    if (!folder[0]) return;
    (void)snprintf(path, sizeof path, "%s/../libexec/s2prune/%s/s2prune", folder, level);
    (void)execv(path, argv); /* returns where it is not installed */
}

void s2_faster_build(int argc, char *const *argv)
{
    const char *wanted = getenv("S2PRUNE_BUILD");
    if (wanted && strcmp(wanted, "portable") == 0) return;
    if (argc > 1 && strcmp(argv[1], "verify") == 0) return;
    const s2_cpu cpu = s2_cpu_look(NULL);
    if (cpu.avx512) try_level("x86-64-v4", argv);
    if (s2_cpu_has_avx2_set(&cpu)) try_level("x86-64-v3", argv);
}

#else

void s2_faster_build(int argc, char *const *argv)
{
    (void)argc;
    (void)argv;
}

#endif
