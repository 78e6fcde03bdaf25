/* fuzz_lines.c - the whole program on random command lines: every command, options from the tables,
 * values that fit and values made to hurt.
 *
 *     fuzz_lines SOURCE WORK N [SEED [MILLISECONDS [PAIR|grammar]]]
 *
 * PAIR: the good model is PAIR.gguf with mmproj-PAIR.gguf beside it, not the bundled one. grammar: lines
 * of line_grammar.h, every fourth with one random option more; half of all have to be accepted.
 * Each line runs in a child of its own, in a folder with a few good and broken files. A line fails
 * that ends by a signal, with a code that is not in the contract, without a sentence for its code,
 * with a sanitizer's report, with control characters on standard error, or with a changed input. One
 * that takes longer than MILLISECONDS is stopped, which is no failure: the model is not the matter.
 */
#define _DEFAULT_SOURCE   /* usleep */
#define _XOPEN_SOURCE 700 /* nftw */

#include "check.h"
#include "line_grammar.h"

#include "base/clock.h"
#include "options.h"
#include "program.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORDS 48
#define WORD_CAPACITY 6000
#define ERROR_CAPACITY ((size_t)64 << 10)
#define MAX_FILE_BYTES ((rlim_t)8 << 20)

static char word_text[MAX_WORDS][WORD_CAPACITY];
static char *words[MAX_WORDS + 1];
static int n_words;
static char variable_text[4][WORD_CAPACITY + 64];
static int n_variables;
static uint32_t random_state;
static bool has_grammar;
static bool is_mild; /* most values fit, so that more than the parser is reached */
static const char *source_folder;
static char good_model[512], good_mmproj[512], good_picture[512];

/* --- a folder to work in ------------------------------------------------------------------- */

static const char *const inputs[] = { "in.png", "data.npy", "broken.gguf", "answers.jsonl" };
static const char *const input_names[][3] = { { "in.png", "link.png", "hard.png" },
                                              { "data.npy" },
                                              { "broken.gguf", "link.gguf" },
                                              { "answers.jsonl" } };
typedef struct contents {
    char bytes[1 << 16];
    size_t n;
} contents;
static contents before[COUNT_OF(inputs)];

static void write_file(const char *path, const void *data, size_t n)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, n, file) != n || fclose(file) != 0) {
        perror(path);
        exit(2);
    }
}

static size_t read_file(const char *path, char *out, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    const size_t n = file ? fread(out, 1, capacity, file) : 0;
    if (file) (void)fclose(file);
    return n;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    if (where->level > 0) (void)remove(path);
    return 0;
}

static void fill_folder(void)
{
    (void)nftw(".", remove_one, 16, FTW_DEPTH | FTW_PHYS);
    for (size_t i = 0; i < COUNT_OF(inputs); i++)
        write_file(inputs[i], before[i].bytes, before[i].n);
    (void)mkdir("folder", 0777);
    (void)mkdir("empty", 0777);
    write_file("folder/synth.json", "{", 1);
    write_file("none.png", "", 0);
    write_file("question.txt", "What?\n", 6);
    if (has_grammar) line_files();
    if (symlink("in.png", "link.png") != 0 || link("in.png", "hard.png") != 0 ||
        symlink("broken.gguf", "link.gguf") != 0 || symlink(good_model, "good.gguf") != 0 ||
        symlink(good_mmproj, "good-mmproj.gguf") != 0 || symlink(good_picture, "good.jpg") != 0) {
        perror("link");
        exit(2);
    }
}

/* --- words ---------------------------------------------------------------------------------- */

static int32_t below(int32_t n) { return random_below(&random_state, n); }
static bool one_in(int32_t n) { return below(n) == 0; }
#define ANY_OF(array) ((array)[below((int32_t)COUNT_OF(array))])

static const char *const files[] = {
    "in.png",    "link.png",  "hard.png",  "none.png",      "broken.gguf",  "link.gguf",
    "data.npy",  "folder",    "empty",     "answers.jsonl", "question.txt", "new.png",
    "new.svg",   "new.gguf",  "other.png", "out.npy",       "new",          "nowhere/x.png",
    "/dev/null", "/dev/full", "/proc/no",  "in.png/x",      "./in.png",     "folder/../in.png",
    "page.html", "new.jsonl", "-",         "folder/new",    "s.jpg",        "\x1b]0;x\x07.png",
};

