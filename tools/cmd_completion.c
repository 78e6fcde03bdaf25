/* cmd_completion.c - shell completion, generated from the same tables as the help.
 *
 * One word list per command, so a new option completes without a line here.
 */
#include "help.h"
#include "program.h"
#include "report.h"

#include <stddef.h>
#include <string.h>

const char *s2_shell_name(size_t index)
{
    static const char *const names[] = { "bash", "zsh", "fish" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static void choice_words(const s2_option *o, s2_buffer *out)
{
    const char *name;
    for (size_t i = 0; (name = o->choice(i)); i++)
        s2_buffer_printf(out, "%s%s", i > 0 ? " " : "", name);
}

static void command_words(const s2_command *const *commands, s2_buffer *out)
{
    for (; *commands; commands++) s2_buffer_printf(out, "%s ", (*commands)->name);
}

static void shell_words(s2_buffer *out)
{
    for (size_t i = 0; s2_shell_name(i); i++)
        s2_buffer_printf(out, "%s%s", i > 0 ? " " : "", s2_shell_name(i));
}

/* Inside double quotes of fish. */
static void fish_text(s2_buffer *out, const char *text)
{
    for (; *text; text++) s2_buffer_append(out, *text == '"' || *text == '$' ? "'" : text, 1);
}

/* Both shells: a case on "command option" for choices, then a case on the command. */
static void bash_function(const s2_command *const *commands, s2_buffer *out)
{
    s2_buffer_printf(
        out, "_s2prune() {\n"
             "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} list=\n"
             "    local command=${COMP_WORDS[1]}\n"
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        list='");
    command_words(commands, out);
    s2_buffer_printf(out,
                     "help --help --version'\n    else\n        case \"$command $before\" in\n");
    for (size_t i = 0; commands[i]; i++)
        for (const s2_option *o = commands[i]->options; o->name; o++) {
            if (!o->choice) continue;
            s2_buffer_printf(out, "        '%s %s'", commands[i]->name, o->name);
            if (o->letters) s2_buffer_printf(out, "|'%s %s'", commands[i]->name, o->letters);
            s2_buffer_printf(out, ") list='");
            choice_words(o, out);
            s2_buffer_printf(out, "' ;;\n");
        }
    s2_buffer_printf(out, "        *) case \"$command\" in\n            help|manual) list='");
    command_words(commands, out);
    s2_buffer_printf(out, "' ;;\n            completion) list='");
    shell_words(out);
    s2_buffer_printf(out, "' ;;\n");
    for (size_t i = 0; commands[i]; i++) {
        if (!commands[i]->options->name) continue;
        s2_buffer_printf(out, "            %s) [ \"${word#-}\" != \"$word\" ] && list='",
                         commands[i]->name);
        /* All option names of a command, separated by spaces. */
        for (const s2_option *o = commands[i]->options; o->name; o++) {
            if (o->letters) s2_buffer_printf(out, "%s ", o->letters);
            s2_buffer_printf(out, "%s ", o->name);
        }
        s2_buffer_printf(out, "--help");
        s2_buffer_printf(out, "' ;;\n");
    }
    /* Without a list the shell completes file names itself, those with blanks too. */
    s2_buffer_printf(out,
                     "            esac ;;\n        esac\n    fi\n"
                     "    COMPREPLY=()\n"
                     "    [ -z \"$list\" ] || COMPREPLY=($(compgen -W \"$list\" -- \"$word\"))\n}\n"
                     "complete -o default -F _s2prune s2prune\n");
}

static void fish_lines(const s2_command *const *commands, s2_buffer *out)
{
    for (size_t i = 0; commands[i]; i++) {
        s2_buffer_printf(out, "complete -c s2prune -n __fish_use_subcommand -f -a %s -d \"",
                         commands[i]->name);
        fish_text(out, commands[i]->summary);
        s2_buffer_printf(out, "\"\n");
    }
    s2_buffer_printf(out,
                     "complete -c s2prune -n __fish_use_subcommand -f -a 'help --help --version'\n"
                     "complete -c s2prune -n '__fish_seen_subcommand_from help manual' -f -a '");
    command_words(commands, out);
    s2_buffer_printf(out,
                     "'\ncomplete -c s2prune -n '__fish_seen_subcommand_from completion' -f -a '");
    shell_words(out);
    s2_buffer_printf(out, "'\n");
    for (size_t i = 0; commands[i]; i++)
        for (const s2_option *o = commands[i]->options; o->name; o++) {
            s2_buffer_printf(out, "complete -c s2prune -n '__fish_seen_subcommand_from %s' -l %s",
                             commands[i]->name, o->name + 2);
            if (o->letters)
                s2_buffer_printf(out, " %s %s", strlen(o->letters) == 2 ? "-s" : "-o",
                                 o->letters + 1);
            if (o->type != S2_OPTION_FLAG) s2_buffer_printf(out, " -r");
            if (o->choice) {
                s2_buffer_printf(out, " -f -a '");
                choice_words(o, out);
                s2_buffer_printf(out, "'");
            }
            s2_buffer_printf(out, " -d \"");
            fish_text(out, o->help);
            s2_buffer_printf(out, "\"\n");
        }
}

void s2_completion(const s2_command *const *commands, const char *shell, s2_buffer *out)
{
    if (strcmp(shell, "fish") == 0) {
        fish_lines(commands, out);
        return;
    }
    if (strcmp(shell, "zsh") == 0)
        s2_buffer_printf(out, "#compdef s2prune\nautoload -U +X bashcompinit && bashcompinit\n");
    bash_function(commands, out);
}

typedef struct completion_options {
    s2_list shells;
} completion_options;

static int run(const void *values)
{
    const completion_options *options = values;
    s2p_error error;
    if (options->shells.n != 1 || s2_choice_index(s2_shell_name, options->shells.item[0]) < 0) {
        s2_fail(&error, S2P_EINVAL, "completion needs bash, zsh or fish");
        return s2_report_error(S2P_EINVAL, &error);
    }
    s2_buffer text;
    s2_buffer_init(&text, S2_OUTPUT_MAX);
    s2_completion(s2_commands, options->shells.item[0], &text);
    const int code = s2_report_print(&text);
    s2_buffer_free(&text);
    return code;
}

static const s2_option no_options[] = { { .name = NULL } };

const s2_command s2_cmd_completion = {
    .name = "completion",
    .summary = "print shell completion for bash, zsh or fish",
    .usage = "bash|zsh|fish",
    .examples = "  source <(s2prune completion bash)\n",
    .options = no_options,
    .operand = "bash, zsh or fish",
    .min_operands = 1,
    .operand_offset = offsetof(completion_options, shells),
    .size = sizeof(completion_options),
    .run = run,
};
