/* inspect.h - what `s2prune inspect` found. */
#ifndef S2_TOOLS_INSPECT_H
#define S2_TOOLS_INSPECT_H

#include "base/buffer.h"
#include "gguf/gguf.h"
#include "s2vlm.h"

#define S2_INSPECT_TYPES 64u /* more than the format has numbers for */

typedef struct s2_inspection {
    const char *path;
    const s2v_gguf *file; /* NULL: not even the counts are known */
    const s2p_error *error;
    bool is_valid;       /* the header was accepted */
    bool is_supported;   /* a model the engine runs */
    char support[160];   /* which, or why not */
    char tokenizer[160]; /* its kind, or why it cannot be used; empty: the file has none */
    bool show_tensors, show_keys;
    const s2v_memory *memory;            /* NULL: not requested */
    bool was_checked;                    /* --check */
    uint64_t n_finite, n_odd, n_skipped; /* tensors: all finite, not so, of a type not scanned */
} s2_inspection;

typedef struct s2_type_sum { /* tensors of one type */
    uint64_t n_tensors, n_bytes;
    double n_values; /* counts of a valid file; a broken one may claim more than fits an integer */
} s2_type_sum;

void s2_inspect_sums(const s2v_gguf *file, s2_type_sum sums[S2_INSPECT_TYPES]);
const char *s2_inspect_value_type(s2v_gguf_type type);

/* Up to about `max` bytes as valid UTF-8, with U+FFFD for what is none; control characters become
 * \xNN when a terminal may see them. true: that was all of it. */
bool s2_inspect_clean(s2_buffer *out, s2v_text text, size_t max, bool is_terminal);

/* inspect_json.c: an inspection for programs. */
void s2_inspect_json(const s2_inspection *in, s2_buffer *out); /* one line, "s2prune.inspect/1" */

/* inspect_text.c: an inspection for people. */
void s2_inspect_text(const s2_inspection *in, s2_buffer *out);

#endif /* S2_TOOLS_INSPECT_H */
