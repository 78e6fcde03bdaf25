/* inspect_json.c - a model file for programs: the same facts as the text, one JSON object.
 *
 * Strings and arrays are shortened; "count" always has the true number.
 */
#include "inspect/inspect.h"

#include "asking/memory_report.h"
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_ITEMS 16u
#define MAX_BYTES ((size_t)4096)

/* A member that could not be made makes the whole answer fail, once, at the end. */
static void put_member(json_t *object, const char *name, json_t *value, s2_buffer *out)
{
    if (json_object_set_new(object, name, value) != 0) out->status = S2P_ENOMEM;
}

static json_t *text_value(s2v_text text)
{
    s2_buffer clean;
    s2_buffer_init(&clean, 4 * MAX_BYTES);
    if (!s2_inspect_clean(&clean, text, MAX_BYTES, false)) s2_buffer_printf(&clean, "...");
    const char *data = clean.size ? (const char *)clean.data : "";
    json_t *value = clean.status == S2P_OK ? json_stringn(data, clean.size) : NULL;
    s2_buffer_free(&clean);
    return value;
}

/* JSON has no NaN, and jansson no integer beyond int64: those become strings. */
static json_t *real_value(double real)
{
    if (isfinite(real)) return json_real(real);
    if (isnan(real)) return json_string("nan");
    return json_string(real > 0 ? "inf" : "-inf");
}

static json_t *count_value(uint64_t n)
{
    char digits[24];
    if (n <= INT64_MAX) return json_integer((json_int_t)n);
    (void)snprintf(digits, sizeof digits, "%" PRIu64, n);
    return json_string(digits);
}

static json_t *item_value(const s2v_gguf_key *key, uint64_t index, size_t *cursor)
{
    int64_t whole;
    double real;
    s2v_text text;
    if (s2v_gguf_next_string(key, cursor, &text)) return text_value(text);
    if (key->item == S2V_GGUF_BOOL) return json_boolean(key->value[index]);
    if (s2v_gguf_item_int(key, index, &whole)) return json_integer(whole);
    if (s2v_gguf_item_float(key, index, &real)) return real_value(real);
    return json_string(">= 2^63");
}

static json_t *key_value(const s2v_gguf_key *key, s2_buffer *out)
{
    size_t cursor = 0;
    json_t *object = json_object();
    put_member(object, "name", text_value(key->name), out);
    put_member(object, "type", json_string(s2_inspect_value_type(key->type)), out);
    if (key->type != S2V_GGUF_ARRAY) {
        put_member(object, "value", item_value(key, 0, &cursor), out);
        return object;
    }
    json_t *items = json_array();
    for (uint64_t i = 0; i < key->count && i < MAX_ITEMS; i++)
        if (json_array_append_new(items, item_value(key, i, &cursor)) != 0)
            out->status = S2P_ENOMEM;
    put_member(object, "item", json_string(s2_inspect_value_type(key->item)), out);
    put_member(object, "count", count_value(key->count), out);
    put_member(object, "value", items, out);
    return object;
}

static json_t *tensor_value(const s2v_gguf_tensor *t, s2_buffer *out)
{
    json_t *object = json_object(), *shape = json_array();
    for (int32_t d = 0; d < t->n_dims; d++)
        if (json_array_append_new(shape, json_integer(t->ne[d])) != 0) out->status = S2P_ENOMEM;
    put_member(object, "name", text_value(t->name), out);
    put_member(object, "type", json_string(s2v_gguf_tensor_type(t->type, NULL, NULL)), out);
    put_member(object, "shape", shape, out);
    put_member(object, "bytes", count_value(t->n_bytes), out);
    put_member(object, "offset", count_value(t->offset), out);
    return object;
}

static json_t *types_value(const s2v_gguf *file, s2_buffer *out)
{
    s2_type_sum sums[S2_INSPECT_TYPES];
    s2_inspect_sums(file, sums);
    json_t *list = json_array();
    for (uint32_t type = 0; type < S2_INSPECT_TYPES; type++) {
        if (sums[type].n_tensors == 0) continue;
        json_t *object = json_object();
        put_member(object, "type", json_string(s2v_gguf_tensor_type(type, NULL, NULL)), out);
        put_member(object, "tensors", count_value(sums[type].n_tensors), out);
        put_member(object, "values", count_value((uint64_t)sums[type].n_values), out);
        put_member(object, "bytes", count_value(sums[type].n_bytes), out);
        if (json_array_append_new(list, object) != 0) out->status = S2P_ENOMEM;
    }
    return list;
}

static void put_file(const s2_inspection *in, json_t *root, s2_buffer *out)
{
    const s2v_gguf *file = in->file;
    s2v_text text;
    put_member(root, "version", count_value(s2v_gguf_version(file)), out);
    put_member(root, "n_keys", count_value(s2v_gguf_claimed_keys(file)), out);
    put_member(root, "n_tensors", count_value(s2v_gguf_claimed_tensors(file)), out);
    put_member(root, "file_bytes", count_value(s2v_gguf_n_bytes(file)), out);
    if (s2v_gguf_string(file, "general.architecture", &text))
        put_member(root, "architecture", text_value(text), out);
    if (s2v_gguf_string(file, "general.name", &text))
        put_member(root, "name", text_value(text), out);
    if (in->is_valid) {
        put_member(root, "alignment", count_value(s2v_gguf_alignment(file)), out);
        put_member(root, "data_offset", count_value(s2v_gguf_data_offset(file)), out);
        put_member(root, "types", types_value(file, out), out);
    }
    if (in->show_keys) {
        json_t *list = json_array();
        for (size_t i = 0; i < s2v_gguf_n_keys(file); i++)
            if (json_array_append_new(list, key_value(s2v_gguf_key_at(file, i), out)) != 0)
                out->status = S2P_ENOMEM;
        put_member(root, "keys", list, out);
    }
    if (in->show_tensors) {
        json_t *list = json_array();
        for (size_t i = 0; i < s2v_gguf_n_tensors(file); i++)
            if (json_array_append_new(list, tensor_value(s2v_gguf_tensor_at(file, i), out)) != 0)
                out->status = S2P_ENOMEM;
        put_member(root, "tensors", list, out);
    }
}

void s2_inspect_json(const s2_inspection *in, s2_buffer *out)
{
    json_t *root = json_object();
    put_member(root, "schema", json_string("s2prune.inspect/1"), out);
    put_member(root, "file", text_value((s2v_text){ in->path, strlen(in->path) }), out);
    put_member(root, "valid", json_boolean(in->is_valid), out);
    if (in->error->status != S2P_OK)
        put_member(root, "error",
                   text_value((s2v_text){ in->error->message, strlen(in->error->message) }), out);
    put_member(root, "supported", json_boolean(in->is_supported), out);
    put_member(root, "support", json_string(in->support), out);
    if (in->tokenizer[0]) put_member(root, "tokenizer", json_string(in->tokenizer), out);
    if (in->file) put_file(in, root, out);
    if (in->was_checked) {
        json_t *check = json_object();
        put_member(check, "finite", count_value(in->n_finite), out);
        put_member(check, "not_finite", count_value(in->n_odd), out);
        put_member(check, "skipped", count_value(in->n_skipped), out);
        put_member(root, "check", check, out);
    }
    if (in->memory) put_member(root, "memory", s2_memory_json(in->memory), out);
    if (out->status == S2P_OK) out->status = s2_json_write(root, 9, out);
    s2_buffer_append(out, "\n", 1);
    json_decref(root);
}
