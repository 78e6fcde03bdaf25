/* test_prompts.c - what each protocol asks, word for word, on rows written by hand. */
#include "check.h"

#include "eval/task.h"

#include <jansson.h>
#include <string.h>

#define SHORT "Answer the question using a single word or phrase."
#define LETTER "Answer with the option's letter from the given choices directly."
#define UNANSWERABLE "When the provided information is insufficient, respond with 'Unanswerable'.\n"
#define PAPER_LETTER "Answer with the option letter only (A, B, C, or D).\nAnswer:"
#define PAPER_SHORT "Answer with a short answer only.\nAnswer:"
#define KIT_END "Please select the correct answer from the options above. \n"
#define REGION "Please provide the bounding box coordinate of the region this sentence describes: "
#define FRACTIONS \
    "Answer with [x1, y1, x2, y2], fractions of the picture's width and height between 0 and 1."
#define SEVERAL " There are several options:\n"

static const struct prompt_row {
    const char *task;
    s2e_protocol protocol;
    const char *question, *hint;
    const char *options; /* "A=cat|B=dog" */
    const char *prompt;
} rows[] = {
    { "mmmu", S2E_LMMS, "What is <image 1>?", "", "A=cat|B=dog",
      "What is <image 1>?\nA. cat\nB. dog\n\n" LETTER },
    { "mmmu", S2E_LMMS, "What?", "", "", "What?\n\n" SHORT },
    { "mmmu", S2E_OFFICIAL, "What?", "", "A=cat|B=dog", "What?\n\n(A) cat\n(B) dog\n\n" LETTER },
    { "mmmu", S2E_OFFICIAL, "What?", "", "", "What?\n\n" SHORT },
    { "mmmu", S2E_PAPER, "q", "", "A=x|B=y|C=z", "Question: q\nA. x\nB. y\nC. z\n" PAPER_LETTER },
    { "mmmu", S2E_VLMEVALKIT, "q", "h", "A=x|B=NA|C=z",
      "Hint: h\nQuestion: q\nOptions:\nA. x\nC. z\n" KIT_END },
    { "gqa", S2E_OFFICIAL, "q", "", "", "q\n" SHORT },
    { "gqa", S2E_VLMEVALKIT, "q", "", "", "q\n" SHORT },
    { "gqa", S2E_PAPER, "q", "", "", "Question: q\n" PAPER_SHORT },
    { "scienceqa", S2E_LMMS, "Which?", "The tree.", "A=a|B=b",
      "Context: The tree.\nWhich?\nA. a\nB. b\n" LETTER },
    { "scienceqa", S2E_PAPER, "Which?", " Ctx ", "A=a|B=b",
      "Context: Ctx\nQuestion: Which?\nA. a\nB. b\n"
      "Answer with the option letter only (A, B, C, D, or E).\nAnswer:" },
    { "textvqa", S2E_LMMS, "what Brand is This CAMERA?", "", "",
      "What brand is this camera?\n" SHORT },
    { "textvqa", S2E_OFFICIAL, "what Brand?", "", "", "what Brand?\n" SHORT },
    { "vizwiz", S2E_LMMS, "what IS \u00c9clair?", "", "",
      "What is \u00e9clair?\n" UNANSWERABLE SHORT },
    { "vizwiz", S2E_OFFICIAL, "What IS it?", "", "", "What IS it?\n" UNANSWERABLE SHORT },
    { "vizwiz", S2E_VLMEVALKIT, "What IS it?", "", "", "What IS it?" },
    { "pope", S2E_VLMEVALKIT, "Is there a dog?", "", "", "Is there a dog?" },
    { "pope", S2E_OFFICIAL, "Is there a dog?", "", "", "Is there a dog?\n" SHORT },
    { "pope", S2E_PAPER, "Is there a dog?", "", "",
      "Question: Is there a dog?\nAnswer yes or no only.\nAnswer:" },
    { "mme", S2E_OFFICIAL, "Is it red? Please answer yes or no.", "", "", "Is it red?\n" SHORT },
    { "mme", S2E_VLMEVALKIT, "Is it red? Please answer yes or no.", "", "",
      "Is it red? Please answer yes or no." },
    { "mmbench", S2E_LMMS, "q", "h", "A=a|B=b|D=d", "h q" SEVERAL "A. a\nB. b\nD. d\n\n" LETTER },
    { "mmbench", S2E_OFFICIAL, "q", "h", "A=a|B=b", "h\nq\nA. a\nB. b\n" LETTER },
    { "mmbench", S2E_OFFICIAL, "q", "", "A=a|B=b|D=d", "q\nA. a\nB. b\n" LETTER }, /* stops */
    { "mmbench", S2E_OFFICIAL, "q", "None", "A=a|B=None|C=c", "q\nA. a\n" LETTER },
    { "mmbench", S2E_PAPER, "q", "", "A=a|B=None|D=d",
      "Question: q\nA. a\nB. None\n" PAPER_LETTER },
    { "mmbench", S2E_VLMEVALKIT, "q", "", "A=a|B=None|D=d",
      "Question: q\nOptions:\nA. a\nD. d\n" KIT_END },
    { "mmbench-cn", S2E_OFFICIAL, "q", "", "A=a|B=b",
      "q\nA. a\nB. b\n\u8bf7\u76f4\u63a5\u56de\u7b54\u9009\u9879\u5b57\u6bcd\u3002" },
    { "mmbench-cn", S2E_LMMS, "q", "", "A=a|B=b",
      "q" SEVERAL "A. a\nB. b\n\n\u8bf7\u76f4\u63a5\u4f7f\u7528\u6240\u63d0\u4f9b\u7684\u9009"
      "\u9879\u5b57\u6bcd\u4f5c\u4e3a\u7b54\u6848\u56de\u7b54\u3002" },
    { "mmvet", S2E_LMMS, "What is x?", "", "",
      "First please perform reasoning, and think step by step to provide best answer to the "
      "following question: \n\nWhat is x?" },
    { "mmvet", S2E_OFFICIAL, "What is x?", "", "", "What is x?" },
    { "mmvet", S2E_PAPER, "What is x?", "", "", "Question: What is x?\n" PAPER_SHORT },
    { "ocrbench", S2E_LMMS, " what is written? ", "", "", "what is written?" },
    { "ocrbench", S2E_VLMEVALKIT, "what is written?", "", "", "what is written?" },
    { "vqav2", S2E_PAPER, "q", "", "", "Question: q\n" PAPER_SHORT },
    { "docvqa", S2E_LMMS, "What IS it?", "", "", "What IS it?\n" SHORT },
    { "docvqa", S2E_OFFICIAL, "What?", "", "", "What?\n" SHORT },
    { "docvqa", S2E_PAPER, "What?", "", "", "Question: What?\n" PAPER_SHORT },
    { "infovqa", S2E_VLMEVALKIT, "What?", "", "", "What?\n" SHORT },
    { "chartqa", S2E_LMMS, "How much?", "", "",
      "How much?\nAnswer the question with a single word." },
    { "chartqa", S2E_VLMEVALKIT, "How much?", "", "", "How much?\n" SHORT },
    { "chartqa", S2E_PAPER, "How much?", "", "", "Question: How much?\n" PAPER_SHORT },
    { "mmstar", S2E_LMMS, " q ", "", "A=a|B=b|C=c|D=d",
      "q\nOptions: A: a, B: b, C: c, D: d\n"
      "Answer with the option's letter from the given choices directly" },
    { "mmstar", S2E_OFFICIAL, "q", "", "A=a|B=b", "Question: q\nOptions:\nA. a\nB. b\n" KIT_END },
    { "mmstar", S2E_VLMEVALKIT, "q\n(A) a", "", "", "Question: q\n(A) a\n" KIT_END },
    { "mmstar", S2E_PAPER, "q", "", "A=a|B=b", "Question: q\nA. a\nB. b\n" PAPER_LETTER },
    { "seedbench", S2E_LMMS, "q", "", "A=a|B=b", "q\nA. a\nB. b\n" LETTER },
    { "seedbench", S2E_OFFICIAL, "q", "", "A=a|B=b", "q\nA. a\nB. b\n" LETTER },
    { "seedbench", S2E_VLMEVALKIT, "q", "", "A=a|B=b",
      "Question: q\nOptions:\nA. a\nB. b\n" KIT_END },
    { "refcoco", S2E_LMMS, "left man", "", "",
      "Bounding box coordinates are specified in the format (top-left x, top-left y, bottom-right "
      "x, bottom-right y). All values are floating point numbers bounded between 0 and 1. " REGION
      "left man" },
    { "refcoco", S2E_OFFICIAL, "left man", "", "", REGION "left man\n" FRACTIONS },
    { "refcoco", S2E_PAPER, "left man", "", "",
      "Question: " REGION "left man\n" FRACTIONS "\nAnswer:" },
};

