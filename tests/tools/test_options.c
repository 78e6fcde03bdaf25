/* test_options.c - the option parser on a table of its own, and every table of the program. */
#include "check.h"
#include "help.h"
#include "options.h"
#include "program.h"

#include <stdbool.h>
#include <string.h>

typedef struct values {
    bool loud;
    int32_t count, shade, lamp;
    int64_t wide;
    uint64_t seed;
    double heat;
    const char *name, *file;
    s2_list items, operands;
    s2_pair size;
    s2a_budget budget;
} values;

static const char *shade_name(size_t index)
{
    static const char *const names[] = { "light", "dark", "darker" };
    return index < COUNT_OF(names) ? names[index] : NULL;
}

static const char *lamp_name(size_t index)
{
    static const char *const names[] = { "auto", "on", "off" };
    return index < COUNT_OF(names) ? names[index] : NULL;
}

#define ROW(type_, name_, member_)                                                      \
    .name = name_, .type = type_, .label = "X", .group = "All", .help = "about " name_, \
    .offset = offsetof(values, member_)

static const s2_option table[] = {
    { ROW(S2_OPTION_FLAG, "--loud", loud), .letters = "-l" },
    { ROW(S2_OPTION_INT, "--count", count), .letters = "-ngl", .min = -2, .max = 9,
      .min_word = "few", .max_word = "many", .fallback = "3" },
    { ROW(S2_OPTION_WIDE, "--wide", wide), .min = 0, .max = 1e12 },
    { ROW(S2_OPTION_SEED, "--seed", seed), .letters = "-s", .also = "--luck -luck",
      .llama = "DICE" },
    { ROW(S2_OPTION_REAL, "--heat", heat), .min = 0, .max = 2, .fallback = "0.5" },
    { ROW(S2_OPTION_TEXT, "--name", name), .letters = "-n" },
    { ROW(S2_OPTION_FILE, "--max-image-file", file) },
    { ROW(S2_OPTION_CHOICE, "--shade", shade), .choice = shade_name, .fallback = "dark" },
    { ROW(S2_OPTION_CHOICE, "--lamp", lamp), .letters = "-la", .choice = lamp_name,
      .fallback = "auto", .bare = "on" },
    { ROW(S2_OPTION_LIST, "--item", items), .letters = "-i" },
    { ROW(S2_OPTION_SIZE, "--size", size), .min = 1, .max = 64, .fallback = "24x32" },
    { ROW(S2_OPTION_BUDGET, "--budget", budget), .min = 1, .max = 1000, .fallback = "64" },
    { .name = NULL },
};

static const s2_foreign foreign[] = { { "-fa --flash", S2_TAKES_SWITCH, NULL },
                                      { "--tune", S2_TAKES_VALUE, NULL },
                                      { "--calm --loud", S2_TAKES_NOTHING, NULL },
                                      { "--rules", S2_TAKES_VALUE, "there are none" },
                                      { .names = NULL } };

static const s2_command command = { .name = "try",
                                    .summary = "nothing",
                                    .usage = "[options] WORD...",
                                    .options = table,
                                    .foreign = foreign,
                                    .operand = "WORD",
                                    .operand_offset = offsetof(values, operands),
                                    .size = sizeof(values) };

static const char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

#define MAX_ARGS 12

static s2_parsed last_parsed;

/* Parse arguments separated by spaces; the sentence, or "" when it went well. */
static const char *parse(const char *line, s2_env env, values *out)
{
    static char text[256];
    static s2p_error error;
    char *argv[MAX_ARGS];
    int argc = 0;
    assert_true(strlen(line) < sizeof text);
    memcpy(text, line, strlen(line) + 1);
    for (char *at = text; *at && argc < MAX_ARGS;) {
        argv[argc++] = at;
        at += strcspn(at, " ");
        if (*at) *at++ = '\0';
    }
    error = (s2p_error){ S2P_OK, "" };
    const s2p_status st = s2_options_parse(&command, argc, argv, env, out, &last_parsed, &error);
    assert_int_equal(st, error.status);
    assert_true(st == S2P_OK || st == S2P_EINVAL);
    return error.message;
}

