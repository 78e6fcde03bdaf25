/* program.h - the subcommands, as one table. */
#ifndef S2_TOOLS_PROGRAM_H
#define S2_TOOLS_PROGRAM_H

#include "options.h"

extern const s2_command s2_cmd_run, s2_cmd_compare, s2_cmd_eval, s2_cmd_score, s2_cmd_bench,
    s2_cmd_tune, s2_cmd_analyze, s2_cmd_paper, s2_cmd_plan, s2_cmd_select, s2_cmd_inspect,
    s2_cmd_convert, s2_cmd_quantize, s2_cmd_serve, s2_cmd_serve_engine, s2_cmd_verify,
    s2_cmd_manual, s2_cmd_completion;

/* NULL-terminated, in the order of the help. */
extern const s2_command *const s2_commands[];

/* Parse the words after the subcommand's name and run it; print its help. The exit code. */
int s2_command_run(const s2_command *command, int argc, char *const *argv, s2_env env);
int s2_command_help(const s2_command *command);

/* Everything main() does; returns the exit code. */
int s2_program(int argc, char *const *argv, s2_env env);

#endif /* S2_TOOLS_PROGRAM_H */
