/* run_chat.c - a conversation line by line: questions, and commands that start with a slash. */
#include "run/run_options.h"

#include "method_list.h"
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
    "/reset        forget the conversation\n"
    "/quit         leave\n";

typedef struct chat {
    run_job *job;
    int32_t n_new; /* pictures since the last question */
} chat;

static void complain(const s2p_error *error)
{
    (void)fprintf(stderr, "error: %s\n", error->message);
}

static void set_budget(chat *c, const char *text)
{
    static const s2_option row = {
        .name = "/budget", .type = S2_OPTION_BUDGET, .min = 1, .max = S2P_MAX_TOKENS
    };
    s2_budget budget;
    s2p_error error = { S2P_OK, "" };
    if (s2_option_set(&row, row.name, text, &budget, &error) != S2P_OK) {
        complain(&error);
        return;
    }
    c->job->prune.budget = budget.count;
    c->job->prune.budget_percent = budget.percent;
}

static void set_mode(chat *c, const char *name)
{
    const int32_t mode = s2_choice_index(s2_mode_name, name);
    if (mode < 0)
        (void)fprintf(stderr, "error: /mode takes default or published\n");
    else
        c->job->prune.published = mode;
}

static void set_method(chat *c, const char *name)
{
    for (size_t i = 0; s2v_method_name(i); i++)
        if (strcmp(s2v_method_name(i), name) == 0) {
            c->job->prune.method = s2v_method_name(i);
            return;
        }
    (void)fprintf(stderr, "error: no method '%.60s'; there are:", name);
    for (size_t i = 0; s2v_method_name(i); i++) (void)fprintf(stderr, " %s", s2v_method_name(i));
    (void)fprintf(stderr, "\n");
}

/* false: leave. */
static bool obey(chat *c, char *line)
{
    char *argument = line + strcspn(line, " ");
    if (*argument) *argument++ = '\0';
    argument += strspn(argument, " ");
    s2p_error error = { S2P_OK, "" };
    if (strcmp(line, "/quit") == 0 || strcmp(line, "/exit") == 0) return false;
    if (strcmp(line, "/image") == 0) {
        if (s2_run_add_picture(c->job, argument, &error) == S2P_OK)
            c->n_new++;
        else
            complain(&error);
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
        s2v_session_reset(c->job->session);
        c->job->has_history = false;
    } else {
        (void)fprintf(stderr, "%s", help_text);
    }
    return true;
}

int s2_run_chat(run_job *job)
{
    chat c = { .job = job, .n_new = job->n_pictures };
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
            if (!job->options->quiet) s2_run_summary(job);
        }
        c.n_new = 0;
    }
    free(line);
    return is_terminal ? S2_EXIT_OK : code;
}
