/* s2vlm.h - run a vision-language model on ggml, pruning visual tokens on the way.
 *
 *   image -> vision tower -> embeddings -> layer 0 -> plan -> compaction -> layers 1..n -> tokens
 *
 *     s2v_engine_options options;
 *     s2v_engine_options_init(&options);
 *     options.model_path = "model.gguf";
 *     options.mmproj_path = "mmproj.gguf";
 *     if (s2v_engine_open(&engine, &options, &error) != S2P_OK) ...
 *     if (s2v_session_create(&session, engine, NULL, &error) != S2P_OK) ...
 *     if (s2v_session_prefill(session, &prompt, NULL, &stats, &error) != S2P_OK) ...
 *     while (s2v_session_next(session, text, sizeof text, &done, &error) == S2P_OK && !done) ...
 *
 * An engine is a loaded model, shared by many sessions. A session is one conversation: it owns the
 * KV cache, positions and logits. Tensors never cross this header.
 *
 * Threads:   Any number of threads may use one engine at the same time, each with sessions of its own.
 *            A session belongs to one thread at a time; s2v_prefill_many and s2v_decode_many use all
 *            sessions they are given. Functions that take only an engine, or nothing, may be called
 *            at any time, except s2v_engine_close: free the sessions first.
 * Callbacks: Every callback arrives on the thread that made the call it reports on, during that call.
 *            It may use other sessions of the engine, and never the session that is in the call.
 * Versions:  Every options struct begins with `size`, which its _init sets. A program that was compiled
 *            with an earlier header of this SONAME passes a smaller size, and the fields it does not
 *            know have their defaults. A size of 0, or a field set that this library does not know, is
 *            refused (S2P_EINVAL). Structs the library fills end with `reserved`, room for later
 *            fields. All other structs keep their layout.
 * Names:     s2v_X_get_Y fills memory of the caller, s2v_X_Y returns a value, s2v_X_name(i) ends with NULL.
 */
#ifndef S2VLM_H
#define S2VLM_H

#include "s2prune.h"

#if defined(__GNUC__)
#define S2V_API __attribute__((visibility("default")))
#else
#define S2V_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define S2V_VERSION_MAJOR 0
#define S2V_VERSION_MINOR 1
#define S2V_VERSION_PATCH 0

/* "0.1.0": the version of the library that is running, which may be newer than this header. */
S2V_API const char *s2v_version(void);

/* The structs of this header, as s2p_abi_at has those of s2prune.h. */
S2V_API const s2p_abi *s2v_abi_at(size_t index);

/* Laid out by hand: names and comments in columns. */
/* clang-format off */

typedef struct s2v_engine s2v_engine;
typedef struct s2v_session s2v_session;

/* --- Engine ------------------------------------------------------------------------------------ */

/* A note for the user (not an error), one line without a newline. */
typedef void (*s2v_note_callback)(const char *text, void *user);

/* Progress of a long step, 0 to 1. A return value other than 0 cancels it (S2P_ECANCELLED). */
typedef int (*s2v_progress_callback)(const char *step, double done, void *user);

typedef struct s2v_engine_options {
    size_t size;                    /* set by s2v_engine_options_init */
    const char *model_path;         /* text model, GGUF */
    const char *mmproj_path;        /* vision tower and projector, GGUF */
    const char *device;             /* NULL: the first GPU, or else the CPU; a name of s2v_device_name() */
    const char *tower;              /* products of the tower: "f32", "bf16", "q8", "int8"; NULL, "auto": q8
                                       (bytes, a step for every 32) for quantized matrices; for others bf16
                                       where the CPU gains by it and the mmproj is half precision or smaller
                                       of 64 MiB or more, else f32 */
    const char *kernels;            /* NULL: the fastest for that; else a name of s2v_kernels_name(),
                                       or "ggml" for ggml's own */
    const char *rpc_server;         /* NULL, or host:port of an RPC server to add as a device */
    int32_t gpu_layers;             /* decoder layers on the device, from the last; -1: all that fit. Of
                                       another number all must fit, or the engine does not open */
    int tower_on_cpu;               /* keep the vision tower and its projector off the device */
    int32_t n_threads;              /* 0: one per core its mask and its quota allow */
    int pictures_soon;              /* a picture will come: the system may read the mmproj ahead */
    uint64_t max_memory;            /* bytes this engine may take; 0: what the system has available */
    uint64_t max_device_memory;     /* of the device, with a session; 0: what it has free */
    uint64_t cache_bytes;           /* of pictures and prompts remembered for all sessions; 0: none */
    const char *cache_dir;          /* NULL, or a folder that remembers them from one process to the next;
                                       with cache_bytes only */
    uint64_t cache_dir_bytes;       /* its limit; 0: 4 GiB */
    s2v_note_callback note;
    s2v_progress_callback progress; /* of opening, and of prompts of sessions without their own */
    void *user;                     /* for the two callbacks */
} s2v_engine_options;

