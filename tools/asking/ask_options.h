/* ask_options.h - the options every command that asks a model has, and their rows.
 *
 * A command that uses the rows keeps an ask_options as the first member of its own struct, so that
 * the same offsets fit all of them.
 */
#ifndef S2_TOOLS_ASK_OPTIONS_H
#define S2_TOOLS_ASK_OPTIONS_H

#include "ask/settings.h"
#include "inputs.h"
#include "method_list.h"
#include "profile_options.h"
#include "progress.h"
#include "s2vlm.h"

#include <stddef.h>

typedef struct ask_options {
    /* the model */
    const char *model, *mmproj, *hub_name, *hub_token, *chat_template, *device, *rpc, *kernels;
    int32_t threads, context, batch, batch_limit, gpu_layers, kv_type, kv_type_v, flash, tower;
    bool locks_memory, is_offline, tower_on_cpu;
    /* what is remembered */
    const char *cache_dir;
    bool no_cache;
    /* the question */
    s2_list images;
    const char *prompt_file, *system;
    bool raw, escapes;
    /* the pictures */
    const char *image_size;
    int32_t preset, framing, pixels, resize;
    int64_t min_pixels, max_pixels, max_image_pixels;
    int32_t min_tokens, max_tokens;
    /* pruning */
    int32_t mode, grid, allocator, selector, structure, after; /* after: S2_AFTER_OWN */
    int32_t positions;                                         /* of s2a_positions_name */
    const char *before_tower;                                  /* NULL: by the preset */
    double min_confidence;                                     /* 0: S2A_MIN_CONFIDENCE */
    const char *profile;                                       /* NULL: none */
    double target_ms, target_mib;                              /* 0: none */
    s2_list set, settings;
    const char *variants;
    double exec_timeout; /* seconds */
    s2_list plugins;
    s2_list keep_boxes, drop_boxes, blank_boxes, masks;
    /* the answer */
    int32_t predict, top_k;
    double temperature, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty;
    uint64_t seed;
    s2_list stop;
    bool ignore_eos;
    int32_t reasoning, reasoning_budget; /* of s2_ask_reasoning_name; below 0: no limit */
    bool quiet, is_verbose;
    int32_t progress; /* as s2_progress_form counts them */
} ask_options;

enum { S2_PRESET_NONE, S2_PRESET_PAPER, S2_PRESET_DOCUMENT };

/* Words of the choices; NULL past the end. */
const char *s2_ask_kv_name(size_t index);        /* as s2v_kv_type counts them */
const char *s2_ask_kv_v_name(size_t index);      /* "same", then as s2_ask_kv_name */
const char *s2_ask_flash_name(size_t index);     /* auto, on, off */
const char *s2_ask_tower_name(size_t index);     /* auto, f32, bf16, q8, int8 */
const char *s2_ask_preset_name(size_t index);    /* none, paper, document */
const char *s2_ask_structure_name(size_t index); /* source, resized */
const char *s2_ask_framing_name(size_t index);   /* as s2v_framing counts them */
const char *s2_ask_resize_name(size_t index);    /* as s2v_resize counts them */
const char *s2_ask_reasoning_name(size_t index); /* off, on */

/* Whether answers begin with thoughts; and after how many tokens these end, 0: no limit. */
static inline bool s2_ask_thinks(const ask_options *o)
{
    return o->reasoning && o->reasoning_budget != 0;
}
static inline int32_t s2_ask_thoughts(const ask_options *o)
{
    return o->reasoning_budget > 0 ? o->reasoning_budget : 0;
}

#define S2_ASK_AT(member) .offset = offsetof(ask_options, member)

