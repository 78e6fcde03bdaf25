/* options.c - parse arguments and environment against a command's table.
 *
 * Every value, wherever it came from, goes through the same s2_option_set(), so a default in the
 * table, a flag and an environment variable obey the same grammar and range. `source` is the word
 * the sentence opens with: "--grid" or "S2PRUNE_GRID".
 */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#define ENV_CAPACITY 64u

/* --- names ---------------------------------------------------------------- */

static const char *option_name(const void *context, size_t index)
{
    const s2_option *options = ((const s2_command *)context)->options;
    for (size_t i = 0; i <= index; i++)
        if (!options[i].name) return NULL;
    return options[index].name;
}

static const char *choice_name(const void *context, size_t index)
{
    return ((const s2_option *)context)->choice(index);
}

int32_t s2_choice_index(const char *(*choice)(size_t index), const char *name)
{
    const char *at;
    for (size_t i = 0; (at = choice(i)); i++)
        if (strcasecmp(at, name) == 0) return (int32_t)i;
    return -1;
}

void s2_env_name(const char *prefix, const s2_option *option, char *out, size_t capacity)
{
    size_t n = 0;
    for (; prefix[n] && n + 1 < capacity; n++) out[n] = prefix[n];
    for (const char *c = option->name + 2; *c && n + 1 < capacity; c++)
        out[n++] = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    out[n] = '\0';
}

/* Is text[0..n) one of the words of `names`, which may be NULL? */
static bool is_among(const char *names, const char *text, size_t n)
{
    while (names && *names) {
        const size_t word = strcspn(names, " ");
        if (word == n && memcmp(names, text, n) == 0) return true;
        names += word + strspn(names + word, " ");
    }
    return false;
}

/* The row named by text[0..n), NULL when there is none. */
static const s2_option *find(const s2_command *command, const char *text, size_t n)
{
    for (const s2_option *o = command->options; o->name; o++) {
        if (is_among(o->name, text, n) || is_among(o->letters, text, n) ||
            is_among(o->also, text, n))
            return o;
    }
    return NULL;
}

static bool is_help(const char *text)
{
    return strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0;
}

/* --- values --------------------------------------------------------------- */

/* A whole decimal number and nothing else. */
static bool read_wide(const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (!isdigit((unsigned char)*digits)) return false;
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    *out = value;
    return *end == '\0' && errno == 0;
}

/* "-1" draws one, as llama.cpp does. */
static bool read_seed(const char *text, uint64_t *out)
{
    if (strcmp(text, "-1") == 0) {
        uint32_t drawn = 0;
        const bool is_drawn = getrandom(&drawn, sizeof drawn, 0) == (ssize_t)sizeof drawn;
        *out = drawn;
        return is_drawn;
    }
    if (!isdigit((unsigned char)*text)) return false;
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return *end == '\0' && errno == 0;
}

static bool read_real(const char *text, double *out)
{
    if (!isdigit((unsigned char)text[strspn(text, "+-.")])) return false; /* no spaces, no "inf" */
    char *end;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out);
}

static s2p_status fail_number(const s2_option *o, const char *source, const char *text,
                              const char *kind, s2p_error *error)
{
    if (o->min_word && o->max_word)
        return s2_fail(error, S2P_EINVAL, "%s '%.40s' is not %s from %.15g to %.15g, %s or %s",
                       source, text, kind, o->min, o->max, o->min_word, o->max_word);
    if (o->min_word) /* stands for the lowest number, which nobody types */
        return s2_fail(error, S2P_EINVAL, "%s '%.40s' is not %s from %.15g to %.15g, or %s", source,
                       text, kind, o->min + 1, o->max, o->min_word);
    return s2_fail(error, S2P_EINVAL, "%s '%.40s' is not %s from %.15g to %.15g", source, text,
                   kind, o->min, o->max);
}

static s2p_status set_integer(const s2_option *o, const char *source, const char *text, void *field,
                              s2p_error *error)
{
    int64_t value;
    if (o->min_word && strcmp(text, o->min_word) == 0)
        value = (int64_t)o->min;
    else if (o->max_word && strcmp(text, o->max_word) == 0)
        value = (int64_t)o->max;
    else if (!read_wide(text, &value) || (double)value < o->min || (double)value > o->max)
        return fail_number(o, source, text, "a whole number", error);
    if (o->type == S2_OPTION_INT)
        *(int32_t *)field = (int32_t)value; /* rows of this type have a range within int32 */
    else
        *(int64_t *)field = value;
    return S2P_OK;
}