/* Set every field to its default, then change what you need. (_init_sized is for bindings.) */
S2V_API void s2v_engine_options_init_sized(s2v_engine_options *options, size_t size);
static inline void s2v_engine_options_init(s2v_engine_options *options) { s2v_engine_options_init_sized(options, sizeof *options); }

/* On success *out is an engine the caller closes; on failure *out is NULL. */
S2V_API s2p_status s2v_engine_open(s2v_engine **out, const s2v_engine_options *options, s2p_error *error);
S2V_API void s2v_engine_close(s2v_engine *engine);        /* NULL is fine */

typedef struct s2v_engine_info {                        /* strings live as long as the engine */
    const char *name, *architecture, *device, *template_name;
    int32_t n_layers, n_embd, n_heads, n_kv_heads, n_vocab, n_ctx_train;
    int32_t n_vision_blocks, n_vision_embd, patch_size, merge_size;
    uint64_t n_parameters;
    uint64_t model_bytes, weight_bytes;                 /* of the files; of memory held for weights */
    const char *kernels;            /* of the tower: a name of s2v_kernels_name(), two with a plus between
                                       them (quantized matrices, others), or "ggml" */
    int tower_rounds;               /* they round to bf16 or bytes: not exact */
    int64_t max_pixels;             /* larger pictures are reduced unless s2v_image_options say otherwise;
                                       0: the tower has one size */
    int64_t file_max_pixels;        /* what the mmproj says, 0: nothing; more than 1,280 tokens are
                                       not taken unasked */
    int32_t device_layers;          /* decoder layers on the device; 0 on the CPU */
    int device_tower;               /* the tower is on it */
    uint64_t device_bytes;          /* of weight_bytes, those on it */
    uint64_t reserved[16];
} s2v_engine_info;

S2V_API void s2v_engine_get_info(const s2v_engine *engine, s2v_engine_info *info);

typedef struct s2v_cache_stats {    /* of what is remembered, since the engine was opened */
    uint64_t bytes, limit;          /* never more than the limit */
    uint64_t hits, misses;          /* of pictures and of prompts */
    uint64_t evictions, stored;     /* entries that made room; entries that were new */
    uint64_t disk_bytes;            /* of the folder, when something was last written to it */
    uint64_t disk_hits;             /* of the hits, those that were read from it */
    uint64_t disk_refused;          /* its files that were refused as damaged */
    uint64_t reserved[8];
} s2v_cache_stats;

/* All 0 without a cache. Any thread, at any time. */
S2V_API void s2v_engine_get_cache_stats(const s2v_engine *engine, s2v_cache_stats *out);
/* Give back the memory of what is remembered and not in use: these pictures will not come again.
 * What is in cache_dir stays. Any thread, at any time. */
S2V_API void s2v_engine_forget(s2v_engine *engine);

/* Kernels of the tower this CPU runs, NULL past the end; and the ones an engine takes by itself: for an
 * mmproj in half precision of 64 MiB and more (is_large), and for others. */
S2V_API const char *s2v_kernels_name(size_t index);
S2V_API const char *s2v_kernels_usual(int is_large);

/* Devices ggml knows on this machine; NULL past the end. */
S2V_API const char *s2v_device_name(size_t index);
S2V_API const char *s2v_device_description(size_t index);
/* Bytes; 0 where it does not say. */
S2V_API void s2v_device_get_memory(size_t index, uint64_t *available, uint64_t *total);

typedef struct s2v_architecture {
    const char *title;              /* as people call it */
    const char *name;               /* general.architecture of the text model */
    const char *projector;          /* clip.projector_type of the mmproj */
} s2v_architecture;

/* Models the engine runs, by what their files say; 0 past the end, else *out is filled. */
S2V_API int s2v_architecture_get(size_t index, s2v_architecture *out);

/* "0.25.1": the ggml the engine was built with. */
S2V_API const char *s2v_backend_version(void);

/* --- Session ----------------------------------------------------------------------------------- */

typedef enum s2v_kv_type {
    S2V_KV_SAME = -1,               /* of values: the type of the keys */
    S2V_KV_F16  = 0,
    S2V_KV_F32  = 1,
    S2V_KV_Q8_0 = 2
} s2v_kv_type;

