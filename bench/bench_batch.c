/* bench_batch.c - tokens a second of sessions that decode together.
 *
 *   bench_batch MODEL MMPROJ THREADS PROMPT_TOKENS TOKENS SESSIONS...
 *
 * One prompt is prefilled and forked; then so many sessions as each of SESSIONS says decode TOKENS
 * tokens each. Prints a line "sessions tokens/s" for each. bench/batch runs it beside llama.cpp's.
 */
#include "base/clock.h"
#include "s2vlm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static void fail(const s2p_error *error)
{
    (void)fprintf(stderr, "bench_batch: %s\n", error->message);
    exit(1);
}

/* Words until the prompt has about n tokens. */
static char *make_prompt(int n)
{
    char *text = calloc((size_t)n + 1, 4);
    if (!text) abort();
    for (int i = 0; i < n; i++) (void)strcat(text, " a");
    return text;
}

static void decode(s2v_session *const *session, size_t n, int n_tokens)
{
    s2v_step step[MOST];
    char text[MOST][64];
    s2p_error error = { S2P_OK, "" };
    for (size_t i = 0; i < n; i++)
        step[i] = (s2v_step){ .session = session[i], .text = text[i], .capacity = 64 };
    for (int at = 0; at < n_tokens; at++)
        if (s2v_decode_many(step, n, &error) != S2P_OK) fail(&error);
}

static void measure(s2v_session *prompt, size_t n, int n_tokens)
{
    s2v_session *session[MOST];
    s2p_error error = { S2P_OK, "" };
    for (size_t i = 0; i < n; i++)
        if (s2v_session_fork(&session[i], prompt, NULL, &error) != S2P_OK) fail(&error);
    decode(session, n, 2); /* the first needs no pass, the second takes the memory */
    const double start = s2_now_ms();
    decode(session, n, n_tokens);
    printf("%zu %.4f\n", n, (double)n * n_tokens / (s2_now_ms() - start) * 1000.0);
    (void)fflush(stdout);
    for (size_t i = 0; i < n; i++) s2v_session_free(session[i]);
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        (void)fprintf(stderr,
                      "usage: bench_batch MODEL MMPROJ THREADS PROMPT TOKENS SESSIONS...\n");
        return 2;
    }
    s2p_error error = { S2P_OK, "" };
    s2v_engine_options engine_options;
    s2v_engine_options_init(&engine_options);
    engine_options.model_path = argv[1];
    engine_options.mmproj_path = argv[2];
    engine_options.n_threads = (int32_t)strtol(argv[3], NULL, 10);
    const int n_prompt = (int)strtol(argv[4], NULL, 10), n_tokens = (int)strtol(argv[5], NULL, 10);
    s2v_session_options options;
    s2v_session_options_init(&options);
    options.n_ctx = n_prompt + n_tokens + 64;
    options.sampling.ignore_eos = 1;
    s2v_engine *engine;
    s2v_session *prompt;
    if (s2v_engine_open(&engine, &engine_options, &error) != S2P_OK) fail(&error);
    if (s2v_session_create(&prompt, engine, &options, &error) != S2P_OK) fail(&error);
    char *text = make_prompt(n_prompt);
    const s2v_prompt asked = { .size = sizeof(s2v_prompt), .raw = text };
    if (s2v_session_prefill(prompt, &asked, NULL, NULL, &error) != S2P_OK) fail(&error);
    for (int i = 6; i < argc; i++) {
        const long n = strtol(argv[i], NULL, 10);
        if (n >= 1 && n <= MOST) measure(prompt, (size_t)n, n_tokens);
    }
    free(text);
    s2v_session_free(prompt);
    s2v_engine_close(engine);
    return 0;
}