/* What llama.cpp takes for on and off. */
static const char *read_switch(const char *text)
{
    const size_t n = strlen(text);
    if (is_among("1 true enabled", text, n)) return "on";
    return is_among("0 false disabled", text, n) ? "off" : text;
}

static s2p_status set_choice(const s2_option *o, const char *source, const char *text, void *field,
                             s2p_error *error)
{
    if (o->bare) text = read_switch(text);
    const int32_t index = s2_choice_index(o->choice, text);
    *(int32_t *)field = index;
    if (index >= 0) return S2P_OK;
    char names[400] = ""; /* a sentence has room for all methods */
    const char *name;
    for (size_t i = 0, n = 0; (name = o->choice(i)) && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i > 0 ? ", " : "", name);
    const char *near = s2_suggest(text, choice_name, o);
    if (near)
        return s2_fail(error, S2P_EINVAL, "%s '%.40s' is not one of %s (did you mean '%s'?)",
                       source, text, names, near);
    return s2_fail(error, S2P_EINVAL, "%s '%.40s' is not one of %s", source, text, names);
}

static s2p_status set_size(const s2_option *o, const char *source, const char *text, s2_pair *field,
                           s2p_error *error)
{
    char first[16] = "";
    const size_t cut = strcspn(text, "xX");
    int64_t a = -1, b = -1;
    if (cut < sizeof first) memcpy(first, text, cut);
    if (!text[cut] || cut >= sizeof first || !read_wide(first, &a) ||
        !read_wide(text + cut + 1, &b))
        return s2_fail(error, S2P_EINVAL,
                       "%s '%.40s' is not two whole numbers joined by x, like %s", source, text,
                       o->fallback ? o->fallback : "24x24");
    if ((double)a < o->min || (double)a > o->max || (double)b < o->min || (double)b > o->max)
        return s2_fail(error, S2P_EINVAL,
                       "%s '%.40s' is out of range: both sides from %.15g to %.15g", source, text,
                       o->min, o->max);
    *field = (s2_pair){ (int32_t)a, (int32_t)b };
    return S2P_OK;
}

/* "1", "on"; only the environment gives a flag a value. */
static s2p_status set_flag(const char *source, const char *text, bool *field, s2p_error *error)
{
    static const char *const words[] = { "1", "on", "true", "yes", "0", "off", "false", "no" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) != 0) continue;
        *field = i < 4;
        return S2P_OK;
    }
    return s2_fail(error, S2P_EINVAL, "%s '%.40s' is neither on nor off", source, text);
}

/* "a.jpg,b.jpg": the parts into the list's own memory. */
static s2p_status add_parts(const char *source, const char *text, s2_list *list, s2p_error *error)
{
    const size_t n_text = strlen(text) + 1;
    if (n_text > sizeof list->part - list->n_part)
        return s2_fail(error, S2P_EINVAL, "%s is too long for one option: repeat it", source);
    char *part = list->part + list->n_part;
    memcpy(part, text, n_text);
    list->n_part += n_text;
    while (part) {
        char *comma = strchr(part, ',');
        if (comma) *comma++ = '\0';
        if (part[0] == '\0')
            return s2_fail(error, S2P_EINVAL, "%s '%.200s' has an empty name", source, text);
        if (list->n == S2_LIST_MAX)
            return s2_fail(error, S2P_EINVAL, "%s is given more than %d times", source,
                           S2_LIST_MAX);
        list->item[list->n++] = part;
        part = comma;
    }
    return S2P_OK;
}

static s2p_status add_item(const s2_option *o, const char *source, const char *text, s2_list *list,
                           s2p_error *error)
{
    if (o && o->has_commas && strchr(text, ',') && access(text, F_OK) != 0)
        return add_parts(source, text, list, error);
    if (list->n == S2_LIST_MAX)
        return s2_fail(error, S2P_EINVAL, "%s is given more than %d times", source, S2_LIST_MAX);
    list->item[list->n++] = text;
    return S2P_OK;
}

