/* cmd_manual.c - manual pages in man's format, generated from the same tables as the help.
 *
 * `make install` writes one page for the program and one for each command, so a new option is in
 * its page without a line here. The pages carry no date: two builds of one commit are equal.
 */
#include "help.h"
#include "program.h"
#include "report.h"
#include "s2prune.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Text as roff prints it: a dot or quote at the start of a line would be a request, a backslash an
 * escape, and a plain hyphen may be set as a typographic one that cannot be searched or copied. */
static void put(s2_buffer *out, const char *text)
{
    bool is_start = true;
    for (const char *c = text; *c; c++) {
        if (is_start && (*c == '.' || *c == '\'')) s2_buffer_printf(out, "\\&");
        if (*c == '\\')
            s2_buffer_printf(out, "\\e");
        else if (*c == '-')
            s2_buffer_printf(out, "\\-");
        else
            s2_buffer_append(out, c, 1);
        is_start = *c == '\n';
    }
}

static void put_upper(s2_buffer *out, const char *text)
{
    for (; *text; text++) {
        const char letter[] = { (char)toupper((unsigned char)*text), '\0' };
        put(out, letter);
    }
}

static void section(s2_buffer *out, const char *name) { s2_buffer_printf(out, ".SH %s\n", name); }

static void put_option(s2_buffer *out, const s2_option *o)
{
    s2_buffer_printf(out, ".TP\n.B ");
    if (o->letters) {
        put(out, o->letters);
        s2_buffer_printf(out, ", ");
    }
    put(out, o->name);
    if (o->label) {
        s2_buffer_printf(out, " \\fI");
        put(out, o->label);
        s2_buffer_printf(out, "\\fR");
    }
    s2_buffer_printf(out, "\n");
    s2_buffer text;
    s2_buffer_init(&text, S2_LIST_MAX * 64);
    s2_help_option(o, &text);
    s2_buffer_append(&text, "", 1);
    put(out, text.status == S2P_OK ? (const char *)text.data : o->help);
    s2_buffer_free(&text);
    s2_buffer_printf(out, "\n");
}

/* The lines of `text` that are indented, which are commands, or the others. */
static void put_lines(s2_buffer *out, const char *text, bool is_indented)
{
    while (*text) {
        const size_t n = strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
        char line[256];
        if (n < sizeof line && (*text == ' ') == is_indented && *text != '\n') {
            memcpy(line, text, n);
            line[n] = '\0';
            put(out, line);
        }
        text += n;
    }
}

static bool has_notes(const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (*line && *line != ' ' && *line != '\n') return true;
    return false;
}

static void exit_codes(s2_buffer *out)
{
    static const char *const meaning[][2] = {
        { "0", "Success." },
        { "1", "Failure, for a reason not listed below." },
        { "2", "The command line is wrong." },
        { "3", "An input, such as a picture, a model or a table, is invalid." },
        { "4", "Out of memory or disk space." },
        { "5", "Finished, but the result is incomplete." },
        { "130", "Interrupted." },
    };
    section(out, "EXIT STATUS");
    for (size_t i = 0; i < sizeof meaning / sizeof *meaning; i++)
        s2_buffer_printf(out, ".TP\n.B %s\n%s\n", meaning[i][0], meaning[i][1]);
}

static void command_page(const s2_command *command, s2_buffer *out)
{
    s2_buffer_printf(out, ".TH S2PRUNE\\-");
    put_upper(out, command->name);
    s2_buffer_printf(out, " 1 \"\" \"s2prune %s\" \"User Commands\"\n.SH NAME\ns2prune\\-%s \\- ",
                     s2p_version(), command->name);
    put(out, command->summary);
    s2_buffer_printf(out, "\n.SH SYNOPSIS\n.B s2prune %s\n", command->name);
    put(out, command->usage);
    s2_buffer_printf(out, "\n");
    if (command->options->name) section(out, "OPTIONS");
    const char *group = NULL;
    const s2_option *first = command->options->name ? command->options : NULL;
    for (const s2_option *o = first; o; o = s2_help_next(command->options, o)) {
        if (!group || strcmp(group, o->group) != 0) {
            s2_buffer_printf(out, ".SS ");
            put(out, o->group);
            s2_buffer_printf(out, "\n");
        }
        group = o->group;
        put_option(out, o);
    }
    if (group) {
        char variable[64];
        s2_env_name("", command->options, variable, sizeof variable);
        section(out, "ENVIRONMENT");
        s2_buffer_printf(
            out,
            "Each option can also be set in the environment, for example as\n.B S2PRUNE_%s\nor\n"
            ".B LLAMA_ARG_%s\n(dashes become underscores). The command line takes precedence.\n",
            variable, variable);
    }
    if (command->examples) {
        if (has_notes(command->examples)) { /* the sentences below the examples of the help */
            section(out, "NOTES");
            put_lines(out, command->examples, false);
        }
        section(out, "EXAMPLES");
        s2_buffer_printf(out, ".nf\n");
        put_lines(out, command->examples, true);
        s2_buffer_printf(out, ".fi\n");
    }
    exit_codes(out);
    section(out, "SEE ALSO");
    s2_buffer_printf(out, ".BR s2prune (1)\n");
}

