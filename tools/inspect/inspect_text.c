/* inspect_text.c - a model file for people: summary, keys, tensors.
 *
 * Names and values are the file's own bytes, so nothing is printed before it has
 * been made fit for a terminal.
 */
#include "inspect/inspect.h"

#include "asking/memory_report.h"
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_ITEMS 8u  /* of an array, before "..." */
#define MAX_BYTES 72u /* of a string */
#define COLUMN 40u    /* where values start */

/* A name and blanks up to the column of the values. */
static void add_name(s2_buffer *out, s2v_text name)
{
    s2_buffer_append(out, "  ", 2);
    const size_t start = out->size;
    if (!s2_inspect_clean(out, name, 200, true)) s2_buffer_printf(out, "...");
    const size_t used = out->size - start;
    s2_buffer_printf(out, "%*s ", used < COLUMN ? (int)(COLUMN - used) : 0, "");
}

/* --- keys and tensors ------------------------------------------------------------------------ */

static void add_tensor(s2_buffer *out, const s2v_gguf_tensor *t)
{
    add_name(out, t->name);
    s2_buffer_printf(out, "%-7s [", s2v_gguf_tensor_type(t->type, NULL, NULL));
    for (int32_t d = 0; d < t->n_dims; d++)
        s2_buffer_printf(out, "%s%" PRId64, d ? ", " : "", t->ne[d]);
    s2_buffer_printf(out, "]  %" PRIu64 " bytes at %" PRIu64 "\n", t->n_bytes, t->offset);
}

/* --- summary --------------------------------------------------------------------------------- */

static void add_string(s2_buffer *out, const s2v_gguf *file, const char *label, const char *key)
{
    s2v_text text;
    if (!s2v_gguf_string(file, key, &text)) return;
    s2_buffer_printf(out, "%-13s ", label);
    s2_inspect_clean(out, text, MAX_BYTES, true);
    s2_buffer_append(out, "\n", 1);
}

static void add_summary(s2_buffer *out, const s2_inspection *in)
{
    char size[S2_SIZE_TEXT];
    const s2v_gguf *file = in->file;
    add_string(out, file, "architecture", "general.architecture");
    add_string(out, file, "name", "general.name");
    if (!in->is_valid) {
        const size_t n_keys = s2v_gguf_n_keys(file), n_tensors = s2v_gguf_n_tensors(file);
        if (n_keys + n_tensors > 0)
            s2_buffer_printf(out, "before the error: %zu keys, %zu tensors\n", n_keys, n_tensors);
        return;
    }
    s2_buffer_printf(out,
                     "size          %zu bytes (%s), alignment %zu, tensor data from byte %zu\n",
                     s2v_gguf_n_bytes(file), s2_report_size((double)s2v_gguf_n_bytes(file), size),
                     s2v_gguf_alignment(file), s2v_gguf_data_offset(file));
    s2_type_sum sums[S2_INSPECT_TYPES];
    s2_inspect_sums(file, sums);
    double n_values = 0;
    for (uint32_t type = 0; type < S2_INSPECT_TYPES; type++) n_values += sums[type].n_values;
    s2_buffer_printf(out, "values        %.0f\n", n_values);
    for (uint32_t type = 0; type < S2_INSPECT_TYPES; type++) {
        const s2_type_sum *sum = &sums[type];
        if (sum->n_tensors == 0) continue;
        s2_buffer_printf(out, "  %-11s tensors %" PRIu64 ", values %.0f, bytes %" PRIu64 " (%s)\n",
                         s2v_gguf_tensor_type(type, NULL, NULL), sum->n_tensors, sum->n_values,
                         sum->n_bytes, s2_report_size((double)sum->n_bytes, size));
    }
    s2_buffer_printf(out, "%-13s %s\n", in->is_supported ? "supported" : "unsupported",
                     in->support);
    if (in->tokenizer[0]) s2_buffer_printf(out, "%-13s %s\n", "tokenizer", in->tokenizer);
    if (in->was_checked)
        s2_buffer_printf(out,
                         "check         finite %" PRIu64 ", not finite %" PRIu64
                         ", not scanned (quantised, integers) %" PRIu64 "\n",
                         in->n_finite, in->n_odd, in->n_skipped);
}

void s2_inspect_text(const s2_inspection *in, s2_buffer *out)
{
    const s2v_gguf *file = in->file;
    if (!file) return;
    const uint64_t n_tensors = s2v_gguf_claimed_tensors(file), n_keys = s2v_gguf_claimed_keys(file);
    s2_inspect_clean(out, (s2v_text){ in->path, strlen(in->path) }, 4096, true);
    s2_buffer_printf(out, ": GGUF v%" PRIu32 ", %" PRIu64 " tensor%s, %" PRIu64 " key%s\n",
                     s2v_gguf_version(file), n_tensors, n_tensors == 1 ? "" : "s", n_keys,
                     n_keys == 1 ? "" : "s");
    add_summary(out, in);
    if (in->memory) s2_memory_text(in->memory, out);
    if (in->show_keys) {
        s2_buffer_printf(out, "keys\n");
        for (size_t k = 0; k < s2v_gguf_n_keys(file); k++) {
            const s2v_gguf_key *key = s2v_gguf_key_at(file, k);
            size_t cursor = 0;
            add_name(out, key->name);
            s2_buffer_printf(out, "%s", s2_inspect_value_type(key->item));
            if (key->type == S2V_GGUF_ARRAY) s2_buffer_printf(out, "[%" PRIu64 "]", key->count);
            for (uint64_t i = 0; i < key->count && i < MAX_ITEMS; i++) {
                int64_t whole;
                double real;
                s2v_text text;
                s2_buffer_printf(out, i > 0 ? ", " : "  ");
                if (s2v_gguf_next_string(key, &cursor, &text)) {
                    s2_buffer_append(out, "\"", 1);
                    const bool is_whole = s2_inspect_clean(out, text, MAX_BYTES, true);
                    s2_buffer_append(out, "\"", 1);
                    if (!is_whole) s2_buffer_printf(out, "... (%zu bytes)", text.size);
                } else if (key->item == S2V_GGUF_BOOL) {
                    s2_buffer_printf(out, "%s", key->value[i] ? "true" : "false");
                } else if (s2v_gguf_item_int(key, i, &whole)) {
                    s2_buffer_printf(out, "%" PRId64, whole);
                } else if (s2v_gguf_item_float(key, i, &real)) {
                    s2_buffer_printf(out, "%.9g", real);
                } else {
                    s2_buffer_printf(out, ">= 2^63");
                }
            }
            s2_buffer_printf(out, key->count > MAX_ITEMS ? ", ...\n" : "\n");
        }
    }
    if (in->show_tensors) {
        s2_buffer_printf(out, "tensors\n");
        for (size_t i = 0; i < s2v_gguf_n_tensors(file); i++)
            add_tensor(out, s2v_gguf_tensor_at(file, i));
    }
}
