/* profile_options.h - --profile FILE: what `s2prune tune` found, as options of the command line. */
#ifndef S2_TOOLS_PROFILE_OPTIONS_H
#define S2_TOOLS_PROFILE_OPTIONS_H

#include "base/error.h"

/* Of commands that take a profile; member: const char *. Where there is a table of several settings, the
 * profile is one more --setting. */
#define S2_ROW_PROFILE(at)                                                                         \
    {                                                                                              \
        .name = "--profile", .label = "FILE", .type = S2_OPTION_FILE, .group = "Pruning",          \
        .help = "use the method, budget, threshold and picture size that 's2prune tune' wrote to " \
                "this file",                                                                       \
        at                                                                                         \
    }

#define S2_PROFILE_ROWS 5
#define S2_PROFILE_TEXT 320

typedef struct s2_profile_values { /* an option and its value; "": the profile does not say */
    const char *name[S2_PROFILE_ROWS];
    char value[S2_PROFILE_ROWS][S2_PROFILE_TEXT];
} s2_profile_values;

/* S2P_EFORMAT: not a profile. */
s2p_status s2_profile_values_read(const char *path, s2_profile_values *out, s2p_error *error);

#endif /* S2_TOOLS_PROFILE_OPTIONS_H */
