/* analyze_rows.h - the options `analyze` and `paper` share. */
#ifndef S2_TOOLS_ANALYZE_ROWS_H
#define S2_TOOLS_ANALYZE_ROWS_H

#include "analyze/analyze_command.h"
#include "eval/judging.h"

#define S2_ANALYZE_AT(member) .offset = offsetof(analyze_options, member)

/* clang-format off */
#define S2_ANALYZE_ROWS(folder)                                                                                      \
    S2_ASK_ROWS_MODEL,                                                                                               \
    S2_ASK_ROWS_CACHE,                                                                                               \
    { .name = "--tasks", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Data",                                   \
      .help = "benchmarks, such as pope,mmbench (default: synth; with --run: all in the run)", S2_ANALYZE_AT(tasks) },      \
    { .name = "--data-dir", .label = "DIR", .type = S2_OPTION_FILE, .group = "Data",                                 \
      .help = "folder with the benchmark's files; for several benchmarks, with one folder each (default: the bundled data)",         \
      S2_ANALYZE_AT(data) },                                                                                         \
    { .name = "--images", .label = "DIR", .type = S2_OPTION_FILE, .group = "Data",                                   \
      .help = "use only these pictures, without a model; for methods that read pixels or nothing", S2_ANALYZE_AT(images) },       \
    { .name = "--run", .label = "DIR", .type = S2_OPTION_LIST, .group = "Data",                                      \
      .help = "use the answers of a run of 's2prune eval' (repeatable), without a model",      \
      S2_ANALYZE_AT(runs) },                                                                                         \
    { .name = "--recorded", .label = "DIR", .type = S2_OPTION_FILE, .group = "Data",                                 \
      .help = "use the arrays that 's2prune run --record' wrote below this folder, without a model",           \
      S2_ANALYZE_AT(recorded) },                                                                                     \
    { .name = "--tokens", .label = "RxC", .type = S2_OPTION_SIZE, .min = 1, .max = S2P_MAX_SIDE,                     \
      .fallback = "24x24", .group = "Data", .help = "rows and columns of visual tokens, with --images", S2_ANALYZE_AT(tokens) },   \
    { .name = "--pictures", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000000, .fallback = "0",          \
      .group = "Data", .help = "use only the first N pictures; 0: all", S2_ANALYZE_AT(n_pictures) },                              \
    { .name = "--per-picture", .label = "N", .type = S2_OPTION_INT, .min = -1, .max = 1000000, .fallback = "-1",     \
      .group = "Data", .help = "number of questions per picture; 0: all; -1: all, except a few for synth and for analyses of kept tokens",    \
      S2_ANALYZE_AT(per_picture) },                                                                                  \
    { .name = "--protocol", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2e_protocol_name,                  \
      .fallback = "paper", .group = "Data", .help = "protocol that determines prompts and scoring; with --run: that of the run",       \
      S2_ANALYZE_AT(protocol) },                                                                                     \
    { .name = "--predict", .letters = "-n", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000,              \
      .fallback = "0", .group = "Data", .help = "maximum number of tokens per answer; 0: as the protocol specifies",             \
      S2_ANALYZE_AT(predict) },                                                                                      \
    { .name = "--answers", .label = "FILE", .type = S2_OPTION_LIST, .group = "Data",                                 \
      .help = "also use the answers.jsonl of another folder (repeatable)", S2_ANALYZE_AT(answers) },                    \
    { .name = "--shard", .label = "I/N", .type = S2_OPTION_TEXT, .group = "Data",                                    \
      .help = "ask only about every Nth picture, then stop", S2_ANALYZE_AT(shard) },                                  \
    S2_ASK_ROWS_PICTURE,                                                                                             \
    { .name = "--methods", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",                              \
      .help = "methods to include (default: those of the paper's figure)", S2_ANALYZE_AT(methods) },                                     \
    { .name = "--budgets", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",                              \
      .help = "visual tokens to keep (default: those of the paper's figure)", S2_ANALYZE_AT(budgets) },                          \
    S2_ASK_ROWS_VARIANTS, \
    S2_ASK_ROWS_PRUNING, S2_ASK_ROW_EXEC, S2_ASK_ROW_PLUGIN,                                                                                             \
    { .name = "--seeds", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 100, .fallback = "3",                 \
      .group = "Pruning", .help = "number of runs of each method that draws at random; the tables show their mean", S2_ANALYZE_AT(seeds) },          \
    { .name = "--out", .label = "DIR", .type = S2_OPTION_FILE, .fallback = folder, .group = "Output",                \
      .help = "folder for the results; created if it does not exist", .role = S2_FOLDER_OUTPUT, S2_ANALYZE_AT(out) },                                \
    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE,                                 \
      .choice = s2_table_format_name, .fallback = "text", .group = "Output",                                         \
      .help = "format of the tables on standard output", S2_ANALYZE_AT(output) },                                      \
    { .name = "--width", .label = "WIDTH", .type = S2_OPTION_CHOICE, .choice = s2_analyze_width_name,                \
      .fallback = "page", .group = "Output",                                                                         \
      .help = "width of the figures in print: page (6.9 inches) or column (3.3 inches)", S2_ANALYZE_AT(width) },                 \
    S2_ASK_ROW_PROGRESS,                                                                                             \
    { .name = "--quiet", .letters = "-q", .type = S2_OPTION_FLAG, .group = "Output",                                 \
      .help = "print no notes and no progress", S2_ANALYZE_AT(ask.quiet) }
/* clang-format on */

#endif /* S2_TOOLS_ANALYZE_ROWS_H */
