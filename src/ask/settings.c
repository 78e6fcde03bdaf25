/* settings.c - lists of methods, budgets, counts and sizes.
 *
 * Items are never copied out of the list, so none is too long to be read: it is right, or it is in
 * the sentence that refuses it (cut there, if it must be).
 */
#include "ask/settings.h"

#include "base/error.h"
#include "base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_METHODS 64
#define MAX_BUDGETS 64
#define MAX_SIDE 16384 /* of a picture, pixels */
#define SHOWN 60       /* letters of a list in a sentence */

/* --- items -------------------------------------------------------------------------- */

bool s2a_next_item(const char **list, s2a_item *out)
{
    if (!*list) return false;
    const size_t n = strcspn(*list, ",");
    *out = (s2a_item){ *list, n };
    *list = (*list)[n] == ',' ? *list + n + 1 : NULL;
    return true;
}

bool s2a_next_label(const char **list, s2a_item *out)
{
    const char *at = *list;
    if (!at) return false;
    for (int depth = 0; *at && (*at != ',' || depth > 0); at++)
        depth += (*at == '[') - (*at == ']');
    *out = (s2a_item){ *list, (size_t)(at - *list) };
    *list = *at == ',' ? at + 1 : NULL;
    return true;
}

bool s2a_item_is(s2a_item item, const char *word)
{
    return strlen(word) == item.n && strncasecmp(word, item.text, item.n) == 0;
}

/* For "%.*s". */
static int shown(size_t n) { return n < SHOWN ? (int)n : SHOWN; }

/* A whole decimal number of text[0..n) and nothing else. */
static bool whole_number(const char *text, size_t n, int64_t *out)
{
    if (n == 0 || !isdigit((unsigned char)text[*text == '-' || *text == '+'])) return false;
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end == text + n && errno == 0;
}

/* --- budgets ------------------------------------------------------------------------ */

static const char auto_word[] = "auto";

static s2p_status read_step(s2a_item item, const char *source, int32_t most, s2v_budget *out,
                            s2p_error *error)
{
    int64_t count;
    const char *text = item.text;
    const size_t n = item.n;
    *out = (s2v_budget){ 0, 0.0 };
    if (s2a_item_is(item, auto_word)) {
        out->percent = S2V_BUDGET_AUTO;
        return S2P_OK;
    }
    if (n > 1 && text[n - 1] == '%' && isdigit((unsigned char)text[strspn(text, "+.")])) {
        char *end;
        const double percent = strtod(text, &end);
        if (end == text + n - 1 && percent > 0.0 && percent <= 100.0) {
            out->percent = percent;
            return S2P_OK;
        }
    } else if (whole_number(text, n, &count) && count >= 1 && count <= most) {
        out->tokens = (int32_t)count;
        return S2P_OK;
    }
    return s2_fail(error, S2P_EINVAL,
                   "%s '%.*s' is neither a number of tokens from 1 to %d nor a share like 11%%; "
                   "100%% keeps all",
                   source, n < 40 ? (int)n : 40, text, most);
}

s2p_status s2a_budget_read(const char *source, const char *text, size_t n, int32_t most,
                           s2a_budget *out, s2p_error *error)
{
    s2v_budget one;
    *out = (s2a_budget){ .tokens = 0 };
    TRY(read_step((s2a_item){ text, n }, source, most, &one, error));
    *out = (s2a_budget){ .tokens = one.tokens, .percent = one.percent };
    return S2P_OK;
}

/* The first ".." of text[0..n); NULL: none. */
static const char *find_dots(const char *text, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (text[i] == '.' && text[i + 1] == '.') return text + i;
    return NULL;
}

/* Of two kinds of budget it depends on the picture which keeps more. */
static bool may_grow(s2v_budget a, s2v_budget b)
{
    if (a.tokens > 0 && b.tokens > 0) return a.tokens < b.tokens;
    if (a.percent > 0.0 && b.percent > 0.0) return a.percent < b.percent;
    return a.percent < 100.0 && (a.percent != S2V_BUDGET_AUTO || b.percent != S2V_BUDGET_AUTO);
}

