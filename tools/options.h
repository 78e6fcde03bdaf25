/* options.h - one table per subcommand: parsing, help and completion all read it.
 *
 * Options look like llama.cpp's: "--name value", "--name=value", "-n value" and single-dash names
 * of several letters ("-mm file"). Values come from the command line, else from S2PRUNE_<NAME>,
 * else from LLAMA_ARG_<NAME>, else from the table. Nothing here prints: sentences go into
 * s2p_error, notes into s2_parsed.
 */
#ifndef S2_TOOLS_OPTIONS_H
#define S2_TOOLS_OPTIONS_H

#include "ask/settings.h"
#include "base/error.h"
#include "base/suggest.h"
#include "profile_options.h"

#include <stdbool.h>

#define S2_LIST_MAX 64

typedef struct s2_list { /* values of a repeatable option, or operands */
    size_t n;
    const char *item[S2_LIST_MAX];
    char part[4096]; /* names that came in one value, each with its NUL */
    size_t n_part;
} s2_list;

typedef struct s2_words { /* a command line */
    const char *command;
    int n;             /* behind it */
    char *const *word; /* [n] */
} s2_words;

typedef struct s2_pair { /* "24x32": rows and columns, or width and height */
    int32_t first, second;
} s2_pair;

typedef enum s2_option_type {                   /* and what is stored at .offset */
                              S2_OPTION_FLAG,   /* bool */
                              S2_OPTION_INT,    /* int32_t */
                              S2_OPTION_WIDE,   /* int64_t */
                              S2_OPTION_SEED,   /* uint64_t */
                              S2_OPTION_REAL,   /* double */
                              S2_OPTION_TEXT,   /* const char *, NULL when absent */
                              S2_OPTION_FILE,   /* the same; completion offers files */
                              S2_OPTION_CHOICE, /* int32_t, index into .choice */
                              S2_OPTION_LIST,   /* s2_list */
                              S2_OPTION_SIZE,   /* s2_pair */
                              S2_OPTION_BUDGET, /* s2a_budget, one */
                              S2_OPTION_STEPS   /* s2a_budget, perhaps several that grow */
} s2_option_type;

typedef enum s2_file_role {                /* of what a value names; see files/file_roles.h */
                            S2_FILE_NONE,  /* as its type says: a FILE is an input */
                            S2_FILE_INPUT, /* a file or a folder that is read */
                            S2_FILE_OUTPUT,
                            S2_FOLDER_OUTPUT
} s2_file_role;

typedef struct s2_option {
    const char *name;    /* "--budget"; NULL ends the table */
    const char *letters; /* "-i", "-mm", or NULL */
    const char *also;    /* further names it answers to, separated by spaces, or NULL */
    const char *llama;   /* what follows LLAMA_ARG_ where that is not the name, or NULL */
    const char *label;   /* "FILE" in the help; NULL for flags */
    s2_option_type type;
    bool is_required;
    double min, max;                     /* numbers, and both halves of a size */
    const char *min_word, *max_word;     /* of an INT: what else the two are called, or NULL */
    const char *(*choice)(size_t index); /* NULL past the end; of a TEXT: words that help and
                                            completion offer */
    bool has_commas;      /* a list: "a,b" is two, unless that is the name of a file */
    const char *fallback; /* parsed like a given value; NULL: all zero */
    const char *bare;     /* a choice: what it means without a value; NULL: it needs one */
    const char *group, *help;
    size_t offset; /* into the command's own struct */
    s2_file_role role;
    const char *writes; /* a file's suffix, ".png"; the names it writes into a folder, or NULL */
} s2_option;

typedef enum s2_takes { /* how many words follow an option that is not ours */
                        S2_TAKES_NOTHING,
                        S2_TAKES_VALUE,
                        S2_TAKES_SWITCH /* one, if it is on, off or auto */
} s2_takes;

typedef struct s2_foreign { /* an option of another program that people type here */
    const char *names;      /* separated by spaces; NULL ends the table */
    s2_takes takes;
    const char
        *refusal; /* why it cannot be had; NULL: it changes nothing here, and a note says so */
} s2_foreign;

typedef struct s2_command {
    const char *name, *summary;
    const char *usage;    /* what follows "s2prune NAME" */
    const char *examples; /* whole lines, or NULL */
    const s2_option *options;
    const s2_foreign *foreign; /* or NULL */
    const char *operand;       /* label of what stands without a dash; NULL: nothing may */
    size_t min_operands, operand_offset; /* s2_list */
    s2_file_role operand_role[3];        /* of the first, the second, those after it */
    const char *operand_writes;          /* as in s2_option */
    size_t words_offset;                 /* s2_words, filled with the command line; 0: none */
    size_t size;                         /* of the struct the offsets point into */
    bool repeats;                        /* the words of a command that has shown their notes */
    int (*run)(const void *values);      /* returns the exit code */
    const char *program;                 /* runs the command instead of `run`, or NULL */
} s2_command;

typedef const char *(*s2_env)(const char *name); /* getenv, or a test's own */

/* A choice function of these words, NULL past the end. */
#define S2_WORDS(function, ...)                                            \
    const char *function(size_t index)                                     \
    {                                                                      \
        static const char *const words[] = { __VA_ARGS__ };                \
        return index < sizeof words / sizeof *words ? words[index] : NULL; \
    }

typedef struct s2_parsed {
    s2_profile_values profile; /* borrowed by the values; keep it as long as them */
    bool help;                 /* -h or --help was there, nothing else is promised */
    bool is_quiet;             /* --quiet was given */
    char note[1024]; /* lines for the user, each ended; "" when there are none, and with --quiet */
} s2_parsed;

/* Fill *values (command->size bytes) from the arguments after the subcommand's name. Strings are
 * borrowed. S2P_EINVAL: a usage mistake. */
s2p_status s2_options_parse(const s2_command *command, int argc, char *const *argv, s2_env env,
                            void *values, s2_parsed *parsed, s2p_error *error);

/* One value into the struct `option` points into; `source` opens the sentence of a refusal. */
s2p_status s2_option_set(const s2_option *option, const char *source, const char *text,
                         void *values, s2p_error *error);

/* "S2PRUNE_MAX_IMAGE_PIXELS" for "--max-image-pixels". */
void s2_env_name(const char *prefix, const s2_option *option, char *out, size_t capacity);

/* Index of `name` in a choice function, whatever its case; -1 when it is not there. */
int32_t s2_choice_index(const char *(*choice)(size_t index), const char *name);

#endif /* S2_TOOLS_OPTIONS_H */
