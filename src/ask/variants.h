/* variants.h - settings as text: METHOD[:name=value,...].
 *
 *     s2prune:grid=9
 *     s2prune:allocator=uniform,selector=centre,budget=64
 *     uniform:after=0
 *     sparsevlm:recycle_ratio=0.5
 *
 * Names are budget, min-confidence, allocator, selector, grid, mode, after, structure, image-size, and the parameters of
 * the method. A file has one setting per line; blank lines and lines that begin with # are ignored.
 */
#ifndef S2_ASK_VARIANTS_H
#define S2_ASK_VARIANTS_H

#include "ask/settings.h"

typedef struct s2a_variant {
    s2a_setting setting;
    bool has_budget; /* the text gave it; else it is the base's */
} s2a_variant;

/* text[0..n) applied to `base`, whose parameters are kept if the method is the same. `source` begins
 * error messages. S2P_EINVAL: an unknown method or name (the message lists all), a repeated name,
 * an invalid value, or one the method does not read. S2P_EUNSUPPORTED: it cannot prune there. */
s2p_status s2a_variant_read(const char *source, const char *text, size_t n, const s2a_setting *base,
                            s2a_variant *out, s2p_error *error);

typedef struct s2a_line {
    s2a_item text; /* borrowed, trimmed */
    int32_t number;
} s2a_line;

#define S2A_MAX_VARIANTS_BYTES ((size_t)1 << 20)

/* The settings of a file's text[0..n). out: [S2A_MAX_SETTINGS]. S2P_EFORMAT: the file has no settings, or
 * invalid bytes. S2P_ELIMIT: too many. */
s2p_status s2a_variants_lines(const char *file, const char *text, size_t n, s2a_line *out,
                              int32_t *n_lines, s2p_error *error);

#endif /* S2_ASK_VARIANTS_H */
