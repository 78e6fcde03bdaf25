/* variants.c - settings as text: METHOD[:name=value,...], one of an option or one a line of a file. */
#include "ask/variants.h"

#include "base/error.h"
#include "base/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_ITEM 128 /* bytes of name=value */
#define MAX_LINE 4096
#define SHOWN 60

typedef enum element {
    BUDGET,
    CONFIDENCE,
    ALLOCATOR,
    SELECTOR,
    GRID,
    MODE,
    AFTER,
    POSITIONS,
    BEFORE,
    STRUCTURE,
    SIZE
} element;

static const char *const names[] = { [BUDGET] = "budget",       [CONFIDENCE] = "min-confidence",
                                     [ALLOCATOR] = "allocator", [SELECTOR] = "selector",
                                     [GRID] = "grid",           [MODE] = "mode",
                                     [AFTER] = "after",         [POSITIONS] = "positions",
                                     [BEFORE] = "before-tower", [STRUCTURE] = "structure",
                                     [SIZE] = "image-size" };
#define N_NAMES (sizeof names / sizeof *names)

typedef struct reading {
    const char *source;
    s2a_setting *setting;
    bool has_budget;
    uint64_t seen; /* bits of names, then of parameters */
    s2p_error *error;
} reading;

static int shown(size_t n) { return n < SHOWN ? (int)n : SHOWN; }

static s2a_item trimmed(const char *text, size_t n)
{
    while (n > 0 && isspace((unsigned char)text[0])) text++, n--;
    while (n > 0 && isspace((unsigned char)text[n - 1])) n--;
    return (s2a_item){ text, n };
}

/* --- names ----------------------------------------------------------------------------- */

/* Those of every setting, then the method's own parameters. */
static const char *name_at(const void *context, size_t index)
{
    const s2p_parameter *row;
    if (index < N_NAMES) return names[index];
    row = s2p_method_parameter(s2a_setting_method(context), index - N_NAMES);
    return row ? row->name : NULL;
}

static s2p_status fail_name(const reading *r, const char *name)
{
    const char *near = s2_suggest(name, name_at, r->setting), *known;
    if (near)
        return s2_fail(r->error, S2P_EINVAL, "%s: unknown name '%.40s' (did you mean '%s'?)",
                       r->source, name, near);
    char list[320] = "";
    for (size_t i = 0, at = 0; (known = name_at(r->setting, i)) && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, " %s", known);
    return s2_fail(r->error, S2P_EINVAL, "%s: unknown name '%.40s'; for %s there are%s", r->source,
                   name, r->setting->method, list);
}

/* --- values ---------------------------------------------------------------------------- */

static bool whole(const char *text, int64_t least, int64_t most, int32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)text[*text == '-'])) return false;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno || *end || value < least || value > most) return false;
    *out = (int32_t)value;
    return true;
}

/* The word as written in a table. */
static s2p_status read_word(const reading *r, const char *name, const char *value,
                            const char *(*word_at)(size_t index), const char **out)
{
    char list[160] = "";
    const char *word;
    size_t at = 0;
    for (size_t i = 0; (word = word_at(i)); i++) {
        if (strcasecmp(word, value) == 0) {
            *out = word;
            return S2P_OK;
        }
        if (at < sizeof list) at += (size_t)snprintf(list + at, sizeof list - at, " %s", word);
    }
    return s2_fail(r->error, S2P_EINVAL, "%s: %s '%.40s' is not one of%s", r->source, name, value,
                   list);
}

static const char *mode_at(size_t i)
{
    static const char *const words[] = { "default", "published" };
    return i < 2 ? words[i] : NULL;
}

static const char *structure_at(size_t i)
{
    static const char *const words[] = { "source", "resized" };
    return i < 2 ? words[i] : NULL;
}

/* Refuse a part of the choice that the method does not read. */
static s2p_status check_reads(const reading *r, element name, uint32_t bit)
{
    const s2p_method_info *about = s2p_method_about(s2a_setting_method(r->setting));
    if (about->reads & bit) return S2P_OK;
    return s2_fail(r->error, S2P_EINVAL, "%s: method '%s' does not read %s", r->source, about->name,
                   names[name]);
}

static s2p_status read_value(reading *r, element name, const char *value)
{
    s2a_setting *s = r->setting;
    const char *word = NULL;
    switch (name) {
    case BUDGET:
        if (s2a_keeps_all(s))
            return s2_fail(r->error, S2P_EINVAL,
                           "%s: method '%s' keeps every token; it has no budget", r->source,
                           s->method);
        TRY(s2a_budget_read_steps(r->source, value, strlen(value), S2P_MAX_TOKENS, &s->budget,
                                  r->error));
        r->has_budget = true;
        return S2P_OK;
    case CONFIDENCE:
        return s2a_confidence_read(r->source, value, &s->min_confidence, r->error);
    case ALLOCATOR:
        TRY(check_reads(r, name, S2P_READS_ALLOCATOR));
        return read_word(r, names[name], value, s2p_allocator_name, &s->choice.allocator);
    case SELECTOR:
        TRY(check_reads(r, name, S2P_READS_SELECTOR));
        return read_word(r, names[name], value, s2p_selector_name, &s->choice.selector);
    case GRID:
        TRY(check_reads(r, name, S2P_READS_SIDE));
        if (whole(value, 0, S2P_MAX_SIDE, &s->choice.side)) return S2P_OK;
        return s2_fail(r->error, S2P_EINVAL, "%s: grid '%.40s' is not a whole number from 0 to %d",
                       r->source, value, S2P_MAX_SIDE);
    case MODE:
        TRY(read_word(r, names[name], value, mode_at, &word));
        s->published = strcmp(word, "published") == 0;
        return S2P_OK;
    case AFTER:
        s->has_after = strcasecmp(value, "own") != 0;
        if (!s->has_after || whole(value, S2P_BEFORE_DECODER, 1000, &s->after)) return S2P_OK;
        return s2_fail(r->error, S2P_EINVAL,
                       "%s: after '%.40s' is not a decoder layer from -1 to 1000, or own",
                       r->source, value);
    case POSITIONS:
        TRY(read_word(r, names[name], value, s2a_positions_name, &word));
        s->is_renumbered = strcmp(word, "renumbered") == 0;
        return S2P_OK;
    case BEFORE:
        return s2a_before_read(r->source, value, s, r->error);
    case STRUCTURE:
        TRY(read_word(r, names[name], value, structure_at, &word));
        s->is_resized = strcmp(word, "resized") == 0;
        return S2P_OK;
    case SIZE: {
        s2v_image_options size = { .width = 0 };
        TRY(s2a_sizes_read(r->source, value, &size, 1, r->error));
        s->width = size.width > 0 ? size.width : -1;
        s->height = size.width > 0 ? size.height : -1;
        return S2P_OK;
    }
    }
    return S2P_OK;
}