static void test_defaults(void **state)
{
    (void)state;
    values v;
    assert_string_equal(parse("", no_env, &v), "");
    assert_false(v.loud);
    assert_int_equal(v.count, 3);
    assert_true(v.heat == 0.5);
    assert_null(v.name);
    assert_int_equal(v.shade, 1);
    assert_int_equal(v.size.first, 24);
    assert_int_equal(v.size.second, 32);
    assert_int_equal(v.budget.tokens, 64);
    assert_int_equal(v.items.n, 0);
}

static void test_every_form(void **state)
{
    (void)state;
    values v;
    assert_string_equal(
        parse("-l -ngl -2 --wide=900000000000 -s 18446744073709551615 --heat 1e-1", no_env, &v),
        "");
    assert_true(v.loud);
    assert_int_equal(v.count, -2);
    assert_true(v.wide == 900000000000);
    assert_true(v.seed == UINT64_MAX);
    assert_true(v.heat == 0.1);

    assert_string_equal(
        parse("-n a=b --shade darker --size 8X9 --budget=11% one -- --two -", no_env, &v), "");
    assert_string_equal(v.name, "a=b");
    assert_int_equal(v.shade, 2);
    assert_int_equal(v.size.first, 8);
    assert_int_equal(v.size.second, 9);
    assert_int_equal(v.budget.tokens, 0);
    assert_true(v.budget.percent == 11.0);
    assert_int_equal(v.operands.n, 3);
    assert_string_equal(v.operands.item[1], "--two");
    assert_string_equal(v.operands.item[2], "-");

    assert_string_equal(parse("-ngl few", no_env, &v), "");
    assert_int_equal(v.count, -2); /* words for the ends of a range */
    assert_string_equal(parse("--count=many", no_env, &v), "");
    assert_int_equal(v.count, 9);
}

static void test_repeats(void **state)
{
    (void)state;
    values v;
    assert_string_equal(parse("--count 4 --item a --count=5 -i b", no_env, &v), "");
    assert_int_equal(v.count, 5); /* the last wins */
    assert_int_equal(v.items.n, 2);
    assert_string_equal(v.items.item[0], "a");
    assert_string_equal(v.items.item[1], "b");
}

static void test_budgets(void **state)
{
    (void)state;
    assert_int_equal(s2a_budget_tokens((s2a_budget){ .tokens = 64, .percent = 0.0 }, 576), 64);
    assert_int_equal(s2a_budget_tokens((s2a_budget){ .tokens = 0, .percent = 11.0 }, 576),
                     63); /* 63.36 */
    assert_int_equal(s2a_budget_tokens((s2a_budget){ .tokens = 0, .percent = 100.0 }, 576), 576);
    assert_int_equal(s2a_budget_tokens((s2a_budget){ .tokens = 0, .percent = 0.01 }, 576), 1);
}

