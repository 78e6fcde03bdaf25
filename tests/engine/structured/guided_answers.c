/* guided_answers.c MODEL MMPROJ N < SCHEMAS - N random answers to each schema, a JSON schema a line.
 *
 * The logits are random numbers, so the answers are as wild as the schema allows; after a while the tokens that
 * close something become likely, so that answers end. Prints {"schema": LINE, "answer": TEXT} for each, the
 * answer as an escaped string. Exit status 1: a dead end, or an answer that does not end.
 */
#include "base/random.h"
#include "engine/session/guided.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FREE_TOKENS = 25, MAX_TOKENS = 20000, MAX_LINE = 1 << 18 };

static bool closes(const s2v_engine *engine, int32_t token)
{
    char text[8];
    const size_t n = s2v_engine_get_token(engine, token, 0, text, sizeof text);
    return n == 1 && strchr("\"}]0123456789", text[0]) != NULL;
}

typedef struct maker {
    s2v_engine *engine;
    s2v_sampler *sampler;
    s2v_guided guided;
    float *logits;
    bool *is_closing;
    int32_t n_vocab;
} maker;

/* One answer, appended to `text`. */
static s2p_status answer(maker *m, uint64_t seed, s2_buffer *text, s2p_error *error)
{
    s2_random random = { seed };
    s2v_sampling sampling;
    s2v_sampling_init(&sampling);
    sampling.temperature = seed % 4 == 0 ? 0.0f : 1.0f;
    sampling.top_k = seed % 4 == 1 ? 40 : 0;
    sampling.seed = seed;
    TRY(s2v_sampler_start(m->sampler, &sampling, error));
    s2v_guided_restart(&m->guided);
    for (int32_t i = 0; i < MAX_TOKENS; i++) {
        const bool is_steered = i > FREE_TOKENS && s2_random_next(&random) % 2 == 0;
        for (int32_t t = 0; t < m->n_vocab; t++) {
            m->logits[t] = (float)(s2_random_next(&random) >> 40) * (12.0f / (1 << 24));
            if (is_steered && (m->is_closing[t] || s2v_engine_token_ends(m->engine, t)))
                m->logits[t] += 12.0f;
        }
        int32_t token;
        bool is_complete;
        TRY(s2v_guided_pick(&m->guided, m->sampler, m->logits, &token, error));
        if (s2v_engine_token_ends(m->engine, token)) return S2P_OK;
        TRY(s2v_guided_take(&m->guided, token, &is_complete, error));
        char bytes[512];
        const size_t n = s2v_engine_get_token(m->engine, token, 0, bytes, sizeof bytes);
        s2_buffer_append(text, bytes, n);
        if (is_complete) return S2P_OK;
    }
    return s2_fail(error, S2P_ELIMIT, "no end after %d tokens", MAX_TOKENS);
}

int main(int argc, char **argv)
{
    static char line[MAX_LINE];
    s2p_error error = { S2P_OK, "" };
    s2v_engine_options options;
    maker m = { .engine = NULL };
    if (argc != 4) return 2;
    s2v_engine_options_init(&options);
    options.model_path = argv[1];
    options.mmproj_path = argv[2];
    options.n_threads = 1;
    s2p_status st = s2v_engine_open(&m.engine, &options, &error);
    if (st != S2P_OK) fprintf(stderr, "%s\n", error.message);
    if (st == S2P_OK) {
        m.n_vocab = s2v_engine_vocabulary(m.engine);
        m.logits = malloc((size_t)m.n_vocab * sizeof *m.logits);
        m.is_closing = calloc((size_t)m.n_vocab, sizeof *m.is_closing);
        st = m.logits && m.is_closing ? s2v_sampler_create(&m.sampler, m.n_vocab, &error)
                                      : S2P_ENOMEM;
    }
    for (int32_t t = 0; st == S2P_OK && t < m.n_vocab; t++) m.is_closing[t] = closes(m.engine, t);
    for (int32_t i = 0; st == S2P_OK && fgets(line, sizeof line, stdin); i++) {
        s2v_constraint *constraint = NULL;
        st = s2v_constraint_create(&constraint, m.engine, S2V_JSON_SCHEMA, line, strlen(line),
                                   &error);
        if (st == S2P_OK) st = s2v_guided_use(&m.guided, constraint, m.engine, &error);
        s2v_constraint_free(constraint); /* the guide has a share of it */
        for (int32_t k = 0; st == S2P_OK && k < atoi(argv[3]); k++) {
            s2_buffer text;
            s2_buffer_init(&text, (size_t)1 << 20);
            st = answer(&m, (uint64_t)i * 1000003u + (uint64_t)k, &text, &error);
            json_t *json = st == S2P_OK
                               ? json_pack("{s:i,s:s%}", "schema", i, "answer",
                                           text.data ? (const char *)text.data : "", text.size)
                               : NULL;
            char *out = json ? json_dumps(json, JSON_COMPACT) : NULL;
            if (out) puts(out);
            if (st == S2P_OK && !out) st = s2_fail(&error, S2P_EFORMAT, "an answer is not UTF-8");
            free(out);
            json_decref(json);
            s2_buffer_free(&text);
        }
        if (st != S2P_OK) fprintf(stderr, "schema %d: %s\n%s", i, error.message, line);
    }
    s2v_guided_free(&m.guided);
    s2v_sampler_free(m.sampler);
    free(m.logits);
    free(m.is_closing);
    s2v_engine_close(m.engine);
    return st == S2P_OK ? 0 : 1;
}
