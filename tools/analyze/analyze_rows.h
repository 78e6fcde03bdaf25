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
      .help = "which benchmarks, such as pope,mmbench (synth; with --run: all it has)", S2_ANALYZE_AT(tasks) },      \
    { .name = "--data-dir", .label = "DIR", .type = S2_OPTION_FILE, .group = "Data",                                 \
      .help = "where its files are; of several tasks a folder with one for each (bundled with the program)",         \
      S2_ANALYZE_AT(data) },                                                                                         \
    { .name = "--images", .label = "DIR", .type = S2_OPTION_FILE, .group = "Data",                                   \
      .help = "pictures alone instead, no model: methods that see pixels or nothing", S2_ANALYZE_AT(images) },       \
    { .name = "--run", .label = "DIR", .type = S2_OPTION_LIST, .group = "Data",                                      \
      .help = "the answers of a run of 's2prune eval' instead, no model: its methods and budgets (repeatable)",      \
      S2_ANALYZE_AT(runs) },                                                                                         \
    { .name = "--recorded", .label = "DIR", .type = S2_OPTION_FILE, .group = "Data",                                 \
      .help = "folders of 's2prune run --record' instead, no model: methods choose again from the arrays",           \
      S2_ANALYZE_AT(recorded) },                                                                                     \
    { .name = "--tokens", .label = "RxC", .type = S2_OPTION_SIZE, .min = 1, .max = S2P_MAX_SIDE,                     \
      .fallback = "24x24", .group = "Data", .help = "tokens of a picture, with --images", S2_ANALYZE_AT(tokens) },   \
    { .name = "--pictures", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000000, .fallback = "0",          \
      .group = "Data", .help = "only the first N; 0: all", S2_ANALYZE_AT(n_pictures) },                              \
    { .name = "--per-picture", .label = "N", .type = S2_OPTION_INT, .min = -1, .max = 1000000, .fallback = "-1",     \
      .group = "Data", .help = "questions of each; 0: all; -1: all, but of synth and for kept tokens alone a few",    \
      S2_ANALYZE_AT(per_picture) },                                                                                  \
    { .name = "--protocol", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2e_protocol_name,                  \
      .fallback = "paper", .group = "Data", .help = "whose prompts and scoring; with --run: those of the run",       \
      S2_ANALYZE_AT(protocol) },                                                                                     \
    { .name = "--predict", .letters = "-n", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000,              \
      .fallback = "0", .group = "Data", .help = "most tokens of an answer; 0: as many as in the protocol",             \
      S2_ANALYZE_AT(predict) },                                                                                      \
    { .name = "--answers", .label = "FILE", .type = S2_OPTION_LIST, .group = "Data",                                 \
      .help = "answers of another folder, to be used too (repeatable)", S2_ANALYZE_AT(answers) },                    \
    { .name = "--shard", .label = "I/N", .type = S2_OPTION_TEXT, .group = "Data",                                    \
      .help = "ask about every Nth picture only, and stop", S2_ANALYZE_AT(shard) },                                  \
    S2_ASK_ROWS_PICTURE,                                                                                             \
    { .name = "--methods", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",                              \
      .help = "methods (those of the paper's figure)", S2_ANALYZE_AT(methods) },                                     \
    { .name = "--budgets", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",                              \
      .help = "visual tokens kept (those of the paper's figure)", S2_ANALYZE_AT(budgets) },                          \
    S2_ASK_ROWS_VARIANTS, \
    S2_ASK_ROWS_PRUNING, S2_ASK_ROW_EXEC, S2_ASK_ROW_PLUGIN,                                                                                             \
    { .name = "--seeds", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 100, .fallback = "3",                 \
      .group = "Pruning", .help = "runs of a method that draws; their mean counts", S2_ANALYZE_AT(seeds) },          \
    { .name = "--out", .label = "DIR", .type = S2_OPTION_FILE, .fallback = folder, .group = "Output",                \
      .help = "folder of the results, made if it is not there", .role = S2_FOLDER_OUTPUT, S2_ANALYZE_AT(out) },                                \
    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE,                                 \
      .choice = s2_table_format_name, .fallback = "text", .group = "Output",                                         \
      .help = "form of the tables on standard output", S2_ANALYZE_AT(output) },                                      \
    { .name = "--width", .label = "WIDTH", .type = S2_OPTION_CHOICE, .choice = s2_analyze_width_name,                \
      .fallback = "page", .group = "Output",                                                                         \
      .help = "of the figures in print: 'page' is 6.9 inches, 'column' 3.3", S2_ANALYZE_AT(width) },                 \
    S2_ASK_ROW_PROGRESS,                                                                                             \
    { .name = "--quiet", .letters = "-q", .type = S2_OPTION_FLAG, .group = "Output",                                 \
      .help = "no notes or progress", S2_ANALYZE_AT(ask.quiet) }
/* clang-format on */

#endif /* S2_TOOLS_ANALYZE_ROWS_H */