s2p_status s2a_budget_read_steps(const char *source, const char *text, size_t n, int32_t most,
                                 s2a_budget *out, s2p_error *error)
{
    s2v_budget step[S2A_MAX_STEPS];
    int32_t n_steps = 0;
    *out = (s2a_budget){ .tokens = 0 };
    const char *at = text, *const end = text + n, *dots;
    do {
        if (n_steps == S2A_MAX_STEPS)
            return s2_fail(error, S2P_EINVAL, "%s '%.*s' has more than %d budgets", source,
                           shown(n), text, S2A_MAX_STEPS);
        dots = find_dots(at, (size_t)(end - at));
        const s2a_item one = { at, (size_t)((dots ? dots : end) - at) };
        if (one.n == 0 && n > 0)
            return s2_fail(
                error, S2P_EINVAL,
                "%s '%.*s' has no budget %s '..'; write two or more that grow, like 64..192",
                source, shown(n), text, at == end ? "after" : "before");
        TRY(read_step(one, source, most, &step[n_steps], error));
        if (n_steps > 0 && !may_grow(step[n_steps - 1], step[n_steps]))
            return s2_fail(error, S2P_EINVAL,
                           "%s '%.*s': each budget must keep more tokens than the one before",
                           source, shown(n), text);
        n_steps++;
        at = dots ? dots + 2 : end;
    } while (dots);
    out->tokens = step[0].tokens;
    out->percent = step[0].percent;
    out->n_more = n_steps - 1;
    for (int32_t i = 1; i < n_steps; i++) out->more[i - 1] = step[i];
    return S2P_OK;
}

const char *s2a_budget_text(s2a_budget budget, char out[S2A_BUDGET_TEXT])
{
    size_t at = 0;
    for (int32_t i = 0; i <= budget.n_more && at < S2A_BUDGET_TEXT; i++) {
        const s2v_budget b = s2a_budget_step(budget, i);
        const size_t room = S2A_BUDGET_TEXT - at;
        const char *dots = i > 0 ? ".." : "";
        at += (size_t)(b.tokens > 0    ? snprintf(out + at, room, "%s%d", dots, b.tokens)
                       : b.percent > 0 ? snprintf(out + at, room, "%s%.15g%%", dots, b.percent)
                       : b.percent < 0 ? snprintf(out + at, room, "%s%s", dots, auto_word)
                                       : snprintf(out + at, room, "%s-", dots));
    }
    return out;
}

bool s2a_budget_is_none(s2a_budget budget) { return budget.tokens == 0 && budget.percent == 0.0; }

static bool is_same_step(s2v_budget a, s2v_budget b)
{
    return a.tokens == b.tokens && a.percent == b.percent;
}

bool s2a_budget_is_same(s2a_budget a, s2a_budget b)
{
    bool is_same = a.n_more == b.n_more;
    for (int32_t i = 0; is_same && i <= a.n_more; i++)
        is_same = is_same_step(s2a_budget_step(a, i), s2a_budget_step(b, i));
    return is_same;
}

s2v_budget s2a_budget_step(s2a_budget budget, int32_t step)
{
    return step > 0 ? budget.more[step - 1] : (s2v_budget){ budget.tokens, budget.percent };
}

s2a_budget s2a_budget_single(s2a_budget budget, int32_t step)
{
    const s2v_budget one = s2a_budget_step(budget, step);
    return (s2a_budget){ .tokens = one.tokens, .percent = one.percent };
}