static void program_page(const s2_command *const *commands, s2_buffer *out)
{
    s2_buffer_printf(
        out,
        ".TH S2PRUNE 1 \"\" \"s2prune %s\" \"User Commands\"\n.SH NAME\n"
        "s2prune \\- vision\\-language models with most visual tokens removed\n"
        ".SH SYNOPSIS\n.B s2prune\n.I COMMAND\n.RI [ options ]\n.SH DESCRIPTION\n"
        ".B s2prune\nanswers questions about pictures with vision\\-language models in llama.cpp's "
        "GGUF format. It divides a picture into regions, gives more tokens to regions with more "
        "structure, keeps in each cell of a region the token that the first decoder layer changed "
        "most, and removes all other tokens before the second layer. It also has other pruning "
        "methods, benchmarks to compare them, and a server with OpenAI's API.\n.SH COMMANDS\n",
        s2p_version());
    for (size_t i = 0; commands[i]; i++) {
        s2_buffer_printf(out, ".TP\n.BR s2prune\\-%s (1)\n", commands[i]->name);
        put(out, commands[i]->summary);
        s2_buffer_printf(out, "\n");
    }
    s2_buffer_printf(out, ".PP\n.B s2prune help\n.I COMMAND\nprints the options of a command,\n"
                          ".B s2prune \\-\\-version\nthe program, ggml, compiler, kernels and "
                          "devices.\n");
    section(out, "OUTPUT");
    s2_buffer_printf(out, "The result goes to standard output, everything else to standard "
                          "error.\n");
    exit_codes(out);
    section(out, "SEE ALSO");
    for (size_t i = 0; commands[i]; i++)
        s2_buffer_printf(out, ".BR s2prune\\-%s (1)%s\n", commands[i]->name,
                         commands[i + 1] ? "," : "");
}

void s2_manual(const s2_command *const *commands, const s2_command *command, s2_buffer *out)
{
    if (command)
        command_page(command, out);
    else
        program_page(commands, out);
}

typedef struct manual_options {
    s2_list names;
} manual_options;

static int run(const void *values)
{
    const manual_options *options = values;
    const s2_command *command = NULL;
    s2p_error error;
    const char *const name = options->names.n > 0 ? options->names.item[0] : NULL;
    for (size_t i = 0; name && s2_commands[i] && !command; i++)
        if (strcmp(s2_commands[i]->name, name) == 0) command = s2_commands[i];
    if (options->names.n > 1 || (name && !command)) {
        s2_fail(&error, S2P_EINVAL,
                "manual takes at most one command; 's2prune --help' lists them");
        return s2_report_error(S2P_EINVAL, &error);
    }
    s2_buffer text;
    s2_buffer_init(&text, S2_OUTPUT_MAX);
    s2_manual(s2_commands, command, &text);
    const int code = s2_report_print(&text);
    s2_buffer_free(&text);
    return code;
}

static const s2_option no_options[] = { { .name = NULL } };

const s2_command s2_cmd_manual = {
    .name = "manual",
    .summary = "print the manual page of the program or of a command",
    .usage = "[COMMAND]",
    .examples = "  s2prune manual run | man -l -\n",
    .options = no_options,
    .operand = "the name of a command",
    .operand_offset = offsetof(manual_options, names),
    .size = sizeof(manual_options),
    .run = run,
};
