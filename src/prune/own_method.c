/* own_method.c - a method from the caller's definition, and the check of what its function kept.
 *
 * A method is one allocation that holds copies of all strings and parameters, so that the definition
 * may live on the caller's stack. Nothing is registered anywhere.
 */
#include "prune/own_method.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 64
#define MAX_TEXT 1024
#define MAX_LAYER (1 << 16)

typedef struct own_method {
    s2p_method method; /* first */
    s2p_parameter parameter[S2P_MAX_PARAMETERS];
    char text[]; /* every string, one after the other */
} own_method;

/* --- the definition --------------------------------------------------------------- */

static const s2p_method_definition defaults = { .size = sizeof defaults,
                                                .n_stages = 1,
                                                .after = { S2P_BEFORE_DECODER } };

void s2p_method_definition_init_sized(s2p_method_definition *definition, size_t size)
{
    memset(definition, 0, size);
    memcpy(definition, &defaults, size < sizeof defaults ? size : sizeof defaults);
    memcpy(definition, &size, sizeof size);
}

/* The caller's struct, which may be of another version of the header, over the defaults. */
static s2p_status read_definition(s2p_method_definition *out, const s2p_method_definition *from,
                                  s2p_error *error)
{
    size_t size;
    memcpy(&size, from, sizeof size);
    *out = defaults;
    if (size <= sizeof size || size > (1 << 16))
        return s2p_refuse(error, S2P_EINVAL,
                          "s2p_method_definition has size %zu: set it up with "
                          "s2p_method_definition_init",
                          size);
    for (size_t i = sizeof *out; i < size; i++)
        if (((const unsigned char *)from)[i] != 0)
            return s2p_refuse(error, S2P_EINVAL,
                              "s2p_method_definition sets a field that this version of the library "
                              "does not know");
    memcpy(out, from, size < sizeof *out ? size : sizeof *out);
    return S2P_OK;
}

