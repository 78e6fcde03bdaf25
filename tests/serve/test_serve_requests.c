/* test_serve_requests.c - bodies to jobs: a table of boundaries made from the list of fields, then what
 * the table cannot say. */
#include "check.h"

#include "ask/settings.h"
#include "serve/front/chat_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_CTX 4096

static const s2_chat_context context = { .model = "tiny",
                                         .virtual_models = "full,s2prune-64",
                                         .n_ctx = N_CTX,
                                         .max_picture_bytes = 1 << 20 };

/* The status of a request, 0: it became a job. */
static int judge(const char *text, size_t n, s2_http_error *error, json_t **job)
{
    s2_body body;
    s2_chat_request request;
    *error = (s2_http_error){ .status = 0 };
    if (job) *job = NULL;
    if (!s2_body_read(text, n, &body, error)) return error->status;
    const bool is_fine = s2_chat_request_read(&body, &context, false, &request, error);
    if (is_fine && job) *job = json_deep_copy(request.job);
    s2_chat_request_free(&request);
    s2_body_free(&body);
    return is_fine ? 0 : error->status;
}

static int judge_text(const char *text)
{
    s2_http_error error;
    const int status = judge(text, strlen(text), &error, NULL);
    if (status) assert_true(error.message[0]);
    return status;
}

/* {"messages":[..], NAME: VALUE}, or inside prune. */
static int judge_field(bool in_prune, const char *name, const char *value)
{
    char text[4096];
    const char *messages = "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]";
    if (strcmp(name, "messages") == 0 && !in_prune)
        (void)snprintf(text, sizeof text, "{\"messages\":%s}", value);
    else
        (void)snprintf(text, sizeof text,
                       in_prune ? "{%s,\"prune\":{\"%s\":%s}}" : "{%s,\"%s\":%s}", messages, name,
                       value);
    return judge_text(text);
}

static size_t n_cases;

static void expect(bool in_prune, const s2_json_field *f, const char *value, bool is_in)
{
    const int status = judge_field(in_prune, f->name, value);
    n_cases++;
    if ((status == 0) != is_in) print_error("%s = %s: %d\n", f->name, value, status);
    assert_int_equal(status, is_in                                            ? 0
                             : strcmp(f->name, "model") == 0 && status == 404 ? 404
                                                                              : 400);
}

static void expect_number(bool in_prune, const s2_json_field *f, double number, bool is_in)
{
    char text[64];
    if (f->type == S2_JSON_INT)
        (void)snprintf(text, sizeof text, "%.0f", number);
    else
        (void)snprintf(text, sizeof text, "%.17g", number);
    expect(in_prune, f, text, is_in);
}

/* Whatever the type: these are never numbers, words or lists that fit. */
static void wrong_types(bool in_prune, const s2_json_field *f)
{
    const bool is_number = f->type == S2_JSON_INT || f->type == S2_JSON_REAL;
    const bool is_stop = strcmp(f->name, "stop") == 0;
    if (f->type == S2_JSON_OTHER && !is_stop) return; /* schemas and grammars: in `tables` */
    expect(in_prune, f, "null", strcmp(f->name, "messages") != 0);
    expect(in_prune, f, "\"a\"", is_stop);
    expect(in_prune, f, "true", f->type == S2_JSON_BOOL);
    expect(in_prune, f, "{}", f->type == S2_JSON_OBJECT && strcmp(f->name, "response_format") != 0);
    expect(in_prune, f, "[]", is_stop || (f->type == S2_JSON_LIST && f->min == 0));
    expect(in_prune, f, "[[]]", false);
    expect(in_prune, f, "[null]", false);
    expect(in_prune, f, "\"\"", strcmp(f->name, "model") == 0); /* the first model */
    expect(in_prune, f, "1e999", false);
    expect(in_prune, f, "NaN", false);
    expect(in_prune, f, "Infinity", false);
    expect(in_prune, f, "-Infinity", false);
    expect(in_prune, f, "99999999999999999999", false);
    expect(in_prune, f, "01", false);
    expect(in_prune, f, "+1", false);
    expect(in_prune, f, ".5", false);
    expect(in_prune, f, "0x10", false);
    expect(in_prune, f, "'a'", false);
    expect(in_prune, f, "\"\\ud800\"", false);
    expect(in_prune, f, "\"\\u0001x\"", false);
    if (!is_number && strcmp(f->name, "budget") != 0) {
        expect(in_prune, f, "-1", false);
        expect(in_prune, f, "0", false);
        expect(in_prune, f, "9007199254740992", false);
        expect(in_prune, f, "9223372036854775807", false);
    }
}