int32_t s2a_budget_tokens(s2a_budget budget, int32_t n_tokens)
{
    if (budget.tokens > 0) return budget.tokens;
    if (budget.percent < 0.0) {
        const int32_t third = (int32_t)rint(n_tokens / 3.0);
        const int32_t n = third > S2P_AUTO_LEAST ? third : S2P_AUTO_LEAST;
        return n < n_tokens ? n : n_tokens;
    }
    const double share = rint(budget.percent / 100.0 * n_tokens);
    return share < 1.0 ? 1 : (int32_t)share;
}

double s2a_min_confidence(const s2a_setting *setting)
{
    return setting->min_confidence > 0.0 ? setting->min_confidence : S2A_MIN_CONFIDENCE;
}

static s2p_status read_budgets(const s2a_lists *lists, s2a_budget *budgets, int32_t *n,
                               s2p_error *error)
{
    const char *list = lists->budgets, *source = lists->budgets_source;
    s2a_item item;
    for (*n = 0; s2a_next_item(&list, &item); (*n)++) {
        if (*n == MAX_BUDGETS)
            return s2_fail(error, S2P_ELIMIT, "%s has more than %d numbers", source, MAX_BUDGETS);
        s2a_budget *budget = &budgets[*n];
        TRY(s2a_budget_read_steps(source, item.text, item.n, S2P_MAX_TOKENS, budget, error));
        for (int32_t i = 0; i < *n; i++)
            if (s2a_budget_is_same(budgets[i], *budget))
                return s2_fail(error, S2P_EINVAL, "%s names %.*s twice", source, shown(item.n),
                               item.text);
    }
    return S2P_OK;
}

s2p_status s2a_confidence_read(const char *source, const char *text, double *out, s2p_error *error)
{
    char *end;
    *out = isdigit((unsigned char)*text) || *text == '.' ? strtod(text, &end) : -1.0;
    if (*out >= S2A_LEAST_CONFIDENCE && *out <= 1.0 && !*end) return S2P_OK;
    *out = 0.0;
    return s2_fail(error, S2P_EINVAL,
                   "%s: min-confidence '%.40s' is not a probability from 0.001 to 1", source, text);
}

/* --- methods ------------------------------------------------------------------------ */

void s2a_setting_use(s2a_setting *setting, const char *method)
{
    setting->method = method;
    setting->own_method = NULL;
    setting->own = NULL;
    s2p_parameters_init(s2p_method_find(method), &setting->parameters);
}

void s2a_setting_use_own(s2a_setting *setting, s2a_own *own, const s2p_method *method)
{
    setting->method = s2p_method_about(method)->name;
    setting->own_method = method;
    setting->own = own;
    s2p_parameters_init(method, &setting->parameters);
}

const s2p_method *s2a_setting_method(const s2a_setting *setting)
{
    return setting->own_method ? setting->own_method : s2p_method_find(setting->method);
}

bool s2a_keeps_all(const s2a_setting *setting)
{
    const s2p_method_info *about = s2p_method_about(s2a_setting_method(setting));
    return about->keeps_all && !about->resizes;
}

bool s2a_draws(const s2a_setting *setting)
{
    return s2p_method_draws(s2a_setting_method(setting), &setting->choice);
}

s2v_image_options s2a_setting_image(const s2a_setting *setting, s2v_image_options usual)
{
    if (setting->width != 0) {
        usual.width = setting->width > 0 ? setting->width : 0;
        usual.height = setting->width > 0 ? setting->height : 0;
    }
    usual.structure_from_resized = setting->is_resized;
    usual.before_tower = setting->has_before;
    usual.pixelprune = setting->before;
    return usual;
}

s2p_status s2a_before_read(const char *source, const char *text, s2a_setting *setting,
                           s2p_error *error)
{
    s2p_error why = { S2P_OK, "" };
    s2p_pixelprune before;
    const bool is_none = strcasecmp(text, "none") == 0;
    if (!is_none && s2p_pixelprune_read(text, strlen(text), &before, &why) != S2P_OK)
        return s2_fail(error, S2P_EINVAL, "%s: %s; none: every token enters the tower", source,
                       why.message);
    setting->has_before = !is_none;
    if (!is_none) setting->before = before;
    return S2P_OK;
}

