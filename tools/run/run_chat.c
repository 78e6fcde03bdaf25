/* run_chat.c - a conversation line by line: questions, and commands that start with a slash. */
#include "run/run.h"

#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help_text[] =
    "/image FILE   show the model another picture\n"
    "/method NAME  how visual tokens are chosen, from the next picture on\n"
    "/budget N     how many are kept, or a share as 11%, from the next picture on\n"
    "/mode NAME    default or published\n"
    "/show         the last picture with the tokens that were kept\n"
    "/save FILE    the same into a .png or .svg\n"
    "/reset        forget the conversation; the next question is about the same pictures,\n"
    "              or about those given before it\n"
    "/quit         leave\n";

typedef struct chat {
    run_job *job;
    int32_t n_new;    /* pictures since the last question */
    bool is_repeated; /* they are those of the conversation before: another /image replaces them */
} chat;

static void complain(const s2p_error *error) { s2_report_line("error", error->message); }

static void set_budget(chat *c, const char *text)
{
    s2_budget budget;
    s2p_error error = { S2P_OK, "" };
    if (s2a_budget_read("/budget", text, strlen(text), S2P_MAX_TOKENS, &budget, &error) == S2P_OK)
        c->job->setting.budget = budget;
    else
        complain(&error);
}

static void set_mode(chat *c, const char *name)
{
    const int32_t mode = s2_choice_index(s2_mode_name, name);
    if (mode < 0)
        (void)fprintf(stderr, "error: /mode takes default or published\n");
    else
        c->job->setting.published = mode == S2P_MODE_PUBLISHED;
}

/* What --set says goes with it, as far as the method has such parameters. */
static void set_method(chat *c, const char *name)
{
    const int32_t index = s2_choice_index(s2v_method_name, name);
    if (index >= 0) {
        s2a_setting_use(&c->job->setting, s2v_method_name((size_t)index));
        (void)s2_ask_set(&c->job->options->ask, &c->job->setting, 1, NULL);
        return;
    }
    (void)fprintf(stderr, "error: no method '%.60s'; there are:", name);
    for (size_t i = 0; s2v_method_name(i); i++) (void)fprintf(stderr, " %s", s2v_method_name(i));
    (void)fprintf(stderr, "\n");
}

static void add_picture(chat *c, const char *path)
{
    s2p_error error = { S2P_OK, "" };
    if (s2_asker_add_picture(&c->job->asker, path, &error) != S2P_OK) {
        complain(&error);
        return;
    }
    if (c->is_repeated) s2_asker_keep_last_picture(&c->job->asker);
    c->n_new = c->is_repeated ? 1 : c->n_new + 1;
    c->is_repeated = false;
}

static void reset(chat *c)
{
    s2_asker_reset(&c->job->asker);
    c->n_new = c->job->asker.n_pictures;
    c->is_repeated = true;
}

/* false: leave. */
static bool obey(chat *c, char *line)
{
    char *argument = line + strcspn(line, " ");
    if (*argument) *argument++ = '\0';
    argument += strspn(argument, " ");
    if (strcmp(line, "/quit") == 0 || strcmp(line, "/exit") == 0) return false;
    if (strcmp(line, "/image") == 0) {
        add_picture(c, argument);
    } else if (strcmp(line, "/method") == 0) {
        set_method(c, argument);
    } else if (strcmp(line, "/budget") == 0) {
        set_budget(c, argument);
    } else if (strcmp(line, "/mode") == 0) {
        set_mode(c, argument);
    } else if (strcmp(line, "/show") == 0) {
        (void)s2_run_show(c->job, 0);
    } else if (strcmp(line, "/save") == 0 && *argument) {
        (void)s2_run_overlay(c->job, 0, argument);
    } else if (strcmp(line, "/reset") == 0) {
        reset(c);
    } else {
        (void)fprintf(stderr, "%s", help_text);
    }
    return true;
}

int s2_run_chat(run_job *job)
{
    chat c = { .job = job, .n_new = job->asker.has_history ? 0 : job->asker.n_pictures };
    const bool is_terminal = isatty(STDIN_FILENO) != 0;
    char *line = NULL;
    size_t capacity = 0;
    int code = S2_EXIT_OK;
    if (is_terminal) (void)fprintf(stderr, "ask a question, or /help; /quit leaves\n");
    for (;;) {
        if (is_terminal) (void)fprintf(stderr, "> ");
        const ssize_t n = getline(&line, &capacity, stdin);
        if (n < 0) break;
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] == '\0') continue;
        if (line[0] == '/') {
            if (!obey(&c, line)) break;
            continue;
        }
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2_run_turn(job, line, c.n_new, &error);
        if (st != S2P_OK) {
            complain(&error); /* the conversation starts anew, the program goes on */
            code = s2_exit_code(st);
            if (st == S2P_EIO) break;
        } else {
            (void)printf("\n");
            (void)fflush(stdout);
            if (!job->options->ask.quiet) s2_run_summary(job);
        }
        c.n_new = 0;
        c.is_repeated = false;
    }
    free(line);
    return is_terminal ? S2_EXIT_OK : code;
}
