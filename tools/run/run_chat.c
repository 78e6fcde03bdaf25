/* run_chat.c - a conversation line by line: questions, and commands that start with a slash.
 *
 * A question of several lines is pasted, or written between lines with three quotation marks, or has a
 * backslash at the end of each line but the last. Everything a command does is confirmed in one line, everything it cannot do is an error; neither
 * touches the conversation. Ctrl-C ends an answer, at the prompt it clears the line, twice it leaves.
 */
#include "run/run.h"

#include "asking/interrupt.h"
#include "report.h"
#include "run/line_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct chat {
    run_job *job;
    int32_t n_new;    /* pictures since the last question */
    bool is_repeated; /* they are those of the conversation before: another /image replaces them */
} chat;

static void complain(const s2p_error *error) { s2_report_line("error", error->message); }

static void confirm(const chat *c, const char *format, const char *word, int32_t number)
{
    char line[512];
    if (c->job->options->ask.quiet) return;
    (void)snprintf(line, sizeof line, "%s%.400s", format, word);
    if (number >= 0) {
        const size_t n = strlen(line);
        (void)snprintf(line + n, sizeof line - n, "%d", number);
    }
    s2_report_line("ok", line);
}

/* --- what a command does: nothing is returned, all is said ----------------------------- */

static void obey_budget(chat *c, const char *text)
{
    s2a_budget budget;
    s2p_error error = { S2P_OK, "" };
    if (s2a_budget_read_steps("/budget", text, strlen(text), S2P_MAX_TOKENS, &budget, &error) !=
        S2P_OK) {
        complain(&error);
        return;
    }
    c->job->setting.budget = budget;
    confirm(c, "from the next picture on, tokens kept: ", text, -1);
}

static void obey_mode(chat *c, const char *name)
{
    const int32_t mode = s2_choice_index(s2_mode_name, name);
    if (mode < 0) {
        s2_report_line("error", "/mode takes default or published");
        return;
    }
    c->job->setting.published = mode == S2P_MODE_PUBLISHED;
    confirm(c, "from the next picture on, mode ", s2_mode_name((size_t)mode), -1);
}

/* What --set says goes with it, as far as the method has such parameters. */
static void obey_method(chat *c, const char *name)
{
    const ask_options *o = &c->job->options->ask;
    s2a_setting setting = c->job->setting;
    s2p_error error = { S2P_OK, "" };
    if (s2_ask_method(o, &c->job->asker.owns, "/method", name, &setting, &error) != S2P_OK) {
        complain(&error);
        return;
    }
    c->job->setting = setting;
    (void)s2_ask_set(o, &c->job->setting, 1, NULL);
    confirm(c, "from the next picture on, method ", c->job->setting.method, -1);
}

/* "~/a b.png", quoted or not, as a shell would have it; false: too long. */
static bool read_path(const char *text, char *out, size_t capacity)
{
    size_t n = strlen(text);
    if (n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n - 1] == text[0]) {
        text++;
        n -= 2;
    }
    const char *home =
        n > 0 && text[0] == '~' && (n == 1 || text[1] == '/') ? getenv("HOME") : NULL;
    const int made = snprintf(out, capacity, "%s%.*s", home ? home : "", (int)(home ? n - 1 : n),
                              home ? text + 1 : text);
    if (made < 0 || (size_t)made >= capacity) return false;
    size_t used = 0; /* a shell's "\ " is a blank */
    for (size_t i = 0; out[i]; i++) {
        if (out[i] == '\\' && out[i + 1] == ' ') continue;
        out[used++] = out[i];
    }
    out[used] = '\0';
    return true;
}

static void obey_image(chat *c, const char *text)
{
    char path[4096];
    s2p_error error = { S2P_OK, "" };
    s2_asker *asker = &c->job->asker;
    if (!*text || !read_path(text, path, sizeof path)) {
        s2_report_line("error", "/image needs a file: /image photo.jpg");
        return;
    }
    if (s2_asker_add_picture(asker, path, &error) != S2P_OK) {
        complain(&error);
        return;
    }
    if (c->is_repeated) s2_asker_keep_last_picture(asker);
    c->n_new = c->is_repeated ? 1 : c->n_new + 1;
    c->is_repeated = false;
    const s2p_image *picture = &asker->view[asker->n_pictures - 1];
    char size[64];
    (void)snprintf(size, sizeof size, ", %dx%d, goes with the next question", picture->width,
                   picture->height);
    strncat(path, size, sizeof path - strlen(path) - 1);
    confirm(c, "", path, -1);
}