static bool is_name(const char *name)
{
    size_t n = 0;
    for (; name && name[n]; n++)
        if (n == MAX_NAME || !strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.:+", name[n]))
            return false;
    return n > 0;
}

static s2p_status check_parameters(const s2p_method_definition *d, s2p_error *error)
{
    if (d->n_parameters < 0 || d->n_parameters > S2P_MAX_PARAMETERS ||
        (d->n_parameters > 0 && !d->parameters))
        return s2p_refuse(error, S2P_EINVAL, "method '%s' has %d parameters; 0 to %d are possible",
                          d->name, d->n_parameters, S2P_MAX_PARAMETERS);
    for (int32_t i = 0; i < d->n_parameters; i++) {
        const s2p_parameter *p = &d->parameters[i];
        if (!p->name || !p->name[0] || strlen(p->name) > MAX_NAME ||
            (p->help && strlen(p->help) > MAX_TEXT) || !(p->min <= p->max) ||
            !isfinite(p->fallback))
            return s2p_refuse(error, S2P_EINVAL,
                              "parameter %d of method '%s' needs a name, a range and a fallback", i,
                              d->name);
        for (int32_t k = 0; k < i; k++)
            if (strcmp(d->parameters[k].name, p->name) == 0)
                return s2p_refuse(error, S2P_EINVAL, "method '%s' has parameter '%s' twice",
                                  d->name, p->name);
    }
    return S2P_OK;
}

static s2p_status check_definition(const s2p_method_definition *d, s2p_error *error)
{
    if (!is_name(d->name))
        return s2p_refuse(error, S2P_EINVAL,
                          "a method needs a name of 1 to %d characters a-z, 0-9 and \"-_.:+\"",
                          MAX_NAME);
    if (s2p_method_find(d->name))
        return s2p_refuse(error, S2P_EINVAL, "'%s' is the name of a built-in method", d->name);
    if (!d->function) return s2p_refuse(error, S2P_EINVAL, "method '%s' has no function", d->name);
    if (d->source && strlen(d->source) > MAX_TEXT)
        return s2p_refuse(error, S2P_EINVAL, "the source of method '%s' is too long", d->name);
    if (d->title && (d->title[0] == '\0' || strlen(d->title) > MAX_NAME))
        return s2p_refuse(error, S2P_EINVAL, "the title of method '%s' needs 1 to %d bytes",
                          d->name, MAX_NAME);
    if (((d->needs | d->takes) >> S2P_N_SIGNALS) != 0)
        return s2p_refuse(error, S2P_EINVAL, "method '%s' needs signals that do not exist",
                          d->name);
    if (d->n_stages < 1 || d->n_stages > S2P_MAX_STAGES)
        return s2p_refuse(error, S2P_EINVAL, "method '%s' has %d stages; 1 to %d are possible",
                          d->name, d->n_stages, S2P_MAX_STAGES);
    for (int32_t i = 0; i < d->n_stages; i++)
        if (d->after[i] < (i ? d->after[i - 1] + 1 : S2P_BEFORE_DECODER) || d->after[i] > MAX_LAYER)
            return s2p_refuse(
                error, S2P_EINVAL,
                "method '%s': layers must be ascending, from %d on; stage %d is after "
                "layer %d",
                d->name, S2P_BEFORE_DECODER, i, d->after[i]);
    return check_parameters(d, error);
}

/* Copy a string to *at and move it behind. */
static const char *keep_text(char **at, const char *text)
{
    if (!text) return NULL;
    const size_t n = strlen(text) + 1;
    char *copy = memcpy(*at, text, n);
    *at += n;
    return copy;
}

static size_t text_bytes(const char *text) { return text ? strlen(text) + 1 : 0; }

s2p_status s2p_method_make(s2p_method **out, const s2p_method_definition *definition,
                           s2p_error *error)
{
    s2p_method_definition d;
    if (!out) return s2p_refuse(error, S2P_EINVAL, "there is no place for the method");
    *out = NULL;
    if (!definition) return s2p_refuse(error, S2P_EINVAL, "a method needs a definition");
    s2p_status st = read_definition(&d, definition, error);
    if (st == S2P_OK) st = check_definition(&d, error);
    if (st != S2P_OK) return st;

    const char *source = d.source ? d.source : "a method of the caller";
    const char *title = d.title ? d.title : d.name;
    size_t n_bytes = text_bytes(d.name) + text_bytes(source) + text_bytes(title);
    for (int32_t i = 0; i < d.n_parameters; i++)
        n_bytes += text_bytes(d.parameters[i].name) + text_bytes(d.parameters[i].help);
    own_method *own = calloc(1, sizeof *own + n_bytes);
    if (!own) return s2p_refuse(error, S2P_ENOMEM, "out of memory for method '%s'", d.name);
    char *at = own->text;
    for (int32_t i = 0; i < d.n_parameters; i++) {
        own->parameter[i] = d.parameters[i];
        own->parameter[i].name = keep_text(&at, d.parameters[i].name);
        own->parameter[i].help = keep_text(&at, d.parameters[i].help);
    }
    own->method = (s2p_method){ .about = { .name = keep_text(&at, d.name),
                                           .source = keep_text(&at, source),
                                           .title = keep_text(&at, title),
                                           .needs = d.needs,
                                           .takes = d.takes,
                                           .sees_question = d.sees_question,
                                           .draws = d.draws,
                                           .prunes_cache = d.prunes_cache,
                                           .ahead = d.ahead,
                                           .n_stages = d.n_stages,
                                           .n_parameters = d.n_parameters,
                                           .parameters = own->parameter },
                                .function = d.function,
                                .user = d.user };
    memcpy(own->method.about.after, d.after, sizeof d.after);
    *out = &own->method;
    return S2P_OK;
}

void s2p_method_free(s2p_method *method) { free(method); }

/* --- running ------------------------------------------------------------------------ */

static s2p_status check_kept(const s2p_method *method, const s2p_view *view, const s2p_plan *plan,
                             const int32_t *keep, int32_t n, int32_t budget, s2p_error *error)
{
    const char *name = method->about.name;
    const int32_t n_tokens = s2p_tokens(plan->grid), n_rows = s2p_view_rows(view, plan);
    const bool is_free = view->mode == S2P_MODE_PUBLISHED; /* of the budget */
    if (is_free ? n < 1 || n > n_rows : n != budget)
        return s2p_refuse(error, S2P_EINVAL, "method '%s' kept %d tokens, not %s%d", name, n,
                          is_free ? "1 to " : "", is_free ? n_rows : budget);
    unsigned char *seen = calloc((size_t)n_tokens, 1); /* 1: still there, 2: kept */
    if (!seen) return s2p_refuse(error, S2P_ENOMEM, "out of memory for method '%s'", name);
    for (int32_t i = 0; i < n_rows; i++) seen[s2p_view_token(view, i)] = 1;
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < n; i++) {
        if (keep[i] < 0 || keep[i] >= n_tokens)
            st = s2p_refuse(error, S2P_EINVAL, "method '%s' kept token %d of a grid of %d", name,
                            keep[i], n_tokens);
        else if (seen[keep[i]] != 1)
            st = s2p_refuse(error, S2P_EINVAL, "method '%s' kept token %d %s", name, keep[i],
                            seen[keep[i]] == 2 ? "twice" : "that an earlier stage removed");
        else
            seen[keep[i]] = 2;
    }
    free(seen);
    return st;
}

s2p_status s2p_own_method_run(const s2p_method *method, const s2p_view *view, int32_t budget,
                              s2p_plan *plan, s2p_error *error)
{
    int32_t n = budget;
    int32_t *keep = calloc((size_t)s2p_tokens(plan->grid), sizeof *keep);
    if (!keep) return S2P_ENOMEM;
    s2p_status st = method->function(view, plan->grid, keep, &n, method->user, error);
    if (st == S2P_OK) st = check_kept(method, view, plan, keep, n, budget, error);
    if (st == S2P_OK) st = s2p_plan_take(plan, keep, n);
    free(keep);
    return st;
}
