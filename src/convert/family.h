/* family.h - models that can be converted: one row per family, one file per architecture.
 *
 * A row has what differs: how a checkpoint is recognized, what its configuration adds, the keys and
 * the tensors of the result. What their language models share is in convert_config.c and
 * convert_keys.c; families/text_rows.c has their tensors. A new family is a file in families/
 * and a line in family_table.c.
 */
#ifndef S2_CONVERT_FAMILY_H
#define S2_CONVERT_FAMILY_H

#include "convert/config_read.h"
#include "convert/numbers.h"
#include "gguf/gguf_write.h"

/* --- names and shapes of tensors --- */

#define S2V_MAP_MAX_DIMS 5

/* clang-format off */
typedef enum s2v_dim { /* sizes a shape is made of */
    END, EMBD, FF, KEYS, QUERIES, GATED, HEAD, VOCAB, EXPERTS, EXPERT_FF, SHARED_FF, D_ALL, D_VALUES, D_HEADS, D_HEAD, D_TAPS, V_EMBD, V_THREE, V_FF, V_FOUR, V_PATCH, V_PLACES, V_ROWS, V_TOKEN, ONE, TWO, THREE
} s2v_dim;
/* clang-format on */

typedef enum s2v_action {
    WHOLE,
    THIRDS,  /* rows of queries, keys and values: three tensors, '?' in the name is q, k, v */
    STACKED, /* whole; '#' counts the mergers of deepstack, and becomes the number of their block */
    PAIRS,   /* rows of heads: those of the two halves in turn, as in GGUF for Llama */
    EXPERT,  /* a matrix of one expert, '@' in the name: they become one tensor */
    EXPERT_GATES, /* gate and up of all experts in one tensor: two tensors, '?' is gate, up */
    PLUS_ONE,     /* whole; the result has 1 more in each value */
    EXPERT_DOWNS, /* down of all experts; both may have rows and columns exchanged */
    FRAMES,       /* kernels of two pictures of a film: two tensors, the second named ".1" */
    /* Delta nets. Value heads that share a key head are together in a checkpoint, and in turn in GGUF. */
    V_HEAD_ROWS, /* rows for each head, of D_ALL behind those of queries and keys; no dimension of one */
    V_HEAD_LINES,   /* a row or a value for each head */
    V_HEAD_COLUMNS, /* columns for each head */
    V_HEAD_RATES,   /* a value for each head: minus its exponential */
    IGNORE
} s2v_action;

typedef struct s2v_map_row {
    const char *from,
        *to; /* '#' is the number of a layer, '@' of an expert; from NULL ends a table */
    uint8_t shape[S2V_MAP_MAX_DIMS]; /* slowest first */
    s2v_action action;
    bool is_optional;
} s2v_map_row;

/* Rows of tables: a tensor as it is; one that may be there and that no engine reads. */
#define ROW(from, to, ...)                      \
    {                                           \
        from, to, { __VA_ARGS__ }, WHOLE, false \
    }
#define UNREAD(from)                      \
    {                                     \
        from, NULL, { END }, IGNORE, true \
    }

typedef struct s2v_map_prefix {
    const char *found, *spelt; /* in a checkpoint, in the tables; found NULL ends */
} s2v_map_prefix;

/* --- a family --- */

struct s2v_family {
    const char *name;       /* "Qwen2.5-VL" */
    const char *model_type; /* of config.json */
    const char
        *text_type; /* model_type of text_config (or llm_config), which must be there; NULL: it
                               need not. Several families may share a model_type and differ here */
    const char *architecture; /* of the language model's file */
    bool has_head_dim; /* heads may have another width than hidden_size / num_attention_heads */
    bool may_lack_ff;  /* there are experts, and no other feed-forward part */
    struct {           /* sizes a configuration may leave out; 0: it may not */
        int32_t n_layers, n_embd, n_ff, n_head;
        int32_t n_head_kv, head_dim, n_ctx, n_vocab;
    } usual;
    bool has_bare_header; /* the vision file has neither size label nor quantization version */
    bool has_f32_patches; /* patch kernels stay F32 for every requested type */
    bool has_windows;     /* layers of two kinds, each with a rotation; one may divide positions */
    bool
        may_be_dynamic; /* positions are stretched beyond the trained context only, which is no matter */

    /* config.json: after the numbers of the text model, and the vision tower; NULL: nothing. */
    void (*read_rope)(s2v_config *config, const json_t *rope, s2v_numbers *numbers);
    void (*read_vision)(s2v_config *config, s2v_numbers *numbers);

    /* What preprocessor_config.json has other than mean and deviation; NULL: nothing. */
    void (*read_pixels)(s2v_config *config, const json_t *values, s2v_numbers *numbers);

    /* Keys of the language model before its rope's, and of the vision file. */
    void (*put_rope)(const s2v_numbers *numbers, s2v_gguf_writer *writer); /* NULL: none */
    void (*put_vision)(const s2v_numbers *numbers, s2v_gguf_writer *writer);

    /* More keys of the language model; NULL: none. */
    void (*put_text)(const s2v_numbers *numbers, s2v_gguf_writer *writer);

    const s2v_map_prefix *prefixes; /* longer ones first: the first that fits counts */
    const s2v_map_row *text, *vision;
};

/* The family of a model_type: the one with this text_type (NULL: not known), else the first. NULL if no
 * family has this model_type; the error then lists those there are. */
const s2v_family *s2v_family_find(const char *model_type, const char *text_type, s2p_error *error);

/* text_rows.c: tensors of language models that families share. */
extern const s2v_map_row s2v_qwen2_text_rows[], s2v_qwen3_text_rows[], s2v_qwen3_moe_text_rows[],
    s2v_llama_text_rows[];

/* qwen3_5_text.c: of Qwen3.5, dense and with experts; its numbers, and its keys. */
extern const s2v_map_row s2v_qwen3_5_text_rows[], s2v_qwen3_5_moe_text_rows[];
void s2v_qwen3_5_read(s2v_config *config, const json_t *rope, s2v_numbers *numbers);
void s2v_qwen3_5_put(const s2v_numbers *numbers, s2v_gguf_writer *writer);

/* Qwen3 with experts: its numbers, read after the others, and its keys. */
void s2v_qwen3_moe_read(s2v_config *config, s2v_numbers *numbers);
void s2v_qwen3_moe_put(const s2v_numbers *numbers, s2v_gguf_writer *writer);

void s2v_llama_put_text(const s2v_numbers *numbers, s2v_gguf_writer *writer);

#endif /* S2_CONVERT_FAMILY_H */