static void numbers(bool in_prune, const s2_json_field *f)
{
    const double max = f->max == S2_JSON_CONTEXT ? N_CTX : f->max;
    const double step = f->type == S2_JSON_INT ? 1.0 : 1e-3;
    const bool is_refused = strcmp(f->name, "top_logprobs") == 0; /* above 0 without logprobs */
    expect_number(in_prune, f, f->min, true);
    expect_number(in_prune, f, max, !is_refused);
    expect_number(in_prune, f, f->min - step, false);
    if (max < 9e15) expect_number(in_prune, f, max + step, false);
    expect_number(in_prune, f, -1.0, f->min <= -1.0);
    expect(in_prune, f, "9223372036854775807", false);
    expect(in_prune, f, "-9223372036854775808", false);
    expect(in_prune, f, "\"1\"", false);
    if (f->type == S2_JSON_INT) {
        expect(in_prune, f, "1.5", false);
        expect(in_prune, f, "1.0", false);
        expect(in_prune, f, "1e0", false);
        expect(in_prune, f, "1e300", false);
        expect(in_prune, f, "-1e300", false);
    }
    if (max < 9007199254740992.0) expect(in_prune, f, "9007199254740993", false);
}

static void boundaries(void **state)
{
    (void)state;
    for (int p = 0; p < 2; p++)
        for (const s2_json_field *f = p ? s2a_prune_fields : s2_chat_fields; f->name; f++) {
            if (p && strcmp(f->name, "before_tower") == 0) {
                expect(true, f, "\"pixelprune:0.01\"", true);
                expect(true, f, "\"pixelprune:2\"", false);
                expect(true, f, "\"anything\"", false);
            } else if (p && strcmp(f->name, "positions") == 0) {
                expect(true, f, "\"kept\"", true);
                expect(true, f, "\"renumbered\"", true);
                expect(true, f, "\"anything\"", false);
            } else if (p && strcmp(f->name, "method") != 0 && f->type == S2_JSON_TEXT &&
                       strcmp(f->name, "mode") != 0) {
                expect(true, f, "\"anything\"", true); /* the engine knows the names */
            }
            if (f->type == S2_JSON_INT || f->type == S2_JSON_REAL) numbers(p, f);
            if (!(p && f->type == S2_JSON_TEXT && strcmp(f->name, "mode") != 0) &&
                strcmp(f->name, "keep") != 0 && strcmp(f->name, "return") != 0)
                wrong_types(p, f);
        }
    print_message("%zu boundary cases\n", n_cases);
    assert_true(n_cases >= 600);
}

#define HI "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define TOOLS "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]"
#define SAYS(content) "{\"messages\":[{\"role\":\"user\",\"content\":" content "}]}"
#define PNG "data:image/png;base64,iVBORw0KGgo="

