/* line_grammar.h - command lines that the program accepts, as a grammar: what the parsers refuse never
 * reaches the code behind them. */
#ifndef S2_TESTS_TOOLS_LINE_GRAMMAR_H
#define S2_TESTS_TOOLS_LINE_GRAMMAR_H

#include "checkpoint_maker.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the lines name beyond the files of fuzz_lines, into the working folder. */
static inline void line_files(void)
{
    static const char answers[] = "{\"question_id\":\"0000-0\",\"text\":\"6342\"}\n"
                                  "{\"question_id\":\"0000-1\",\"text\":\"No word\"}\n";
    maker_write(".", "good.jsonl", answers, sizeof answers - 1);
    make_checkpoint(&(maker){ .kind = MAKE_QWEN2_5 }, "checkpoint");
}

/* An alternative is text; {name} stands for any alternative of that rule, {2-9} for a number. */
typedef struct line_rule {
    const char *name, *alternative[12];
} line_rule;

static const line_rule line_rules[] = {
    { "line",
      { "{select}", "{select}", "{convert}", "{score}", "{score}", "{plan}", "{inspect}",
        "{quantize}" } },
    { "select",
      { "select --method {plain} {budget} {select-more}",
        "select --method {plain} {budget} --tokens {2-40}x{2-40} {select-more}",
        "select --tokens 24x24 {budget} {picture} --in erc=data.npy --grid {2-8}",
        "select {budget} {picture} --in erc=data.npy {select-more}",
        "select {budget} {picture} --allocator {allocator} --selector centre {select-more}",
        "select {budget} {picture} --selector random --mode default {select-more}" } },
    { "plain", { "full", "random", "uniform", "equal-density" } },
    { "budget",
      { "--budget {1-576}", "--budget {1-100}%", "--budget {2-64}", "--set B={1-576}", "" } },
    { "picture", { "--in image=good.jpg", "--in image=in.png", "--in gray=in.png" } },
    { "allocator", { "laplacian", "random", "uniform", "fft" } },
    { "select-more",
      { "", "-o json", "-o text", "-s {0-99999}", "--seed {0-99} -o json", "--grid {2-24}",
        "--pixels {pixels}", "--set seed={0-9}" } },
    { "pixels", { "reference", "viewer" } },
    { "convert",
      { "convert checkpoint --outfile new.gguf --mmproj-out other.gguf {convert-more} "
        "{convert-more}" } },
    { "convert-more",
      { "", "--type {type}", "--name a-name-{0-99}", "--verify", "--threads {1-4}", "-q",
        "--progress none" } },
    { "type", { "f32", "f16", "bf16", "q8_0" } },
    { "score",
      { "score --task synth {answers} {score-more}",
        "score {score-more} --task synth {answers}" } },
    { "answers", { "good.jsonl", "good.jsonl good.jsonl", "./good.jsonl" } },
    { "score-more",
      { "", "--explain 0000-1", "--sections", "-o json", "-o text --sections",
        "--sections -o json" } },
    { "plan",
      { "plan -i {image} --budget {1-200} {plan-more}",
        "plan -i {image} --budget {1-100}% {plan-more}",
        "plan -i {image} --tokens {8-40}x{8-40} --budget {1-64} {plan-more}" } },
    { "image", { "good.jpg", "in.png", "hard.png", "link.png", "./in.png" } },
    { "plan-more", { "", "-o json", "--grid {2-8}" } },
    { "inspect", { "inspect good.gguf {inspect-more} {inspect-more}" } },
    { "inspect-more", { "", "--kv", "--tensors", "--check", "-o json" } },
    { "quantize",
      { "quantize good.gguf new.gguf {type}",
        "quantize good.gguf new.gguf {type} -t {1-2} -o json" } },
};
#define N_LINE_RULES (sizeof line_rules / sizeof *line_rules)

static inline const line_rule *line_rule_named(const char *name, size_t n)
{
    for (size_t i = 0; i < N_LINE_RULES; i++)
        if (strlen(line_rules[i].name) == n && memcmp(line_rules[i].name, name, n) == 0)
            return &line_rules[i];
    return NULL;
}

/* Appends one text of the rule to out[0..*used). Rules do not lead back to themselves. */
static inline void line_expand(const line_rule *rule, uint32_t *state, char *out, size_t capacity,
                               size_t *used)
{
    int32_t n = 0;
    while (n < 12 && rule->alternative[n]) n++;
    const char *at = rule->alternative[random_below(state, n)];
    while (*at && *used + 24 < capacity) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        if (!end) {
            out[(*used)++] = *at++;
            out[*used] = '\0';
            continue;
        }
        const line_rule *inner = line_rule_named(at + 1, (size_t)(end - at) - 1);
        char *dash;
        const long low = strtol(at + 1, &dash, 10);
        if (inner)
            line_expand(inner, state, out, capacity, used);
        else
            *used += (size_t)snprintf(
                out + *used, 24, "%ld",
                low + random_below(state, (int32_t)(strtol(dash + 1, NULL, 10) - low + 1)));
        at = end + 1;
    }
}

#endif /* S2_TESTS_TOOLS_LINE_GRAMMAR_H */
