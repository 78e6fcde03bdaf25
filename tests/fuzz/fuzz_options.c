/* fuzz_options.c - the parser on any command line of any command.
 *
 * The first byte chooses the command, lines are the arguments. A line "NAME=VALUE" in capitals also
 * stands in the environment.
 */
#include "fuzz.h"

#include "options.h"
#include "program.h"

#include <string.h>

#define MAX_ARGUMENTS 100

static char *words[MAX_ARGUMENTS];
static int n_words;

static const char *environment(const char *name)
{
    const size_t n = strlen(name);
    for (int i = 0; i < n_words; i++)
        if (strncmp(words[i], name, n) == 0 && words[i][n] == '=') return words[i] + n + 1;
    return NULL;
}

/* Every choice is one of its words, every number within its range, every text is there. */
static void check_values(const s2_command *command, const char *values)
{
    for (const s2_option *o = command->options; o->name; o++) {
        const void *field = values + o->offset;
        if (o->type == S2_OPTION_CHOICE) {
            const int32_t index = *(const int32_t *)field;
            PROMISE(index >= 0 && o->choice((size_t)index) != NULL);
        }
        if (o->type == S2_OPTION_INT && o->fallback) {
            const int32_t value = *(const int32_t *)field;
            PROMISE(value >= o->min && value <= o->max);
        }
        if (o->type == S2_OPTION_LIST) {
            const s2_list *list = field;
            PROMISE(list->n <= S2_LIST_MAX);
            for (size_t i = 0; i < list->n; i++) PROMISE(list->item[i] != NULL);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    size_t n_commands = 0;
    while (s2_commands[n_commands]) n_commands++;
    if (n < 1) return 0;
    const s2_command *command = s2_commands[data[0] % n_commands];
    char *text = malloc(n);
    if (!text) return 0;
    memcpy(text, data + 1, n - 1);
    text[n - 1] = '\0';
    n_words = 0;
    for (char *at = text; n_words < MAX_ARGUMENTS && at < text + n;) {
        words[n_words++] = at;
        at += strcspn(at, "\n");
        if (at < text + n) *at++ = '\0';
    }

    char *values = calloc(1, command->size);
    s2_parsed parsed;
    s2p_error error = { S2P_OK, "" };
    if (values) {
        const s2p_status st =
            s2_options_parse(command, n_words, words, environment, values, &parsed, &error);
        PROMISE(st == S2P_OK || st == S2P_EINVAL || st == S2P_EBUDGET || st == S2P_ENOMEM);
        PROMISE(st == S2P_OK || (error.status == st && error.message[0]));
        PROMISE(memchr(parsed.note, '\0', sizeof parsed.note) != NULL);
        if (st == S2P_OK) ACCEPTED();
        if (st == S2P_OK && !parsed.help) check_values(command, values);
    }
    free(values);
    free(text);
    return 0;
}