/* A schema or a grammar that an answer follows: compiled once, read-only, shared by sessions of its engine.
 * Sessions that use it keep it alive. docs/STRUCTURED.md has what is enforced, refused and limited. */
typedef struct s2v_constraint s2v_constraint;

typedef enum s2v_constraint_kind {
    S2V_JSON_SCHEMA = 0,            /* text: a JSON schema */
    S2V_JSON_OBJECT = 1,            /* any JSON object; no text */
    S2V_GBNF        = 2,            /* text: a grammar in llama.cpp's notation, from rule `root` */
    S2V_TOOL_CALLS  = 3             /* text: {"tools": [{"name":, "parameters": SCHEMA}], "required": true,
                                       "parallel": true}: calls as Qwen's models write them. Without
                                       `required` any text, in which <tool_call> begins one */
} s2v_constraint_kind;

/* S2P_EINVAL, S2P_EUNSUPPORTED, S2P_ELIMIT: the sentence has the JSON pointer, or line and column.
 * S2P_EUNSUPPORTED also for a model whose vocabulary lacks tokens for single bytes. The first one of an
 * engine also sorts its vocabulary. Any thread. */
S2V_API s2p_status s2v_constraint_create(s2v_constraint **out, s2v_engine *engine, s2v_constraint_kind kind,
                                 const char *text, size_t n_bytes, s2p_error *error);
S2V_API void s2v_constraint_free(s2v_constraint *constraint);      /* NULL is fine */
S2V_API s2v_constraint *s2v_constraint_share(s2v_constraint *constraint); /* one more user, who frees it too */
S2V_API size_t s2v_constraint_bytes(const s2v_constraint *constraint);    /* of memory it takes */

/* Whether text[0..n_bytes) may begin an answer, and whether the answer may end there. */
S2V_API s2p_status s2v_constraint_check(const s2v_constraint *constraint, const char *text, size_t n_bytes,
                                int *is_allowed, int *is_complete, s2p_error *error);

/* A bias is added to the logit of its token before anything else; -INFINITY: it is never picked. */
typedef struct s2v_logit_bias { int32_t token; float bias; } s2v_logit_bias;
typedef struct s2v_sampling {       /* how the tokens of an answer are picked */
    size_t size;                    /* set by s2v_sampling_init */
    float temperature;              /* 0: greedy, the default; at most 100 */
    int32_t top_k;                  /* 0: off */
    float top_p;                    /* (0, 1]; 1: off */
    float min_p;                    /* [0, 1); 0: off */
    float repeat_penalty;           /* (0, 100]; 1: off */
    float presence_penalty, frequency_penalty; /* [-100, 100]; 0: off */
    int32_t penalty_window;         /* the penalties count this many of the last tokens, 0 to 4096; default 64 */
    uint64_t seed;                  /* the same seed draws the same numbers on every machine */
    int ignore_eos;                 /* continue after an end token */
    const char *const *stop;        /* [n_stop] the answer ends before the first of these; copied */
    size_t n_stop;
    s2v_constraint *constraint;     /* NULL, or what the answer follows, without ignore_eos */
    const s2v_logit_bias *bias;     /* [n_bias] at most 1024; copied */
    size_t n_bias;
    uint64_t reserved[5];           /* 0. This struct is part of another one and keeps its size */
} s2v_sampling;
S2V_API void s2v_sampling_init_sized(s2v_sampling *sampling, size_t size);
static inline void s2v_sampling_init(s2v_sampling *sampling) { s2v_sampling_init_sized(sampling, sizeof *sampling); }

typedef struct s2v_session_options {
    size_t size;                    /* set by s2v_session_options_init */
    int32_t n_ctx;                  /* tokens the cache can hold, of pictures those that stay; 0: 4096, and
                                       more where a prompt or an answer needs it, up to what the model was
                                       trained with and memory allows */
    int32_t n_batch;                /* rows computed at once; 0: 1024 */
    int32_t n_threads;              /* 0: as the engine */
    s2v_kv_type kv_type;            /* of the cache's keys */
    s2v_kv_type kv_type_v;          /* of its values; S2V_KV_SAME by default */
    int plain_attention;            /* scores, softmax and sum one after the other, not fused: slower, and the
                                       scores of a layer take memory */
    s2v_sampling sampling;
    int no_cache;                   /* neither look up nor store anything in the engine's cache */
    int pictures_only;              /* reuse cached tower output only, never whole prompts (for benchmarks) */
    int keep_attention;             /* cache the tower's attention as well, for methods that read it later */
} s2v_session_options;
S2V_API void s2v_session_options_init_sized(s2v_session_options *options, size_t size);
static inline void s2v_session_options_init(s2v_session_options *options) { s2v_session_options_init_sized(options, sizeof *options); }

