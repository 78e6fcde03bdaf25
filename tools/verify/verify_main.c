/* verify_main.c - s2prune-verify: every golden file below some folders, checked against this build.
 *
 * `s2prune verify` becomes this program, with the same words; the table of options is s2prune's.
 *
 * Files are found by walking, in the order of their names, and told apart by what they hold
 * (golden.c). Folders of a kind this version has no check for are listed as skipped, so that a pass
 * never hides one.
 */
#define _XOPEN_SOURCE 700 /* realpath */

#include "program.h"
#include "report.h"
#include "base/path.h"
#include "verify_options.h"
#include "verify/golden.h"
#include "verify/checks.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 16
#define PATH_CAPACITY 4096

typedef struct tally {
    const s2_verify_options *options;
    s2_where where;
    s2_buffer *text;
    json_t *files; /* for -o json */
    size_t n_passed, n_failed, n_skipped;
    bool has_difference; /* at least one failure is not just a malformed file */
} tally;

/* --- one line per file ---------------------------------------------------- */

static void add_file(tally *t, const char *shown, const char *status, size_t n_cases,
                     const char *detail, size_t n_detail)
{
    json_t *lines = json_array();
    for (size_t i = 0; i < n_detail;) {
        const char *end = memchr(detail + i, '\n', n_detail - i);
        const size_t n = end ? (size_t)(end - detail) - i : n_detail - i;
        json_array_append_new(lines, json_stringn(detail + i, n));
        i += n + 1;
    }
    json_array_append_new(t->files,
                          json_pack("{s:s, s:s, s:I, s:o}", "file", shown, "status", status,
                                    "cases", (json_int_t)n_cases, "notes", lines));
}

static void skip_file(tally *t, const char *shown, const char *why)
{
    t->n_skipped++;
    s2_buffer_printf(t->text, "skip %-36s %s\n", shown, why);
    add_file(t, shown, "skipped", 0, why, strlen(why));
}

static void fail_file(tally *t, const char *shown, const char *why)
{
    t->n_failed++;
    s2_buffer_printf(t->text, "FAIL %-36s malformed\n     %s\n", shown, why);
    add_file(t, shown, "failed", 0, why, strlen(why));
}

static void settle_file(tally *t, const char *shown, const s2_verdict *verdict)
{
    const bool passed = verdict->n_failed == 0;
    if (passed)
        s2_buffer_printf(t->text, "ok   %-36s %zu %s\n", shown, verdict->n_cases,
                         verdict->n_cases == 1 ? "case" : "cases");
    else
        s2_buffer_printf(t->text, "FAIL %-36s %zu of %zu cases\n", shown, verdict->n_failed,
                         verdict->n_cases);
    const char *line = (const char *)verdict->lines.data;
    for (size_t left = verdict->lines.size; left > 0;) {
        const char *end = memchr(line, '\n', left);
        const size_t n = end ? (size_t)(end - line) + 1 : left;
        s2_buffer_printf(t->text, "     %.*s", (int)n, line);
        line += n;
        left -= n;
    }
    t->n_passed += passed;
    t->n_failed += !passed;
    t->has_difference |= verdict->has_difference;
    add_file(t, shown, passed ? "ok" : "failed", verdict->n_cases,
             (const char *)verdict->lines.data, verdict->lines.size);
}

/* --- which files ---------------------------------------------------------- */

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

/* `word` is a folder in the path, or the file's name without its suffix. */
static bool names_it(const char *path, const char *word)
{
    const size_t n = strlen(word);
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        const size_t length = strcspn(part, "/");
        const bool is_last = part[length] == '\0';
        if (strncmp(part, word, n) != 0) continue;
        if (length == n || (is_last && part[n] == '.' && !strchr(part + n + 1, '.'))) return true;
    }
    return false;
}

static bool is_wanted(const tally *t, const char *shown, const s2_golden_kind *kind)
{
    const char *only = t->options->only;
    if (!only || names_it(shown, only)) return true;
    return kind && (strcmp(kind->name, only) == 0 || strcmp(kind->family, only) == 0);
}