static const char *const hostile[] = {
    "",
    "-",
    "--",
    "---",
    "0",
    "-1",
    "1",
    "2",
    "64",
    "00064",
    "+5",
    "4294967296",
    "-9223372036854775809",
    "999999999999999999999999",
    "1e999",
    "-1e-999",
    "nan",
    "inf",
    "0x10",
    "1.5",
    ".5",
    "5.",
    "1,5",
    "64,32",
    ",",
    ",,,,",
    "a,,b",
    "64,",
    "all",
    "full",
    "full,full",
    "FULL",
    "s2prune",
    "s2prune,random,fastv",
    "5%",
    "0%",
    "101%",
    "%",
    "5%%",
    "1e1%",
    "%s%n%x",
    "x",
    "1x",
    "x1",
    "1x1",
    "0x0",
    "24x24",
    "672x672,native",
    "native",
    "99999x99999",
    "1x1x1",
    "on",
    "off",
    "true",
    "json",
    "JSON",
    "text",
    "a=b",
    "=",
    "=x",
    "x=",
    "fastv.k=3",
    "erc=data.npy",
    "image=in.png",
    "grid=24",
    "N=576",
    "0/4",
    "4/4",
    "auto",
    "auto/3",
    "1/0",
    "\xff\xfe\xfd",
    "caf\xe9",
    "caf\xc3\xa9",
    "\xe2\x80\xae-abc",
    "\x1b[31mred",
    "a\nb",
    "\r",
    "\t",
    "\x7f",
    "\x01\x02",
    "~",
    "~/x",
    "$HOME",
    "`id`",
    "'",
    "\"",
    "\\",
    "*",
    "..",
    "../../..",
    "merge",
    "status",
    "export",
    "Q4_K_M",
    "q8_0",
    "bash",
    "spatial",
    "budget",
    "user/repo",
    "user/repo:Q4_K_M",
    "../../x",
    "127.0.0.1:1",
    "CPU",
    "Vulkan0",
    "synth",
    "pope",
    "synth,pope",
};

static void put_file(char *out)
{
    /* A name that is damaged later is one of the work folder too. */
    const char *good = below(2) ? "good.jpg" : below(2) ? "good.gguf" : "good-mmproj.gguf";
    (void)snprintf(out, WORD_CAPACITY, "%s", one_in(12) ? good : ANY_OF(files));
}

/* Long ones find what short ones do not. */
static void put_long(char *out)
{
    static const char *const pieces[] = { "a",  "64,",          "full,", "1x1,",
                                          "%n", "\xe2\x82\xac", "../",   "9" };
    const char *piece = ANY_OF(pieces);
    const size_t n = strlen(piece), most = one_in(3) ? WORD_CAPACITY - 100 : 700;
    size_t used = 0;
    for (; used + n < most; used += n) memcpy(out + used, piece, n);
    out[used] = '\0';
}

static void damage(char *text)
{
    const size_t n = strlen(text);
    if (n == 0 || n + 2 > WORD_CAPACITY) return;
    const size_t at = (size_t)below((int32_t)n);
    if (one_in(2))
        text[at] = (char)(1 + below(255));
    else
        memmove(text + at, text + at + 1, n - at);
}

static void put_value(const s2_option *o, char *out)
{
    const int32_t kind = is_mild && !one_in(12) ? below(10) : below(20);
    if (o && kind < 10 && o->choice) {
        int32_t n = 0;
        while (o->choice((size_t)n)) n++;
        (void)snprintf(out, WORD_CAPACITY, "%s", o->choice((size_t)below(n)));
    } else if (o && kind < 12 && (o->type == S2_OPTION_FILE || o->role != S2_FILE_NONE)) {
        put_file(out);
    } else if (o && kind < 10 && o->max > o->min) {
        const double span = o->max - o->min;
        const double value = !one_in(4) ? o->min + below(8) : o->min + span * below(1000) / 1000.0;
        (void)snprintf(out, WORD_CAPACITY, "%.0f", value);
    } else if (o && kind < 12 && o->fallback) {
        (void)snprintf(out, WORD_CAPACITY, "%s", o->fallback);
    } else if (kind == 19) {
        put_long(out);
    } else if (kind == 18) {
        put_file(out);
    } else {
        (void)snprintf(out, WORD_CAPACITY, "%s", ANY_OF(hostile));
    }
    if (one_in(is_mild ? 100 : 15)) damage(out);
}

static char *next_word(void) { return n_words < MAX_WORDS ? word_text[n_words++] : word_text[0]; }

