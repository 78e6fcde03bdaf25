/* fuzz_settings.c - any text as lists of a user: "methods\nbudgets\nname=value\ncounts\nsizes",
 * and as a file of settings.
 * Refused with a sentence, or settings within their limits, with a label
 * that is one item of a list. */
#include "fuzz.h"

#include "ask/variants.h"

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
    ACCEPTED();
    PROMISE(n >= 1 && n <= S2A_MAX_SETTINGS);
    for (int32_t i = 0; i < n; i++) {
        const s2a_budget budget = settings[i].budget;
        char text[S2A_BUDGET_TEXT];
        s2a_budget again;
        PROMISE(s2p_method_find(settings[i].method));
        PROMISE(s2a_budget_is_none(budget) == s2a_keeps_all(&settings[i]));
        PROMISE(budget.tokens >= 0 && budget.tokens <= S2P_MAX_TOKENS && budget.percent <= 100.0);
        PROMISE(budget.n_more >= 0 && budget.n_more < S2A_MAX_STEPS);
        (void)s2a_budget_text(budget, text);
        PROMISE(s2a_budget_is_none(budget) ||
                (s2a_budget_read_steps("again", text, strlen(text), S2P_MAX_TOKENS, &again, NULL) ==
                     S2P_OK &&
                 s2a_budget_is_same(budget, again)));
    }
    if (s2a_settings_set("set", set, settings, n, &error) != S2P_OK)
        PROMISE(error.status != S2P_OK && error.message[0]);
}

static void check_variant(const s2a_setting *s)
{
    char label[S2A_LABEL_SIZE], title[S2A_LABEL_SIZE];
    PROMISE(s2p_method_find(s->method));
    PROMISE(s->choice.side >= 0 && s->choice.side <= S2P_MAX_SIDE);
    PROMISE(s2a_budget_is_none(s->budget) == s2a_keeps_all(s));
    PROMISE(s2a_settings_check_after("again", s, 1, 0, NULL) == S2P_OK);
    const char *list = s2a_setting_label(s, label);
    s2a_item item;
    PROMISE(strlen(label) < S2A_LABEL_SIZE - 1 && s2a_setting_title(s, title)[0]);
    PROMISE(s2a_next_label(&list, &item) && !list && item.n == strlen(label));
}

/* All of it as a file of settings, METHOD[:name=value,...] a line. */
static void check_variants(const char *text, size_t size)
{
    static s2a_line line[S2A_MAX_SETTINGS];
    const s2a_setting base = { .budget = { .tokens = 64 } };
    s2p_error error = { S2P_OK, "" };
    int32_t n = -1;
    const s2p_status st = s2a_variants_lines("file", text, size, line, &n, &error);
    PROMISE(st == S2P_OK || (error.status == st && error.message[0]));
    for (int32_t i = 0; st == S2P_OK && i < n; i++) {
        s2a_variant v;
        char *copy = malloc(line[i].text.n); /* a line ends where it ends */
        if (!copy) break;
        memcpy(copy, line[i].text.text, line[i].text.n);
        error = (s2p_error){ S2P_OK, "" };
        if (s2a_variant_read("line", copy, line[i].text.n, &base, &v, &error) == S2P_OK)
            check_variant(&v.setting);
        else
            PROMISE(error.status != S2P_OK && error.message[0]);
        free(copy);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *line[N_LINES];
    if (!text) return 0;
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    check_variants(text, size);
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