static void tables(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        { "{" HI "}", 0 },
        { "{" HI ",\"model\":\"tiny\"}", 0 },
        { "{" HI ",\"model\":\"tiny@full\"}", 0 },
        { "{" HI ",\"model\":\"tiny@nothing\"}", 404 },
        { "{" HI ",\"model\":\"other\"}", 404 },
        { "{" HI ",\"unknown\":[1,2,{}]}", 0 },
        { "{" HI ",\"prune\":{\"unknown\":1}}", 400 },
        { "{" HI ",\"prune\":{\"budget\":\"11%\"}}", 0 },
        { "{" HI ",\"prune\":{\"budget\":\"11\"}}", 400 },
        { "{" HI ",\"prune\":{\"budget\":\"0%\"}}", 400 },
        { "{" HI ",\"prune\":{\"budget\":\"101%\"}}", 400 },
        { "{" HI ",\"prune\":{\"budget\":\"1e1%\"}}", 400 },
        { "{" HI ",\"prune\":{\"budget\":0}}", 400 },
        { "{" HI ",\"prune\":{\"budget\":1048577}}", 400 },
        { "{" HI ",\"prune\":{\"keep\":[1,2,3]}}", 0 },
        { "{" HI ",\"prune\":{\"keep\":[3,2]}}", 400 },
        { "{" HI ",\"prune\":{\"keep\":[1,1]}}", 400 },
        { "{" HI ",\"prune\":{\"keep\":[-1]}}", 400 },
        { "{" HI ",\"prune\":{\"return\":[\"tokens\",\"scores\"]}}", 0 },
        { "{" HI ",\"prune\":{\"return\":[\"everything\"]}}", 400 },
        { "{" HI ",\"prune\":{\"mode\":\"published\"}}", 0 },
        { "{" HI ",\"prune\":{\"mode\":\"other\"}}", 400 },
        { "{" HI ",\"prune\":{\"parameters\":{\"a\":1,\"b\":0.5}}}", 0 },
        { "{" HI ",\"prune\":{\"parameters\":{\"a\":\"1\"}}}", 400 },
        { "{" HI ",\"tools\":[]}", 0 },
        { "{" HI ",\"tools\":[{\"type\":\"function\"}]}", 400 },
        { "{" HI ",\"logprobs\":true}", 0 },
        { "{" HI ",\"logprobs\":true,\"top_logprobs\":20}", 0 },
        { "{" HI ",\"logprobs\":true,\"top_logprobs\":21}", 400 },
        { "{" HI ",\"logprobs\":true,\"top_logprobs\":-1}", 400 },
        { "{" HI ",\"logprobs\":false,\"top_logprobs\":1}", 400 },
        { "{" HI ",\"top_logprobs\":1}", 400 },
        { "{" HI ",\"logprobs\":1}", 400 },
        { "{" HI ",\"response_format\":{\"type\":\"text\"}}", 0 },
        { "{" HI ",\"response_format\":{\"type\":\"json_object\"}}", 0 },
        { "{" HI ",\"response_format\":{\"type\":\"json_object\",\"schema\":{}}}", 0 },
        { "{" HI ",\"response_format\":{\"type\":\"json_schema\"}}", 400 },
        { "{" HI ",\"response_format\":{\"type\":\"json_schema\",\"schema\":true}}", 0 },
        { "{" HI ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":{}}}}",
          0 },
        { "{" HI ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":1}}}",
          400 },
        { "{" HI ",\"response_format\":{\"type\":\"xml\"}}", 400 },
        { "{" HI ",\"json_schema\":{\"type\":\"string\"}}", 0 },
        { "{" HI ",\"json_schema\":{},\"grammar\":\"root ::= \\\"a\\\"\"}", 400 }, /* two */
        { "{" HI ",\"grammar\":\"root ::= \\\"a\\\"\"}", 0 },
        { "{" HI ",\"grammar\":\"\"}", 0 },
        { "{" HI ",\"grammar\":1}", 400 },
        { "{" HI ",\"grammar\":\"root ::= \\\"a\\\"\",\"ignore_eos\":true}", 400 },
        { "{" HI ",\"guided_json\":\"{}\"}", 0 },
        { "{" HI ",\"guided_json\":3}", 400 },
        { "{" HI ",\"guided_choice\":[\"a\",\"b\"]}", 0 },
        { "{" HI ",\"guided_choice\":[\"\"]}", 400 },
        { "{" HI ",\"guided_regex\":\"a\"}", 400 },
        { "{" HI ",\"structured_outputs\":{\"json\":{}}}", 0 },
        { "{" HI ",\"structured_outputs\":{\"json\":{},\"choice\":[\"a\"]}}", 400 },
        { "{" HI ",\"structured_outputs\":{\"regex\":\"a\"}}", 400 },
        { "{" HI ",\"format\":\"json\"}", 0 },
        { "{" HI ",\"format\":\"yaml\"}", 400 },
        { "{" HI ",\"tool_choice\":\"none\"}", 0 },
        { "{" HI ",\"tool_choice\":\"required\"}", 400 }, /* without tools */
        { "{" HI "," TOOLS "}", 0 },
        { "{" HI "," TOOLS ",\"tool_choice\":\"required\"}", 0 },
        { "{" HI "," TOOLS ",\"tool_choice\":\"maybe\"}", 400 },
        { "{" HI "," TOOLS
          ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}}}",
          0 },
        { "{" HI "," TOOLS
          ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"g\"}}}",
          400 },
        { "{" HI "," TOOLS ",\"json_schema\":{}}", 400 },
        { "{" HI "," TOOLS ",\"logprobs\":true}", 400 },
        { "{" HI ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"a b\"}}]}", 400 },
        { "{" HI
          ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":[]}}]}",
          400 },
        { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\","
          "\"content\":null,"
          "\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
          "\"arguments\":\"{}\"}}]},"
          "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"b\"}]}",
          0 },
        { "{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\"}]}"
          "]}",
          400 },
        { "{" HI ",\"stream_options\":{\"include_usage\":1}}", 400 },
        { "{" HI ",\"stop\":[\"a\",\"b\"]}", 0 },
        { "{" HI ",\"stop\":[\"\"]}", 400 },
        { "{" HI ",\"stop\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\","
          "\"12\",\"13\","
          "\"14\",\"15\",\"16\",\"17\"]}",
          400 },
        { "{" HI "," HI "}", 400 }, /* a key twice */
        { "{" HI "} x", 400 },
        { "{" HI ",}", 400 },
        { "[" HI "]", 400 },
        { "[]", 400 },
        { "", 400 },
        { " ", 400 },
        { "\xEF\xBB\xBF{" HI "}", 400 },
        { "{\"messages\":[{\"role\":\"user\",\"content\":\"\xC0\x80\"}]}", 400 },
        { "{\"messages\":[{\"role\":\"user\",\"content\":\"\xED\xA0\x80\"}]}", 400 },
        { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\nb\"}]}", 400 },
        { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\\u0000b\"}]}", 400 },
        { SAYS("\"\""), 0 },
        { SAYS("[]"), 0 },
        { SAYS("null"), 400 },
        { SAYS("1"), 400 },
        { SAYS("[{\"type\":\"text\",\"text\":\"a\"}]"), 0 },
        { SAYS("[{\"type\":\"text\"}]"), 400 },
        { SAYS("[{\"type\":\"video\"}]"), 400 },
        { SAYS("[\"a\"]"), 400 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"" PNG "\"}}]"), 0 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":\"" PNG "\"}]"), 0 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"" PNG "\",\"detail\":\"low\"}}]"),
          0 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"" PNG
               "\",\"detail\":\"most\"}}]"),
          400 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"" PNG "\",\"detail\":1}}]"),
          400 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"http://a/b.png\"}}]"), 403 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://a/b.png\"}}]"), 403 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"file:///etc/passwd\"}}]"), 403 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"/etc/passwd\"}}]"), 400 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"iVBORw0KGgo=\"}}]"), 400 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
               "tiff;base64,R0lGOD==\"}}]"),
          400 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,\"}}]"),
          400 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,a\"}}]"),
          400 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,a?==\"}}]"),
          400 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png,abcd\"}}]"), 400 },
        { SAYS("[{\"type\":\"image_url\",\"image_url\":{}}]"), 400 },
        { SAYS("[{\"type\":\"image_url\"}]"), 400 },
        { SAYS("[{\"type\":\"text\",\"text\":\"<image>\"},{\"type\":\"image_url\",\"image_url\":"
               "\"" PNG "\"}]"),
          400 },
        { "{\"messages\":[]}", 400 },
        { "{\"messages\":{}}", 400 },
        { "{}", 400 },
        { "{\"messages\":[{}]}", 400 },
        { "{\"messages\":[1]}", 400 },
        { "{\"messages\":[{\"role\":\"tool\",\"content\":\"a\"}]}", 0 },
        { "{\"messages\":[{\"role\":\"user\"}]}", 400 },
        { "{\"messages\":[{\"role\":\"system\",\"content\":\"a\"},{\"role\":\"user\",\"content\":"
          "\"b\"}]}",
          0 },
        { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"system\",\"content\":"
          "\"b\"}]}",
          0 },
        { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\","
          "\"content\":null},"
          "{\"role\":\"user\",\"content\":\"b\"}]}",
          0 },
        { "{\"messages\":[{\"role\":\"system\",\"content\":[{\"type\":\"image_url\",\"image_url\":"
          "\"" PNG "\"}]}]}",
          400 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int status = judge_text(cases[i].text);
        if (status != cases[i].status) print_error("%s: %d\n", cases[i].text, status);
        assert_int_equal(status, cases[i].status);
    }
}

