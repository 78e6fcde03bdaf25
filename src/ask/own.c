/* own.c - methods of the user's own: opening them, asking them, whose fault a failure is. */
#include "ask/own.h"

#include "ask/plugin.h"
#include "ask/process.h"
#include "ask/selections.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_FILE ((size_t)1 << 30)
#define MAX_PIXELS ((size_t)1 << 32)
#define MAX_HELLO ((size_t)1 << 16)

struct s2a_own {
    char *text; /* as given, kind included */
    char *identity;
    s2p_method *method;
    s2a_sample sample;
    s2a_fault fault;

    s2a_selections *selections; /* file: */

    s2a_own_options options; /* exec: */
    s2a_process *process;    /* NULL: to be started */
    s2a_hello hello;
    int64_t n_requests;
    int32_t n_failures; /* in a row */

    s2p_method_function function; /* of a plug-in; else NULL */
    void *user;
};

static const char *name_of(const s2a_own *own) { return s2p_method_about(own->method)->name; }

static const char *rest_of(const s2a_own *own) { return own->text + 5; } /* "file:", "exec:" */

/* Give a failure of the sample its sentence. */
static s2p_status blame(s2a_own *own, s2p_status status, const char *what, s2p_error *error)
{
    own->fault = S2A_FAULT_SAMPLE;
    return s2_fail(error, status, "%s: %s", name_of(own), what);
}

/* Here and not only where every method is checked, so that the fault is known. */
static s2p_status check_kept(s2a_own *own, const s2p_view *view, s2p_grid grid, const int32_t *keep,
                             int32_t n, int32_t budget, s2p_error *error)
{
    const int32_t n_tokens = grid.rows * grid.cols;
    char why[160] = "";
    if (view->mode == S2P_MODE_DEFAULT ? n != budget : n < 1 || n > n_tokens)
        (void)snprintf(why, sizeof why,
                       "%d tokens for sample '%.60s', but the budget is %d; use --mode published "
                       "to keep its own counts",
                       n, own->sample.id, budget);
    unsigned char *seen = why[0] ? NULL : calloc((size_t)n_tokens, 1);
    if (!why[0] && !seen) return s2_fail_memory(error, (size_t)n_tokens, "a selection");
    for (int32_t i = 0; !why[0] && i < n; i++) {
        if (keep[i] < 0 || keep[i] >= n_tokens)
            (void)snprintf(why, sizeof why, "token %d for sample '%.60s', whose grid is %dx%d",
                           keep[i], own->sample.id, grid.rows, grid.cols);
        else if (seen[keep[i]]++)
            (void)snprintf(why, sizeof why, "token %d twice for sample '%.60s'", keep[i],
                           own->sample.id);
    }
    free(seen);
    return why[0] ? blame(own, S2P_EINVAL, why, error) : S2P_OK;
}

/* --- file: ----------------------------------------------------------------------------------- */

static s2p_status keep_by_file(const s2p_view *view, s2p_grid grid, int32_t *keep, int32_t *n_keep,
                               void *user, s2p_error *error)
{
    s2a_own *own = user;
    const s2a_sample *sample = &own->sample;
    const int32_t n_tokens = grid.rows * grid.cols, budget = *n_keep;
    const s2a_selection *line = s2a_selections_find(own->selections, sample->task, sample->id,
                                                    view->picture, view->part, budget);
    char why[240];
    if (!line) {
        (void)snprintf(why, sizeof why, "no line for sample '%.100s', picture %d%s, %d tokens",
                       sample->id, view->picture, view->part ? ", part 1" : "", budget);
        return blame(own, S2P_EINVAL, why, error);
    }
    if (line->kept[line->n_kept - 1] >= n_tokens) {
        (void)snprintf(why, sizeof why,
                       "line %d keeps token %d; the grid of sample '%.60s' is %dx%d", line->line,
                       line->kept[line->n_kept - 1], sample->id, grid.rows, grid.cols);
        return blame(own, S2P_EINVAL, why, error);
    }
    memcpy(keep, line->kept,
           (size_t)line->n_kept * sizeof *keep); /* all below n_tokens: they fit */
    *n_keep = line->n_kept;
    return check_kept(own, view, grid, keep, *n_keep, budget, error);
}

