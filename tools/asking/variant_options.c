/* variant_options.c - --set, --setting and --variants: what differs between the settings of one table. */
#include "asking/asker.h"
#include "ask/variants.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct spec { /* the text of a setting, and whose it is */
    s2a_item text;
    char source[256];
} spec;

typedef struct variants { /* of a command; free with variants_free */
    spec *spec;           /* [n] */
    int32_t n;
    s2_buffer file;
} variants;

bool s2_ask_has_variants(const ask_options *o) { return o->settings.n > 0 || o->variants; }

s2p_status s2_ask_set(const ask_options *o, s2a_setting *settings, int32_t n, s2p_error *error)
{
    for (size_t i = 0; i < o->set.n; i++)
        TRY(s2a_settings_set("--set", o->set.item[i], settings, n, error));
    return s2a_settings_check_after("--after", settings, n, 0, error);
}

/* --- texts ---------------------------------------------------------------------------------- */

static void variants_free(variants *v)
{
    free(v->spec);
    s2_buffer_free(&v->file);
}

static s2p_status read_file(const char *path, variants *v, s2p_error *error)
{
    s2a_line *line = calloc(S2A_MAX_SETTINGS, sizeof *line);
    int32_t n = 0;
    if (!line) return s2_fail_memory(error, sizeof *line, "the settings");
    s2p_status st = s2_file_read(path, &v->file, error);
    if (st == S2P_OK)
        st = s2a_variants_lines(path, (const char *)v->file.data, v->file.size, line, &n, error);
    if (st == S2P_OK && v->n + n > S2A_MAX_SETTINGS)
        st = s2_fail(error, S2P_ELIMIT, "--setting and --variants give more than %d settings",
                     S2A_MAX_SETTINGS);
    for (int32_t i = 0; st == S2P_OK && i < n; i++) {
        spec *one = &v->spec[v->n++];
        one->text = line[i].text;
        (void)snprintf(one->source, sizeof one->source, "%.200s:%d", path, line[i].number);
    }
    free(line);
    return st;
}

static s2p_status read_texts(const ask_options *o, variants *v, s2p_error *error)
{
    s2_buffer_init(&v->file, S2A_MAX_VARIANTS_BYTES);
    v->spec = calloc(S2A_MAX_SETTINGS, sizeof *v->spec);
    if (!v->spec) return s2_fail_memory(error, sizeof *v->spec, "the settings");
    if (o->settings.n > S2A_MAX_SETTINGS)
        return s2_fail(error, S2P_ELIMIT, "--setting is given %zu times; the limit is %d",
                       o->settings.n, S2A_MAX_SETTINGS);
    for (size_t i = 0; i < o->settings.n; i++) {
        const char *text = o->settings.item[i];
        spec *one = &v->spec[v->n++];
        one->text = (s2a_item){ text, strlen(text) };
        (void)snprintf(one->source, sizeof one->source, "--setting '%.100s'", text);
    }
    return o->variants ? read_file(o->variants, v, error) : S2P_OK;
}

/* Everything behind file: and exec: is the path or the command; it has no name=value. */
static s2p_status read_spec(const spec *from, s2a_own_opener opener, const s2a_setting *base,
                            s2a_variant *out, s2p_error *error)
{
    if (!s2a_opener_takes(opener, from->text.text, from->text.n))
        return s2a_variant_read(from->source, from->text.text, from->text.n, base, out, error);
    *out = (s2a_variant){ .setting = *base };
    return s2a_method_use(from->source, from->text.text, from->text.n, opener, &out->setting,
                          error);
}

/* --- in the order of the table --------------------------------------------------------------- */

typedef struct placed {
    s2a_setting setting;
    const spec *spec; /* NULL: of --methods */
} placed;

typedef struct placing {
    placed list[S2A_MAX_SETTINGS];
    int32_t n;
} placing;

static s2p_status place(placing *p, const s2a_setting *setting, const spec *from, s2p_error *error)
{
    if (p->n == S2A_MAX_SETTINGS)
        return s2_fail(error, S2P_ELIMIT, "more than %d settings", S2A_MAX_SETTINGS);
    p->list[p->n++] = (placed){ *setting, from };
    return S2P_OK;
}

