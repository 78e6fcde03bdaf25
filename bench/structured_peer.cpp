// structured_peer.cpp - what bench_structured.c measures, by llama.cpp's grammar. bench/structured builds and runs it.
//
//     structured_peer VOCABULARY.gguf CASES.json
#include "json-schema-to-grammar.h"
#include "llama.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>
#include <vector>

static double now_us()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    llama_model *model = llama_model_load_from_file(argv[1], params);
    if (!model) return 1;
    const llama_vocab *vocab = llama_model_get_vocab(model);
    const int n_vocab = llama_vocab_n_tokens(vocab);
    std::ifstream file(argv[2]);
    std::stringstream text;
    text << file.rdbuf();
    std::vector<llama_token_data> candidates((size_t)n_vocab);
    for (const common_json &one : common_json::parse(text.str())) {
        double start = now_us();
        const std::string grammar = json_schema_to_grammar(one.at("schema"));
        llama_sampler *sampler = llama_sampler_init_grammar(vocab, grammar.c_str(), "root");
        if (!sampler) return 1;
        printf("compile %.3f\n", now_us() - start);
        for (int round = 0; round < 2; round++)
            for (const common_json &sample : one.at("texts")) {
                const std::string answer = sample.get<std::string>();
                std::vector<llama_token> tokens(answer.size() + 8);
                const int n = llama_tokenize(vocab, answer.data(), (int)answer.size(),
                                             tokens.data(), (int)tokens.size(), false, false);
                llama_sampler_reset(sampler);
                for (int i = 0; i < n; i++) {
                    for (int k = 0; k < n_vocab; k++) candidates[(size_t)k] = { k, 1.0f, 0.0f };
                    llama_token_data_array array = { candidates.data(), candidates.size(), -1,
                                                     false };
                    start = now_us();
                    llama_sampler_apply(sampler, &array);
                    printf("%s %.3f\n", round == 0 ? "cold" : "warm", now_us() - start);
                    if (candidates[(size_t)tokens[(size_t)i]].logit != 1.0f) {
                        fprintf(stderr, "refused in: %s\n", answer.c_str());
                        break;
                    }
                    llama_sampler_accept(sampler, tokens[(size_t)i]);
                }
            }
        llama_sampler_free(sampler);
    }
    llama_model_free(model);
    return 0;
}
