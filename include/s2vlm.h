/* s2vlm.h - run a vision-language model on ggml and prune its visual tokens.
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
 *            A session is used by one thread at a time; s2v_prefill_many and s2v_decode_many use all
 *            sessions that are passed to them. Functions that take only an engine, or nothing, may be
 *            called at any time, except s2v_engine_close: free the sessions first.
 * Callbacks: A callback runs on the thread that made the call it reports on, during that call. It may
 *            use other sessions of the engine, but never the session that is in the call.
 * Versions:  Every options struct begins with `size`, which its _init function sets. A program compiled
 *            with an earlier header of this SONAME passes a smaller size, and the fields it does not
 *            know get their defaults. A size of 0, or a value in a field that this library does not
 *            know, is refused (S2P_EINVAL). Structs that the library fills end with `reserved`, room
 *            for later fields. All other structs keep their layout.
 * Names:     s2v_X_get_Y fills the caller's memory, s2v_X_Y returns a value, s2v_X_name(i) ends with NULL.
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

/* Sizes and offsets of the structs in this header, as s2p_abi_at for s2prune.h. */
S2V_API const s2p_abi *s2v_abi_at(size_t index);

/* Formatted by hand: names and comments are in columns. */
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
    const char *tower;              /* arithmetic of the tower: "f32", "bf16", "q8", "int8"; NULL, "auto": q8 (8
                                       bits, a scale for every 32 values) for quantized matrices; for others
                                       bf16 if it is faster on this CPU and the mmproj has 16 bits a weight or
                                       fewer and 64 MiB or more, else f32 */
    const char *kernels;            /* NULL: the fastest for that arithmetic; or a name from s2v_kernels_name(),
                                       or "ggml" for ggml's own */
    const char *rpc_server;         /* NULL, or host:port of an RPC server to add as a device */
    int32_t gpu_layers;             /* decoder layers on the device, from the last; -1: as many as fit. If
                                       another number does not fit, the engine does not open */
    int tower_on_cpu;               /* keep the vision tower and its projector off the device */
    int32_t n_threads;              /* 0: one per core that the process's CPU mask and quota allow */
    int pictures_soon;              /* 1: pictures will follow soon, so the system may read the mmproj ahead */
    uint64_t max_memory;            /* bytes this engine may use; 0: what the system has available */
    uint64_t max_device_memory;     /* bytes of the device, including a session; 0: what it has free */
    uint64_t cache_bytes;           /* cache of pictures and prompts, shared by all sessions; 0: none */
    const char *cache_dir;          /* NULL, or a folder that keeps cached entries from one process to the
                                       next; only with cache_bytes */
    uint64_t cache_dir_bytes;       /* its limit; 0: 4 GiB */
    s2v_note_callback note;
    s2v_progress_callback progress; /* for opening, and for prompts of sessions without their own */
    void *user;                     /* for the two callbacks */
} s2v_engine_options;

/* Set every field to its default, then change what you need. (_init_sized is for bindings.) */
S2V_API void s2v_engine_options_init_sized(s2v_engine_options *options, size_t size);
static inline void s2v_engine_options_init(s2v_engine_options *options) { s2v_engine_options_init_sized(options, sizeof *options); }

/* On success the caller must close *out; on failure *out is NULL. */
S2V_API s2p_status s2v_engine_open(s2v_engine **out, const s2v_engine_options *options, s2p_error *error);
S2V_API void s2v_engine_close(s2v_engine *engine);        /* NULL is fine */