s2p_status s2_option_set(const s2_option *o, const char *source, const char *text, void *values,
                         s2p_error *error)
{
    void *field = (char *)values + o->offset;
    switch (o->type) {
    case S2_OPTION_FLAG:
        return set_flag(source, text, field, error);
    case S2_OPTION_INT:
    case S2_OPTION_WIDE:
        return set_integer(o, source, text, field, error);
    case S2_OPTION_CHOICE:
        return set_choice(o, source, text, field, error);
    case S2_OPTION_LIST:
        return add_item(o, source, text, field, error);
    case S2_OPTION_SIZE:
        return set_size(o, source, text, field, error);
    case S2_OPTION_BUDGET:
        return s2a_budget_read(source, text, strlen(text), (int32_t)o->max, field, error);
    case S2_OPTION_STEPS:
        return s2a_budget_read_steps(source, text, strlen(text), (int32_t)o->max, field, error);
    case S2_OPTION_SEED:
        if (read_seed(text, field)) return S2P_OK;
        return s2_fail(error, S2P_EINVAL, "%s '%.40s' is not a whole number from 0 to 2^64-1",
                       source, text);
    case S2_OPTION_REAL: {
        double *real = field;
        if (read_real(text, real) && *real >= o->min && *real <= o->max) return S2P_OK;
        return fail_number(o, source, text, "a number", error);
    }
    case S2_OPTION_TEXT:
    case S2_OPTION_FILE:
        if (!*text) return s2_fail(error, S2P_EINVAL, "%s is empty; it needs %s", source, o->label);
        *(const char **)field = text;
        return S2P_OK;
    }
    return S2P_EINVAL;
}

/* --- where values come from ----------------------------------------------- */

static s2p_status set_defaults(const s2_command *command, void *values, s2p_error *error)
{
    memset(values, 0, command->size);
    for (const s2_option *o = command->options; o->name; o++) {
        s2p_status st =
            o->fallback ? s2_option_set(o, o->name, o->fallback, values, error) : S2P_OK;
        if (st != S2P_OK) return st;
    }
    return S2P_OK;
}

static void add_note(s2_parsed *parsed, const char *what, const char *about)
{
    const size_t n = strlen(parsed->note);
    (void)snprintf(parsed->note + n, sizeof parsed->note - n, "%.250s%.250s\n", what, about);
}

/* What the command line left open. A variable behind a flag is not even read. One of llama.cpp's
 * was set for another program: what it means there and not here is no reason to stop. */
static s2p_status set_from_env(const s2_command *command, s2_env env, void *values, bool *is_set,
                               s2_parsed *parsed, s2p_error *error)
{
    for (const s2_option *o = command->options; o->name; o++) {
        bool *set = &is_set[o - command->options];
        for (int32_t p = 0; p < 3 && !*set; p++) {
            char source[ENV_CAPACITY];
            if (p == 1 && !o->llama) continue;
            if (p == 1)
                (void)snprintf(source, sizeof source, "LLAMA_ARG_%s", o->llama);
            else
                s2_env_name(p == 0 ? "S2PRUNE_" : "LLAMA_ARG_", o, source, sizeof source);
            const char *text = env(source);
            if (!text || !*text) continue; /* exported but empty: as if not there */
            s2p_error why = { S2P_OK, "" };
            const s2p_status st = s2_option_set(o, source, text, values, &why);
            if (st != S2P_OK && p == 0) {
                if (error) *error = why;
                return st;
            }
            *set = st == S2P_OK;
            if (*set) continue;
            add_note(parsed, why.message, "; ignored");
            if (o->fallback) TRY(s2_option_set(o, o->name, o->fallback, values, error));
        }
    }
    return S2P_OK;
}