/* clang-format off */
#define S2_ASK_ROWS_MODEL                                                                                           \
    { .name = "--model", .letters = "-m", .label = "FILE", .type = S2_OPTION_FILE, .group = "Model",                \
      .help = "language model, a GGUF file (default: the bundled model)", S2_ASK_AT(model) },                                         \
    { .name = "--mmproj", .letters = "-mm", .label = "FILE", .type = S2_OPTION_FILE, .group = "Model",              \
      .help = "vision tower and projector, a GGUF file (default: the one in the folder of --model)", S2_ASK_AT(mmproj) },                                            \
    { .name = "--hf-repo", .letters = "-hf", .also = "-hfr", .label = "USER/REPO[:QUANT]", .type = S2_OPTION_TEXT,   \
      .group = "Model", .help = "use a model from Hugging Face: look in the caches of llama.cpp and huggingface_hub, else download it (default QUANT: Q4_K_M)", S2_ASK_AT(hub_name) },                                                   \
    { .name = "--hf-token", .letters = "-hft", .label = "TOKEN", .type = S2_OPTION_TEXT, .group = "Model",          \
      .help = "access token for private files on Hugging Face; setting HF_TOKEN in the environment instead hides it from other users", S2_ASK_AT(hub_token) }, \
    { .name = "--chat-template", .label = "NAME", .type = S2_OPTION_TEXT, .group = "Model",                         \
      .help = "accepted for compatibility: the model's own chat format is always used, and any other name is refused", S2_ASK_AT(chat_template) }, \
    { .name = "--offline", .type = S2_OPTION_FLAG, .group = "Model", .help = "never download anything", S2_ASK_AT(is_offline) }, \
    { .name = "--threads", .letters = "-t", .label = "N", .type = S2_OPTION_INT, .min = -1, .max = 256,             \
      .fallback = "0", .group = "Model", .help = "number of threads; 0 or -1: one per core", S2_ASK_AT(threads) },                           \
    { .name = "--ctx-size", .letters = "-c", .label = "N", .type = S2_OPTION_INT, .min = -1, .max = 1048576,         \
      .fallback = "-1", .group = "Model", .help = "size of the KV cache in tokens, not counting pruned ones; -1: 4096, grows as needed (serve: fixed at 4096); 0: the model's training context", S2_ASK_AT(context) }, \
    { .name = "--batch-size", .letters = "-b", .llama = "BATCH", .label = "N", .type = S2_OPTION_INT, .min = 1,       \
      .max = 65536, .fallback = "2048", .group = "Model", .help = "upper limit of --ubatch-size; for compatibility with llama.cpp",                   \
      S2_ASK_AT(batch_limit) },                                                                                     \
    { .name = "--ubatch-size", .letters = "-ub", .llama = "UBATCH", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 65536,       \
      .fallback = "1024", .group = "Model", .help = "number of rows computed in one batch", S2_ASK_AT(batch) },                    \
    { .name = "--kv-type", .letters = "-ctk", .also = "--cache-type-k", .llama = "CACHE_TYPE_K", .label = "TYPE", .type = S2_OPTION_CHOICE, .choice = s2_ask_kv_name,  \
      .fallback = "f16", .group = "Model", .help = "data type of the KV cache", S2_ASK_AT(kv_type) },                    \
    { .name = "--cache-type-v", .letters = "-ctv", .label = "TYPE", .type = S2_OPTION_CHOICE,                       \
      .choice = s2_ask_kv_v_name, .fallback = "same", .group = "Model", .help = "data type of the values in the KV cache",        \
      S2_ASK_AT(kv_type_v) },                                                                                       \
    { .name = "--flash-attn", .letters = "-fa", .label = "HOW", .type = S2_OPTION_CHOICE, .choice = s2_ask_flash_name, \
      .fallback = "auto", .bare = "on", .group = "Model",                                                            \
      .help = "use fused attention; off: compute scores, softmax and weighted sum in separate steps", S2_ASK_AT(flash) },             \
    { .name = "--device", .letters = "-dev", .label = "NAME", .type = S2_OPTION_TEXT, .group = "Model",             \
      .help = "device to run the model on, or none for the CPU (default: the first GPU, if there is one; see 's2prune run --list-devices')",                \
      S2_ASK_AT(device) },                                                                                          \
    { .name = "--gpu-layers", .letters = "-ngl", .also = "--n-gpu-layers", .llama = "N_GPU_LAYERS", .label = "N", .type = S2_OPTION_INT, .min = -1, .max = 1000,       \
      .min_word = "auto", .max_word = "all", .fallback = "-1", .group = "Model",                                    \
      .help = "number of decoder layers on the device, counted from the last; auto or -1: as many as fit", \
      S2_ASK_AT(gpu_layers) },                                                                                      \
    { .name = "--no-mmproj-offload", .type = S2_OPTION_FLAG, .group = "Model",                                      \
      .help = "keep the vision tower on the CPU", S2_ASK_AT(tower_on_cpu) },                                        \
    { .name = "--rpc", .label = "HOST:PORT", .type = S2_OPTION_TEXT, .group = "Model",                              \
      .help = "use an ggml RPC server as the device (trusted networks only)", S2_ASK_AT(rpc) },                          \
    { .name = "--tower", .label = "TYPE", .type = S2_OPTION_CHOICE, .choice = s2_ask_tower_name,                    \
      .fallback = "auto", .group = "Model", .help = "precision of the vision tower; auto: q8 for quantized weights; otherwise bf16 for large files if that is faster on this CPU, else f32", \
      S2_ASK_AT(tower) },                                                                                           \
    { .name = "--kernels", .label = "NAME", .type = S2_OPTION_TEXT, .group = "Model",                               \
      .help = "use these kernels for the vision tower instead of the fastest ones (see 's2prune --version')", S2_ASK_AT(kernels) }, \
    { .name = "--mlock", .type = S2_OPTION_FLAG, .group = "Model",                                                  \
      .help = "lock the weights in memory", S2_ASK_AT(locks_memory) }