/* A name in the letters of methods: "Kept (2).jsonl" is "file:kept__2_.jsonl". */
static void make_name(const char *kind, const char *from, char out[64])
{
    size_t n = (size_t)snprintf(out, 64, "%s:", kind);
    for (; *from && n < 45; from++) {
        const char c = *from >= 'A' && *from <= 'Z' ? (char)(*from - 'A' + 'a') : *from;
        out[n++] = strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.+", c) ? c : '_';
    }
    out[n] = '\0';
}

static s2p_status make_method(s2a_own *own, const char *name, const s2a_hello *hello,
                              s2p_method_function function, s2p_error *error)
{
    s2p_method_definition d;
    s2p_method_definition_init(&d);
    d.name = name;
    d.source = own->text;
    if (strlen(own->text) > 200) d.source = "a long command";
    d.needs = hello->needs;
    d.after[0] = hello->after;
    d.draws = hello->draws;
    d.sees_question = hello->sees_question;
    d.prunes_cache = hello->prunes_cache;
    d.function = function;
    d.user = own;
    return s2p_method_make(&own->method, &d, error);
}

static s2p_status open_file(s2a_own *own, s2p_error *error)
{
    const char *path = rest_of(own);
    char name[64];
    uint8_t digest[32];
    s2_buffer bytes;
    s2_buffer_init(&bytes, MAX_FILE);
    s2p_status st = s2_file_read(path, &bytes, error);
    if (st == S2P_OK)
        st = s2a_selections_parse(bytes.data ? (const char *)bytes.data : "", bytes.size, path,
                                  &own->selections, error);
    own->identity = malloc(S2_SHA256_HEX + 8);
    if (st == S2P_OK && !own->identity) st = s2_fail_memory(error, S2_SHA256_HEX, path);
    if (st == S2P_OK) {
        s2_sha256(bytes.data, bytes.size, digest);
        memcpy(own->identity, "sha256:", 7);
        s2_sha256_hex(digest, own->identity + 7);
        make_name("file", s2_base_name(path), name);
        st = make_method(own, name,
                         &(s2a_hello){ .after = S2P_BEFORE_DECODER, .sees_question = true },
                         keep_by_file, error);
    }
    s2_buffer_free(&bytes);
    return st;
}

/* --- exec: ------------------------------------------------------------------------------------- */

/* A process that has said its hello. */
static s2p_status start_process(s2a_own *own, s2a_hello *hello, s2p_error *error)
{
    const s2a_process_options options = { .command = rest_of(own),
                                          .timeout_ms = own->options.timeout_ms,
                                          .note = own->options.note,
                                          .cancelled = own->options.cancelled,
                                          .user = own->options.user };
    s2_buffer line;
    s2_buffer_init(&line, 2 * MAX_HELLO);
    s2p_status st = s2a_process_start(&options, &own->process, error);
    if (st == S2P_OK) st = s2a_process_ask(own->process, NULL, 0, MAX_HELLO, &line, error);
    if (st == S2P_OK)
        st = s2a_hello_parse(line.data ? (const char *)line.data : "", line.size, hello, error);
    if (st != S2P_OK) {
        s2a_process_end(own->process);
        own->process = NULL;
    }
    s2_buffer_free(&line);
    return st;
}

static s2p_status start_again(s2a_own *own, s2p_error *error)
{
    s2a_hello hello;
    if (own->process) return S2P_OK;
    TRY(start_process(own, &hello, error));
    s2_buffer first, second;
    s2_buffer_init(&first, 4096);
    s2_buffer_init(&second, 4096);
    s2a_hello_write(&own->hello, &first);
    s2a_hello_write(&hello, &second);
    const bool is_same =
        first.size == second.size && memcmp(first.data, second.data, first.size) == 0;
    s2_buffer_free(&first);
    s2_buffer_free(&second);
    return is_same ? S2P_OK
                   : s2_fail(error, S2P_EFORMAT, "its greeting differs from the previous one");
}

