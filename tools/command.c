/* command.c - parse the options of one subcommand and run it, here or in a program of its own. */
#define _XOPEN_SOURCE 700

#include "bundled.h"
#include "files/file_roles.h"
#include "help.h"
#include "program.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int s2_command_help(const s2_command *command)
{
    s2_buffer text;
    s2_buffer_init(&text, S2_OUTPUT_MAX);
    s2_help_command(command, &text);
    const int code = s2_report_print(&text);
    s2_buffer_free(&text);
    return code;
}

/* Replaces this process by the program that carries the command out, which is installed next to
 * this one. Returns only when that fails. */
static int become(const char *program, int argc, char *const *argv)
{
    char folder[S2_BUNDLED_PATH], path[S2_BUNDLED_PATH + 64];
    char **words = calloc((size_t)argc + 2, sizeof *words);
    char *name = strdup(program);
    if (!words || !name) {
        s2p_error error;
        s2_fail_memory(&error, ((size_t)argc + 2) * sizeof *words, "the command line");
        free(words);
        free(name);
        return s2_report_error(S2P_ENOMEM, &error);
    }
    words[0] = name;
    memcpy(words + 1, argv, (size_t)argc * sizeof *words);
    s2_program_folder(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/%.60s", folder, program);
    (void)execv(path, words);
    s2_report_tell("error: cannot run '%.200s': %s; install %s next to s2prune", path,
                   strerror(errno), program);
    free(words);
    free(name);
    return S2_EXIT_FAILURE;
}

int s2_command_run(const s2_command *command, int argc, char *const *argv, s2_env env)
{
    s2p_error error = { S2P_OK, "" };
    s2_parsed parsed;
    void *values = calloc(1, command->size);
    if (!values) {
        s2_fail_memory(&error, command->size, "the options");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    int code;
    s2p_status st = s2_options_parse(command, argc, argv, env, values, &parsed, &error);
    if (st == S2P_OK && !parsed.help) st = s2_file_roles_check(command, values, &error);
    if (parsed.is_quiet) s2_report_be_quiet();
    if (st != S2P_OK) {
        code = s2_report_error(st, &error);
    } else if (command->program && !parsed.help) {
        code = become(command->program, argc, argv); /* which prints the notes */
    } else {
        s2_report_notes(parsed.note);
        if (command->words_offset)
            *(s2_words *)(void *)((char *)values + command->words_offset) =
                (s2_words){ command->name, argc, argv };
        code = parsed.help ? s2_command_help(command) : command->run(values);
    }
    free(values);
    return code;
}