static void obey_reset(chat *c, const char *text)
{
    (void)text;
    s2_asker_reset(&c->job->asker);
    c->n_new = c->job->asker.n_pictures;
    c->is_repeated = true;
    confirm(c, "a new conversation; pictures that go with the next question: ", "", c->n_new);
}

static bool has_overlay(const chat *c)
{
    s2_kept kept;
    const bool has = s2_kept_make(&c->job->asker, 0, false, c->job->setting.method, &kept);
    if (has)
        s2_kept_free(&kept);
    else
        s2_report_line("error", "the last question had no picture; nothing to show");
    return has;
}

static void obey_show(chat *c, const char *text)
{
    (void)text;
    if (has_overlay(c)) (void)s2_run_show_now(c->job, 0);
}

static void obey_save(chat *c, const char *text)
{
    char path[S2_OVERLAY_NAME], tiles[S2_OVERLAY_NAME];
    if (!*text || !read_path(text, path, sizeof path)) {
        s2_report_line("error", "/save needs a file: /save kept.png");
        return;
    }
    s2p_error error = { S2P_OK, "" };
    if (s2_run_overlay_name("/save", path, &error) != S2P_OK ||
        s2_asker_check_output(&c->job->asker, "/save", path, &error) != S2P_OK ||
        s2_asker_check_output(&c->job->asker, "/save", s2_run_tiles_name(path, tiles, sizeof tiles),
                              &error) != S2P_OK)
        complain(&error);
    else if (has_overlay(c))
        (void)s2_run_overlay(c->job, 0, path);
}

static void obey_help(chat *c, const char *text);

static const struct {
    const char *name, *label, *help;
    void (*obey)(chat *c, const char *text);
} commands[] = {
    { "/image", "FILE", "show the model another picture", obey_image },
    { "/method", "NAME", "how visual tokens are chosen, from the next picture on", obey_method },
    { "/budget", "N", "how many are kept, or a share as 11%, from the next picture on",
      obey_budget },
    { "/mode", "NAME", "default or published", obey_mode },
    { "/show", "", "the last picture with the tokens that were kept", obey_show },
    { "/save", "FILE", "the same into a .png or .svg", obey_save },
    { "/clear", "", "the same as /reset", obey_reset },
    { "/reset", "",
      "forget the conversation; the next question is about the same pictures, or "
      "about those given before it",
      obey_reset },
    { "/help", "", "this list", obey_help },
    { "/quit", "", "leave, as do /bye, /exit and Ctrl-D", NULL },
    { "/bye", "", "leave", NULL },
    { "/exit", "", "leave", NULL },
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static void obey_help(chat *c, const char *text)
{
    (void)c;
    (void)text;
    for (size_t i = 0; i + 2 < N_COMMANDS; i++)
        (void)fprintf(stderr, "%-7s %-5s %s\n", commands[i].name, commands[i].label,
                      commands[i].help);
    (void)fprintf(stderr,
                  "Tab completes commands and file names. A question of several lines is pasted, "
                  "\nor written between lines with \"\"\", or each line but the last ends with a "
                  "backslash.\n");
}

static const char *command_at(size_t index)
{
    return index < N_COMMANDS ? commands[index].name : NULL;
}

static const char *command_name(const void *context, size_t index)
{
    (void)context;
    return command_at(index);
}

/* false: leave. */
static bool obey(chat *c, char *line)
{
    char *argument = line + strcspn(line, " \t");
    if (*argument) *argument++ = '\0';
    argument += strspn(argument, " \t");
    for (size_t n = strlen(argument); n > 0 && strchr(" \t", argument[n - 1]); n--)
        argument[n - 1] = '\0';
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(line, commands[i].name) != 0) continue;
        if (commands[i].obey) commands[i].obey(c, argument);
        return commands[i].obey != NULL;
    }
    char sentence[256];
    const char *near = s2_suggest(line, command_name, NULL);
    (void)snprintf(sentence, sizeof sentence, "no command '%.60s'%s%s%s; /help lists them", line,
                   near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    s2_report_line("error", sentence);
    return true;
}

/* --- the conversation -------------------------------------------------------------------- */

