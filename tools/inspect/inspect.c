/* inspect.c - what both forms of an inspection need: clean text, sums by type. */
#include "inspect/inspect.h"

#include "base/markup.h"

#include <string.h>

/* --- foreign text ---------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at `at`, 0 when it is none. */
static size_t utf8_size(const uint8_t *at, size_t n)
{
    const uint8_t c = at[0];
    size_t size = 0;
    if (c < 0x80) size = 1;
    if (c >= 0xc2 && c < 0xe0) size = 2;
    if (c >= 0xe0 && c < 0xf0) size = 3;
    if (c >= 0xf0 && c < 0xf5) size = 4;
    if (size == 0 || size > n) return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if ((c == 0xe0 && at[1] < 0xa0) || (c == 0xf0 && at[1] < 0x90))
        return 0; /* longer than needed */
    if ((c == 0xed && at[1] > 0x9f) || (c == 0xf4 && at[1] > 0x8f)) return 0; /* no character */
    return size;
}

static bool is_control(const uint8_t *at, size_t size)
{
    if (size == 1) return at[0] < 0x20 || at[0] == 0x7f;
    return size == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

/* Of a character of two or three bytes. */
static unsigned code_of(const uint8_t *at, size_t size)
{
    const unsigned last = at[size - 1] & 0x3fu, middle = at[size - 2];
    return size == 2 ? (middle & 0x1fu) << 6 | last
                     : (at[0] & 0xfu) << 12 | (middle & 0x3fu) << 6 | last;
}

bool s2_inspect_clean(s2_buffer *out, s2v_text text, size_t max, bool is_terminal)
{
    const uint8_t *bytes = (const uint8_t *)text.data;
    size_t i = 0;
    while (i < text.size && i < max) {
        const size_t size = utf8_size(bytes + i, text.size - i);
        if (size == 0 || (bytes[i] == 0 && !is_terminal)) /* many JSON readers refuse a NUL */
            s2_buffer_append(out, "\xef\xbf\xbd", 3);
        else if (is_terminal && is_control(bytes + i, size))
            s2_buffer_printf(out, "\\x%02x", (unsigned)bytes[i + size - 1]);
        else if (is_terminal && s2_markup_misleads(text.data + i, size))
            s2_buffer_printf(out, "\\u%04x", code_of(bytes + i, size));
        else
            s2_buffer_append(out, bytes + i, size);
        i += size ? size : 1;
    }
    return i >= text.size;
}

/* --- types ----------------------------------------------------------------------------------- */

const char *s2_inspect_value_type(s2v_gguf_type type)
{
    static const char *const names[] = { "u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "string", "array", "u64", "i64", "f64" };
    return names[type];
}

void s2_inspect_sums(const s2v_gguf *file, s2_type_sum sums[S2_INSPECT_TYPES])
{
    memset(sums, 0, S2_INSPECT_TYPES * sizeof *sums);
    for (size_t i = 0; i < s2v_gguf_n_tensors(file); i++) {
        const s2v_gguf_tensor *t = s2v_gguf_tensor_at(file, i);
        if (t->type >= S2_INSPECT_TYPES) continue; /* the validator knows none */
        s2_type_sum *sum = &sums[t->type];
        sum->n_tensors++;
        sum->n_bytes += t->n_bytes;
        sum->n_values += (double)t->ne[0] * (double)t->ne[1] * (double)t->ne[2] * (double)t->ne[3];
    }
}
