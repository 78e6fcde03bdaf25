/* help.c - the help of the program and of each command, from the tables and nothing else. */
#include "help.h"

#include <string.h>

#define WIDTH 88u  /* columns of a help line */
#define COLUMN 30u /* where explanations start */

/* Words from `text` up to the width, the following lines indented. */
static void wrap(s2_buffer *out, size_t indent, const char *text)
{
    size_t column = indent;
    while (*text) {
        const size_t word = strcspn(text, " ");
        if (column > indent && column + 1 + word > WIDTH) {
            s2_buffer_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            s2_buffer_append(out, " ", 1);
            column++;
        }
        s2_buffer_append(out, text, word);
        column += word;
        text += word + strspn(text + word, " ");
    }
    s2_buffer_append(out, "\n", 1);
}

/* "   -i, --image FILE      the picture ... (default: ...)" */
static void describe(s2_buffer *out, const char *letters, const char *name, const char *label,
                     const char *help)
{
    const size_t start = out->size;
    s2_buffer_printf(out, "  %4s%s %s%s%s", letters ? letters : "", letters ? "," : " ", name,
                     label ? " " : "", label ? label : "");
    size_t column = out->size - start;
    if (column + 2 > COLUMN) {
        s2_buffer_append(out, "\n", 1);
        column = 0;
    }
    s2_buffer_printf(out, "%*s", (int)(COLUMN - column), "");
    wrap(out, COLUMN, help);
}

void s2_help_option(const s2_option *option, s2_buffer *out)
{
    s2_buffer_printf(out, "%s", option->help);
    const char *name, *between = " (";
    for (size_t i = 0; option->choice && (name = option->choice(i)); i++) {
        s2_buffer_printf(out, "%s%s%s", between, i == 0 ? "one of: " : "", name);
        between = ", ";
    }
    const bool has_list = *between == ',';
    if (option->is_required || option->fallback)
        s2_buffer_printf(out, "%s%s%s)", has_list ? "; " : " (",
                         option->is_required ? "required" : "default: ",
                         option->is_required ? "" : option->fallback);
    else if (has_list)
        s2_buffer_printf(out, ")");
}

/* The row that names the group of `of` first. */
static const s2_option *first_of_group(const s2_option *options, const s2_option *of)
{
    while (strcmp(options->group, of->group) != 0) options++;
    return options;
}

const s2_option *s2_help_next(const s2_option *options, const s2_option *last)
{
    for (const s2_option *o = last + 1; o->name; o++)
        if (strcmp(o->group, last->group) == 0) return o;
    for (const s2_option *o = first_of_group(options, last) + 1; o->name; o++)
        if (first_of_group(options, o) == o) return o;
    return NULL;
}

void s2_help_command(const s2_command *command, s2_buffer *out)
{
    s2_buffer_printf(out, "s2prune %s - %s\n\nusage: s2prune %s %s\n", command->name,
                     command->summary, command->name, command->usage);
    const char *group = NULL;
    const s2_option *o = command->options->name ? command->options : NULL;
    for (; o; o = s2_help_next(command->options, o)) {
        if (!group || strcmp(group, o->group) != 0) s2_buffer_printf(out, "\n%s\n", o->group);
        group = o->group;
        s2_buffer text;
        s2_buffer_init(&text, S2_LIST_MAX * 64);
        s2_help_option(o, &text);
        s2_buffer_append(&text, "", 1);
        describe(out, o->letters, o->name, o->label,
                 text.status == S2P_OK ? (const char *)text.data : o->help);
        s2_buffer_free(&text);
    }
    if (!group) s2_buffer_append(out, "\n", 1);
    describe(out, "-h", "--help", NULL, "print this text");
    if (command->examples) s2_buffer_printf(out, "\nexamples\n%s", command->examples);
    if (!group) return;
    char variable[64];
    s2_env_name("", command->options, variable, sizeof variable);
    s2_buffer_printf(out, "\n");
    s2_buffer_printf(
        out, "Each option can also be set in the environment, for example as S2PRUNE_%s or\n",
        variable);
    s2_buffer_printf(out, "LLAMA_ARG_%s (dashes become _). The command line takes precedence.\n",
                     variable);
}

void s2_help_program(const s2_command *const *commands, s2_buffer *out)
{
    s2_buffer_printf(out, "s2prune - vision-language models with most visual tokens removed\n\n"
                          "usage: s2prune COMMAND [options]\n\ncommands\n");
    for (; *commands; commands++)
        s2_buffer_printf(out, "  %-12s %s\n", (*commands)->name, (*commands)->summary);
    s2_buffer_printf(out,
                     "\n"
                     "  s2prune help COMMAND   print the options of a command\n"
                     "  s2prune --version      print the versions, kernels and devices\n"
                     "\n"
                     "examples\n"
                     "  s2prune run -i photo.jpg -p \"What is in the image?\"\n"
                     "  s2prune serve -m model.gguf -mm mmproj.gguf\n"
                     "  s2prune plan -i photo.jpg --budget 64 --png overlay.png\n"
                     "\n"
                     "exit codes\n"
                     "  0 done   1 failure   2 usage   3 bad input (picture, model, data)\n"
                     "  4 out of memory or disk   5 finished but incomplete   130 interrupted\n"
                     "\n"
                     "The result goes to standard output, everything else to standard error.\n");
}
