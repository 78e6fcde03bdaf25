/* program.c - pick the subcommand, parse its options, run it. */
#include "program.h"

#include "files/file_roles.h"
#include "help.h"
#include "prune/kernels/kernels.h"
#include "report.h"
#include "s2vlm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const s2_command *const s2_commands[] = {
    &s2_cmd_run,     &s2_cmd_serve,  &s2_cmd_compare,    &s2_cmd_eval,
    &s2_cmd_score,   &s2_cmd_bench,  &s2_cmd_analyze,    &s2_cmd_paper,
    &s2_cmd_plan,    &s2_cmd_select, &s2_cmd_convert,    &s2_cmd_quantize,
    &s2_cmd_inspect, &s2_cmd_verify, &s2_cmd_completion, NULL
};

static const char *command_name(const void *context, size_t index)
{
    const s2_command *const *commands = context;
    return commands[index] ? commands[index]->name : NULL;
}

static const s2_command *find(const char *name)
{
    for (size_t i = 0; s2_commands[i]; i++)
        if (strcmp(s2_commands[i]->name, name) == 0) return s2_commands[i];
    /* not for people, so not in the list */
    return strcmp(s2_cmd_serve_engine.name, name) == 0 ? &s2_cmd_serve_engine : NULL;
}

static int fail_unknown(const char *name)
{
    s2p_error error;
    const char *kind = name[0] == '-' ? "option" : "command";
    const char *near = s2_suggest(name, command_name, s2_commands);
    if (name[0] == '-' && !near)
        s2_fail(
            &error, S2P_EINVAL,
            "'%.60s' stands where a command is expected; to ask a model: 's2prune run %.60s ...'",
            name, name);
    else if (near)
        s2_fail(&error, S2P_EINVAL, "unknown %s '%.60s' (did you mean '%s'?)", kind, name, near);
    else
        s2_fail(&error, S2P_EINVAL, "unknown %s '%.60s'; see 's2prune --help'", kind, name);
    return s2_report_error(S2P_EINVAL, &error);
}

static int print_help(const s2_command *command)
{
    s2_buffer text;
    s2_buffer_init(&text, S2_OUTPUT_MAX);
    if (command)
        s2_help_command(command, &text);
    else
        s2_help_program(s2_commands, &text);
    const int code = s2_report_print(&text);
    s2_buffer_free(&text);
    return code;
}

static int print_version(void)
{
#if defined(__clang__)
    const char *compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
    const char *compiler = "gcc " __VERSION__;
#else
    const char *compiler = "an unknown compiler";
#endif
    s2_buffer text;
    s2_buffer_init(&text, S2_OUTPUT_MAX);
    s2_buffer_printf(&text, "s2prune %s\nggml:     %s\ncompiler: %s\nkernels:  %s (available:",
                     s2p_version(), s2v_backend_version(), compiler, s2p_kernels_choose()->name);
    const s2p_kernels *kernels;
    for (size_t i = 0; (kernels = s2p_kernels_at(i)); i++)
        s2_buffer_printf(&text, " %s", kernels->name);
    s2_buffer_printf(&text, ")\ntower:    %s (available:", s2v_kernels_usual());
    for (size_t i = 0; s2v_kernels_name(i); i++)
        s2_buffer_printf(&text, " %s", s2v_kernels_name(i));
    s2_buffer_printf(&text, " ggml)\ndevices:  ");
    for (size_t i = 0; s2v_device_name(i); i++)
        s2_buffer_printf(&text, "%s%s (%s)", i > 0 ? ", " : "", s2v_device_name(i),
                         s2v_device_description(i));
    s2_buffer_append(&text, "\n", 1);
    const int code = s2_report_print(&text);
    s2_buffer_free(&text);
    return code;
}

static int run(const s2_command *command, int argc, char *const *argv, s2_env env)
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
    if (st == S2P_OK && !command->is_inner) s2_report_notes(parsed.note);
    if (st != S2P_OK)
        code = s2_report_error(st, &error);
    else
        code = parsed.help ? print_help(command) : command->run(values);
    free(values);
    return code;
}

int s2_program(int argc, char *const *argv, s2_env env)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: s2prune COMMAND [options]; commands:");
        for (size_t i = 0; s2_commands[i]; i++) (void)fprintf(stderr, " %s", s2_commands[i]->name);
        (void)fprintf(stderr, "\n       's2prune --help' explains them\n");
        return S2_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) return print_version();
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return print_help(NULL);
    if (strcmp(name, "help") == 0) {
        if (argc == 2) return print_help(NULL);
        const s2_command *command = find(argv[2]);
        return command ? print_help(command) : fail_unknown(argv[2]);
    }
    const s2_command *command = find(name);
    return command ? run(command, argc - 2, argv + 2, env) : fail_unknown(name);
}