/* The engine must outlive its sessions. options NULL: the defaults. */
S2V_API s2p_status s2v_session_create(s2v_session **out, s2v_engine *engine, const s2v_session_options *options, s2p_error *error);
S2V_API void s2v_session_free(s2v_session *session);

/* Tokens of the conversation in the cache; 0: it has not begun. */
S2V_API int32_t    s2v_session_length(const s2v_session *session);

/* A second session that goes on from here: another answer to the same prompt, or another question
 * about the same pictures. Cache and answer so far are copied; what was chosen of pictures
 * (s2v_session_plan) stays with `from`. options: its own, of the same type of cache; NULL: as `from`,
 * stop strings included. Its sampler is as if it had picked the tokens so far with its own seed. */
S2V_API s2p_status s2v_session_fork(s2v_session **out, const s2v_session *from, const s2v_session_options *options, s2p_error *error);

/* The conversation as a file, readable by its owner only, whole or not at all; and back into a session
 * of the same model and type of cache, with that session's options. A file that is damaged, of another
 * model or does not fit is refused (S2P_EFORMAT, S2P_ELIMIT) and the session stays as it was. Numbers
 * are as this machine stores them. Plans are not saved. */
S2V_API s2p_status s2v_session_save(const s2v_session *session, const char *path, s2p_error *error);
S2V_API s2p_status s2v_session_restore(s2v_session *session, const char *path, s2p_error *error);

/* Forget the conversation; the memory stays. */
S2V_API void s2v_session_reset(s2v_session *session);

/* How tokens are picked after the next prompt. On failure nothing changes. */
S2V_API s2p_status s2v_session_set_sampling(s2v_session *session, const s2v_sampling *sampling, s2p_error *error);

/* Bytes that went up to the device and came down from it since the session was created. */
S2V_API void s2v_session_get_traffic(const s2v_session *session, uint64_t *up, uint64_t *down);

/* --- Memory ------------------------------------------------------------------------------------ */

typedef struct s2v_memory {         /* bytes of this machine; what is on another device is not counted */
    uint64_t program;               /* this process as it is, with the tables of the files */
    uint64_t weights;               /* of the decoder and small ones of the tower, mapped ones included */
    uint64_t tower;                 /* the tower's matrices, read where they are by a picture */
    uint64_t kv;                    /* the cache of a session, when its context is full */
    uint64_t compute;               /* the largest graph of a session, its rows, the pictures, and keys and
                                       values of rows that leave */
    uint64_t prefixes;              /* what the engine's cache may take, at most */
    uint64_t total;                 /* of all these */
    uint64_t available;             /* max_memory, or what the system has and this process; 0: not known */
    uint64_t reserved[8];
} s2v_memory;

/* What an engine and one session would take, before anything is allocated: headers are read, weights are
 * not. session NULL: the defaults. picture_pixels: of the largest picture, 0: none. */
S2V_API s2p_status s2v_engine_estimate(const s2v_engine_options *options, const s2v_session_options *session,
                               int64_t picture_pixels, s2v_memory *out, s2p_error *error);

/* s2v_engine_estimate_prompt, below, is the same for one prompt. */

/* --- Prompt ------------------------------------------------------------------------------------ */

typedef enum s2v_role {
    S2V_SYSTEM    = 0,
    S2V_USER      = 1,
    S2V_ASSISTANT = 2,
    /* Of models that call tools (Qwen's); others refuse them with S2P_EUNSUPPORTED. */
    S2V_TOOLS     = 3,              /* what can be called, JSON, a line each: first, or after the system message */
    S2V_TOOL_CALL = 4,              /* {"name": "f", "arguments": {}}: after a message of the assistant */
    S2V_TOOL      = 5               /* what a call returned */
} s2v_role;

typedef struct s2v_message {
    s2v_role role;
    const char *text;               /* UTF-8; "<image>" marks the place of each picture, else they come first */
    int32_t n_images;               /* pictures of this message */
} s2v_message;

typedef enum s2v_framing {          /* Qwen's models take AUTO or BASE, InternVL and SmolVLM ANYRES too */
    S2V_FRAMING_AUTO   = 0,         /* the model's usual one: s2v_engine_usual_framing */
    S2V_FRAMING_BASE   = 1,         /* the whole picture stretched to the tower's size, as the paper does */
    S2V_FRAMING_ANYRES = 2,         /* that, and the picture in tiles too, as Hugging Face does */
    S2V_FRAMING_SQUARE = 3,         /* the whole picture padded to a square */
    S2V_FRAMING_CROP   = 4          /* the largest square in its middle, as Hugging Face does for LLaVA-1.5 */
} s2v_framing;