static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        { "--buget 5", "unknown option '--buget' (did you mean '--budget'?)" },
        { "--buget=5", "unknown option '--buget' (did you mean '--budget'?)" },
        { "--conut 5", "unknown option '--conut' (did you mean '--count'?)" },
        { "--max-image", "unknown option '--max-image' (did you mean '--max-image-file'?)" },
        { "--zzzzzz", "unknown option '--zzzzzz'; see 's2prune try --help'" },
        { "-q", "unknown option '-q'; see 's2prune try --help'" },
        { "-n5", "unknown option '-n5'; see 's2prune try --help'" },
        { "--count", "--count needs a value: --count X" },
        { "--count --loud", "--count needs a value: --count X" },
        { "--count -- 5", "--count needs a value: --count X" },
        { "--loud=1", "--loud takes no value" },
        { "--count ten", "--count 'ten' is not a whole number from -2 to 9, few or many" },
        { "--count 10", "--count '10' is not a whole number from -2 to 9, few or many" },
        { "--count -3", "--count '-3' is not a whole number from -2 to 9, few or many" },
        { "--count 3.0", "--count '3.0' is not a whole number from -2 to 9, few or many" },
        { "--count 99999999999999999999",
          "--count '99999999999999999999' is not a whole number from -2 to 9, few or many" },
        { "--wide 0x10", "--wide '0x10' is not a whole number from 0 to 1000000000000" },
        { "--seed -2", "--seed '-2' is not a whole number from 0 to 2^64-1" },
        { "--seed 18446744073709551616",
          "--seed '18446744073709551616' is not a whole number from 0 to 2^64-1" },
        { "--heat nan", "--heat 'nan' is not a number from 0 to 2" },
        { "--heat inf", "--heat 'inf' is not a number from 0 to 2" },
        { "--heat 2.5", "--heat '2.5' is not a number from 0 to 2" },
        { "--heat 1x", "--heat '1x' is not a number from 0 to 2" },
        { "--name=", "--name is empty; it needs X" },
        { "--shade drak",
          "--shade 'drak' is not one of light, dark, darker (did you mean 'dark'?)" },
        { "--shade blue", "--shade 'blue' is not one of light, dark, darker" },
        { "--size 24", "--size '24' is not two whole numbers joined by x, like 24x32" },
        { "--size x", "--size 'x' is not two whole numbers joined by x, like 24x32" },
        { "--size 2x3x4", "--size '2x3x4' is not two whole numbers joined by x, like 24x32" },
        { "--size 0x4", "--size '0x4' is out of range: both sides from 1 to 64" },
        { "--size 4x65", "--size '4x65' is out of range: both sides from 1 to 64" },
        { "--budget 0",
          "--budget '0' is neither a number of tokens from 1 to 1000 nor a share like 11%; 100% "
          "keeps all" },
        { "--budget 101%",
          "--budget '101%' is neither a number of tokens from 1 to 1000 nor a share like 11%; 100% "
          "keeps all" },
        { "--budget %",
          "--budget '%' is neither a number of tokens from 1 to 1000 nor a share like 11%; 100% "
          "keeps all" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        values v;
        const char *got = parse(cases[i].line, no_env, &v);
        CHECK_CASE(strcmp(got, cases[i].sentence) == 0, "%s -> %s", cases[i].line, got);
    }
}

static void test_lists_end(void **state)
{
    (void)state;
    char *argv[2 * (S2_LIST_MAX + 1)];
    for (size_t i = 0; i < COUNT_OF(argv); i += 2) {
        static char option[] = "--item", item[] = "x";
        argv[i] = option;
        argv[i + 1] = item;
    }
    values v;
    s2_parsed parsed;
    s2p_error error;
    const int full = 2 * S2_LIST_MAX;
    assert_int_equal(s2_options_parse(&command, full, argv, no_env, &v, &parsed, &error), S2P_OK);
    assert_int_equal(v.items.n, S2_LIST_MAX);
    assert_int_equal(s2_options_parse(&command, full + 2, argv, no_env, &v, &parsed, &error),
                     S2P_EINVAL);
    assert_string_equal(error.message, "--item is given more than 64 times");
}

/* --- habits from elsewhere ------------------------------------------------ */

static void test_foreign_options(void **state)
{
    (void)state;
    values v;
    assert_string_equal(parse("-luck 5 -fa on one -fa two --tune=x --tune y --calm", no_env, &v),
                        "");
    assert_int_equal(v.seed, 5);
    assert_int_equal(v.operands.n, 2); /* "on" is the switch's, "two" is not */
    assert_string_equal(last_parsed.note, "-fa, -fa, --tune, --tune, --calm: accepted for "
                                          "compatibility with llama.cpp, but has no effect\n");
    assert_string_equal(parse("--loud", no_env, &v), "");
    assert_true(v.loud); /* a row of ours comes first */
    assert_string_equal(last_parsed.note, "");
    assert_string_equal(parse("--rules x", no_env, &v), "--rules: there are none");
    assert_string_equal(parse("--tune", no_env, &v), "--tune needs a value");
    assert_string_equal(parse("--shade DARKER", no_env, &v), "");
    assert_int_equal(v.shade, 2);
}