#define S2_ASK_ROWS_CACHE                                                                                           \
    { .name = "--cache-dir", .label = "DIR", .type = S2_OPTION_TEXT, .group = "Model",                              \
      .help = "cache processed pictures in this folder between runs (at most 4 GiB)", S2_ASK_AT(cache_dir) },           \
    { .name = "--no-cache", .type = S2_OPTION_FLAG, .group = "Model",                                               \
      .help = "do not cache pictures", S2_ASK_AT(no_cache) }

#define S2_ASK_ROWS_QUESTION                                                                               \
    { .name = "--file", .letters = "-f", .label = "FILE", .type = S2_OPTION_FILE, .group = "Question",     \
      .help = "read the question from a file", S2_ASK_AT(prompt_file) },                                   \
    { .name = "--system", .letters = "-sys", .also = "--system-prompt", .label = "TEXT", .type = S2_OPTION_TEXT, .group = "Question", \
      .help = "system prompt, instead of the model's default", S2_ASK_AT(system) },                             \
    { .name = "--raw", .type = S2_OPTION_FLAG, .group = "Question",                                        \
      .help = "do not apply the chat format; <image> marks the place of each picture", S2_ASK_AT(raw) },                        \
    { .name = "--escape", .letters = "-e", .type = S2_OPTION_FLAG, .group = "Question",                    \
      .help = "interpret \\n, \\t, \\\" and \\\\ in the question", S2_ASK_AT(escapes) }