typedef enum s2v_resize {           /* bicubic, bit for bit as */
    S2V_RESIZE_PILLOW   = 0,        /* Pillow up to version 12, which the paper's numbers are from */
    S2V_RESIZE_PILLOW13 = 1         /* Pillow 13: down before across where the height loses most */
} s2v_resize;

typedef struct s2v_image_options {  /* how a picture becomes the tower's input */
    size_t size;                    /* set by s2v_image_options_init */
    int32_t width, height;          /* 0: by the model's own rule; else stretched to this size */
    int64_t min_pixels, max_pixels; /* 0: the model's own limits */
    s2v_framing framing;
    int no_newline;                 /* LLaVA-OneVision without its newline rows */
    int structure_from_resized;     /* measure structure on the resized picture (not the paper's way) */
    s2v_resize resize;
    int before_tower;               /* 1: what PixelPrune drops never enters the tower (Qwen's); percentages are of all */
    s2p_pixelprune pixelprune;      /* which ones these are */
    const s2p_region *regions;      /* NULL, or what decides for every method; S2P_EBUDGET: they keep too many tokens */
    int32_t n_regions;
} s2v_image_options;
S2V_API void s2v_image_options_init_sized(s2v_image_options *options, size_t size);
static inline void s2v_image_options_init(s2v_image_options *options) { s2v_image_options_init_sized(options, sizeof *options); }

typedef struct s2v_prompt {         /* all borrowed */
    size_t size;                    /* set by s2v_prompt_init */
    const s2v_message *messages;
    size_t n_messages;
    const char *raw;                /* instead of messages: no template, "<image>" marks each picture */
    const s2p_image *images;        /* pictures in order */
    int32_t n_images;
    const s2v_image_options *image_options; /* NULL: the model's own rule; else [n_images] of the same size */
    int32_t n_answer;               /* tokens there must be room for (S2P_ELIMIT); 0: any. Not checked for published counts */
    uint64_t cache_salt;            /* the engine's cache serves only prompts with the same number; 0: shared */
    int reasoning;                  /* formats with thoughts (Qwen3.5): the answer begins inside them; 0: after empty ones */
    int32_t reasoning_budget;       /* tokens of thoughts, after which </think> is the next; 0: no limit */
} s2v_prompt;
S2V_API void s2v_prompt_init_sized(s2v_prompt *prompt, size_t size);
static inline void s2v_prompt_init(s2v_prompt *prompt) { s2v_prompt_init_sized(prompt, sizeof *prompt); }

#define S2V_BUDGET_AUTO (-1.0)      /* as percent: a third of the tokens, rounded, at least S2P_AUTO_LEAST */
typedef struct s2v_budget {         /* visual tokens kept of one picture */
    int32_t tokens;
    double percent;                 /* if above 0: this share of its tokens instead, at least one; or S2V_BUDGET_AUTO */
} s2v_budget;
typedef struct s2v_prune_options {
    size_t size;                    /* set by s2v_prune_options_init */
    const char *method;             /* "s2prune", "random", ...; NULL keeps every token */
    s2v_budget budget;              /* of each picture; 64 tokens by default */
    s2p_choice choice;              /* side, allocator, selector, seed */
    const s2v_budget *image_budget; /* NULL, or a budget for each picture instead, [n_images] */
    const int32_t *image_side;      /* NULL, or K for each picture (0: by the rule), [n_images] */
    int published;                  /* what the authors' code does, its counts and defects included */
    const s2p_parameters *parameters; /* of the method; NULL: its own values */
    const int32_t *keep;            /* NULL, or [n_keep] tokens of the first picture, ascending, that stay
                                       instead of those the method selects. For methods of one stage that
                                       do not merge; whole prompts are then not cached */
    int32_t n_keep;
    const s2p_method *own_method;   /* NULL, or a method of s2p_method_make instead of `method`; whole prompts
                                       are then not cached */
    const s2v_budget *tile_budget;  /* NULL: the budget of a picture seen whole and in tiles is split by their
                                       tokens; or [n_images] for the tiles, and the picture's for the whole */
    const int32_t *tile_side;       /* NULL: as for the whole; or K of the tiles of each picture, [n_images] */
    const int32_t *after;           /* NULL, or the decoder layer to prune after instead of the method's own,
                                       counted from 0, S2P_BEFORE_DECODER: before the first. For methods of
                                       one stage (s2p_method_check_after). A method that prunes before the
                                       decoder leaves nothing of a dropped token in the layers that ran */
    int renumber;                   /* the tokens that stay get positions without gaps from the prune point on,
                                       instead of keeping theirs; for models with one-dimensional positions
                                       (S2P_EUNSUPPORTED otherwise); whole prompts are then not cached */
} s2v_prune_options;
S2V_API void s2v_prune_options_init_sized(s2v_prune_options *options, size_t size);
static inline void s2v_prune_options_init(s2v_prune_options *options) { s2v_prune_options_init_sized(options, sizeof *options); }