typedef struct s2v_engine_info {                        /* strings are valid as long as the engine */
    const char *name, *architecture, *device, *template_name;
    int32_t n_layers, n_embd, n_heads, n_kv_heads, n_vocab, n_ctx_train;
    int32_t n_vision_blocks, n_vision_embd, patch_size, merge_size;
    uint64_t n_parameters;
    uint64_t model_bytes, weight_bytes;                 /* size of the files; memory used for weights */
    const char *kernels;            /* of the tower: a name from s2v_kernels_name(), two joined by a plus
                                       (for quantized matrices, for others), or "ggml" */
    int tower_rounds;               /* 1: these kernels round to bf16 or 8 bits: not exact */
    int64_t max_pixels;             /* larger pictures are reduced unless s2v_image_options say otherwise;
                                       0: the tower has one fixed size */
    int64_t file_max_pixels;        /* the limit in the mmproj, 0: none; a limit above 1,280 tokens is
                                       used only on request */
    int32_t device_layers;          /* decoder layers on the device; 0 on the CPU */
    int device_tower;               /* 1: the tower is on the device */
    uint64_t device_bytes;          /* the part of weight_bytes that is on the device */
    uint64_t reserved[16];
} s2v_engine_info;

S2V_API void s2v_engine_get_info(const s2v_engine *engine, s2v_engine_info *info);

typedef struct s2v_cache_stats {    /* of the engine's cache, since the engine was opened */
    uint64_t bytes, limit;          /* bytes is never above limit */
    uint64_t hits, misses;          /* for pictures and for prompts */
    uint64_t evictions, stored;     /* entries removed to make room; new entries */
    uint64_t disk_bytes;            /* size of cache_dir after the last write to it */
    uint64_t disk_hits;             /* hits that were read from cache_dir */
    uint64_t disk_refused;          /* files of cache_dir that were refused as damaged */
    uint64_t reserved[8];
} s2v_cache_stats;

/* All 0 without a cache. May be called from any thread at any time. */
S2V_API void s2v_engine_get_cache_stats(const s2v_engine *engine, s2v_cache_stats *out);
/* Free the memory of cache entries that are not in use, for example if their pictures will not be used
 * again. Files in cache_dir are kept. May be called from any thread at any time. */
S2V_API void s2v_engine_forget(s2v_engine *engine);

/* Tower kernels that this CPU can run, NULL past the end; and those an engine uses by default: for an
 * mmproj in half precision of 64 MiB or more (is_large), and for all others. */
S2V_API const char *s2v_kernels_name(size_t index);
S2V_API const char *s2v_kernels_usual(int is_large);

/* Devices that ggml finds on this machine; NULL past the end. */
S2V_API const char *s2v_device_name(size_t index);
S2V_API const char *s2v_device_description(size_t index);
/* In bytes; 0 if the device does not report it. */
S2V_API void s2v_device_get_memory(size_t index, uint64_t *available, uint64_t *total);

typedef struct s2v_architecture {
    const char *title;              /* display name */
    const char *name;               /* general.architecture of the text model */
    const char *projector;          /* clip.projector_type of the mmproj */
} s2v_architecture;

/* Architectures that the engine runs, as named in the model files. Returns 0 past the end, else fills *out. */
S2V_API int s2v_architecture_get(size_t index, s2v_architecture *out);

/* "0.25.1": the version of ggml that the engine was built with. */
S2V_API const char *s2v_backend_version(void);

/* --- Session ----------------------------------------------------------------------------------- */

typedef enum s2v_kv_type {
    S2V_KV_SAME = -1,               /* for values: the type of the keys */
    S2V_KV_F16  = 0,
    S2V_KV_F32  = 1,
    S2V_KV_Q8_0 = 2
} s2v_kv_type;

/* A schema or a grammar that an answer follows: compiled once, read-only, shared by sessions of its engine.
 * Sessions that use it keep it alive. docs/STRUCTURED.md lists what is enforced and refused, and the limits. */
typedef struct s2v_constraint s2v_constraint;

typedef enum s2v_constraint_kind {
    S2V_JSON_SCHEMA = 0,            /* text: a JSON schema */
    S2V_JSON_OBJECT = 1,            /* any JSON object; no text */
    S2V_GBNF        = 2,            /* text: a grammar in llama.cpp's notation, starting at rule `root` */
    S2V_TOOL_CALLS  = 3             /* text: {"tools": [{"name":, "parameters": SCHEMA}], "required": true,
                                       "parallel": true}: tool calls in the format of Qwen's models. Without
                                       `required` any text, in which <tool_call> begins a call */
} s2v_constraint_kind;

