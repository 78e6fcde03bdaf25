/* profile_options.c - from a profile to options. */
#include "profile_options.h"

#include "ask/profile.h"

#include <stdio.h>

s2p_status s2_profile_values_read(const char *path, s2_profile_values *out, s2p_error *error)
{
    s2a_profile p;
    *out = (s2_profile_values){ .name = { "--setting", "--method", "--budget", "--min-confidence",
                                          "--image-size" } };
    TRY(s2a_profile_read(path, &p, error));
    (void)s2a_profile_text(&p, out->value[0]);
    (void)snprintf(out->value[1], S2_PROFILE_TEXT, "%s", p.method);
    (void)snprintf(out->value[2], S2_PROFILE_TEXT, "%s", p.budget);
    if (p.min_confidence > 0.0)
        (void)snprintf(out->value[3], S2_PROFILE_TEXT, "%.15g", p.min_confidence);
    if (p.width > 0) (void)snprintf(out->value[4], S2_PROFILE_TEXT, "%dx%d", p.width, p.height);
    return S2P_OK;
}