/* How a picture becomes the input of the tower. */
#define S2_ASK_ROWS_PICTURE                                                                                       \
    { .name = "--image-size", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Picture",                        \
      .help = "resize pictures to WxH without keeping the aspect ratio, or native; one value for all pictures, or one per picture, separated by commas", S2_ASK_AT(image_size) },       \
    { .name = "--preset", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2_ask_preset_name,                \
      .fallback = "none", .group = "Picture", .help = "a set of options; paper: 672x672 (LLaVA-OneVision: --view base); document: --before-tower pixelprune",                                                                  \
      S2_ASK_AT(preset) },                                                                                        \
    { .name = "--view", .label = "HOW", .type = S2_OPTION_CHOICE, .choice = s2_ask_framing_name, .fallback = "auto", \
      .group = "Picture", .help = "how LLaVA models see a picture: base (stretched), anyres (whole and in tiles), square (padded) or crop; auto: square for LLaVA-1.5; for LLaVA-OneVision base if pruned, else anyres", \
      S2_ASK_AT(framing) },                                                                                          \
    { .name = "--min-pixels", .label = "N", .type = S2_OPTION_WIDE, .min = 0, .max = 1e9, .fallback = "0",        \
      .group = "Picture", .help = "enlarge pictures with fewer pixels; 0: the model's default", S2_ASK_AT(min_pixels) },        \
    { .name = "--max-pixels", .label = "N", .type = S2_OPTION_WIDE, .min = 0, .max = 1e9, .fallback = "0",        \
      .group = "Picture", .help = "reduce pictures with more pixels; 0: the model's default", S2_ASK_AT(max_pixels) },          \
    { .name = "--resize", .label = "AS", .type = S2_OPTION_CHOICE, .choice = s2_ask_resize_name,                  \
      .fallback = "pillow", .group = "Picture",                                                                   \
      .help = "bicubic resizing, bit-identical to Pillow up to version 12 (pillow, as in the paper) or to Pillow 13", S2_ASK_AT(resize) }, \
    { .name = "--image-min-tokens", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000000,                \
      .fallback = "0", .group = "Picture", .help = "the same as --min-pixels, in visual tokens; 0: not set", S2_ASK_AT(min_tokens) },      \
    { .name = "--image-max-tokens", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000000,                \
      .fallback = "0", .group = "Picture", .help = "the same as --max-pixels, in visual tokens before pruning; 0: not set",               \
      S2_ASK_AT(max_tokens) }

/* How a file becomes a picture. Programs that a user starts read larger ones than a server. */
#define S2_LOCAL_PIXELS "200000000"
#define S2_SERVER_PIXELS "33554432"
#define S2_ASK_ROWS_LOADING(most)                                                                                          \
    { .name = "--pixels", .label = "WHICH", .type = S2_OPTION_CHOICE, .choice = s2_pixels_name,                            \
      .fallback = "viewer", .group = "Picture", .help = "handling of rotation, transparency and 16-bit samples: as Pillow (reference) or as an image viewer (viewer)", \
      S2_ASK_AT(pixels) },                                                                                                 \
    { .name = "--max-image-pixels", .label = "N", .type = S2_OPTION_WIDE, .min = 1, .max = 1073741824.0,                   \
      .fallback = most, .group = "Picture", .help = "refuse pictures with more pixels", S2_ASK_AT(max_image_pixels) }

#define S2_AFTER_OWN (-2) /* where the method does */

#define S2_ASK_ROWS_PRUNING                                                                                         \
    { .name = "--mode", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2_mode_name,                          \
      .fallback = "default", .group = "Pruning",                                                                    \
      .help = "default keeps exactly the budget; published does what the authors' code does, whatever the budget", S2_ASK_AT(mode) },    \
    { .name = "--grid", .label = "K", .type = S2_OPTION_INT, .min = 0, .max = S2P_MAX_SIDE, .fallback = "0",        \
      .group = "Pruning", .help = "divide the picture into K x K regions; 0: chosen by the budget", S2_ASK_AT(grid) },               \
    { .name = "--allocator", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2p_allocator_name,               \
      .fallback = "laplacian", .group = "Pruning", .help = "how the budget is divided among regions", S2_ASK_AT(allocator) }, \
    { .name = "--selector", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2p_selector_name,                 \
      .fallback = "erc", .group = "Pruning", .help = "how the token of a cell is selected", S2_ASK_AT(selector) },     \
    { .name = "--structure", .label = "WHICH", .type = S2_OPTION_CHOICE, .choice = s2_ask_structure_name,           \
      .fallback = "source", .group = "Pruning", .help = "measure structure on the source picture or on the resized one",                     \
      S2_ASK_AT(structure) },                                                                                       \
    { .name = "--after", .label = "N", .type = S2_OPTION_INT, .min = S2_AFTER_OWN, .min_word = "own", .max = 1000,  \
      .fallback = "own", .group = "Pruning",                                                                        \
      .help = "prune after decoder layer N, counted from 0; -1: before the decoder; own: at the method's own layer (S2Prune: 0)",                                                                                        \
      S2_ASK_AT(after) },                                                                                           \
    { .name = "--positions", .label = "WHICH", .type = S2_OPTION_CHOICE, .choice = s2a_positions_name,              \
      .fallback = "kept", .group = "Pruning",                                                                       \
      .help = "positions of the remaining tokens: kept, or renumbered without gaps after pruning (only models with one-dimensional positions: LLaVA, InternVL3, SmolVLM, Gemma 3)",                         \
      S2_ASK_AT(positions) },                                                                                       \
    { .name = "--before-tower", .label = "HOW", .type = S2_OPTION_TEXT, .group = "Pruning",                         \
      .help = "pixelprune[:THRESHOLD]: skip tokens that can be predicted from neighboring pixels before the vision tower runs (Qwen models only; THRESHOLD from 0, equal pixels, to 1); none: skip nothing",                                   \
      S2_ASK_AT(before_tower) },                                                                                    \
    { .name = "--set", .label = "NAME=VALUE", .type = S2_OPTION_LIST, .group = "Pruning",                           \
      .help = "set a parameter of every method that has it, or METHOD.NAME=VALUE for one method (repeatable; see 's2prune run --list-methods')",                                                                     \
      S2_ASK_AT(set) }

/* Of commands that take several budgets for one answer. */
#define S2_ASK_ROW_CONFIDENCE                                                                                       \
    { .name = "--min-confidence", .label = "P", .type = S2_OPTION_REAL, .min = S2A_LEAST_CONFIDENCE, .max = 1,      \
      .group = "Pruning",                                                                                           \
      .help = "with a budget like 64..192: ask again with the larger budget if any of the first 3 tokens has a probability below P (default: 0.995)",                                                                            \
      S2_ASK_AT(min_confidence) }
/* What tune found. */
#define S2_ASK_ROW_PROFILE S2_ROW_PROFILE(S2_ASK_AT(profile))

/* Parts of pictures. */
#define S2_ASK_ROWS_BOXES                                                                                           \
    { .name = "--keep-box", .label = "X,Y,W,H", .type = S2_OPTION_LIST, .group = "Regions",                         \
      .help = "always keep the tokens of this box; in pixels of the displayed picture, or percent: 10%,0,25%,100% (repeatable; 2:X,Y,W,H applies to the second picture)", S2_ASK_AT(keep_boxes) },                          \
    { .name = "--drop-box", .label = "X,Y,W,H", .type = S2_OPTION_LIST, .group = "Regions",                         \
      .help = "remove the tokens of this box before the decoder; the vision tower still sees them (repeatable)", S2_ASK_AT(drop_boxes) }, \
    { .name = "--blank-box", .label = "X,Y,W,H", .type = S2_OPTION_LIST, .group = "Regions",                        \
      .help = "paint this box gray before anything reads the picture; use this one for privacy (repeatable)",            \
      S2_ASK_AT(blank_boxes) },                                                                                     \
    { .name = "--mask", .label = "FILE", .type = S2_OPTION_LIST, .group = "Regions",                                \
      .help = "mark a region with a picture of the same size, white inside: keep:FILE (or just FILE), drop:FILE or blank:FILE; 2:drop:FILE applies to the second picture (repeatable)", S2_ASK_AT(masks) }

/* A budget from what it costs on this machine. */
#define S2_ASK_ROWS_TARGET                                                                                          \
    { .name = "--target-ms", .label = "T", .type = S2_OPTION_REAL, .min = 1, .max = 1e7, .group = "Pruning",       \
      .help = "choose the budget so that the first token arrives within about T milliseconds, measured at the start",            \
      S2_ASK_AT(target_ms) },                                                                                       \
    { .name = "--target-mib", .label = "M", .type = S2_OPTION_REAL, .min = 0.001, .max = 1e7, .group = "Pruning",   \
      .help = "choose the budget so that a prompt takes about M MiB of the KV cache",                                         \
      S2_ASK_AT(target_mib) }

/* Of commands that take methods of the user's own. */
#define S2_ASK_ROW_EXEC                                                                                             \
    { .name = "--exec-timeout", .label = "SECONDS", .type = S2_OPTION_REAL, .min = 0.01, .max = 86400,              \
      .fallback = "60", .group = "Pruning",                                                                         \
      .help = "time limit for each answer of a method exec:COMMAND", S2_ASK_AT(exec_timeout) }

#define S2_ASK_ROW_PLUGIN                                                                                           \
    { .name = "--plugin", .label = "FILE", .type = S2_OPTION_LIST, .group = "Pruning",                              \
      .help = "load methods from a shared library (repeatable); its code runs inside this program",                 \
      S2_ASK_AT(plugins) }

/* Several settings in one table, each with its own. */
#define S2_ASK_ROWS_VARIANTS                                                                                        \
    { .name = "--setting", .label = "TEXT", .type = S2_OPTION_LIST, .group = "Pruning",                             \
      .help = "add a variant METHOD[:name=value,...], such as s2prune:grid=9 (repeatable); names: budget, allocator, selector, grid, mode, after, positions, before-tower, structure, image-size, min-confidence, and the method's parameters",                      \
      S2_ASK_AT(settings) },                                                                                        \
    { .name = "--variants", .label = "FILE", .type = S2_OPTION_FILE, .group = "Pruning",                            \
      .help = "read variants from a file, one per line, in the form of --setting; # starts a comment", S2_ASK_AT(variants) }

/* How tokens are drawn, besides the temperature. */
#define S2_ASK_ROWS_SAMPLING                                                                                               \
    { .name = "--top-k", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1048576, .fallback = "0",             \
      .group = "Answer", .help = "sample from the N likeliest tokens; 0: off", S2_ASK_AT(top_k) },                                                       \
    { .name = "--top-p", .label = "P", .type = S2_OPTION_REAL, .min = 0.000001, .max = 1, .fallback = "1",           \
      .group = "Answer", .help = "sample from the smallest set of tokens with total probability P; 1: off", S2_ASK_AT(top_p) },                                                       \
    { .name = "--min-p", .label = "P", .type = S2_OPTION_REAL, .min = 0, .max = 0.999999, .fallback = "0",           \
      .group = "Answer", .help = "ignore tokens less likely than P times the likeliest one; 0: off", S2_ASK_AT(min_p) },                                                       \
    { .name = "--repeat-penalty", .label = "X", .type = S2_OPTION_REAL, .min = 0.01, .max = 100, .fallback = "1",    \
      .group = "Answer", .help = "penalty for repeated tokens; 1: off", S2_ASK_AT(repeat_penalty) },                                              \
    { .name = "--presence-penalty", .label = "X", .type = S2_OPTION_REAL, .min = -100, .max = 100, .fallback = "0",  \
      .group = "Answer", .help = "penalty for tokens that already occurred; 0: off", S2_ASK_AT(presence_penalty) },                                            \
    { .name = "--frequency-penalty", .label = "X", .type = S2_OPTION_REAL, .min = -100, .max = 100, .fallback = "0", \
      .group = "Answer", .help = "penalty that grows with each occurrence of a token; 0: off", S2_ASK_AT(frequency_penalty) }

/* Models that think before they answer. */
#define S2_ASK_ROWS_REASONING                                                                                        \
    { .name = "--reasoning", .letters = "-rea", .label = "on|off", .type = S2_OPTION_CHOICE,                         \
      .choice = s2_ask_reasoning_name, .fallback = "off", .bare = "on", .group = "Answer",                            \
      .help = "let models that support it (Qwen3.5) think before they answer", S2_ASK_AT(reasoning) },                       \
    { .name = "--reasoning-budget", .label = "N", .type = S2_OPTION_INT, .min = -1, .max = 1048576, .fallback = "-1", \
      .group = "Answer", .help = "with --reasoning on: stop thinking after N tokens; 0: do not think; -1: no limit",       \
      S2_ASK_AT(reasoning_budget) }

#define S2_ASK_ROWS_ANSWER                                                                                           \
    { .name = "--predict", .letters = "-n", .also = "--n-predict", .llama = "N_PREDICT", .label = "N",               \
      .type = S2_OPTION_INT, .min = -2, .max = 1048576, .fallback = "128", .group = "Answer",                        \
      .help = "maximum number of tokens to generate; -1: until the context is full", S2_ASK_AT(predict) },                        \
    { .name = "--temp", .also = "--temperature", .llama = "TEMPERATURE", .label = "T", .type = S2_OPTION_REAL, .min = 0, .max = 100, .fallback = "0",                 \
      .group = "Answer", .help = "sampling temperature; 0: always take the likeliest token", S2_ASK_AT(temperature) },                               \
    S2_ASK_ROWS_SAMPLING,                                                                                             \
    S2_ASK_ROWS_REASONING,                                                                                            \
    { .name = "--seed", .letters = "-s", .label = "N", .type = S2_OPTION_SEED, .fallback = "0", .group = "Answer",   \
      .help = "random seed; -1: a new one each time", S2_ASK_AT(seed) },                                                        \
    { .name = "--stop", .letters = "-r", .also = "--reverse-prompt", .label = "TEXT", .type = S2_OPTION_LIST, .group = "Answer",                                  \
      .help = "stop the answer before this text (repeatable)", S2_ASK_AT(stop) },                                     \
    { .name = "--ignore-eos", .type = S2_OPTION_FLAG, .group = "Answer", .help = "continue after an end-of-sequence token",         \
      S2_ASK_AT(ignore_eos) }

#define S2_ASK_ROW_PROGRESS                                                                              \
    { .name = "--progress", .label = "FORM", .type = S2_OPTION_CHOICE, .choice = s2_progress_name,       \
      .fallback = "auto", .group = "Output", .help = "how to report progress on standard error; auto: a bar if it is a terminal", \
      S2_ASK_AT(progress) }
/* clang-format on */

#endif /* S2_TOOLS_ASK_OPTIONS_H */