static s2p_status request(s2a_own *own, const s2p_view *view, s2p_grid grid, int32_t *keep,
                          int32_t *n_keep, s2p_error *error)
{
    const s2a_exec_request r = { .task = own->sample.task,
                                 .id = own->sample.id,
                                 .number = ++own->n_requests,
                                 .view = view,
                                 .grid = grid,
                                 .n_keep = *n_keep,
                                 .needs = own->hello.needs };
    const size_t max = s2a_reply_limit(grid);
    s2a_piece pieces[S2A_MAX_PIECES];
    size_t n_pieces;
    s2_buffer line, pixels, reply;
    s2_buffer_init(&line, (size_t)1 << 20);
    s2_buffer_init(&pixels, MAX_PIXELS);
    s2_buffer_init(&reply, 2 * max);
    s2p_status st = s2a_request_write(&r, &line, &pixels, pieces, &n_pieces, error);
    if (st == S2P_OK) st = s2a_process_ask(own->process, pieces, n_pieces, max, &reply, error);
    if (st == S2P_OK)
        st = s2a_reply_parse(reply.data ? (const char *)reply.data : "", reply.size, grid, r.number,
                             keep, n_keep, error);
    s2_buffer_free(&line);
    s2_buffer_free(&pixels);
    s2_buffer_free(&reply);
    return st;
}

static s2p_status keep_by_process(const s2p_view *view, s2p_grid grid, int32_t *keep,
                                  int32_t *n_keep, void *user, s2p_error *error)
{
    s2a_own *own = user;
    const int32_t budget = *n_keep;
    s2p_error why = { S2P_OK, "" };
    s2p_status st = start_again(own, &why);
    if (st == S2P_OK) st = request(own, view, grid, keep, n_keep, &why);
    if (st == S2P_OK || st == S2P_EINVAL) own->n_failures = 0; /* it speaks, whatever it says */
    if (st == S2P_OK) return check_kept(own, view, grid, keep, *n_keep, budget, error);
    if (st == S2P_EINVAL) return blame(own, st, why.message, error);
    s2a_process_end(own->process);
    own->process = NULL;
    if (st == S2P_ECANCELLED || st == S2P_ENOMEM) return s2_fail(error, st, "%s", why.message);
    if (++own->n_failures < S2A_OWN_TRIES) return blame(own, st, why.message, error);
    own->n_failures = 0; /* asked again, it may be started again */
    own->fault = S2A_FAULT_OVER;
    return s2_fail(
        error, S2P_EFORMAT,
        "%s failed %d times in a row (fix it and repeat the command to continue); the last "
        "error: %s",
        name_of(own), S2A_OWN_TRIES, why.message);
}

static s2p_status open_process(s2a_own *own, s2p_error *error)
{
    s2p_error why = { S2P_OK, "" };
    char name[64];
    s2_buffer identity;
    if (!rest_of(own)[strspn(rest_of(own), " \t")])
        return s2_fail(error, S2P_EINVAL, "it needs a command, as in exec:python3 mine.py");
    s2p_status st = start_process(own, &own->hello, &why);
    if (st != S2P_OK) return s2_fail(error, st, "exec:%.120s: %s", rest_of(own), why.message);
    s2_buffer_init(&identity, (size_t)1 << 20);
    s2_buffer_printf(&identity, "command=%s hello=", rest_of(own));
    s2a_hello_write(&own->hello, &identity);
    s2_buffer_append(&identity, "", 1);
    if (identity.status != S2P_OK) {
        s2_buffer_free(&identity);
        return s2_fail(error, identity.status, "the command is too long");
    }
    own->identity = (char *)identity.data;
    make_name("exec", own->hello.name, name);
    return make_method(own, name, &own->hello, keep_by_process, error);
}

/* --- plug-ins ---------------------------------------------------------------------------------- */

