/* llama_options.c - options of llama.cpp's programs that have no row here.
 *
 * Names with the same meaning stand in the rows of ask_options.h. Here is the rest: what needs
 * nothing done is accepted, so that a command line copied from elsewhere runs; what would change
 * the answer and cannot be had is refused with a sentence.
 */
#include "asking/llama_options.h"

/* clang-format off */
const s2_foreign s2_llama_options[] = {
    /* how it computes: the engine decides */
    { "-fa --flash-attn",                          S2_TAKES_SWITCH,  NULL },
    { "-tb --threads-batch -C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll",
                                                   S2_TAKES_VALUE,   NULL },
    { "--no-warmup --warmup --no-mmap --mmap --no-direct-io --direct-io --no-repack -nr --repack",
                                                   S2_TAKES_NOTHING, NULL },
    { "-lm --load-mode --numa --keep --fit --fit-ctx",   S2_TAKES_VALUE,   NULL },
    { "-nkvo --no-kv-offload -kvo --kv-offload --op-offload --no-op-offload --no-host",
                                                   S2_TAKES_NOTHING, NULL },
    { "--swa-full --context-shift --no-context-shift -kvu --kv-unified --check-tensors",
                                                   S2_TAKES_NOTHING, NULL },
    { "-lcs --lookup-cache-static -lcd --lookup-cache-dynamic --prompt-cache",
                                                   S2_TAKES_VALUE,   NULL },
    { "--prompt-cache-all --prompt-cache-ro --perf --no-perf --show-timings --no-show-timings",
                                                   S2_TAKES_NOTHING, NULL },
    /* how it looks */
    { "-co --color",                               S2_TAKES_SWITCH,  NULL },
    { "--simple-io --display-prompt --no-display-prompt -mli --multiline-input --mmproj-offload -sp --special --no-escape",
                                                   S2_TAKES_NOTHING, NULL },
    { "--log-file -lv --verbosity --log-verbosity --log-colors", S2_TAKES_VALUE, NULL },
    { "--log-prefix --log-timestamps --verbose-prompt",          S2_TAKES_NOTHING, NULL },
    /* templates and samplers: those of the model, the usual order */
    { "--jinja --no-jinja",                        S2_TAKES_NOTHING, NULL },
    { "--chat-template --chat-template-kwargs --reasoning-format --reasoning-budget",
                                                   S2_TAKES_VALUE,   NULL },
    { "--samplers --sampler-seq --sampling-seq --repeat-last-n", S2_TAKES_VALUE, NULL },

    { "--grammar --grammar-file",                  S2_TAKES_VALUE,
      "answers cannot be held to a grammar; say in the question what form you need" },
    { "-j --json-schema -jf --json-schema-file",   S2_TAKES_VALUE,
      "answers cannot be held to a schema; say in the question what form you need" },
    { "--lora --lora-scaled --control-vector --control-vector-scaled", S2_TAKES_VALUE,
      "adapters are not applied; merge them into the model first" },
    { "--mirostat --mirostat-lr --mirostat-ent --xtc-probability --xtc-threshold --typical --typical-p "
      "--dynatemp-range --dynatemp-exp --top-nsigma --top-n-sigma --dry-multiplier --dry-base "
      "--dry-allowed-length --dry-penalty-last-n -l --logit-bias", S2_TAKES_VALUE,
      "this sampler is not here; there are --temp, --top-k, --top-p, --min-p and the penalties" },
    { "--rope-scaling --rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx --override-kv",
                                                   S2_TAKES_VALUE,
      "the positions are the model's own and cannot be scaled" },
    { "-md --model-draft -hfd --draft --draft-max --draft-min", S2_TAKES_VALUE,
      "there is no draft model; pruning is the speed-up here" },
    { "--audio --video",                           S2_TAKES_VALUE,   "only pictures; use --image" },
    { .names = NULL },
};

const s2_foreign s2_llama_server_options[] = {
    { "-cb --cont-batching -nocb --no-cont-batching --slots --no-slots --props --webui --cache-prompt --no-prefill-assistant",
                                                   S2_TAKES_NOTHING, NULL },
    { "--threads-http -to --timeout --cache-reuse -sps --slot-prompt-similarity -ctxcp --ctx-checkpoints --swa-checkpoints",
                                                   S2_TAKES_VALUE,   NULL },
    { "--embedding --embeddings --rerank --reranking", S2_TAKES_NOTHING,
      "there are answers here, no embeddings and no ranks" },
    { "--path --webui-config --webui-config-file", S2_TAKES_VALUE,
      "the page is part of the program; --no-ui leaves it out" },
    { "--api-prefix",                              S2_TAKES_VALUE,
      "paths are as they are; a proxy can put a prefix before them" },
    { "--slot-save-path",                          S2_TAKES_VALUE,
      "sessions are not written; what was seen is remembered in memory (--cache-ram)" },
    { .names = NULL },
};
/* clang-format on */