/* S2P_EINVAL, S2P_EUNSUPPORTED, S2P_ELIMIT: the message has the JSON pointer, or line and column.
 * S2P_EUNSUPPORTED also for a model whose vocabulary lacks tokens for single bytes. The first call for an
 * engine also sorts its vocabulary. May be called from any thread. */
S2V_API s2p_status s2v_constraint_create(s2v_constraint **out, s2v_engine *engine, s2v_constraint_kind kind,
                                 const char *text, size_t n_bytes, s2p_error *error);
S2V_API void s2v_constraint_free(s2v_constraint *constraint);      /* NULL is fine */
S2V_API s2v_constraint *s2v_constraint_share(s2v_constraint *constraint); /* adds a user, who must free it too */
S2V_API size_t s2v_constraint_bytes(const s2v_constraint *constraint);    /* memory it uses */

/* Whether text[0..n_bytes) may begin an answer, and whether the answer may end there. */
S2V_API s2p_status s2v_constraint_check(const s2v_constraint *constraint, const char *text, size_t n_bytes,
                                int *is_allowed, int *is_complete, s2p_error *error);

/* A bias is added to the logit of its token before anything else; -INFINITY: the token is never picked. */
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
    uint64_t seed;                  /* the same seed gives the same random numbers on every machine */
    int ignore_eos;                 /* continue after an end token */
    const char *const *stop;        /* [n_stop] strings; the answer ends before the first of them; copied */
    size_t n_stop;
    s2v_constraint *constraint;     /* NULL, or what the answer must follow; not with ignore_eos */
    const s2v_logit_bias *bias;     /* [n_bias] at most 1024; copied */
    size_t n_bias;
    uint64_t reserved[5];           /* 0. This struct is part of another one and keeps its size */
} s2v_sampling;
S2V_API void s2v_sampling_init_sized(s2v_sampling *sampling, size_t size);
static inline void s2v_sampling_init(s2v_sampling *sampling) { s2v_sampling_init_sized(sampling, sizeof *sampling); }

