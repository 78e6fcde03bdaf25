/* fuzz_settings.c - any text as lists of a user: "methods\nbudgets\nname=value\ncounts\nsizes".
 * Refused with a sentence, or settings within their limits. */
#include "fuzz.h"

#include "ask/settings.h"

#include <string.h>

#define N_LINES 5
#define N_PICTURES 4

static void check_settings(const char *methods, const char *budgets, const char *set)
{
    static s2a_setting settings[S2A_MAX_SETTINGS];
    const s2a_setting base = { .choice = { .seed = 1 } };
    const s2a_lists lists = { .methods = methods,
                              .budgets = budgets,
                              .methods_source = "methods",
                              .budgets_source = "budgets" };
    s2p_error error = { S2P_OK, "" };
    int32_t n = -1;
    if (s2a_settings_read(&lists, &base, settings, &n, &error) != S2P_OK) {
        PROMISE(n == 0 && error.status != S2P_OK && error.message[0]);
        return;
    }
    PROMISE(n >= 1 && n <= S2A_MAX_SETTINGS);
    for (int32_t i = 0; i < n; i++) {
        const s2v_budget budget = settings[i].budget;
        char text[S2A_BUDGET_TEXT];
        s2v_budget again;
        PROMISE(s2p_method_find(settings[i].method));
        PROMISE(s2a_budget_is_none(budget) == s2a_keeps_all(&settings[i]));
        PROMISE(budget.tokens >= 0 && budget.tokens <= S2P_MAX_TOKENS && budget.percent <= 100.0);
        (void)s2a_budget_text(budget, text);
        PROMISE(s2a_budget_is_none(budget) ||
                s2a_budget_read("again", text, strlen(text), S2P_MAX_TOKENS, &again, NULL) ==
                    S2P_OK);
    }
    if (s2a_settings_set("set", set, settings, n, &error) != S2P_OK)
        PROMISE(error.status != S2P_OK && error.message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *line[N_LINES];
    if (!text) return 0;
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    char *rest = text;
    for (int i = 0; i < N_LINES; i++) {
        line[i] = rest;
        rest += strcspn(rest, "\n");
        if (*rest) *rest++ = '\0';
    }
    check_settings(line[0], line[1], line[2]);

    int32_t count[N_PICTURES] = { -1, -1, -1, -1 };
    s2v_image_options option[N_PICTURES] = { { .width = -1 } };
    s2p_error error = { S2P_OK, "" };
    if (s2a_counts_read("counts", line[3], 1000, count, N_PICTURES, &error) != S2P_OK)
        PROMISE(error.message[0]);
    else
        for (int i = 0; i < N_PICTURES; i++) PROMISE(count[i] >= 0 && count[i] <= 1000);
    if (s2a_sizes_read("sizes", line[4], option, N_PICTURES, &error) != S2P_OK)
        PROMISE(error.message[0]);
    else
        for (int i = 0; i < N_PICTURES; i++)
            PROMISE(option[i].width >= 0 && (option[i].width == 0) == (option[i].height == 0));
    free(text);
    return 0;
}