/* Budget by budget as in s2a_settings_read; a setting with its own budget stands with the first. */
static s2p_status place_all(const variants *v, s2a_own_opener opener, const s2a_setting *base,
                            const char *budgets, const s2a_setting *methods, int32_t n_methods,
                            placing *p, s2p_error *error)
{
    s2a_variant one;
    s2a_item item;
    for (int32_t b = 0; s2a_next_item(&budgets, &item); b++) {
        s2a_budget budget;
        TRY(s2a_budget_read_steps("--budgets", item.text, item.n, S2P_MAX_TOKENS, &budget, error));
        for (int32_t i = 0; i < n_methods; i++) {
            const s2a_setting *s = &methods[i];
            if (s2a_keeps_all(s) ? b == 0 : s2a_budget_is_same(s->budget, budget))
                TRY(place(p, s, NULL, error));
        }
        for (int32_t i = 0; i < v->n; i++) {
            const spec *from = &v->spec[i];
            s2a_setting usual = *base;
            usual.budget = budget;
            TRY(read_spec(from, opener, &usual, &one, error));
            if (b > 0 && (one.has_budget || s2a_keeps_all(&one.setting))) continue;
            TRY(place(p, &one.setting, from, error));
        }
    }
    return S2P_OK;
}

static s2p_status check_twice(const s2a_setting *setting, int32_t n, s2p_error *error)
{
    char a[S2A_LABEL_SIZE], b[S2A_LABEL_SIZE], budget[S2A_BUDGET_TEXT];
    for (int32_t i = 0; i < n; i++) {
        (void)s2a_setting_label(&setting[i], a);
        for (int32_t k = 0; k < i; k++)
            if (s2a_budget_is_same(setting[i].budget, setting[k].budget) &&
                strcmp(s2a_setting_label(&setting[k], b), a) == 0)
                return s2_fail(error, S2P_EINVAL, "'%.200s' at budget %s is given twice", a,
                               s2a_budget_text(setting[i].budget, budget));
    }
    return S2P_OK;
}

/* --set first, then what each text says: its own value counts. */
static s2p_status settle(const ask_options *o, const placing *p, s2a_setting *out, s2p_error *error)
{
    for (int32_t i = 0; i < p->n; i++) {
        out[i] = p->list[i].setting;
        if (p->list[i].spec && !out[i].own) s2a_setting_use(&out[i], out[i].method);
    }
    for (size_t i = 0; i < o->set.n; i++)
        TRY(s2a_settings_set("--set", o->set.item[i], out, p->n, error));
    for (int32_t i = 0; i < p->n; i++) {
        const spec *from = p->list[i].spec;
        s2a_variant one;
        if (from && !out[i].own) {
            TRY(s2a_variant_read(from->source, from->text.text, from->text.n, &out[i], &one,
                                 error));
            out[i] = one.setting;
        }
        /* native is worth a word only where pictures have a size otherwise */
        if (out[i].width < 0 && o->preset != S2_PRESET_PAPER && !o->image_size)
            out[i].width = out[i].height = 0;
    }
    TRY(s2a_settings_check_after("--after", out, p->n, 0, error));
    return check_twice(out, p->n, error);
}

s2p_status s2_ask_add_variants(const ask_options *o, s2a_own_opener opener, const s2a_setting *base,
                               const char *budgets, s2a_setting *settings, int32_t *n,
                               s2p_error *error)
{
    variants v = { .n = 0 };
    placing *p = calloc(1, sizeof *p);
    s2p_status st = p ? read_texts(o, &v, error) : s2_fail_memory(error, sizeof *p, "the settings");
    if (st == S2P_OK) st = place_all(&v, opener, base, budgets, settings, *n, p, error);
    if (st == S2P_OK) st = settle(o, p, settings, error);
    *n = st == S2P_OK ? p->n : 0;
    variants_free(&v);
    free(p);
    return st;
}