/* Methods that can be asked for in s2v_prune_options; NULL past the end. */
S2V_API const char *s2v_method_name(size_t index);

/* --- Text -------------------------------------------------------------------------------------- */

/* Tokens of text[0..n_bytes), UTF-8. parse_special: "<|im_end|>" in the text is that token; otherwise it is
 * plain text. At most `capacity` are written to `tokens` (NULL with 0: none); *n_tokens is how many there are. */
S2V_API s2p_status s2v_engine_tokenize(const s2v_engine *engine, const char *text, size_t n_bytes, int parse_special,
                               int32_t *tokens, size_t capacity, size_t *n_tokens, s2p_error *error);

/* Text of tokens, UTF-8, at most `capacity` bytes with the final NUL; *n_bytes is the length of the whole
 * text. show_special: control tokens appear as their text, otherwise not at all. Bytes that are not UTF-8
 * become U+FFFD. S2P_EINVAL: a token that the vocabulary does not have. */
S2V_API s2p_status s2v_engine_detokenize(const s2v_engine *engine, const int32_t *tokens, size_t n_tokens,
                                 int show_special, char *text, size_t capacity, size_t *n_bytes,
                                 s2p_error *error);

/* The bytes of one token, which may be a part of a character; otherwise as s2v_engine_detokenize, without
 * the NUL. Returns how many there are; 0 also for a token that the vocabulary does not have. */
S2V_API size_t s2v_engine_get_token(const s2v_engine *engine, int32_t token, int show_special, void *bytes, size_t capacity);

/* Tokens of the vocabulary; and whether a token ends an answer. */
S2V_API int32_t s2v_engine_vocabulary(const s2v_engine *engine);
S2V_API int s2v_engine_token_ends(const s2v_engine *engine, int32_t token);
/* Whether its chat format has thoughts, so that s2v_prompt.reasoning changes anything. */
S2V_API int s2v_engine_thinks(const s2v_engine *engine);

/* A picture among the tokens of s2v_engine_render: picture i of the prompt is the number -1 - i. */
#define S2V_PICTURE(i) (-1 - (i))

/* The prompt as the first of a conversation: its chat template applied, tokenized, with one S2V_PICTURE for
 * each picture. Output as in s2v_engine_tokenize. Pictures need neither pixels nor a size here. */
S2V_API s2p_status s2v_engine_render(const s2v_engine *engine, const s2v_prompt *prompt, int32_t *tokens,
                             size_t capacity, size_t *n_tokens, s2p_error *error);

typedef struct s2v_count {          /* tokens a prompt takes in the context */
    int32_t text_tokens;            /* text and LLaVA-OneVision's newline rows */
    int32_t image_tokens_full;      /* of all pictures, before pruning */
    int32_t image_tokens;           /* after pruning; -1: known only after the prefill (`published`,
                                       `before_tower`) */
    uint64_t reserved[8];
} s2v_count;

/* Count without running the model. The prompt is the first of a conversation; of its pictures only width
 * and height are read. prune NULL: keep every token. */
S2V_API s2p_status s2v_engine_count(const s2v_engine *engine, const s2v_prompt *prompt, const s2v_prune_options *prune,
                            s2v_count *out, s2p_error *error);

/* Rows and columns of the tokens a picture of this size becomes before pruning: the whole picture, without
 * the tiles that some models add. image NULL: the model's own rule. */
S2V_API s2p_status s2v_engine_grid(const s2v_engine *engine, int32_t width, int32_t height,
                           const s2v_image_options *image, s2p_grid *out, s2p_error *error);

/* The same of a model that is not open: headers are read, weights are not. */
S2V_API s2p_status s2v_model_grid(const s2v_engine_options *options, int32_t width, int32_t height,
                          const s2v_image_options *image, s2p_grid *out, s2p_error *error);