static void put_option(const s2_command *command)
{
    static const char *const strange[] = { "--unknown",  "-zz",     "--mode-x",  "-fa",
                                           "--jinja",    "--color", "--grammar", "-j",
                                           "--help",     "-h",      "--",        "-lcs",
                                           "--samplers", "-",       "--no-mmap" };
    int32_t n = 0;
    while (command->options[n].name) n++;
    char *name = next_word();
    if (n == 0 || one_in(is_mild ? 60 : 25)) {
        (void)snprintf(name, WORD_CAPACITY, "%s", ANY_OF(strange));
        return;
    }
    const s2_option *o = &command->options[below(n)];
    (void)snprintf(name, WORD_CAPACITY, "%s", o->letters && one_in(2) ? o->letters : o->name);
    if (one_in(40)) damage(name);
    if (o->type == S2_OPTION_FLAG && !one_in(30)) return;
    if (one_in(5)) {
        char value[WORD_CAPACITY];
        put_value(o, value);
        const size_t used = strlen(name);
        (void)snprintf(name + used, WORD_CAPACITY - used, "=%s", value);
    } else if (!one_in(40)) {
        put_value(o, next_word());
    }
}

/* What a command cannot do without, most of the time: then more than the parser is reached. */
static void put_needed(const s2_command *command)
{
    for (const s2_option *o = command->options; o->name; o++) {
        const bool asks = strcmp(o->name, "--prompt") == 0 || strcmp(o->name, "--method") == 0;
        if (!(o->is_required || (asks && !one_in(4))) || one_in(8)) continue;
        (void)snprintf(next_word(), WORD_CAPACITY, "%s", o->letters ? o->letters : o->name);
        put_value(o, next_word());
    }
    for (size_t i = 0; command->operand && i < command->min_operands && !one_in(8); i++)
        put_value(NULL, next_word());
    if (strcmp(command->name, "quantize") == 0 && n_words >= 3 && !one_in(3)) {
        put_file(word_text[1]);
        put_file(word_text[2]);
        (void)snprintf(word_text[3], WORD_CAPACITY, "Q8_0");
        n_words = 4;
    }
}

static void make_grammar_line(void)
{
    char line[1024] = "";
    size_t used = 0;
    line_expand(&line_rules[0], &random_state, line, sizeof line, &used);
    n_words = n_variables = 0;
    for (const char *word = strtok(line, " "); word; word = strtok(NULL, " "))
        (void)snprintf(next_word(), WORD_CAPACITY, "%s", word);
    is_mild = true;
    const bool has_more = one_in(4);
    for (size_t c = 0; has_more && s2_commands[c]; c++)
        if (strcmp(s2_commands[c]->name, word_text[0]) == 0) put_option(s2_commands[c]);
    for (int i = 0; i < n_words; i++) words[i] = word_text[i];
    words[n_words] = NULL;
}

static void make_line(void)
{
    if (has_grammar) {
        make_grammar_line();
        return;
    }
    int32_t n_commands = 0;
    while (s2_commands[n_commands]) n_commands++;
    const s2_command *command = s2_commands[below(n_commands)];
    n_words = 0;
    is_mild = !one_in(3);
    (void)snprintf(next_word(), WORD_CAPACITY, "%s", command->name);
    if (one_in(100)) put_value(NULL, word_text[0]);
    put_needed(command);
    for (int32_t i = below(is_mild ? 5 : 8); i > 0; i--) put_option(command);
    if (one_in(is_mild ? 40 : 5)) put_value(NULL, next_word());
    for (int i = 0; i < n_words; i++) words[i] = word_text[i];
    words[n_words] = NULL;

    /* the bundled model would answer every line that is in order */
    n_variables = 0;
    if (!one_in(40)) (void)snprintf(variable_text[n_variables++], 64, "S2PRUNE_MODEL=broken.gguf");
    while (one_in(8) && n_variables < 4) {
        int32_t n = 0;
        while (command->options[n].name) n++;
        if (n == 0) break;
        char name[80], value[WORD_CAPACITY];
        const s2_option *o = &command->options[below(n)];
        s2_env_name(one_in(2) ? "S2PRUNE_" : "LLAMA_ARG_", o, name, sizeof name);
        put_value(o, value);
        (void)snprintf(variable_text[n_variables++], sizeof variable_text[0], "%.79s=%.5000s", name,
                       value);
    }
}

/* --- one line ---------------------------------------------------------------------------------- */

static const char *environment(const char *name)
{
    const size_t n = strlen(name);
    for (int i = 0; i < n_variables; i++)
        if (strncmp(variable_text[i], name, n) == 0 && variable_text[i][n] == '=')
            return variable_text[i] + n + 1;
    return NULL;
}

