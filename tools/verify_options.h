/* verify_options.h - what `s2prune verify` parses and s2prune-verify carries out. */
#ifndef S2_TOOLS_VERIFY_OPTIONS_H
#define S2_TOOLS_VERIFY_OPTIONS_H

#include "options.h"

typedef struct s2_verify_options {
    s2_list folders;
    const char *arrays, *only, *device;
    int32_t output, gpu_layers;
    bool tower_on_cpu;
    const char *kernels;
    double slack;
} s2_verify_options;

#endif /* S2_TOOLS_VERIFY_OPTIONS_H */
