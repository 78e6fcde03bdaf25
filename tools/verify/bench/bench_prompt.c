/* bench_prompt.c - the text of a user's turn, by benchmark and harness. */
#include "eval/readers/literal.h"
#include "eval/task.h"
#include "eval/tasks/prompts.h"
#include "verify/bench/bench_case.h"

#include <string.h>

#define MAX_PROMPT ((size_t)1 << 20)

typedef struct prompt_case {
    s2e_sample sample;
    s2e_choice choice[S2E_MAX_CHOICES];
    s2e_arena arena; /* of options that are printed as a list of Python */
} prompt_case;

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = s2_json_string(row, key);
    return text && strcmp(text, "nan") != 0 ? text : NULL;
}

static void add_option(prompt_case *p, char letter, const char *text)
{
    if (text && p->sample.n_choices < S2E_MAX_CHOICES)
        p->choice[p->sample.n_choices++] = (s2e_choice){ letter, text };
}

/* "['cat', 'dog']", as MMMU has them. */
static void read_literal(const char *text, prompt_case *p)
{
    const s2e_value *list;
    if (s2e_literal_parse(text, strlen(text), &p->arena, &list, NULL) != S2P_OK ||
        list->type != S2E_LIST)
        return;
    for (size_t i = 0; i < list->n; i++)
        add_option(p, (char)('A' + i), s2e_value_text(&list->item[i], &p->arena));
}

/* A row of the data: options as letters, a list of texts, a list of [letter, text], or a literal. */
static void read_row(const json_t *row, prompt_case *p)
{
    const json_t *list = json_object_get(row, "choices");
    if (!list) list = json_object_get(row, "options");
    const char *question = s2_json_string(row, "question"), *hint = text_of(row, "hint");
    p->sample = (s2e_sample){ .question = question ? question : "",
                              .hint = hint ? hint : "",
                              .choice = p->choice,
                              .extra = row };
    for (char letter = 'A'; letter <= 'Z'; letter++) {
        const char key[] = { letter, 0 };
        add_option(p, letter, text_of(row, key));
    }
    if (json_is_string(list)) read_literal(json_string_value(list), p);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i), *text = item;
        char letter = (char)('A' + i);
        if (json_is_array(item)) {
            const char *label = json_string_value(json_array_get(item, 0));
            if (label) letter = label[0];
            text = json_array_get(item, 1);
        }
        add_option(p, letter, json_string_value(text));
    }
}

static const s2e_task *task_of(const char *benchmark)
{
    static const struct {
        const char *word, *task;
    } names[] = { { "MMBench CN", "mmbench-cn" },
                  { "MMBench", "mmbench" },
                  { "ScienceQA", "scienceqa" },
                  { "MMMU", "mmmu" },
                  { "TextVQA no OCR", "textvqa-noocr" },
                  { "TextVQA", "textvqa" },
                  { "DocVQA", "docvqa" },
                  { "InfoVQA", "infovqa" },
                  { "InfographicVQA", "infovqa" },
                  { "ChartQA", "chartqa" },
                  { "MMStar", "mmstar" },
                  { "SEED", "seedbench" },
                  { "RefCOCO", "refcoco" },
                  { "GQA", "gqa" },
                  { "VizWiz", "vizwiz" },
                  { "VQAv2", "vqav2" },
                  { "POPE", "pope" },
                  { "MME", "mme" },
                  { "MMVet", "mmvet" },
                  { "MM-Vet", "mmvet" },
                  { "OCRBench", "ocrbench" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(benchmark, names[i].word)) return s2e_task_find(names[i].task);
    return NULL;
}

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* VLMEvalKit's own prompts for Qwen2-VL, which its Qwen2.5-VL does not use. */
static void prompt_qwen2(const s2e_task *task, const s2e_sample *sample, s2_buffer *out)
{
    if (strcmp(task->name, "pope") == 0)
        s2_buffer_printf(out, "%s Please answer yes or no.", sample->question);
    else if (strcmp(task->name, "mmmu") == 0)
        s2e_prompt_kit_choice(sample, S2E_KIT_SELECT, out);
    else if (sample->n_choices > 0)
        s2e_prompt_kit_choice(sample, s2e_kit_qwen2_end(sample), out);
    else
        s2e_prompt_line(
            sample->question,
            "Please try to answer the question with short words or phrases if possible.", out);
}

void s2_bench_check_prompt(s2_bench_case *b)
{
    const char *benchmark = s2_json_string(b->c, "benchmark"),
               *harness = s2_json_string(b->c, "harness");
    const s2e_task *task = benchmark ? task_of(benchmark) : NULL;
    if (!task || !harness) {
        s2_malformed(b->verdict, "no benchmark or harness this version knows");
        return;
    }
    prompt_case p;
    s2_buffer out;
    s2p_status st = S2P_OK;
    s2_buffer_init(&out, MAX_PROMPT);
    s2e_arena_init(&p.arena, MAX_PROMPT);
    read_row(json_object_get(b->c, "row"), &p);
    if (begins(harness, "lmms-eval ocr")) {
        st = s2e_prompt_capitalized(p.sample.question, &out, NULL);
        s2e_prompt_ocr(&p.sample, &out);
        s2e_prompt_line("", S2E_SAY_SHORT, &out);
    } else if (strstr(harness, "Mixin")) {
        prompt_qwen2(task, &p.sample, &out);
    } else {
        if (!begins(harness, "LLaVA")) p.sample.extra = NULL;
        const s2e_protocol protocol = begins(harness, "lmms-eval")    ? S2E_LMMS
                                      : begins(harness, "VLMEvalKit") ? S2E_VLMEVALKIT
                                      : begins(harness, "S2Prune")    ? S2E_PAPER
                                                                      : S2E_OFFICIAL;
        st = task->prompt(&p.sample, protocol, &out, NULL);
    }
    s2_buffer_append(&out, "", 1);
    if (st != S2P_OK || out.status != S2P_OK)
        s2_malformed(b->verdict, "no prompt could be made");
    else
        s2_bench_same_text(b, "prompt", (const char *)out.data);
    s2_buffer_free(&out);
    s2e_arena_free(&p.arena);
}