const char *s2a_positions_name(size_t index)
{
    static const char *const names[] = { "kept", "renumbered" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

s2p_status s2a_settings_check_after(const char *source, const s2a_setting *settings, int32_t n,
                                    int32_t n_layers, s2p_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        const s2a_setting *s = &settings[i];
        s2p_error why = { S2P_OK, "" };
        if (!s->has_after) continue;
        const s2p_status st = s2p_method_check_after(
            s2a_setting_method(s), &s->choice, s->published ? S2P_MODE_PUBLISHED : S2P_MODE_DEFAULT,
            s->after, &why);
        if (st != S2P_OK) return s2_fail(error, st, "%s %d: %s", source, s->after, why.message);
        if (n_layers > 0 && s->after > n_layers - 2 && !s2a_keeps_all(s))
            return s2_fail(error, S2P_EUNSUPPORTED,
                           "%s %d: the model has %d layers; the last to prune after is %d", source,
                           s->after, n_layers, n_layers - 2);
    }
    return S2P_OK;
}

int32_t s2a_full_layers(const s2a_setting *setting, int32_t n_layers)
{
    const s2p_method_info *about = s2p_method_about(s2a_setting_method(setting));
    if (about->resizes) return 0;
    if (about->keeps_all) return n_layers;
    if (about->n_stages > 1) return -1;
    const int32_t n = (setting->has_after ? setting->after : about->after[0]) + 1;
    return n < n_layers ? n : n_layers;
}

bool s2a_prunes_cache(const s2a_setting *setting)
{
    const s2p_method_info *about = s2p_method_about(s2a_setting_method(setting));
    return about->prunes_cache ||
           (setting->has_after && about->after[0] == S2P_BEFORE_DECODER && !about->keeps_all);
}

/* As s2v_method_name, without the engine: the front of the server checks requests with this file. */
static const char *method_name(const void *context, size_t index)
{
    const s2p_method *method = s2p_method_at(index);
    (void)context;
    return method ? s2p_method_about(method)->name : NULL;
}

bool s2a_is_own(const char *text, size_t n)
{
    return n >= 5 && (strncasecmp(text, "file:", 5) == 0 || strncasecmp(text, "exec:", 5) == 0);
}

s2p_status s2a_method_read(const char *source, const char *text, size_t n, const char **out,
                           s2p_error *error)
{
    const s2a_item item = { text, n };
    size_t index = 0;
    while ((*out = method_name(NULL, index)) && !s2a_item_is(item, *out)) index++;
    if (*out) return S2P_OK;
    if (s2a_is_own(text, n))
        return s2_fail(
            error, S2P_EINVAL,
            "%s: methods 'file:' and 'exec:' are only for the commands run, compare, eval "
            "and analyze, which run a model",
            source);
    char typed[SHOWN + 1];
    (void)snprintf(typed, sizeof typed, "%.*s", shown(n), text);
    const char *near = n <= SHOWN ? s2_suggest(typed, method_name, NULL) : NULL;
    if (near)
        return s2_fail(error, S2P_EINVAL, "%s: unknown method '%s' (did you mean '%s'?)", source,
                       typed, near);
    char names[400] = ""; /* long enough for all */
    const char *name;
    for (size_t i = 0, at = 0; (name = method_name(NULL, i)) && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, " %s", name);
    return s2_fail(error, S2P_EINVAL, "%s: unknown method '%s'; there are%s", source, typed, names);
}

bool s2a_opener_takes(s2a_own_opener opener, const char *text, size_t n)
{
    return opener.use && opener.knows(opener.context, text, n);
}

s2p_status s2a_method_use(const char *source, const char *text, size_t n, s2a_own_opener opener,
                          s2a_setting *setting, s2p_error *error)
{
    const char *name;
    if (s2a_opener_takes(opener, text, n))
        return opener.use(opener.context, source, text, n, setting, error);
    TRY(s2a_method_read(source, text, n, &name, error));
    s2a_setting_use(setting, name);
    return S2P_OK;
}

/* out: [MAX_METHODS] copies of `base`, each with its method. */
static s2p_status read_methods(const s2a_lists *lists, const s2a_setting *base, s2a_setting *out,
                               int32_t *n, s2p_error *error)
{
    const char *list = lists->methods, *source = lists->methods_source, *name;
    *n = 0;
    if (strcmp(list, "all") == 0) {
        while (*n < MAX_METHODS && (name = method_name(NULL, (size_t)*n))) {
            out[*n] = *base;
            s2a_setting_use(&out[(*n)++], name);
        }
        return S2P_OK;
    }
    s2a_item item;
    while (s2a_next_item(&list, &item)) {
        if (item.n == 0)
            return s2_fail(error, S2P_EINVAL,
                           "%s has an empty name; give a list such as full,s2prune, or all",
                           source);
        s2a_setting one = *base;
        TRY(s2a_method_use(source, item.text, item.n, lists->opener, &one, error));
        for (int32_t i = 0; i < *n; i++)
            if (strcmp(out[i].method, one.method) == 0)
                return s2_fail(error, S2P_EINVAL, "%s names '%s' twice", source, one.method);
        if (*n == MAX_METHODS)
            return s2_fail(error, S2P_ELIMIT, "%s has more than %d names", source, MAX_METHODS);
        out[(*n)++] = one;
    }
    return S2P_OK;
}

s2p_status s2a_settings_read(const s2a_lists *lists, const s2a_setting *base, s2a_setting *out,
                             int32_t *n, s2p_error *error)
{
    s2a_setting method[MAX_METHODS];
    s2a_budget budget[MAX_BUDGETS];
    int32_t n_methods, n_budgets;
    *n = 0;
    TRY(read_methods(lists, base, method, &n_methods, error));
    TRY(read_budgets(lists, budget, &n_budgets, error));
    int32_t n_all = 0;
    for (int32_t b = 0; b < n_budgets; b++) {
        for (int32_t m = 0; m < n_methods; m++) {
            const bool keeps_all = s2a_keeps_all(&method[m]);
            if (keeps_all && b > 0) continue;
            if (n_all == S2A_MAX_SETTINGS)
                return s2_fail(error, S2P_ELIMIT, "%d methods times %d budgets; the limit is %d",
                               n_methods, n_budgets, S2A_MAX_SETTINGS);
            out[n_all] = method[m];
            out[n_all++].budget = keeps_all ? (s2a_budget){ .tokens = 0 } : budget[b];
        }
    }
    *n = n_all;
    return S2P_OK;
}

/* --- parameters ----------------------------------------------------------------------- */

static bool has_parameter(const s2p_method *method, const char *name)
{
    const s2p_parameter *row;
    for (size_t i = 0; (row = s2p_method_parameter(method, i)); i++)
        if (strcmp(row->name, name) == 0) return true;
    return false;
}

/* Settings of one method may stand apart: each counts where it comes first. */
static bool is_first(const s2a_setting *settings, int32_t index)
{
    for (int32_t i = 0; i < index; i++)
        if (strcmp(settings[i].method, settings[index].method) == 0) return false;
    return true;
}

static s2p_status fail_parameter(const char *source, const char *text, const s2a_setting *settings,
                                 int32_t n, s2p_error *error)
{
    char list[160] = "";
    size_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        const s2p_method *method = s2a_setting_method(&settings[i]);
        const s2p_parameter *row;
        for (size_t k = 0; is_first(settings, i) && (row = s2p_method_parameter(method, k)); k++)
            if (at < sizeof list)
                at += (size_t)snprintf(list + at, sizeof list - at, "%s%s.%s", at > 0 ? ", " : "",
                                       s2p_method_about(method)->name, row->name);
    }
    if (at == 0)
        return s2_fail(error, S2P_EINVAL, "%s '%.40s': none of these methods has parameters",
                       source, text);
    return s2_fail(error, S2P_EINVAL, "%s '%.40s': no such parameter; there are %s", source, text,
                   list);
}