/* Several system messages become the first; limits and seeds of other servers. */
static void merged(void **state)
{
    (void)state;
    static const char text[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"system\",\"content\":"
        "\"one\"},{\"role\":\"developer\",\"content\":\"two\"},{\"role\":\"assistant\","
        "\"content\":\"It\"}],\"n_predict\":5,\"seed\":-1,\"continue_final_message\":true}";
    s2_http_error error;
    json_t *job, *again;
    assert_int_equal(judge(text, sizeof text - 1, &error, &job), 0);
    const json_t *messages = json_object_get(job, "messages");
    const json_t *sampling = json_object_get(job, "sampling");
    assert_int_equal(json_array_size(messages), 3);
    assert_string_equal(s2_json_string(json_array_get(messages, 0), "text"), "one\n\ntwo");
    assert_string_equal(s2_json_string(json_array_get(messages, 0), "role"), "system");
    assert_string_equal(s2_json_string(json_array_get(messages, 2), "text"), "It");
    assert_int_equal(json_integer_value(json_object_get(sampling, "max_tokens")), 5);
    const json_int_t seed = json_integer_value(json_object_get(sampling, "seed"));
    assert_true(seed >= 0);
    assert_int_equal(judge(text, sizeof text - 1, &error, &again), 0);
    assert_true(json_integer_value(json_object_get(json_object_get(again, "sampling"), "seed")) !=
                seed);
    json_decref(job);
    json_decref(again);
    /* what would change the answer and is not there is refused, unless it is switched off */
    static const struct {
        const char *name, *value;
        int status;
    } cases[] = { { "mirostat", "2", 400 },
                  { "mirostat", "0", 0 },
                  { "typical_p", "0.5", 400 },
                  { "typical_p", "1.0", 0 },
                  { "best_of", "4", 400 },
                  { "best_of", "1", 0 },
                  { "bad_words", "[\"a\"]", 400 },
                  { "bad_words", "[]", 0 },
                  { "functions", "[{}]", 400 },
                  { "function_call", "\"none\"", 0 },
                  { "echo", "true", 400 },
                  { "echo", "false", 0 },
                  { "modalities", "[\"text\",\"audio\"]", 400 },
                  { "modalities", "[\"text\"]", 0 },
                  { "samplers", "[\"top_k\"]", 400 },
                  { "samplers", "[]", 0 },
                  { "min_keep", "2", 400 },
                  { "t_max_predict_ms", "-1", 0 },
                  { "t_max_predict_ms", "0", 0 },
                  { "t_max_predict_ms", "true", 400 },
                  { "t_max_predict_ms", "10", 400 },
                  { "include_stop_str_in_output", "true", 400 },
                  { "whitespace", "\"pretty\"", 400 },
                  { "top_k", "-1", 0 },
                  { "top_k", "-2", 400 },
                  { "seed", "9223372036854775808", 400 },
                  { "max_tokens", "-1", 0 },
                  { "max_tokens", "-2", 400 },
                  { "n_predict", "-1", 0 },
                  { "seed", "-2", 400 },
                  { "repetition_penalty", "1.2", 0 },
                  { "repeat_last_n", "-1", 0 },
                  { "add_generation_prompt", "false", 400 },
                  { "add_generation_prompt", "1", 400 },
                  { "continue_final_message", "true", 400 },
                  { "user", "\"somebody\"", 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int status = judge_field(false, cases[i].name, cases[i].value);
        if (status != cases[i].status)
            print_error("%s %s: %d\n", cases[i].name, cases[i].value, status);
        assert_int_equal(status, cases[i].status);
    }
}

/* The order of text and pictures in what the engine gets. */
static void places(void **state)
{
    (void)state;
    static const struct {
        const char *parts, *text;
    } cases[] = {
        { "IT", "a" },
        { "TI", "a" },
        { "TIT", "a<image>a" },
        { "IIT", "a" },
        { "ITIT", "<image>a<image>a" },
        { "I", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        size_t n =
            (size_t)snprintf(text, sizeof text, "{\"messages\":[{\"role\":\"user\",\"content\":[");
        for (const char *part = cases[i].parts; *part; part++)
            n += (size_t)snprintf(
                text + n, sizeof text - n, "%s%s", part > cases[i].parts ? "," : "",
                *part == 'T' ? "{\"type\":\"text\",\"text\":\"a\"}"
                             : "{\"type\":\"image_url\",\"image_url\":\"" PNG "\"}");
        n += (size_t)snprintf(text + n, sizeof text - n, "]}]}");
        s2_http_error error;
        json_t *job;
        assert_int_equal(judge(text, n, &error, &job), 0);
        assert_string_equal(
            s2_json_string(json_array_get(json_object_get(job, "messages"), 0), "text"),
            cases[i].text);
        json_decref(job);
    }
}

/* Long data URIs are cut out before the parser, with "\/" as some writers have it. */
static void long_pictures(void **state)
{
    (void)state;
    enum { N = 40000 };
    char *text = malloc(3 * N);
    size_t n = (size_t)snprintf(text, 3 * N, "{" HI ",\"x\":\"data:image\\/png;base64,");
    for (size_t i = 0; i < N; i++) text[n++] = "AB/c"[i % 4];
    n += (size_t)snprintf(text + n, 16, "\"}");
    s2_body body;
    s2_http_error error;
    s2_buffer out;
    s2_buffer_init(&out, 1 << 20);
    assert_true(s2_body_read(text, n, &body, &error));
    assert_int_equal(body.n_cuts, 1);
    assert_true(s2_body_is_cut(json_object_get(body.json, "x")));
    assert_true(s2_body_data_uri(&body, json_object_get(body.json, "x"), "x", &out, &error));
    assert_int_equal(out.size, N / 4 * 3);
    s2_body_free(&body);
    /* the offset of a mistake behind it is the client's */
    n -= 1;
    n += (size_t)snprintf(text + n, 16, ",}");
    assert_false(s2_body_read(text, n, &body, &error));
    const char *at = strstr(error.message, "byte ");
    assert_non_null(at);
    assert_true(labs(strtol(at + 5, NULL, 10) - (long)n) < 4);
    s2_buffer_free(&out);
    free(text);
}

static int judge_many(const char *open, const char *repeated, size_t times, const char *close)
{
    const size_t n = strlen(repeated);
    char *text = malloc(strlen(open) + n * times + strlen(close) + 1);
    size_t at = 0;
    memcpy(text, open, strlen(open));
    at += strlen(open);
    for (size_t i = 0; i < times; i++, at += n) memcpy(text + at, repeated, n);
    memcpy(text + at, close, strlen(close));
    s2_http_error error;
    const int status = judge(text, at + strlen(close), &error, NULL);
    free(text);
    return status;
}

static void floods(void **state)
{
    (void)state;
    assert_int_equal(judge_many("", "[", 1000000, ""), 400);
    assert_int_equal(judge_many("{\"a\":", "[", 62, "1"), 400);
    assert_int_equal(judge_many("{" HI ",\"a\":[", "1,", 70000, "1]}"), 400);
    assert_int_equal(judge_many("{" HI ",\"a\":[", "1,", 60000, "1]}"), 0);
    assert_int_equal(judge_many("{" HI ",", "\"a\":1,", 70000, "\"b\":1}"), 400);
    assert_int_equal(judge_many("{" HI, " ", (size_t)30 << 20, "}"), 0);
    assert_int_equal(judge_many("{" HI ",\"a\":\"", "a", (size_t)2 << 20, "\"}"), 400);
    assert_int_equal(
        judge_many("{\"messages\":[{\"role\":\"user\",\"content\":\"", "a", 1 << 20, "\"}]}"), 0);
    assert_int_equal(judge_many("{\"messages\":[", "{\"role\":\"user\",\"content\":\"a\"},", 255,
                                "{\"role\":\"user\",\"content\":\"a\"}]}"),
                     0);
    assert_int_equal(judge_many("{\"messages\":[", "{\"role\":\"user\",\"content\":\"a\"},", 256,
                                "{\"role\":\"user\",\"content\":\"a\"}]}"),
                     400);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(boundaries),    cmocka_unit_test(tables),
                                        cmocka_unit_test(merged),        cmocka_unit_test(places),
                                        cmocka_unit_test(long_pictures), cmocka_unit_test(floods) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