/* A turn that is refused leaves conversation and pictures as they were. */
static s2p_status ask_question(chat *c, const char *line)
{
    s2p_error error = { S2P_OK, "" };
    run_job *job = c->job;
    const bool had_history = job->asker.has_history;
    const s2p_status st = s2_run_turn(job, line, c->n_new, &error);
    if (st == S2P_OK) {
        (void)printf("\n");
        (void)fflush(stdout);
        if (!job->options->ask.quiet) s2_run_summary(job);
        c->n_new = 0;
        c->is_repeated = false;
        return st;
    }
    s2_report_line("error", error.message[0] ? error.message : s2p_status_text(st));
    if (had_history && !job->asker.has_history) {
        s2_report_line("note", "the conversation starts again, with the same pictures");
        c->n_new = job->asker.n_pictures;
        c->is_repeated = true;
    }
    return st;
}

#define QUOTES "\"\"\""

/* Lines that go on: after QUOTES up to the next, or as long as they end with a backslash. The first line
 * becomes the whole text. */
static s2_line_end read_question(s2_line_edit *edit, s2_buffer *text)
{
    char *line;
    text->size = 0;
    s2_line_end end = s2_line_edit_read(edit, "> ", &line);
    if (end != S2_LINE_READ) return end;
    const bool is_quoted = strncmp(line, QUOTES, 3) == 0;
    if (is_quoted) line += 3;
    for (bool is_first = true;; is_first = false) {
        size_t n = strlen(line);
        const bool is_end = is_quoted && n >= 3 && strcmp(line + n - 3, QUOTES) == 0;
        const bool goes_on = is_quoted ? !is_end : n > 0 && line[n - 1] == '\\';
        if (is_end) n -= 3;
        if (!is_quoted && goes_on) n--;
        if (!is_first && (n > 0 || !is_end)) s2_buffer_append(text, "\n", 1);
        s2_buffer_append(text, line, n);
        if (!goes_on) break;
        end = s2_line_edit_read(edit, ". ", &line);
        if (end == S2_LINE_INTERRUPTED) return end;
        if (end == S2_LINE_OVER) break; /* what there is */
    }
    if (is_quoted && text->size > 0 && text->data[0] == '\n') /* behind the first marks */
        memmove(text->data, text->data + 1, --text->size);
    s2_buffer_append(text, "", 1);
    return S2_LINE_READ;
}

int s2_run_chat(run_job *job)
{
    chat c = { .job = job, .n_new = job->asker.has_history ? 0 : job->asker.n_pictures };
    s2_line_edit *edit = s2_line_edit_open(command_at);
    if (!edit) return S2_EXIT_RESOURCES;
    s2_buffer question;
    s2_buffer_init(&question, (size_t)1 << 20);
    const bool is_terminal = s2_line_edit_is_terminal(edit);
    int code = S2_EXIT_OK;
    int32_t n_interrupts = 0;
    if (is_terminal) (void)fprintf(stderr, "ask a question, or /help; /quit leaves\n");
    for (;;) {
        if (is_terminal) s2_interrupt_hold(S2_HOLD_ANSWER);
        const s2_line_end end = read_question(edit, &question);
        s2_interrupt_release();
        if (question.status != S2P_OK) {
            s2_report_line("error", "the question is longer than 1 MiB");
            question.status = S2P_OK;
            continue;
        }
        char *line = (char *)question.data;
        if (end == S2_LINE_INTERRUPTED && n_interrupts++ == 0) {
            (void)fprintf(stderr, "once more to leave, or /quit\n");
            continue;
        }
        if (end == S2_LINE_OVER && is_terminal) (void)fputc('\n', stderr);
        if (end != S2_LINE_READ) break;
        n_interrupts = 0;
        if (line[0] == '\0') continue;
        if (line[0] == '/' && !strchr(line, '\n')) {
            if (!obey(&c, line)) break;
            continue;
        }
        const s2p_status st = ask_question(&c, line);
        if (st != S2P_OK) code = s2_exit_code(st);
        if (job->say_errno != 0) code = s2_exit_of_write(job->say_errno);
        if (job->is_interrupted && !is_terminal) code = S2_EXIT_INTERRUPTED;
        if (st == S2P_EIO || (job->is_interrupted && !is_terminal)) break;
    }
    s2_line_edit_close(edit);
    s2_buffer_free(&question);
    return is_terminal ? S2_EXIT_OK : code;
}
