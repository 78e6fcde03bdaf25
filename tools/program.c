/* program.c - find the subcommand and run it. */
#include "program.h"

#include "commit.h"
#include "help.h"
#include "prune/kernels/kernels.h"
#include "report.h"
#include "s2vlm.h"

#include <stdio.h>
#include <string.h>

const s2_command *const s2_commands[] = { &s2_cmd_run,      &s2_cmd_serve,      &s2_cmd_compare,
                                          &s2_cmd_eval,     &s2_cmd_tune,       &s2_cmd_score,
                                          &s2_cmd_bench,    &s2_cmd_analyze,    &s2_cmd_paper,
                                          &s2_cmd_plan,     &s2_cmd_select,     &s2_cmd_convert,
                                          &s2_cmd_quantize, &s2_cmd_inspect,    &s2_cmd_verify,
                                          &s2_cmd_manual,   &s2_cmd_completion, NULL };

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
        s2_fail(&error, S2P_EINVAL,
                "'%.60s' is not a command; to use a model: 's2prune run %.60s ...'", name, name);
    else if (near)
        s2_fail(&error, S2P_EINVAL, "unknown %s '%.60s' (did you mean '%s'?)", kind, name, near);
    else
        s2_fail(&error, S2P_EINVAL, "unknown %s '%.60s'; see 's2prune --help'", kind, name);
    return s2_report_error(S2P_EINVAL, &error);
}

static int print_help(void)
{
    s2_buffer text;
    s2_buffer_init(&text, S2_OUTPUT_MAX);
    s2_help_program(s2_commands, &text);
    const int code = s2_report_print(&text);
    s2_buffer_free(&text);
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
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
#if defined(__clang__)
        const char *compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
        const char *compiler = "gcc " __VERSION__;
#else
        const char *compiler = "an unknown compiler";
#endif
        s2_buffer text;
        s2_buffer_init(&text, S2_OUTPUT_MAX);
        s2_buffer_printf(&text, "s2prune %s", s2p_version());
        if (s2_commit()[0]) s2_buffer_printf(&text, " (commit %s)", s2_commit());
        s2_buffer_printf(&text, "\nggml:     %s\ncompiler: %s\nkernels:  %s (available:",
                         s2v_backend_version(), compiler, s2p_kernels_choose()->name);
        const s2p_kernels *kernels;
        for (size_t i = 0; (kernels = s2p_kernels_at(i)); i++)
            s2_buffer_printf(&text, " %s", kernels->name);
        s2_buffer_printf(&text, ")\ntower:    %s", s2v_kernels_usual(0));
        if (strcmp(s2v_kernels_usual(1), s2v_kernels_usual(0)) != 0)
            s2_buffer_printf(&text, ", %s for large files in half precision", s2v_kernels_usual(1));
        s2_buffer_printf(&text, " (available:");
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
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return print_help();
    if (strcmp(name, "help") == 0) {
        if (argc == 2) return print_help();
        const s2_command *command = find(argv[2]);
        return command ? s2_command_help(command) : fail_unknown(argv[2]);
    }
    const s2_command *command = find(name);
    return command ? s2_command_run(command, argc - 2, argv + 2, env) : fail_unknown(name);
}