s2p_status s2a_settings_set(const char *source, const char *text, s2a_setting *settings, int32_t n,
                            s2p_error *error)
{
    const size_t n_name = strcspn(text, "=");
    char name[SHOWN + 1];
    if (text[n_name] != '=' || n_name == 0)
        return s2_fail(error, S2P_EINVAL, "%s '%.60s' is not NAME=VALUE or METHOD.NAME=VALUE",
                       source, text);
    if (n_name > SHOWN) return fail_parameter(source, text, settings, n, error);
    (void)snprintf(name, sizeof name, "%.*s", (int)n_name, text);
    char *dot = strchr(name, '.');
    if (dot) *dot = '\0';
    const char *only = dot ? name : NULL, *own = dot ? dot + 1 : name;
    int32_t n_set = 0;
    for (int32_t i = 0; i < n; i++) {
        const s2p_method *method = s2a_setting_method(&settings[i]);
        s2p_error why = { S2P_OK, "" };
        if ((only && strcmp(only, s2p_method_about(method)->name) != 0) ||
            !has_parameter(method, own))
            continue;
        const s2p_status st =
            s2p_parameters_set(method, &settings[i].parameters, own, text + n_name + 1, &why);
        if (st != S2P_OK) return s2_fail(error, st, "%s %s", source, why.message);
        n_set++;
    }
    return n_set > 0 ? S2P_OK : fail_parameter(source, text, settings, n, error);
}

