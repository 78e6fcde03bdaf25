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
    { "-tb --threads-batch -C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll -Cb --cpu-mask-batch "
      "-Crb --cpu-range-batch --cpu-strict-batch --prio-batch --poll-batch", S2_TAKES_VALUE, NULL },
    { "--no-warmup --warmup --no-mmap --mmap --no-direct-io --direct-io --no-repack -nr --repack",
                                                   S2_TAKES_NOTHING, NULL },
    { "-lm --load-mode --numa --keep -fit --fit -fitc --fit-ctx -fitt --fit-target -dt --defrag-thold "
      "-sm --split-mode -ts --tensor-split -mg --main-gpu -ot --override-tensor -ncmoe --n-cpu-moe",
                                                   S2_TAKES_VALUE,   NULL },
    { "-nkvo --no-kv-offload -kvo --kv-offload --op-offload --no-op-offload --no-host",
                                                   S2_TAKES_NOTHING, NULL },
    { "--swa-full --context-shift --no-context-shift -kvu --kv-unified -no-kvu --no-kv-unified "
      "--check-tensors -cmoe --cpu-moe",            S2_TAKES_NOTHING, NULL },
    { "-lcs --lookup-cache-static -lcd --lookup-cache-dynamic --prompt-cache",
                                                   S2_TAKES_VALUE,   NULL },
    { "--prompt-cache-all --prompt-cache-ro --perf --no-perf --show-timings --no-show-timings",
                                                   S2_TAKES_NOTHING, NULL },
    /* how it looks */
    { "-co --color",                               S2_TAKES_SWITCH,  NULL },
    { "--simple-io --display-prompt --no-display-prompt -mli --multiline-input --mmproj-offload -sp --special --no-escape",
                                                   S2_TAKES_NOTHING, NULL },
    { "--log-file -lv --verbosity --log-verbosity --log-colors", S2_TAKES_VALUE, NULL },
    { "--log-prefix --no-log-prefix --log-timestamps --no-log-timestamps --verbose-prompt", S2_TAKES_NOTHING, NULL },
    /* templates and samplers: those of the model, the usual order */
    { "--jinja --no-jinja --prefill-assistant --no-prefill-assistant --mmproj-auto", S2_TAKES_NOTHING, NULL },
    { "-rea --reasoning --reasoning-budget",        S2_TAKES_VALUE,
      "this command does not support thinking; 's2prune run', 'compare', 'eval' and 'serve' do" },
    { "--reasoning-format --reasoning-effort",     S2_TAKES_VALUE,   NULL },
    { "--samplers --sampler-seq --sampling-seq --repeat-last-n", S2_TAKES_VALUE, NULL },
    /* of a server: always so, or its own business */
    { "-cb --cont-batching -nocb --no-cont-batching --slots --no-slots --props --cache-prompt --ui --webui "
      "--reuse-port --no-cors-credentials",        S2_TAKES_NOTHING, NULL },
    { "--threads-http --cache-reuse -sps --slot-prompt-similarity -ctxcp --ctx-checkpoints --swa-checkpoints "
      "-cms --checkpoint-min-step --sse-ping-interval", S2_TAKES_VALUE, NULL },

    { "--chat-template-file --chat-template-kwargs", S2_TAKES_VALUE,
      "the model's own chat format is always used; use --raw for a prompt without one" },
    { "--grammar --grammar-file",                  S2_TAKES_VALUE,
      "only 's2prune run' and requests to the server take a grammar" },
    { "-j --json-schema -jf --json-schema-file",   S2_TAKES_VALUE,
      "only 's2prune run' and requests to the server take a schema" },
    { "--lora --lora-scaled --control-vector --control-vector-scaled", S2_TAKES_VALUE,
      "adapters are not applied; merge them into the model first" },
    { "--mirostat --mirostat-lr --mirostat-ent --xtc-probability --xtc-threshold --typical --typical-p "
      "--dynatemp-range --dynatemp-exp --top-nsigma --top-n-sigma --dry-multiplier --dry-base "
      "--dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --adaptive-target --adaptive-decay "
      "-l --logit-bias",                           S2_TAKES_VALUE,
      "this sampler is not supported; use --temp, --top-k, --top-p, --min-p and the penalties" },
    { "--rope-scaling --rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx --yarn-ext-factor "
      "--yarn-attn-factor --yarn-beta-slow --yarn-beta-fast --override-kv", S2_TAKES_VALUE,
      "the model's own positions are used and cannot be scaled" },
    { "-md --model-draft -hfd --draft --draft-max --draft-min", S2_TAKES_VALUE,
      "draft models are not supported" },
    { "-mu --model-url -mmu --mmproj-url",         S2_TAKES_VALUE,   "use -m and -mm with files, or -hf with a name" },
    { "--no-mmproj --no-mmproj-auto",              S2_TAKES_NOTHING, "a model always needs its mmproj" },
    { "--embedding --embeddings --rerank --reranking", S2_TAKES_NOTHING, "embeddings are not supported" },
    { "--no-cache-prompt",                         S2_TAKES_NOTHING, "use --cache-ram 0 to disable the cache" },
    { "--webui-config --webui-config-file",        S2_TAKES_VALUE,   "the page cannot be configured; --no-ui disables it" },
    { "--media-path --path",                       S2_TAKES_VALUE,
      "this command does not serve files; send pictures in the request as data: URLs" },
    { "--api-prefix",                              S2_TAKES_VALUE,   "a path prefix is not supported; use a proxy to add one" },
    { "--slot-save-path",                          S2_TAKES_VALUE,   "saving slots is not supported" },
    { "--models-dir --models-preset --models-max", S2_TAKES_VALUE,   "use --models FILE to serve several models" },
    { "--tools --mcp-servers-config --mcp-servers-json", S2_TAKES_VALUE, "tools on the server are not supported; clients can send tools in requests" },
    { "--audio --video",                           S2_TAKES_VALUE,   "only pictures are supported; use --image" },
    { .names = NULL },
};
/* clang-format on */