/* Paths in a method's cases start at the parent of the folder the cases are in. */
static void parent_of_folder(const char *path, char out[PATH_CAPACITY])
{
    const size_t folder = (size_t)(s2_base_name(path) - path);
    (void)snprintf(out, PATH_CAPACITY, "%.*s..", (int)folder, path);
}

/* Methods whose published lists have no check yet: told by their cases' shape, a list of objects.
 */
static void skip_unknown(tally *t, const char *shown)
{
    if (is_wanted(t, shown, NULL)) skip_file(t, shown, "no check for this kind in this version");
}

/* A run of a whole model; the model stands beside it. */
static void visit_model_run(tally *t, const char *path, const char *shown)
{
    const bool is_chat = s2_is_hf_chat(path);
    if ((!is_chat && !s2_is_hf_golden(path)) || !is_wanted(t, shown, NULL)) return;
    s2_verdict verdict = { .where = &t->where };
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = is_chat ? s2_check_hf_chat(path, t->options->arrays, &verdict, &error)
                          : s2_is_before_tower_golden(path)
                              ? s2_check_before_tower(path, t->options->arrays, &verdict, &error)
                              : s2_check_hf(path, t->options->arrays, &verdict, &error);
    if (st == S2P_OK)
        settle_file(t, shown, &verdict);
    else
        skip_file(t, shown, error.message);
    s2_verdict_free(&verdict);
}

static void visit_file(tally *t, const char *path, const char *shown)
{
    if (has_suffix(path, ".gguf") || s2_is_hf_chat(path)) {
        visit_model_run(t, path, shown);
        return;
    }
    const bool is_picture = s2_golden_is_picture(path);
    const bool is_vit = s2_golden_is_vit(path);
    const bool is_text = !is_picture && !is_vit && s2_golden_is_tokenizer(path);
    const bool is_structured = s2_golden_is_structured(path);
    if (!is_picture && !is_vit && !is_text && !has_suffix(path, ".json") &&
        !has_suffix(path, ".txt"))
        return;
    s2_verdict verdict = { .where = &t->where };
    if (is_picture || is_vit || is_text || is_structured) {
        if (!is_wanted(t, shown, NULL)) return;
        if (is_picture)
            s2_golden_check_picture(path, &verdict);
        else if (is_vit)
            s2_golden_check_vit(path, &verdict);
        else if (is_structured)
            s2_golden_check_structured(path, &verdict);
        else
            s2_golden_check_tokenizer(path, t->options->arrays, &verdict);
        settle_file(t, shown, &verdict);
        s2_verdict_free(&verdict);
        return;
    }
    s2_golden golden;
    s2p_error error = { S2P_OK, "" };
    if (s2_golden_read(path, &golden, &error) != S2P_OK) {
        if (is_wanted(t, shown, NULL)) fail_file(t, shown, error.message);
        return;
    }
    if (!golden.kind) {
        skip_unknown(t, shown);
    } else if (is_wanted(t, shown, golden.kind)) {
        char beside[PATH_CAPACITY];
        parent_of_folder(path, beside);
        const char *given = t->options->arrays; /* where it lacks a file, look beside the cases */
        s2_golden_check(&golden,
                        (const char *const[]){ given ? given : beside, given ? beside : NULL },
                        &verdict);
        settle_file(t, shown, &verdict);
        s2_verdict_free(&verdict);
    }
    s2_golden_free(&golden);
}

/* Folders beside goldens that hold none: the checkpoint they were made from, and the scripts. */
static bool is_aside(const char *name)
{
    return strcmp(name, "model") == 0 || strcmp(name, "scripts") == 0;
}

static void visit_path(tally *t, const char *path, const char *shown, int depth);