static void run_child(const char *err)
{
    const struct rlimit size = { MAX_FILE_BYTES, MAX_FILE_BYTES };
    const int fd[3] = { open("/dev/null", O_RDONLY), open("/dev/null", O_WRONLY),
                        open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600) };
    for (int i = 0; i < 3; i++)
        if (dup2(fd[i], i) < 0) _exit(126);
    (void)setrlimit(RLIMIT_FSIZE, &size);
#ifndef S2_SANITIZED /* a sanitizer maps terabytes */
    const struct rlimit memory = { (rlim_t)6 << 30, (rlim_t)6 << 30 };
    (void)setrlimit(RLIMIT_AS, &memory);
#endif
    char *argv[MAX_WORDS + 2];
    char program[] = "s2prune";
    argv[0] = program;
    for (int i = 0; i <= n_words; i++) argv[i + 1] = words[i];
    s2_report_signals();
    exit(s2_program(n_words + 1, argv, environment));
}

/* A picture drawn by the terminal is a control sequence, and was asked for. */
static bool draws_by_terminal(void)
{
    for (int i = 1; i < n_words; i++)
        if (strstr(words[i], "kitty") || strstr(words[i], "sixel")) return true;
    return false;
}

static const char *complaint_about(int status, bool is_stopped, const char *text)
{
    static const char *const reports[] = { "AddressSanitizer",  "LeakSanitizer", "runtime error:",
                                           "UndefinedBehavior", "GGML_ASSERT",   "Assertion",
                                           "free():",           "malloc" };
    for (size_t i = 0; i < COUNT_OF(reports); i++)
        if (strstr(text, reports[i])) return "a report on standard error";
    for (const char *c = text; *c && !draws_by_terminal(); c++)
        if ((unsigned char)*c < ' ' && *c != '\n' && *c != '\t') return "control characters";
    if (is_stopped) return NULL;
    if (WIFSIGNALED(status)) return "ended by a signal";
    const int code = WEXITSTATUS(status);
    if (code > 5) return "an exit code that is not in the contract";
    const bool has_sentence = strncmp(text, "error: ", 7) == 0 || strstr(text, "\nerror: ");
    const bool reports_itself = strcmp(words[0], "verify") == 0 || strcmp(words[0], "inspect") == 0;
    if (code > 0 && code < 5 && !has_sentence && !reports_itself) return "no sentence";
    const char *first = strstr(text, "error: ");
    if (code == 2 && first && strstr(first + 1, "\nerror: ")) return "two sentences";
    return NULL;
}

/* Inputs of the line have their old contents; what was only an output may change. */
static const char *changed_input(void)
{
    static char now[1 << 16];
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        const size_t n = read_file(inputs[i], now, sizeof now);
        if (n == before[i].n && memcmp(now, before[i].bytes, n) == 0) continue;
        int n_named = 0;
        for (int w = 0; w < n_words; w++)
            for (size_t k = 0; k < 3 && input_names[i][k]; k++)
                n_named += strstr(words[w], input_names[i][k]) != NULL;
        const bool has_operands_only =
            strcmp(words[0], "quantize") == 0; /* variables are for others */
        for (int v = 0; v < n_variables && !has_operands_only; v++)
            n_named += strstr(variable_text[v], inputs[i]) != NULL;
        if (n_named > 1) return inputs[i];
    }
    return NULL;
}

static void print_word(const char *text)
{
    (void)printf(" $'");
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= 127 || *c == '\'' || *c == '\\')
            (void)printf("\\x%02x", (unsigned char)*c);
        else
            (void)printf("%c", *c);
    (void)printf("'");
}

static void print_line(const char *what, const char *detail, uint32_t seed, int status,
                       const char *text)
{
    (void)printf("seed %u: %s %s (status %#x)\n ", seed, what, detail, (unsigned)status);
    for (int i = 0; i < n_variables; i++) print_word(variable_text[i]);
    (void)printf(" s2prune");
    for (int i = 0; i < n_words; i++) print_word(words[i]);
    (void)printf("\n%.3000s\n", text);
}

/* The status of the child; *is_stopped: it took too long. */
static int wait_for(pid_t child, int milliseconds, bool *is_stopped)
{
    int status = 0;
    *is_stopped = false;
    for (int waited = 0; waitpid(child, &status, WNOHANG) == 0;) {
        const int pause = waited < 20 ? 1 : 5;
        (void)usleep((useconds_t)pause * 1000);
        waited += pause;
        if (waited < milliseconds) continue;
        *is_stopped = true;
        (void)kill(child, SIGKILL);
        (void)waitpid(child, &status, 0);
        break;
    }
    return status;
}