/* --- a value for each picture --------------------------------------------------------- */

static s2p_status fail_more(const char *source, int32_t n, s2p_error *error)
{
    return s2_fail(error, S2P_ELIMIT, "%s has more than %d items, one for each picture", source, n);
}

s2p_status s2a_counts_read(const char *source, const char *list, int32_t most, int32_t *out,
                           int32_t n, s2p_error *error)
{
    const char *rest = list;
    s2a_item item;
    int32_t i = 0;
    for (; s2a_next_item(&rest, &item); i++) {
        int64_t value;
        if (!whole_number(item.text, item.n, &value) || !isdigit((unsigned char)item.text[0]) ||
            value > most)
            return s2_fail(error, S2P_EINVAL, "%s '%.60s' is not a list such as 64,32", source,
                           list);
        if (i == n) return fail_more(source, n, error);
        out[i] = (int32_t)value;
    }
    for (; i < n; i++) out[i] = out[i - 1];
    return S2P_OK;
}

/* "native" is 0x0. */
static bool read_size(s2a_item item, int64_t *width, int64_t *height)
{
    const char *x = memchr(item.text, 'x', item.n);
    *width = *height = 0;
    if (s2a_item_is(item, "native")) return true;
    return x && whole_number(item.text, (size_t)(x - item.text), width) &&
           whole_number(x + 1, item.n - (size_t)(x + 1 - item.text), height) && *width >= 1 &&
           *height >= 1 && *width <= MAX_SIDE && *height <= MAX_SIDE;
}

s2p_status s2a_sizes_read(const char *source, const char *list, s2v_image_options *out, int32_t n,
                          s2p_error *error)
{
    const char *rest = list;
    s2a_item item;
    int64_t width = 0, height = 0;
    for (int32_t i = 0; i < n || rest; i++) {
        if (s2a_next_item(&rest, &item) && !read_size(item, &width, &height))
            return s2_fail(error, S2P_EINVAL, "%s '%.60s' is neither native nor WIDTHxHEIGHT",
                           source, list);
        if (i == n) return fail_more(source, n, error);
        out[i].width = (int32_t)width;
        out[i].height = (int32_t)height;
    }
    return S2P_OK;
}