/* "A=cat|B=dog" in `text`, which is cut up. */
static int32_t read_options(char *text, s2e_choice *out)
{
    int32_t n = 0;
    for (char *at = text; at && *at;) {
        char *end = strchr(at, '|');
        if (end) *end++ = '\0';
        out[n++] = (s2e_choice){ at[0], at + 2 };
        at = end;
    }
    return n;
}

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct prompt_row *row = &rows[i];
        char options[64];
        s2e_choice choice[S2E_MAX_CHOICES];
        s2e_sample sample = { .question = row->question, .hint = row->hint, .choice = choice };
        s2_buffer out;
        (void)snprintf(options, sizeof options, "%s", row->options);
        sample.n_choices = read_options(options, choice);
        s2_buffer_init(&out, 1 << 16);
        assert_int_equal(s2e_task_find(row->task)->prompt(&sample, row->protocol, &out, NULL),
                         S2P_OK);
        s2_buffer_append(&out, "", 1);
        CHECK_CASE(strcmp((const char *)out.data, row->prompt) == 0, "%s, row %zu: '%s'", row->task,
                   i, (const char *)out.data);
        s2_buffer_free(&out);
    }
}

/* LLaVA's list of TextVQA names what an OCR engine read. */
static void test_tokens_of_ocr(void **state)
{
    (void)state;
    json_t *extra = json_pack("{s:[ss]}", "ocr_tokens", "DAKOTA", "digital");
    const s2e_sample sample = { .question = "What?", .hint = "", .extra = extra };
    s2_buffer out;
    s2_buffer_init(&out, 1 << 16);
    assert_int_equal(s2e_task_find("textvqa")->prompt(&sample, S2E_OFFICIAL, &out, NULL), S2P_OK);
    s2_buffer_append(&out, "", 1);
    assert_string_equal((const char *)out.data,
                        "What?\nReference OCR token: DAKOTA, digital\n" SHORT);
    s2_buffer_free(&out);
    s2_buffer_init(&out, 1 << 16);
    assert_int_equal(s2e_task_find("textvqa-noocr")->prompt(&sample, S2E_OFFICIAL, &out, NULL),
                     S2P_OK);
    s2_buffer_append(&out, "", 1);
    assert_string_equal((const char *)out.data, "What?\n" SHORT);
    s2_buffer_free(&out);
    json_decref(extra);
}

/* A request that is whole, as in VLMEvalKit's table of RefCOCO, is asked as it is. */
static void test_whole_request(void **state)
{
    (void)state;
    json_t *extra = json_pack("{s:s}", "request", "whole");
    const s2e_sample sample = { .question = "Find the man.", .hint = "", .extra = extra };
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        s2_buffer out;
        s2_buffer_init(&out, 1 << 16);
        assert_int_equal(s2e_task_find("refcoco")->prompt(&sample, (s2e_protocol)p, &out, NULL),
                         S2P_OK);
        s2_buffer_append(&out, "", 1);
        assert_string_equal((const char *)out.data, "Find the man.");
        s2_buffer_free(&out);
    }
    json_decref(extra);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_tokens_of_ocr),
        cmocka_unit_test(test_whole_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