static int is_listed(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void visit_folder(tally *t, const char *path, const char *shown, int depth)
{
    struct dirent **entries = NULL;
    if (depth > 0 && is_aside(s2_base_name(shown))) return;
    const int n = depth < MAX_DEPTH ? scandir(path, &entries, is_listed, alphasort) : -1;
    if (n < 0) fail_file(t, shown, depth < MAX_DEPTH ? strerror(errno) : "folders nested too deep");
    for (int i = 0; i < n; i++) {
        char child[PATH_CAPACITY], child_shown[PATH_CAPACITY];
        const char *name = entries[i]->d_name;
        const bool fits =
            snprintf(child, sizeof child, "%s/%s", path, name) < PATH_CAPACITY &&
            snprintf(child_shown, sizeof child_shown, "%s/%s", shown, name) < PATH_CAPACITY;
        if (fits) visit_path(t, child, child_shown, depth + 1);
        free(entries[i]);
    }
    free(entries);
}

static void visit_path(tally *t, const char *path, const char *shown, int depth)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        fail_file(t, shown, strerror(errno));
        return;
    }
    if (S_ISDIR(info.st_mode))
        visit_folder(t, path, shown, depth);
    else if (S_ISREG(info.st_mode))
        visit_file(t, path, shown);
}

/* A folder given as "x/algo/" is shown as "algo", one given as "." by its real name. */
static s2p_status visit_root(tally *t, const char *folder, s2p_error *error)
{
    char *real = realpath(folder, NULL);
    if (!real) return s2_fail(error, S2P_EIO, "cannot open '%.100s': %s", folder, strerror(errno));
    visit_path(t, real, s2_base_name(real), 0);
    free(real);
    return S2P_OK;
}

/* --- the command ---------------------------------------------------------- */

static int print_result(const tally *t)
{
    if (t->options->output == S2_OUTPUT_TEXT) {
        s2_buffer_printf(t->text, "%zu passed, %zu failed", t->n_passed, t->n_failed);
        if (t->n_skipped) s2_buffer_printf(t->text, ", %zu skipped", t->n_skipped);
        s2_buffer_printf(t->text, "\n");
        return s2_report_print(t->text);
    }
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    json_t *root = json_pack("{s:s, s:O, s:I, s:I, s:I}", "schema", "s2prune.verify/1", "files",
                             t->files, "passed", (json_int_t)t->n_passed, "failed",
                             (json_int_t)t->n_failed, "skipped", (json_int_t)t->n_skipped);
    if (!root || s2_json_write(root, 17, &out) != S2P_OK) out.status = S2P_ENOMEM;
    s2_buffer_append(&out, "\n", 1);
    json_decref(root);
    const int code = s2_report_print(&out);
    s2_buffer_free(&out);
    return code;
}

static int run(const void *values)
{
    const s2_verify_options *options = values;
    s2_buffer text;
    s2_buffer_init(&text, S2_OUTPUT_MAX);
    tally t = { .options = options, .text = &text, .files = json_array() };
    t.where = (s2_where){ .device = options->device,
                          .gpu_layers = options->gpu_layers,
                          .tower_on_cpu = options->tower_on_cpu,
                          .kernels = options->kernels,
                          .slack = options->slack };
    s2p_error error = { S2P_OK, "" };
    s2p_status st = S2P_OK;
    for (size_t i = 0; i < options->folders.n && st == S2P_OK; i++)
        st = visit_root(&t, options->folders.item[i], &error);

    int code = st == S2P_OK ? print_result(&t) : s2_report_error(st, &error);
    if (st == S2P_OK && code == S2_EXIT_OK && t.n_passed + t.n_failed == 0) {
        if (t.n_skipped > 0)
            s2_fail(&error, S2P_EFORMAT, "nothing was checked: all %d files were skipped",
                    (int)t.n_skipped);
        else
            s2_fail(&error, S2P_EFORMAT,
                    "nothing to check below '%.60s'%s%.60s; give a folder of goldens",
                    options->folders.item[0], options->only ? " for --only " : "",
                    options->only ? options->only : "");
        code = s2_report_error(S2P_EFORMAT, &error);
    }
    if (code == S2_EXIT_OK && t.n_failed > 0)
        code = t.has_difference ? S2_EXIT_FAILURE : S2_EXIT_INPUT;
    json_decref(t.files);
    s2_buffer_free(&text);
    return code;
}

static const char *environment(const char *name) { return getenv(name); }

int main(int argc, char **argv)
{
    s2_command command = s2_cmd_verify;
    command.program = NULL;
    command.run = run;
    s2_report_signals();
    return s2_command_run(&command, argc > 0 ? argc - 1 : 0, argv + 1, environment);
}