/* --profile, as if what it says stood on the command line. One that the environment names gives way. */
static s2p_status set_from_profile(const s2_command *command, s2_env env, void *values,
                                   bool *is_set, s2_parsed *parsed, s2p_error *error)
{
    const s2_option *own = find(command, "--profile", strlen("--profile"));
    if (!own || own->role != S2_FILE_NONE) return S2P_OK; /* not there, or where it is written */
    char source[ENV_CAPACITY];
    const bool is_asked = is_set[own - command->options];
    s2_env_name("S2PRUNE_", own, source, sizeof source);
    const char *path =
        is_asked ? *(const char *const *)((const char *)values + own->offset) : env(source);
    if (!path || !*path) return S2P_OK;
    TRY(s2_profile_values_read(path, &parsed->profile, error));
    const bool is_table = find(command, "--setting", strlen("--setting")) != NULL;
    for (int i = is_table ? 0 : 1; i < (is_table ? 1 : S2_PROFILE_ROWS); i++) {
        const char *name = parsed->profile.name[i], *text = parsed->profile.value[i];
        const s2_option *o = find(command, name, strlen(name));
        bool *set = o ? &is_set[o - command->options] : NULL;
        if (set && *set && is_asked && !is_table)
            return s2_fail(error, S2P_EINVAL, "%s cannot be combined with --profile", name);
        if (!set || !text[0] || (*set && !is_table)) continue;
        *set = true;
        TRY(s2_option_set(o, "--profile", text, values, error));
    }
    return S2P_OK;
}

/* --- options of other programs -------------------------------------------- */

static bool is_switch(const char *text)
{
    static const char words[] = "on off auto 0 1 true false enabled disabled";
    return text && is_among(words, text, strlen(text));
}

static const s2_foreign *find_foreign(const s2_command *command, const char *text, size_t n)
{
    for (const s2_foreign *f = command->foreign; f && f->names; f++)
        if (is_among(f->names, text, n)) return f;
    return NULL;
}

/* "--color, --jinja": those that were given and change nothing. */
static s2p_status take_foreign(const s2_foreign *f, int argc, char *const *argv, int *at,
                               char ignored[256], s2p_error *error)
{
    const char *text = argv[*at], *next = *at + 1 < argc ? argv[*at + 1] : NULL;
    const int n = (int)strcspn(text, "=");
    if (f->refusal) return s2_fail(error, S2P_EINVAL, "%.*s: %s", n, text, f->refusal);
    const size_t used = strlen(ignored);
    (void)snprintf(ignored + used, 256 - used, "%s%.*s", used > 0 ? ", " : "", n, text);
    if (text[n] == '=') return S2P_OK;
    if (f->takes == S2_TAKES_VALUE && !next)
        return s2_fail(error, S2P_EINVAL, "%.*s needs a value", n, text);
    if (f->takes == S2_TAKES_VALUE || (f->takes == S2_TAKES_SWITCH && is_switch(next))) (*at)++;
    return S2P_OK;
}

static s2p_status fail_unknown(const s2_command *command, const char *text, size_t n,
                               s2p_error *error)
{
    char typed[64] = "";
    memcpy(typed, text, n < sizeof typed ? n : sizeof typed - 1);
    const char *near = s2_suggest(typed, option_name, command);
    if (near)
        return s2_fail(error, S2P_EINVAL, "unknown option '%s' (did you mean '%s'?)", typed, near);
    return s2_fail(error, S2P_EINVAL, "unknown option '%s'; see 's2prune %s --help'", typed,
                   command->name);
}

/* "-o m.gguf": a file where a form is expected. The option that writes such files, or NULL. */
static const s2_option *find_writer(const s2_command *command, const char *file)
{
    const char *dot = strrchr(file, '.');
    for (const s2_option *o = command->options; dot && o->name; o++)
        if (o->role == S2_FILE_OUTPUT && o->writes && is_among(o->writes, dot, strlen(dot)))
            return o;
    return NULL;
}

static s2p_status set_given(const s2_command *command, const s2_option *o, const char *text,
                            void *values, s2p_error *error)
{
    const s2p_status st = s2_option_set(o, o->name, text, values, error);
    const s2_option *writer =
        st != S2P_OK && strcmp(o->name, "--output") == 0 ? find_writer(command, text) : NULL;
    if (!writer) return st;
    return s2_fail(error, S2P_EINVAL, "%s selects the output format; name the file with %s %.60s",
                   o->letters ? o->letters : o->name, writer->name, text);
}