static void prepare(const char *work, const char *pair)
{
    char bundled[400];
    (void)snprintf(bundled, sizeof bundled, "%.300s/models/s2prune-tiny/s2prune-tiny-f16",
                   source_folder);
    if (!pair) pair = bundled;
    const char *slash = strrchr(pair, '/');
    const int n_folder = slash ? (int)(slash - pair) + 1 : 0;
    (void)snprintf(good_model, sizeof good_model, "%.400s.gguf", pair);
    (void)snprintf(good_mmproj, sizeof good_mmproj, "%.*smmproj-%.200s.gguf", n_folder, pair,
                   pair + n_folder);
    (void)snprintf(good_picture, sizeof good_picture, "%.300s/data/synth/images/0000.jpg",
                   source_folder);
    char path[512];
    (void)snprintf(path, sizeof path, "%.300s/tests/data/goldens/algo/img_rects_1017_168x168.png",
                   source_folder);
    before[0].n = read_file(path, before[0].bytes, sizeof before[0].bytes);
    (void)snprintf(path, sizeof path, "%.300s/tests/data/goldens/methods/s2prune/erc_0_N576.npy",
                   source_folder);
    before[1].n = read_file(path, before[1].bytes, sizeof before[1].bytes);
    before[2].n = read_file(good_model, before[2].bytes, 5000);
    before[3].n = (size_t)snprintf(before[3].bytes, sizeof before[3].bytes,
                                   "{\"id\":1}\n{\"question_id\":\"0\"}\n");
    if (before[0].n == 0 || before[1].n == 0 || before[2].n == 0 ||
        (mkdir(work, 0777) != 0 && errno != EEXIST) || chdir(work) != 0) {
        perror(work);
        exit(2);
    }
    (void)setenv("HOME", work, 1); /* no cache, and no hub, of anybody else */
    (void)setenv("HF_ENDPOINT", "http://127.0.0.1:1", 1);
    (void)unsetenv("LLAMA_CACHE");
    (void)unsetenv("HF_HOME");
    (void)unsetenv("HF_HUB_CACHE");
    (void)unsetenv("XDG_CACHE_HOME");
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    source_folder = argv[1];
    const long n_lines = atol(argv[3]);
    const uint32_t first_seed = argc > 4 ? (uint32_t)atol(argv[4]) : 1;
    const int milliseconds = argc > 5 ? atoi(argv[5]) : 400;
    long n_failed = 0, n_stopped = 0, slowest_ms = 0;
    uint32_t slowest = 0;
    long codes[256] = { 0 };
    char err[600];
    static char text[ERROR_CAPACITY];
    (void)snprintf(err, sizeof err, "%.500s.err", argv[2]);
    has_grammar = argc > 6 && strcmp(argv[6], "grammar") == 0;
    prepare(argv[2], argc > 6 && !has_grammar ? argv[6] : NULL);
    for (long i = 0; i < n_lines && n_failed < 10; i++) {
        const uint32_t seed = first_seed + (uint32_t)i;
        random_state = seed * 2654435761u;
        if (i % 20 == 0) fill_folder();
        make_line();
        (void)fflush(stdout);
        const pid_t child = fork();
        if (child == 0) run_child(err);
        bool is_stopped;
        const double start_ms = s2_now_ms();
        const int status = wait_for(child, milliseconds, &is_stopped);
        text[read_file(err, text, sizeof text - 1)] = '\0';
        const long ms = (long)(s2_now_ms() - start_ms);
        if (ms > slowest_ms && !is_stopped) {
            slowest_ms = ms;
            slowest = seed;
        }
        n_stopped += is_stopped;
        if (!is_stopped && WIFEXITED(status)) codes[WEXITSTATUS(status)]++;
        const char *what = complaint_about(status, is_stopped, text), *input = changed_input();
        if (what || input)
            print_line(what ? what : "changed", what ? "" : input, seed, status, text);
        n_failed += what || input;
        if (input) fill_folder();
    }
    (void)printf("%ld lines, %ld stopped, %ld failed; slowest %ld ms (seed %u); codes", n_lines,
                 n_stopped, n_failed, slowest_ms, slowest);
    for (int c = 0; c < 256; c++)
        if (codes[c]) (void)printf(" %d:%ld", c, codes[c]);
    (void)printf("\n");
    if (has_grammar) {
        const long n_accepted =
            codes[0] + codes[5]; /* 5: done, and part of the data was not good */
        (void)printf("%ld of %ld lines accepted\n", n_accepted, n_lines);
        if (2 * n_accepted < n_lines) return 1;
    }
    return n_failed ? 1 : 0;
}