static s2p_status keep_by_plugin(const s2p_view *view, s2p_grid grid, int32_t *keep,
                                 int32_t *n_keep, void *user, s2p_error *error)
{
    s2a_own *own = user;
    const int32_t budget = *n_keep;
    s2p_error why = { S2P_OK, "" };
    s2p_status st = own->function(view, grid, keep, n_keep, own->user, &why);
    why.message[sizeof why.message - 1] = '\0';
    if (st == S2P_OK) return check_kept(own, view, grid, keep, *n_keep, budget, error);
    if ((int)st < 0 || st > S2P_ECANCELLED) st = S2P_EINVAL;
    return blame(own, st, why.message[0] ? why.message : s2p_status_text(st), error);
}

static void close_own(s2a_own *own);

static bool has_name(const s2a_own *own, const char *text, size_t n)
{
    return own->function && strlen(name_of(own)) == n && strncasecmp(name_of(own), text, n) == 0;
}

static s2p_status add_method(void *user, const s2p_method_definition *definition,
                             const char *version, const char *hash, s2p_error *error)
{
    s2a_owns *owns = user;
    s2p_method_definition d = *definition;
    if (!d.function) return s2p_method_make(&(s2p_method *){ NULL }, &d, error); /* its sentence */
    if (owns->n == S2A_MAX_OWN)
        return s2_fail(error, S2P_ELIMIT, "more than %d methods of your own", S2A_MAX_OWN);
    s2a_own *own = calloc(1, sizeof *own);
    s2_buffer identity;
    s2_buffer_init(&identity, 1024);
    s2_buffer_printf(&identity, "sha256:%s version=%s", hash, version);
    s2_buffer_append(&identity, "", 1);
    if (!own || identity.status != S2P_OK) {
        free(own);
        s2_buffer_free(&identity);
        return s2_fail_memory(error, 1024, "a method");
    }
    own->identity = (char *)identity.data;
    own->sample = (s2a_sample){ "", "" };
    own->function = d.function;
    own->user = d.user;
    d.function = keep_by_plugin;
    d.user = own;
    s2p_status st = s2p_method_make(&own->method, &d, error);
    for (int32_t i = 0; st == S2P_OK && i < owns->n; i++)
        if (has_name(owns->own[i], name_of(own), strlen(name_of(own))))
            st =
                s2_fail(error, S2P_EINVAL, "two methods are called '%s'; rename one", name_of(own));
    if (st != S2P_OK) {
        close_own(own);
        return st;
    }
    owns->own[owns->n++] = own;
    return S2P_OK;
}

s2p_status s2a_owns_load(s2a_owns *owns, const char *source, const char *path, s2p_error *error)
{
    s2p_error why = { S2P_OK, "" };
    s2a_plugin *plugin;
    for (int32_t i = 0; i < owns->n_plugins; i++)
        if (strcmp(s2a_plugin_path(owns->plugin[i]), path) == 0) return S2P_OK;
    if (owns->n_plugins == S2A_MAX_PLUGINS)
        return s2_fail(error, S2P_ELIMIT, "%s: more than %d plug-ins", source, S2A_MAX_PLUGINS);
    const s2p_status st = s2a_plugin_load(path, add_method, owns, &plugin, &why);
    if (plugin) owns->plugin[owns->n_plugins++] = plugin; /* closed with the methods it added */
    return st == S2P_OK ? st : s2_fail(error, st, "%s: %s", source, why.message);
}

/* --- all of a command ---------------------------------------------------------------------------- */

static void close_own(s2a_own *own)
{
    if (!own) return;
    s2a_process_end(own->process);
    s2a_selections_free(own->selections);
    s2p_method_free(own->method);
    free(own->identity);
    free(own->text);
    free(own);
}