/* "-fa", "-fa on", "-fa 1": llama.cpp took all three at one time or another. */
static void test_switches(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int32_t lamp; /* auto, on, off */
        size_t n_operands;
    } cases[] = { { "", 0, 0 },         { "-la", 1, 0 },          { "-la off", 2, 0 },
                  { "-la auto", 0, 0 }, { "-la 1 x", 1, 1 },      { "-la x", 1, 1 },
                  { "-la -l", 1, 0 },   { "--lamp=false", 2, 0 }, { "-la disabled", 2, 0 } };
    values v;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK_CASE(parse(cases[i].line, no_env, &v)[0] == '\0' && v.lamp == cases[i].lamp &&
                       v.operands.n == cases[i].n_operands,
                   "'%s': %d", cases[i].line, v.lamp);
    }
    assert_string_equal(parse("--lamp=red", no_env, &v),
                        "--lamp 'red' is not one of auto, on, off");
}

static const char *foreign_env(const char *name)
{
    if (strcmp(name, "LLAMA_ARG_DICE") == 0) return "7";
    if (strcmp(name, "LLAMA_ARG_SHADE") == 0) return "q4_0";
    return NULL;
}

static void test_foreign_variables(void **state)
{
    (void)state;
    values v;
    assert_string_equal(parse("", foreign_env, &v), "");
    assert_int_equal(v.seed, 7);
    assert_int_equal(v.shade, 1); /* as if it were not there */
    assert_string_equal(last_parsed.note,
                        "LLAMA_ARG_SHADE 'q4_0' is not one of light, dark, darker; ignored\n");
}

static void test_drawn_seed(void **state)
{
    (void)state;
    values a, b;
    assert_string_equal(parse("-s -1", no_env, &a), "");
    assert_string_equal(parse("-s -1", no_env, &b), "");
    assert_true(a.seed != b.seed); /* one in four billion */
}

/* --- environment ---------------------------------------------------------- */