/* --- one ------------------------------------------------------------------------------- */

static s2p_status read_item(reading *r, s2a_item item)
{
    char text[MAX_ITEM];
    item = trimmed(item.text, item.n);
    if (item.n >= sizeof text || memchr(item.text, '\0', item.n))
        return s2_fail(r->error, S2P_EINVAL, "%s: '%.*s...' is too long for name=value", r->source,
                       shown(item.n), item.text);
    memcpy(text, item.text, item.n);
    text[item.n] = '\0';
    char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return s2_fail(r->error, S2P_EINVAL, "%s: '%.60s' is not name=value, as in s2prune:grid=9",
                       r->source, text);
    *equals = '\0';
    const char *name, *value = equals + 1;
    size_t index = 0;
    while ((name = name_at(r->setting, index)) && strcmp(name, text) != 0) index++;
    if (!name) return fail_name(r, text);
    if (r->seen >> index & 1)
        return s2_fail(r->error, S2P_EINVAL, "%s gives '%s' twice", r->source, name);
    r->seen |= UINT64_C(1) << index;
    if (index < N_NAMES) return read_value(r, (element)index, value);
    *equals = '=';
    return s2a_settings_set(r->source, text, r->setting, 1, r->error);
}

static s2p_status check_whole(const reading *r)
{
    const s2a_setting *s = r->setting;
    if ((r->seen >> STRUCTURE & 1) && s->is_resized &&
        !(s2p_method_needs(s2a_setting_method(s), &s->choice) & S2P_NEED_PIXELS))
        return s2_fail(r->error, S2P_EINVAL,
                       "%s: method '%s' does not measure structure in this setting", r->source,
                       s->method);
    return s2a_settings_check_after(r->source, s, 1, 0, r->error);
}

s2p_status s2a_variant_read(const char *source, const char *text, size_t n, const s2a_setting *base,
                            s2a_variant *out, s2p_error *error)
{
    const s2a_item all = trimmed(text, n);
    const char *colon = memchr(all.text, ':', all.n), *method;
    const s2a_item name = trimmed(all.text, colon ? (size_t)(colon - all.text) : all.n);
    *out = (s2a_variant){ .setting = *base };
    if (name.n == 0)
        return s2_fail(error, S2P_EINVAL, "%s needs a method, as in s2prune:grid=9", source);
    TRY(s2a_method_read(source, name.text, name.n, &method, error));
    if (!base->method || strcmp(base->method, method) != 0) s2a_setting_use(&out->setting, method);
    reading r = { .source = source, .setting = &out->setting, .error = error };
    if (s2a_keeps_all(&out->setting)) out->setting.budget = (s2a_budget){ .tokens = 0 };
    const char *at = colon ? colon + 1 : all.text + all.n, *end = all.text + all.n;
    while (at < end || (colon && at == end)) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        TRY(read_item(&r, (s2a_item){ at, (size_t)(stop - at) }));
        if (!comma) break;
        at = comma + 1;
    }
    out->has_budget = r.has_budget;
    return check_whole(&r);
}

/* --- a file ---------------------------------------------------------------------------- */

s2p_status s2a_variants_lines(const char *file, const char *text, size_t n, s2a_line *out,
                              int32_t *n_lines, s2p_error *error)
{
    int32_t number = 0;
    *n_lines = 0;
    for (const char *at = text, *end = text + n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        number++;
        const s2a_item line = trimmed(at, (size_t)(stop - at));
        at = stop < end ? stop + 1 : end;
        if (line.n == 0 || line.text[0] == '#') continue;
        if (line.n > MAX_LINE || memchr(line.text, '\0', line.n))
            return s2_fail(error, S2P_EFORMAT, "%.200s:%d is not text of a setting", file, number);
        if (*n_lines == S2A_MAX_SETTINGS)
            return s2_fail(error, S2P_ELIMIT, "%.200s has more than %d settings", file,
                           S2A_MAX_SETTINGS);
        out[(*n_lines)++] = (s2a_line){ line, number };
    }
    if (*n_lines == 0)
        return s2_fail(error, S2P_EFORMAT,
                       "%.200s contains no setting; write one per line, such as s2prune:grid=9",
                       file);
    return S2P_OK;
}