s2p_status s2a_owns_open(s2a_owns *owns, const char *source, const char *text, size_t n,
                         s2a_own **out, s2p_error *error)
{
    s2p_error why = { S2P_OK, "" };
    *out = NULL;
    for (int32_t i = 0; i < owns->n && !*out; i++)
        if (has_name(owns->own[i], text, n) ||
            (owns->own[i]->text && strlen(owns->own[i]->text) == n &&
             memcmp(owns->own[i]->text, text, n) == 0))
            *out = owns->own[i];
    if (*out) return S2P_OK;
    const bool is_file = n > 5 && strncasecmp(text, "file:", 5) == 0;
    if (!is_file && (n < 5 || strncasecmp(text, "exec:", 5) != 0))
        return s2_fail(error, S2P_EINVAL, "%s '%.*s' needs a name: file:PATH or exec:COMMAND",
                       source, n < 60 ? (int)n : 60, text);
    if (owns->n == S2A_MAX_OWN)
        return s2_fail(error, S2P_ELIMIT, "%s: more than %d methods of your own", source,
                       S2A_MAX_OWN);
    s2a_own *own = calloc(1, sizeof *own);
    if (own) own->text = calloc(1, n + 1);
    if (!own || !own->text) {
        free(own);
        return s2_fail_memory(error, n, "a method");
    }
    memcpy(own->text, text, n);
    own->options = owns->options;
    own->sample = (s2a_sample){ "", "" };
    s2p_status st = is_file ? open_file(own, &why) : open_process(own, &why);
    for (int32_t i = 0; st == S2P_OK && i < owns->n; i++)
        if (strcmp(name_of(owns->own[i]), name_of(own)) == 0)
            st = s2_fail(&why, S2P_EINVAL, "two methods are called '%s'; rename one", name_of(own));
    if (st != S2P_OK) {
        close_own(own);
        return s2_fail(error, st, "%s: %s", source, why.message);
    }
    *out = owns->own[owns->n++] = own;
    return S2P_OK;
}

static s2p_status use(void *context, const char *source, const char *text, size_t n,
                      s2a_setting *setting, s2p_error *error)
{
    s2a_own *own;
    TRY(s2a_owns_open(context, source, text, n, &own, error));
    s2a_setting_use_own(setting, own, own->method);
    return S2P_OK;
}

static bool knows(void *context, const char *text, size_t n)
{
    const s2a_owns *owns = context;
    for (int32_t i = 0; i < owns->n; i++)
        if (has_name(owns->own[i], text, n)) return true;
    return !owns->plugins_only && s2a_is_own(text, n);
}

s2a_own_opener s2a_owns_opener(s2a_owns *owns)
{
    return (s2a_own_opener){ owns ? knows : NULL, owns ? use : NULL, owns };
}

void s2a_owns_close(s2a_owns *owns)
{
    for (int32_t i = 0; i < owns->n; i++) close_own(owns->own[i]);
    for (int32_t i = 0; i < owns->n_plugins; i++) s2a_plugin_close(owns->plugin[i]);
    owns->n = owns->n_plugins = 0;
}

const s2p_method *s2a_own_method(const s2a_own *own) { return own->method; }

const char *s2a_own_identity(const s2a_own *own) { return own->identity; }

s2p_status s2a_own_check(const s2a_own *own, const s2a_setting *setting, s2p_error *error)
{
    int32_t other;
    if (own->function) return S2P_OK; /* it is shown which tokens entered the tower */
    if (setting->has_before)
        return s2_fail(
            error, S2P_EUNSUPPORTED,
            "methods 'file:' and 'exec:' choose among all tokens of a picture; leave out "
            "--before-tower");
    if (!own->selections || setting->published || setting->budget.tokens < 1 ||
        s2a_selections_have(own->selections, setting->budget.tokens, &other))
        return S2P_OK;
    return s2_fail(
        error, S2P_EBUDGET,
        "no line of %.200s keeps %d tokens (the first keeps %d): give that budget, or keep "
        "its own counts with --mode published",
        rest_of(own), setting->budget.tokens, other);
}

void s2a_own_begin(s2a_own *own, const s2a_sample *sample)
{
    own->fault = S2A_FAULT_NONE;
    own->sample = sample ? *sample : (s2a_sample){ "", "" };
    if (!own->sample.task) own->sample.task = "";
    if (!own->sample.id) own->sample.id = "";
}

s2a_fault s2a_own_fault(const s2a_own *own) { return own->fault; }