static const char *some_env(const char *name)
{
    static const char *const pairs[][2] = {
        { "S2PRUNE_COUNT", "7" },
        { "LLAMA_ARG_COUNT", "8" },
        { "LLAMA_ARG_SEED", "42" },
        { "S2PRUNE_LOUD", "on" },
        { "S2PRUNE_HEAT", "" },
        { "LLAMA_ARG_HEAT", "1" },
        { "S2PRUNE_BUDGET", "many" },
        { "S2PRUNE_ITEM", "from-env" },
        { "COUNT", "1" },
        { "S2PRUNE_MAX_IMAGE_FILE", "f" },
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        if (strcmp(pairs[i][0], name) == 0) return pairs[i][1];
    return NULL;
}

static void test_environment(void **state)
{
    (void)state;
    values v;
    assert_string_equal(parse("--budget 5", some_env, &v), ""); /* a bad variable behind a flag */
    assert_int_equal(v.count, 7);                               /* ours before llama.cpp's */
    assert_int_equal(v.seed, 42);
    assert_true(v.loud);
    assert_true(v.heat == 1.0); /* an empty variable is not there */
    assert_string_equal(v.file, "f");
    assert_int_equal(v.items.n, 1);

    assert_string_equal(parse("--budget 5 --count 2 --item a", some_env, &v), "");
    assert_int_equal(v.count, 2); /* the flag wins */
    assert_int_equal(v.items.n, 1);
    assert_string_equal(v.items.item[0], "a");

    assert_string_equal(
        parse("", some_env, &v),
        "S2PRUNE_BUDGET 'many' is neither a number of tokens from 1 to 1000 nor a share "
        "like 11%; 100% keeps all");
}

static const char *bad_flag(const char *name)
{
    return strcmp(name, "S2PRUNE_LOUD") == 0 ? "perhaps" : NULL;
}

static void test_flag_in_environment(void **state)
{
    (void)state;
    values v;
    assert_string_equal(parse("", bad_flag, &v), "S2PRUNE_LOUD 'perhaps' is neither on nor off");
}

/* --- required things ------------------------------------------------------ */

static void test_required(void **state)
{
    (void)state;
    static const s2_option needs[] = { { ROW(S2_OPTION_FILE, "--image", file), .letters = "-i",
                                         .is_required = true },
                                       { .name = NULL } };
    s2_command strict = command;
    strict.options = needs;
    strict.operand = NULL;
    values v;
    s2_parsed parsed;
    s2p_error error;
    assert_int_equal(s2_options_parse(&strict, 0, NULL, no_env, &v, &parsed, &error), S2P_EINVAL);
    assert_string_equal(error.message, "try needs -i X; see 's2prune try --help'");
    char word[] = "cat.png";
    char *const argv[] = { word };
    assert_int_equal(s2_options_parse(&strict, 1, argv, no_env, &v, &parsed, &error), S2P_EINVAL);
    assert_string_equal(error.message,
                        "unexpected argument 'cat.png' (did you mean '-i cat.png'?)");

    strict.options = table;
    strict.operand = "WORD";
    strict.min_operands = 1;
    assert_int_equal(s2_options_parse(&strict, 0, NULL, no_env, &v, &parsed, &error), S2P_EINVAL);
    assert_string_equal(error.message, "try needs WORD; see 's2prune try --help'");
}

/* --- the program's own tables --------------------------------------------- */

static bool has(const s2_buffer *text, const char *word)
{
    return strstr((const char *)text->data, word) != NULL;
}

static s2_buffer text_of(const s2_command *c, const char *shell)
{
    s2_buffer text;
    s2_buffer_init(&text, 1 << 20);
    if (shell)
        s2_completion(s2_commands, shell, &text);
    else
        s2_help_command(c, &text);
    s2_buffer_append(&text, "", 1);
    assert_int_equal(text.status, S2P_OK);
    return text;
}

/* Help and completion come from the tables: every option, label, choice and default is there. */
static void test_help_has_every_row(void **state)
{
    (void)state;
    for (size_t i = 0; s2_commands[i]; i++) {
        const s2_command *c = s2_commands[i];
        s2_buffer help = text_of(c, NULL);
        CHECK_CASE(has(&help, c->summary) && has(&help, c->usage), "%s", c->name);
        for (const s2_option *o = c->options; o->name; o++) {
            CHECK_CASE(has(&help, o->name) && has(&help, o->group), "%s %s", c->name, o->name);
            char heading[64]; /* once, although a group may have rows in several places */
            (void)snprintf(heading, sizeof heading, "\n\n%s\n ", o->group);
            const char *first = strstr((const char *)help.data, heading);
            CHECK_CASE(first && !strstr(first + 1, heading), "%s: heading %s", c->name, o->group);
            if (o->label) CHECK_CASE(has(&help, o->label), "%s %s", c->name, o->name);
            if (o->fallback) CHECK_CASE(has(&help, o->fallback), "%s %s", c->name, o->name);
            for (size_t k = 0; o->choice && o->choice(k); k++)
                CHECK_CASE(has(&help, o->choice(k)), "%s %s %s", c->name, o->name, o->choice(k));
        }
        s2_buffer_free(&help);
    }
    for (size_t i = 0; s2_commands[i]; i++) { /* manual pages write a hyphen as \\- */
        const s2_command *c = s2_commands[i];
        s2_buffer page;
        s2_buffer_init(&page, 1 << 20);
        s2_manual(s2_commands, c, &page);
        s2_buffer_append(&page, "", 1);
        assert_int_equal(page.status, S2P_OK);
        CHECK_CASE(has(&page, ".SH NAME\ns2prune\\-"), "%s", c->name);
        for (const s2_option *o = c->options; o->name; o++) {
            char escaped[128];
            size_t n = 0;
            for (const char *letter = o->name; *letter; letter++) {
                if (*letter == '-') escaped[n++] = '\\';
                escaped[n++] = *letter;
            }
            escaped[n] = '\0';
            CHECK_CASE(has(&page, escaped), "%s %s", c->name, o->name);
        }
        if (c == &s2_cmd_run) { /* sentences are filled, commands are not */
            assert_true(has(&page, ".SH NOTES\nBy default"));
            assert_true(has(&page, ".SH EXAMPLES\n.nf\n  s2prune run"));
        }
        s2_buffer_free(&page);
    }
    for (size_t s = 0; s2_shell_name(s); s++) {
        s2_buffer script = text_of(NULL, s2_shell_name(s));
        for (size_t i = 0; s2_commands[i]; i++) {
            assert_true(has(&script, s2_commands[i]->name));
            for (const s2_option *o = s2_commands[i]->options; o->name; o++)
                CHECK_CASE(has(&script, o->name + 2), "%s: %s", s2_shell_name(s), o->name);
        }
        s2_buffer_free(&script);
    }
}

/* Rows that contradict themselves would only be noticed by a user. */
static void test_tables_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; s2_commands[i]; i++) {
        const s2_command *c = s2_commands[i];
        static uint64_t buffer[8192]; /* aligned for every member */
        assert_true(c->size <= sizeof buffer);
        memset(buffer, 0, sizeof buffer);
        for (const s2_option *o = c->options; o->name; o++) {
            CHECK_CASE(strncmp(o->name, "--", 2) == 0 && o->group && o->help, "%s %s", c->name,
                       o->name);
            CHECK_CASE((o->type == S2_OPTION_FLAG) == !o->label, "%s %s", c->name, o->name);
            CHECK_CASE(o->type == S2_OPTION_TEXT ||
                           (o->type == S2_OPTION_CHOICE) == (o->choice != NULL),
                       "%s %s", c->name, o->name);
            CHECK_CASE(o->offset < c->size, "%s %s", c->name, o->name);
            if (o->fallback) {
                const s2p_status st = s2_option_set(o, o->name, o->fallback, buffer, NULL);
                CHECK_CASE(st == S2P_OK, "%s %s %s", c->name, o->name, o->fallback);
            }
            for (const s2_option *p = c->options; p < o; p++) {
                CHECK_CASE(strcmp(p->name, o->name) != 0, "%s twice", o->name);
                CHECK_CASE(!p->letters || !o->letters || strcmp(p->letters, o->letters) != 0,
                           "%s twice", o->letters);
            }
        }
    }
}