/* What an engine and a session would take for this prompt, the first of a conversation: as
 * s2v_engine_estimate, with the rows of all its pictures while they are prefilled. Where session->n_ctx is 0
 * the context is as large as the prompt makes it. Of pictures only width and height are read. prune NULL:
 * keep every token. */
S2V_API s2p_status s2v_engine_estimate_prompt(const s2v_engine_options *options, const s2v_session_options *session,
                                      const s2v_prompt *prompt, const s2v_prune_options *prune,
                                      s2v_memory *out, s2p_error *error);

/* --- Prefill ------------------------------------------------------------------------------------ */

#define S2V_MAX_STAGES 4

typedef struct s2v_stats {          /* milliseconds, tokens, bytes */
    double image_ms, vision_ms;     /* preparing pictures; the tower */
    double layer0_ms, layers_ms;    /* decoder layers before the first prune point; those after it */
    double probe_ms;                /* what the method asked for in addition to the model's work, the tower's too */
    double select_ms;               /* choosing and removing */
    double prompt_ms;               /* the decoder in all: everything above but image_ms and vision_ms */
    int32_t text_tokens;            /* text and what is kept like it: LLaVA-OneVision's newline rows */
    int32_t image_tokens_full, image_tokens; /* before and after pruning */
    int32_t prompt_tokens;          /* of this prompt, after pruning */
    uint64_t kv_visual_bytes, kv_visual_bytes_paper, kv_total_bytes;
    double flops;                   /* of the prefill, decoder only, after the paper's formula */
    int32_t n_stages;               /* prune points */
    int32_t stage_after[S2V_MAX_STAGES];  /* decoder layer each follows; -1: before the first */
    int32_t stage_tokens[S2V_MAX_STAGES]; /* visual tokens it leaves */
    int32_t tower_runs;             /* pictures the tower ran for; the others were remembered */
    int32_t cached_tokens;          /* that were there already and did not run: in a later turn, the
                                       conversation before this prompt (prompt_tokens does not count it);
                                       in the first, the start of this prompt from the engine's cache (all
                                       other counts are those of the whole prompt) */
    double saved_ms;                /* what it had taken to make what was found in the engine's cache, less
                                       what this prompt took instead */
    int32_t tower_tokens;           /* of image_tokens_full, those that entered the tower */
    int32_t reserved_0;
    uint64_t reserved[15];
} s2v_stats;

/* Reads the prompt; the session is then ready to produce its first token. May be called again for
 * the next turn. A prompt that is refused before anything ran (too long, not UTF-8, unknown method)
 * leaves the conversation as it was; a failure after that leaves the session as after
 * s2v_session_reset. prune NULL: keep every token. stats: out, or NULL; of a prompt that is too long
 * (S2P_ELIMIT) text_tokens, image_tokens_full and tower_tokens. */
S2V_API s2p_status s2v_session_prefill(s2v_session *session, const s2v_prompt *prompt,
                               const s2v_prune_options *prune, s2v_stats *stats, s2p_error *error);

/* Progress of this session's prompts, NULL: the engine's callback receives it. The steps are "picture",
 * "tower" and "layers"; the last call of a prompt is "layers" 1. It is called between two pieces of the
 * work, twice in every block and layer: nothing is computed meanwhile, and it may run OTHER
 * sessions of the engine. A value other than 0 cancels: S2P_ECANCELLED, the session is as after
 * s2v_session_reset. Results do not depend on it. */
S2V_API void s2v_session_set_progress(s2v_session *session, s2v_progress_callback progress, void *user);

/* --- Answer ------------------------------------------------------------------------------------ */

/* Bytes of text that always hold what one token adds, with text held back before it and the final NUL. */
#define S2V_TEXT_BYTES 8192

/* Next token: its text (whole UTF-8 characters, may be empty, NUL-terminated, cut to capacity) and
 * *done when the model stops or a stop string is complete. Text that may be the beginning of a stop
 * string is held back until that is known. S2P_ELIMIT: the context is full; the answer so far is valid. */
S2V_API s2p_status s2v_session_next(s2v_session *session, char *text, size_t capacity, int *done, s2p_error *error);

typedef struct s2v_ask {            /* one prompt of one session */
    s2v_session *session;           /* in: these three as in s2v_session_prefill */
    const s2v_prompt *prompt;
    const s2v_prune_options *prune;
    int deferred;                   /* out: not run in this call, submit it again. Set before the others run:
                                       from then on this entry is not touched, and a callback may free it */
    s2v_stats stats;                /* out */
    s2p_status status;              /* out: of this session alone */
    s2p_error error;                /* out */
    uint64_t reserved[8];
} s2v_ask;