typedef struct s2v_session_options {
    size_t size;                    /* set by s2v_session_options_init */
    int32_t n_ctx;                  /* tokens the KV cache can hold (of pictures, the tokens that are kept);
                                       0: 4096, and more if a prompt or an answer needs it, up to the model's
                                       training context and the available memory */
    int32_t n_batch;                /* rows computed at once; 0: 1024 */
    int32_t n_threads;              /* 0: as many as the engine */
    s2v_kv_type kv_type;            /* of the cache's keys */
    s2v_kv_type kv_type_v;          /* of its values; S2V_KV_SAME by default */
    int plain_attention;            /* compute scores, softmax and sum one after the other instead of fused:
                                       slower, and needs memory for the scores of a layer */
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

/* Tokens of the conversation in the KV cache; 0: it has not begun. */
S2V_API int32_t    s2v_session_length(const s2v_session *session);

/* A second session that continues from here: for another answer to the same prompt, or another question
 * about the same pictures. The KV cache and the answer so far are copied; the plans of pictures
 * (s2v_session_plan) stay with `from`. options: those of the new session, with the same KV cache types;
 * NULL: as `from`, including stop strings. Its sampler is as if it had picked the tokens so far with its seed. */
S2V_API s2p_status s2v_session_fork(s2v_session **out, const s2v_session *from, const s2v_session_options *options, s2p_error *error);

/* Save the conversation to a file, readable by its owner only and written completely or not at all; and
 * restore it into a session of the same model and KV cache types, with that session's options. A file that
 * is damaged, is from another model or does not fit is refused (S2P_EFORMAT, S2P_ELIMIT), and the session
 * is unchanged. Numbers are in this machine's byte order. Plans are not saved. */
S2V_API s2p_status s2v_session_save(const s2v_session *session, const char *path, s2p_error *error);
S2V_API s2p_status s2v_session_restore(s2v_session *session, const char *path, s2p_error *error);

/* Forget the conversation; its memory stays allocated. */
S2V_API void s2v_session_reset(s2v_session *session);

/* How tokens are picked after the next prompt. On failure nothing changes. */
S2V_API s2p_status s2v_session_set_sampling(s2v_session *session, const s2v_sampling *sampling, s2p_error *error);

/* Bytes copied to the device (up) and from it (down) since the session was created. */
S2V_API void s2v_session_get_traffic(const s2v_session *session, uint64_t *up, uint64_t *down);

/* --- Memory ------------------------------------------------------------------------------------ */

typedef struct s2v_memory {         /* bytes of main memory; memory of other devices is not counted */
    uint64_t program;               /* this process as it is now, and the headers of the model files */
    uint64_t weights;               /* of the decoder, and small ones of the tower, including mapped ones */
    uint64_t tower;                 /* matrices of the tower, mapped, which the first picture reads */
    uint64_t kv;                    /* the KV cache of a session when its context is full */
    uint64_t compute;               /* the largest graph of a session, its rows, the pictures, and keys and
                                       values of rows to be removed */
    uint64_t prefixes;              /* the limit of the engine's cache */
    uint64_t total;                 /* the sum of all these */
    uint64_t available;             /* max_memory, or free memory plus that of this process; 0: unknown */
    uint64_t reserved[8];
} s2v_memory;

/* Memory that an engine and one session need, before anything is allocated: headers are read, weights are
 * not. session NULL: the defaults. picture_pixels: of the largest picture, 0: no picture. */
S2V_API s2p_status s2v_engine_estimate(const s2v_engine_options *options, const s2v_session_options *session,
                               int64_t picture_pixels, s2v_memory *out, s2p_error *error);

/* s2v_engine_estimate_prompt, below, is the same for one prompt. */

/* --- Prompt ------------------------------------------------------------------------------------ */

typedef enum s2v_role {
    S2V_SYSTEM    = 0,
    S2V_USER      = 1,
    S2V_ASSISTANT = 2,
    /* For models that call tools (Qwen's); others refuse them with S2P_EUNSUPPORTED. */
    S2V_TOOLS     = 3,              /* the tools, one JSON object per line: first, or after the system message */
    S2V_TOOL_CALL = 4,              /* {"name": "f", "arguments": {}}: after a message from the assistant */
    S2V_TOOL      = 5               /* what a call returned */
} s2v_role;

typedef struct s2v_message {
    s2v_role role;
    const char *text;               /* UTF-8; "<image>" marks the place of each picture, else they come first */
    int32_t n_images;               /* pictures of this message */
} s2v_message;

typedef enum s2v_framing {          /* Qwen's models accept AUTO and BASE, InternVL and SmolVLM also ANYRES */
    S2V_FRAMING_AUTO   = 0,         /* the model's default: s2v_engine_usual_framing */
    S2V_FRAMING_BASE   = 1,         /* the whole picture stretched to the tower's size, as the paper does */
    S2V_FRAMING_ANYRES = 2,         /* that, and the picture in tiles, as Hugging Face does */
    S2V_FRAMING_SQUARE = 3,         /* the whole picture padded to a square */
    S2V_FRAMING_CROP   = 4          /* the largest square in its middle, as Hugging Face does for LLaVA-1.5 */
} s2v_framing;

typedef enum s2v_resize {           /* bicubic, the same bits as in Pillow */
    S2V_RESIZE_PILLOW   = 0,        /* up to version 12, as for the paper's figures */
    S2V_RESIZE_PILLOW13 = 1         /* version 13: the vertical pass first if the height shrinks far more */
} s2v_resize;

typedef struct s2v_image_options {  /* how a picture becomes the tower's input */
    size_t size;                    /* set by s2v_image_options_init */
    int32_t width, height;          /* 0: by the model's own rule; else the picture is stretched to this size */
    int64_t min_pixels, max_pixels; /* 0: the model's own limits */
    s2v_framing framing;
    int no_newline;                 /* LLaVA-OneVision without its newline rows */
    int structure_from_resized;     /* measure structure on the resized picture (unlike the paper) */
    s2v_resize resize;
    int before_tower;               /* 1: tokens that PixelPrune drops never enter the tower (Qwen's); percentages count them */
    s2p_pixelprune pixelprune;      /* which tokens these are */
    const s2p_region *regions;      /* NULL, or [n_regions] that override every method; S2P_EBUDGET: they keep too many */
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
    const s2v_image_options *image_options; /* NULL: the model's own rule; else [n_images] with the same `size` */
    int32_t n_answer;               /* answer tokens that must fit (S2P_ELIMIT); 0: any. Not checked in published mode */
    uint64_t cache_salt;            /* cached entries are shared only by prompts with the same number; 0: by all */
    int reasoning;                  /* 1: the answer begins with thoughts, if the format has them (Qwen3.5); 0: it has none */
    int32_t reasoning_budget;       /* tokens of thoughts, after which </think> is forced; 0: no limit */
} s2v_prompt;
S2V_API void s2v_prompt_init_sized(s2v_prompt *prompt, size_t size);
static inline void s2v_prompt_init(s2v_prompt *prompt) { s2v_prompt_init_sized(prompt, sizeof *prompt); }

#define S2V_BUDGET_AUTO (-1.0)      /* for percent: a third of the tokens, rounded, at least S2P_AUTO_LEAST */
typedef struct s2v_budget {         /* visual tokens to keep of one picture */
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
    int published;                  /* what the authors' code does, including its counts and defects */
    const s2p_parameters *parameters; /* of the method; NULL: its defaults */
    const int32_t *keep;            /* NULL, or [n_keep] tokens of the first picture, ascending, to keep instead
                                       of those the method selects. For methods with one stage that do not
                                       merge; whole prompts are then not cached */
    int32_t n_keep;
    const s2p_method *own_method;   /* NULL, or a method from s2p_method_make to use instead of `method`; whole
                                       prompts are then not cached */
    const s2v_budget *tile_budget;  /* for S2V_FRAMING_ANYRES. NULL: the budget is split by tokens between the
                                       picture and its tiles; or [n_images] for tiles, the budget for the rest */
    const int32_t *tile_side;       /* NULL: as for the picture; or K for the tiles of each picture, [n_images] */
    const int32_t *after;           /* NULL, or the decoder layer to prune after instead of the method's own,
                                       counted from 0, S2P_BEFORE_DECODER: before the first. For methods with
                                       one stage (s2p_method_check_after). If the method's own point is before
                                       the decoder, dropped tokens also leave the cache of layers that ran */
    int renumber;                   /* the kept tokens get positions without gaps from the prune point on,
                                       instead of keeping theirs; for models with one-dimensional positions
                                       (S2P_EUNSUPPORTED otherwise); whole prompts are then not cached */
} s2v_prune_options;
S2V_API void s2v_prune_options_init_sized(s2v_prune_options *options, size_t size);
static inline void s2v_prune_options_init(s2v_prune_options *options) { s2v_prune_options_init_sized(options, sizeof *options); }

/* Names for s2v_prune_options.method; NULL past the end. */
S2V_API const char *s2v_method_name(size_t index);

/* --- Text -------------------------------------------------------------------------------------- */

/* Tokens of text[0..n_bytes), UTF-8. parse_special: "<|im_end|>" in the text is that token; otherwise it is
 * plain text. At most `capacity` are written to `tokens` (may be NULL if 0); *n_tokens is how many there are. */
S2V_API s2p_status s2v_engine_tokenize(const s2v_engine *engine, const char *text, size_t n_bytes, int parse_special,
                               int32_t *tokens, size_t capacity, size_t *n_tokens, s2p_error *error);

/* Text of tokens, UTF-8, at most `capacity` bytes with the final NUL; *n_bytes is the length of the whole
 * text. show_special: control tokens appear as their text, otherwise not at all. Bytes that are not UTF-8
 * become U+FFFD. S2P_EINVAL: a token is not in the vocabulary. */
S2V_API s2p_status s2v_engine_detokenize(const s2v_engine *engine, const int32_t *tokens, size_t n_tokens,
                                 int show_special, char *text, size_t capacity, size_t *n_bytes,
                                 s2p_error *error);

/* The bytes of one token, which may be a part of a character; otherwise as s2v_engine_detokenize, without
 * the NUL. Returns how many there are; 0 also for a token that is not in the vocabulary. */
S2V_API size_t s2v_engine_get_token(const s2v_engine *engine, int32_t token, int show_special, void *bytes, size_t capacity);

/* The size of the vocabulary; and whether a token ends an answer. */
S2V_API int32_t s2v_engine_vocabulary(const s2v_engine *engine);
S2V_API int s2v_engine_token_ends(const s2v_engine *engine, int32_t token);
/* Whether its chat format has thoughts, so that s2v_prompt.reasoning has an effect. */
S2V_API int s2v_engine_thinks(const s2v_engine *engine);

/* A picture among the tokens of s2v_engine_render: picture i of the prompt is the number -1 - i. */
#define S2V_PICTURE(i) (-1 - (i))

/* The tokens of a prompt, the first of a conversation, after its chat template: one S2V_PICTURE for each
 * picture. Output as in s2v_engine_tokenize. Pictures need neither pixels nor a size here. */
S2V_API s2p_status s2v_engine_render(const s2v_engine *engine, const s2v_prompt *prompt, int32_t *tokens,
                             size_t capacity, size_t *n_tokens, s2p_error *error);

typedef struct s2v_count {          /* tokens a prompt takes in the context */
    int32_t text_tokens;            /* text and LLaVA-OneVision's newline rows */
    int32_t image_tokens_full;      /* of all pictures, before pruning */
    int32_t image_tokens;           /* after pruning; -1: known only after the prefill (`published`,
                                       `before_tower`) */
    uint64_t reserved[8];
} s2v_count;

/* Count without running the model. The prompt is the first of a conversation; only width and height of its
 * pictures are read. prune NULL: keep every token. */
S2V_API s2p_status s2v_engine_count(const s2v_engine *engine, const s2v_prompt *prompt, const s2v_prune_options *prune,
                            s2v_count *out, s2p_error *error);

/* Rows and columns of the tokens a picture of this size becomes before pruning: the whole picture, without
 * the tiles that some models add. image NULL: the model's own rule. */
S2V_API s2p_status s2v_engine_grid(const s2v_engine *engine, int32_t width, int32_t height,
                           const s2v_image_options *image, s2p_grid *out, s2p_error *error);

/* The same for a model that is not open: headers are read, weights are not. */
S2V_API s2p_status s2v_model_grid(const s2v_engine_options *options, int32_t width, int32_t height,
                          const s2v_image_options *image, s2p_grid *out, s2p_error *error);

/* Memory that an engine and a session need for this prompt, the first of a conversation: as
 * s2v_engine_estimate, plus the rows of all its pictures during the prefill. If session->n_ctx is 0, the
 * context is as large as the prompt needs. Only width and height of pictures are read. prune NULL: keep every
 * token. */
S2V_API s2p_status s2v_engine_estimate_prompt(const s2v_engine_options *options, const s2v_session_options *session,
                                      const s2v_prompt *prompt, const s2v_prune_options *prune,
                                      s2v_memory *out, s2p_error *error);

/* --- Prefill ------------------------------------------------------------------------------------ */

#define S2V_MAX_STAGES 4

typedef struct s2v_stats {          /* milliseconds, tokens, bytes */
    double image_ms, vision_ms;     /* preparing pictures; the tower */
    double layer0_ms, layers_ms;    /* decoder layers before the first prune point; those after it */
    double probe_ms;                /* signals for the method beyond the model's own work, also in the tower */
    double select_ms;               /* selecting tokens and removing the others */
    double prompt_ms;               /* the whole decoder: everything above but image_ms and vision_ms */
    int32_t text_tokens;            /* text and LLaVA-OneVision's newline rows */
    int32_t image_tokens_full, image_tokens; /* before and after pruning */
    int32_t prompt_tokens;          /* of this prompt, after pruning */
    uint64_t kv_visual_bytes, kv_visual_bytes_paper, kv_total_bytes;
    double flops;                   /* of the prefill, decoder only, by the paper's formula */
    int32_t n_stages;               /* prune points */
    int32_t stage_after[S2V_MAX_STAGES];  /* the decoder layer before each; -1: before the first */
    int32_t stage_tokens[S2V_MAX_STAGES]; /* visual tokens left after each */
    int32_t tower_runs;             /* pictures the tower ran for; the others were cached */
    int32_t cached_tokens;          /* tokens that were cached and did not run: in a later turn, the
                                       conversation before this prompt (not counted in prompt_tokens); in
                                       the first turn, the start of this prompt, from the engine's cache
                                       (all other counts are those of the whole prompt) */
    double saved_ms;                /* time it took to compute what was found in the engine's cache, minus
                                       the time this prompt took instead */
    int32_t tower_tokens;           /* tokens of image_tokens_full that entered the tower */
    int32_t reserved_0;
    uint64_t reserved[15];
} s2v_stats;

/* Process the prompt; the session is then ready to produce its first token. May be called again for
 * the next turn. A prompt that is refused before anything ran (too long, not UTF-8, unknown method)
 * leaves the conversation as it was; a failure after that leaves the session as after
 * s2v_session_reset. prune NULL: keep every token. stats: out, or NULL; if the prompt is too long
 * (S2P_ELIMIT), only text_tokens, image_tokens_full and tower_tokens are set. */
S2V_API s2p_status s2v_session_prefill(s2v_session *session, const s2v_prompt *prompt,
                               const s2v_prune_options *prune, s2v_stats *stats, s2p_error *error);

/* Set the callback for the progress of this session's prompts; NULL: use the engine's. The steps are
 * "picture", "tower" and "layers"; the last call for a prompt is "layers" 1. The callback runs between
 * two steps of the computation, twice in every block and layer: nothing is computed meanwhile, and it may
 * run OTHER sessions of the engine. A return value other than 0 cancels: the call returns S2P_ECANCELLED,
 * and the session is as after s2v_session_reset. Results do not depend on the callback. */
S2V_API void s2v_session_set_progress(s2v_session *session, s2v_progress_callback progress, void *user);

/* --- Answer ------------------------------------------------------------------------------------ */

/* Bytes that are always enough for the text of one token, the text held back before it and the final NUL. */
#define S2V_TEXT_BYTES 8192

/* Generate the next token: its text (whole UTF-8 characters, may be empty, NUL-terminated, cut to capacity),
 * and *done if the model stops or a stop string is complete. Text that may be the beginning of a stop
 * string is held back until that is known. S2P_ELIMIT: the context is full; the answer so far is valid. */
S2V_API s2p_status s2v_session_next(s2v_session *session, char *text, size_t capacity, int *done, s2p_error *error);

typedef struct s2v_ask {            /* one prompt for one session */
    s2v_session *session;           /* in: these three as for s2v_session_prefill */
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
 * the later ones that can join: only text of their prompts remains to be computed (no pictures, or cached
 * ones), enough text (docs/NUMERICS.md), and together no more than the first session's batch. *n_ran is
 * how many ran; the others are deferred and unchanged. Each result is that of s2v_session_prefill within the
 * bounds of docs/NUMERICS.md. The progress of every session is reported; if one is canceled, the others
 * continue. Times in stats are those of the whole pass. A status other than S2P_OK: nothing ran. */
S2V_API s2p_status s2v_prefill_many(s2v_ask *asks, size_t n, size_t *n_ran, s2p_error *error);

typedef struct s2v_step {           /* one token of one session */
    s2v_session *session;           /* in */
    char *text;                     /* in: buffer for the text */
    size_t capacity;
    int done;                       /* out: this and the text, as from s2v_session_next */
    s2p_status status;              /* out: of this session alone. S2P_ELIMIT: its context is full */
    s2p_error error;                /* out */
    uint64_t reserved[4];
} s2v_step;

/* Generate the next token of each of n different sessions (1 to 64) of one engine, with one pass over the
 * weights. Their lengths, options, methods and budgets may differ, and the next call may pass other sessions.
 * Each gets the token that s2v_session_next would pick; sums may be added in another order, and
 * docs/NUMERICS.md bounds the difference. The first session's threads and devices do the work. A status other
 * than S2P_OK: the pass failed and no session advanced. */
S2V_API s2p_status s2v_decode_many(s2v_step *steps, size_t n, s2p_error *error);

/* The text that is still held back, for an answer that ends before *done; format as from s2v_session_next. */
S2V_API void s2v_session_get_rest(s2v_session *session, char *text, size_t capacity);

/* 1: the answer began with thoughts, its text up to "</think>". They stay in the session. */
S2V_API int s2v_session_thinks(const s2v_session *session);
/* Tokens generated since the last prefill, including the end token. Borrowed until the next call. */
S2V_API const int32_t *s2v_session_tokens(const s2v_session *session, size_t *n);

/* Logits of the last position, [n_vocab]. Borrowed until the next call. */
S2V_API const float *s2v_session_logits(const s2v_session *session);

/* --- The pictures of the last prefill ------------------------------------------------------------- */

/* The plan of picture `index`; NULL past the end. With S2V_FRAMING_ANYRES this is the plan of the
 * whole picture, and s2v_session_tile_plan is that of its tiles (otherwise NULL). */
S2V_API const s2p_plan *s2v_session_plan(const s2v_session *session, int32_t index);
S2V_API const s2p_plan *s2v_session_tile_plan(const s2v_session *session, int32_t index);

/* The *n tokens of picture `index` that entered the tower, ascending; NULL with *n 0: all did, or `index` is
 * past the end. Borrowed until the next prefill. */
S2V_API const int32_t *s2v_session_tower_tokens(const s2v_session *session, int32_t index, int32_t *n);

/* What S2V_FRAMING_AUTO stands for in a prompt with n_images pictures; is_pruned: the method removes tokens. */
S2V_API s2v_framing s2v_engine_usual_framing(const s2v_engine *engine, int32_t n_images, int is_pruned);
/* How that picture was framed; S2V_FRAMING_AUTO past the end. */
S2V_API s2v_framing s2v_session_framing(const s2v_session *session, int32_t index);

/* Picture `index` as the model saw it before resizing: `source`, the picture of the prompt, padded to a
 * square if the framing does so. pixels: NULL to get only the size, else [height][width][3] out. */
S2V_API s2p_status s2v_session_get_picture(const s2v_session *session, int32_t index, const s2p_image *source,
                            int32_t *width, int32_t *height, uint8_t *pixels, s2p_error *error);

/* --- Recording --------------------------------------------------------------------------------- */

typedef struct s2v_selection {      /* which tokens a method kept; borrowed during the call */
    const s2p_method *method;
    const s2p_view *view;           /* everything the method could read */
    const s2p_plan *plan;           /* what it kept; NULL: it failed, and so does the prefill */
    s2p_grid grid;                  /* of the tokens it selected from */
    int32_t picture, part;          /* part 1: the tiles, with S2V_FRAMING_ANYRES */
} s2v_selection;

typedef void (*s2v_recorder)(const s2v_selection *selection, void *user);
/* Called after each selection of the next prefills; NULL stops. */
S2V_API void s2v_session_set_recorder(s2v_session *session, s2v_recorder recorder, void *user);

/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif /* S2VLM_H */