static void test_env_names(void **state)
{
    (void)state;
    char name[32];
    s2_env_name("S2PRUNE_", &table[6], name, sizeof name);
    assert_string_equal(name, "S2PRUNE_MAX_IMAGE_FILE");
    s2_env_name("S2PRUNE_", &table[6], name, 12); /* cut, never beyond */
    assert_string_equal(name, "S2PRUNE_MAX");
}

static void test_help_asked(void **state)
{
    (void)state;
    values v;
    s2_parsed parsed;
    char count[] = "--count", bad[] = "bad", h[] = "-h", dashes[] = "--";
    char *const asked[] = { count, bad, h };
    assert_int_equal(s2_options_parse(&command, 3, asked, no_env, &v, &parsed, NULL), S2P_OK);
    assert_true(parsed.help);
    char *const not_asked[] = { dashes, h };
    assert_int_equal(s2_options_parse(&command, 2, not_asked, no_env, &v, &parsed, NULL), S2P_OK);
    assert_false(parsed.help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),         cmocka_unit_test(test_every_form),
        cmocka_unit_test(test_repeats),          cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_mistakes),         cmocka_unit_test(test_lists_end),
        cmocka_unit_test(test_environment),      cmocka_unit_test(test_flag_in_environment),
        cmocka_unit_test(test_required),         cmocka_unit_test(test_help_has_every_row),
        cmocka_unit_test(test_tables_are_sound), cmocka_unit_test(test_env_names),
        cmocka_unit_test(test_help_asked),       cmocka_unit_test(test_foreign_options),
        cmocka_unit_test(test_switches),         cmocka_unit_test(test_foreign_variables),
        cmocka_unit_test(test_drawn_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