/* One option and, unless it is a flag or carries "=value", the argument after it. */
static s2p_status take_option(const s2_command *command, int argc, char *const *argv, int *at,
                              void *values, bool *is_set, s2p_error *error)
{
    const char *text = argv[*at];
    const size_t n = strncmp(text, "--", 2) == 0 ? strcspn(text, "=") : strlen(text);
    const s2_option *o = find(command, text, n);
    if (!o) return fail_unknown(command, text, n, error);
    is_set[o - command->options] = true;

    const bool is_joined = text[n] == '=';
    if (o->type == S2_OPTION_FLAG) {
        if (is_joined) return s2_fail(error, S2P_EINVAL, "%s takes no value", o->name);
        return s2_option_set(o, o->name, "on", values, error);
    }
    if (is_joined) return set_given(command, o, text + n + 1, values, error);
    const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
    if (o->bare && !is_switch(next)) return s2_option_set(o, o->name, o->bare, values, error);
    if (!next || strcmp(next, "--") == 0 || is_help(next) || find(command, next, strlen(next)))
        return s2_fail(error, S2P_EINVAL, "%s needs a value: %s %s", o->name, o->name, o->label);
    (*at)++;
    return set_given(command, o, next, values, error);
}

static s2p_status take_operand(const s2_command *command, const char *text, void *values,
                               s2p_error *error)
{
    if (command->operand)
        return add_item(NULL, command->operand, text,
                        (s2_list *)((char *)values + command->operand_offset), error);
    for (const s2_option *o = command->options; o->name; o++)
        if (o->is_required)
            return s2_fail(error, S2P_EINVAL,
                           "unexpected argument '%.60s' (did you mean '%s %.60s'?)", text,
                           o->letters ? o->letters : o->name, text);
    return s2_fail(error, S2P_EINVAL, "unexpected argument '%.60s'; see 's2prune %s --help'", text,
                   command->name);
}

static s2p_status check_complete(const s2_command *command, const void *values, const bool *is_set,
                                 s2p_error *error)
{
    for (const s2_option *o = command->options; o->name; o++)
        if (o->is_required && !is_set[o - command->options])
            return s2_fail(error, S2P_EINVAL, "%s needs %s %s; see 's2prune %s --help'",
                           command->name, o->letters ? o->letters : o->name, o->label,
                           command->name);
    if (!command->operand) return S2P_OK;
    const s2_list *list = (const s2_list *)((const char *)values + command->operand_offset);
    if (list->n < command->min_operands)
        return s2_fail(error, S2P_EINVAL, "%s needs %s; see 's2prune %s --help'", command->name,
                       command->operand, command->name);
    return S2P_OK;
}

s2p_status s2_options_parse(const s2_command *command, int argc, char *const *argv, s2_env env,
                            void *values, s2_parsed *parsed, s2p_error *error)
{
    *parsed = (s2_parsed){ .help = false };
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help(argv[i])) {
            parsed->help = true;
            return S2P_OK;
        }

    size_t n_options = 0;
    while (command->options[n_options].name) n_options++;
    bool *is_set = calloc(n_options + 1, sizeof *is_set);
    if (!is_set) return s2_fail_memory(error, n_options + 1, "the options");

    s2p_status st = set_defaults(command, values, error);
    bool only_operands = false;
    char ignored[256] = "";
    for (int i = 0; i < argc && st == S2P_OK; i++) {
        const char *text = argv[i];
        const bool is_option = !only_operands && text[0] == '-' && text[1] != '\0';
        const size_t n = strcspn(text, "=");
        const s2_foreign *f = is_option ? find_foreign(command, text, n) : NULL;
        if (is_option && strcmp(text, "--") == 0)
            only_operands = true;
        else if (f && !find(command, text, n))
            st = take_foreign(f, argc, argv, &i, ignored, error);
        else if (is_option)
            st = take_option(command, argc, argv, &i, values, is_set, error);
        else
            st = take_operand(command, text, values, error);
    }
    if (st == S2P_OK) st = set_from_profile(command, env, values, is_set, parsed, error);
    if (st == S2P_OK) st = set_from_env(command, env, values, is_set, parsed, error);
    if (st == S2P_OK) st = check_complete(command, values, is_set, error);
    if (ignored[0])
        add_note(parsed, ignored, ": accepted for compatibility with llama.cpp, but has no effect");
    const s2_option *quiet = find(command, "--quiet", strlen("--quiet"));
    parsed->is_quiet = quiet && is_set[quiet - command->options];
    if (parsed->is_quiet || command->repeats) parsed->note[0] = '\0';
    free(is_set);
    return st;
}
