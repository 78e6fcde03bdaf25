/* fuzz_profile.c - any bytes as a profile: refused with a sentence, or a setting that every command takes. */
#include "fuzz.h"

#include "ask/profile.h"
#include "ask/variants.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const s2a_setting base = { .budget = { .tokens = 64 } };
    s2a_profile profile;
    s2p_error error = { S2P_OK, "" };
    if (s2a_profile_parse(data, size, "profile", &profile, &error) != S2P_OK) {
        PROMISE(error.message[0] && !profile.method);
        return 0;
    }
    ACCEPTED();
    char text[S2A_PROFILE_TEXT], label[S2A_LABEL_SIZE];
    s2a_variant v;
    PROMISE(s2p_method_find(profile.method));
    (void)s2a_profile_text(&profile, text);
    PROMISE(s2a_variant_read("profile", text, strlen(text), &base, &v, &error) == S2P_OK);
    PROMISE(v.setting.width == profile.width && v.setting.height == profile.height);
    PROMISE(s2a_setting_label(&v.setting, label)[0]);
    return 0;
}
