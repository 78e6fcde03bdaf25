/* budget_options.c - budgets from what they cost, and confidence: what goes together and what has no effect. */
#include "asking/asker.h"

#include "ask/profile.h"
#include "base/error.h"
#include "base/path.h"
#include "report.h"

#include <stdio.h>
#include <sys/stat.h>

s2a_target s2_ask_target(const ask_options *o)
{
    return (s2a_target){ .ms = o->target_ms, .mib = o->target_mib };
}

bool s2_ask_has_target(const ask_options *o) { return o->target_ms > 0.0 || o->target_mib > 0.0; }

s2p_status s2_ask_check_target(const ask_options *o, s2a_budget budget, s2p_error *error)
{
    const bool is_default = budget.n_more == 0 && budget.percent == S2V_BUDGET_AUTO;
    if (!s2_ask_has_target(o) || is_default) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "--target-ms and --target-mib choose the budget; remove %s",
                   o->profile ? "--profile" : "--budget");
}

void s2_ask_note_confidence(const ask_options *o, const s2a_setting *settings, int32_t n)
{
    if (o->min_confidence <= 0.0 || o->quiet) return;
    for (int32_t i = 0; i < n; i++)
        if (settings[i].budget.n_more > 0) return;
    s2_report_line("note",
                   "--min-confidence has no effect without budgets that grow, like 64..192");
}

void s2_ask_note_profile(const ask_options *o, const char *model)
{
    s2a_profile profile;
    struct stat file;
    char line[2 * S2A_PROFILE_NAME + 160];
    if (!o->profile || o->quiet || s2a_profile_read(o->profile, &profile, NULL) != S2P_OK ||
        profile.model_bytes < 1 || stat(model, &file) != 0 || file.st_size == profile.model_bytes)
        return;
    (void)snprintf(
        line, sizeof line,
        "the profile was made for another model%s%s; its promise does not hold for %.200s",
        profile.model[0] ? ", " : "", profile.model, s2_base_name(model));
    s2_report_line("note", line);
}