/* Prefill the first of n different sessions (1 to 64) of one engine and, with the same pass over the weights,
 * those after it that can join: only text remains of their prompts (no pictures, or pictures the engine's
 * cache has), enough text (docs/NUMERICS.md), and together not more than the first session's batch. *n_ran is
 * how many ran; the others are deferred and unchanged. Each result is that of s2v_session_prefill within the
 * bounds of docs/NUMERICS.md. Every session's progress is reported; a cancelled one drops out and the others
 * continue. Times in stats are those of the whole pass. A status other than S2P_OK: nothing ran. */
S2V_API s2p_status s2v_prefill_many(s2v_ask *asks, size_t n, size_t *n_ran, s2p_error *error);

typedef struct s2v_step {           /* one token of one session */
    s2v_session *session;           /* in */
    char *text;                     /* in: room for the text */
    size_t capacity;
    int done;                       /* out: this and the text, as s2v_session_next gives them */
    s2p_status status;              /* out: of this session alone. S2P_ELIMIT: its context is full */
    s2p_error error;                /* out */
    uint64_t reserved[4];
} s2v_step;

/* The next token of each of n different sessions (1 to 64) of one engine, with one pass over the weights.
 * Their lengths, options, methods and budgets may differ, and other sessions may take part in the next call.
 * Each gets the token s2v_session_next would have picked; sums may be added in another order, and
 * docs/NUMERICS.md bounds the difference. The first session's threads and devices do the work. A status other
 * than S2P_OK: the pass failed and no session advanced. */
S2V_API s2p_status s2v_decode_many(s2v_step *steps, size_t n, s2p_error *error);

/* What is held back still, for an answer that ends before *done; as s2v_session_next gives text. */
S2V_API void s2v_session_get_rest(s2v_session *session, char *text, size_t capacity);

/* 1: the answer began inside thoughts: its text up to "</think>". They stay in the session. */
S2V_API int s2v_session_thinks(const s2v_session *session);
/* Tokens generated since the last prefill, the end token included. Borrowed until the next call. */
S2V_API const int32_t *s2v_session_tokens(const s2v_session *session, size_t *n);

/* Logits of the last position, [n_vocab], likewise. */
S2V_API const float *s2v_session_logits(const s2v_session *session);

/* --- The pictures of the last prefill ------------------------------------------------------------- */

/* The plan of picture `index`; NULL past the end. With S2V_FRAMING_ANYRES this is the plan of the
 * whole picture, and s2v_session_tile_plan the one of its tiles (else NULL). */
S2V_API const s2p_plan *s2v_session_plan(const s2v_session *session, int32_t index);
S2V_API const s2p_plan *s2v_session_tile_plan(const s2v_session *session, int32_t index);

/* Tokens of picture `index` that entered the tower, ascending, *n of them; NULL: all did (*n is 0), or past
 * the end. Borrowed until the next prefill. */
S2V_API const int32_t *s2v_session_tower_tokens(const s2v_session *session, int32_t index, int32_t *n);

/* What S2V_FRAMING_AUTO stands for in a prompt with so many pictures; is_pruned: the method removes tokens. */
S2V_API s2v_framing s2v_engine_usual_framing(const s2v_engine *engine, int32_t n_images, int is_pruned);
/* How that picture was framed; S2V_FRAMING_AUTO past the end. */
S2V_API s2v_framing s2v_session_framing(const s2v_session *session, int32_t index);

/* Picture `index` as the model saw it before resizing: `source`, the picture the prompt gave, padded to
 * a square where the framing does that. pixels: NULL asks for the size, else [height][width][3] out. */
S2V_API s2p_status s2v_session_get_picture(const s2v_session *session, int32_t index, const s2p_image *source,
                            int32_t *width, int32_t *height, uint8_t *pixels, s2p_error *error);

/* --- Recording --------------------------------------------------------------------------------- */

typedef struct s2v_selection {      /* which tokens a method kept; borrowed during the call */
    const s2p_method *method;
    const s2p_view *view;           /* all the method was shown */
    const s2p_plan *plan;           /* what it kept; NULL: it failed, and so does the prefill */
    s2p_grid grid;                  /* of the tokens it selected from */
    int32_t picture, part;          /* part 1: the tiles of a picture seen whole and in tiles */
} s2v_selection;

typedef void (*s2v_recorder)(const s2v_selection *selection, void *user);
/* Called after each selection of the next prefills; NULL stops. */
S2V_API void s2v_session_set_recorder(s2v_session *session, s2v_recorder recorder, void *user);

/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif /* S2VLM_H */
