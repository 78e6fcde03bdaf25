/* quantize.c - read a model file, write it with other types.
 *
 * Three passes over the list of tensors: choose every type, say the header, move the data. Keys are
 * copied as they are except the two that describe the quantization, which come last. Tensors are
 * written in the order they are chosen in, so the layers of a file lie together.
 */
#include "convert/quantize.h"

#include "gguf/gguf_write.h"
#include "convert/quantize_types.h"
#include "convert/recode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define QUANTIZATION_VERSION 2u
#define NAME_ROOM 64
#define LARGE ((uint64_t)16 << 20)

typedef struct chosen {
    const s2v_gguf_tensor *tensor;
    char name[NAME_ROOM];
    s2v_tensor_type type;
    int64_t n_rows;
    uint64_t n_bytes;
} chosen;

typedef struct quantizer {
    const s2v_quant_options *options;
    s2v_quant_result *result;
    s2v_gguf *file;
    s2v_gguf_writer *writer;
    s2v_recoder *recoder;
    chosen *tensors;
    size_t n_tensors;
    uint64_t n_total, n_done; /* bytes of output, for the progress */
} quantizer;

const char *s2v_quant_name(size_t index)
{
    const s2v_quant_kind *kind = s2v_quant_kind_at(index);
    return kind ? kind->name : NULL;
}

/* --- refusals -------------------------------------------------------------------------------- */

static s2p_status check_input(const s2v_gguf *file, s2p_error *error)
{
    s2v_text arch = { "", 0 };
    int64_t n_parts = 1;
    if (!s2v_gguf_string(file, "general.architecture", &arch))
        return s2_fail(error, S2P_EFORMAT, "key 'general.architecture' is missing");
    char list[160] = "";
    bool is_known = s2v_text_is(arch, "clip");
    for (size_t i = 0, n = 0; s2v_quant_architecture(i) && n < sizeof list; i++) {
        const char *name = s2v_quant_architecture(i);
        is_known = is_known || s2v_text_is(arch, name);
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", name);
    }
    if (!is_known)
        return s2_fail(error, S2P_EUNSUPPORTED, "architecture '%.*s' is not one of %s and clip",
                       arch.size < 40 ? (int)arch.size : 40, arch.data, list);
    if (s2v_gguf_int(file, "split.count", &n_parts) && n_parts > 1)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "the file is one of %lld parts; join them with llama-gguf-split first",
                       (long long)n_parts);
    if (s2v_gguf_n_tensors(file) == 0)
        return s2_fail(error, S2P_EFORMAT, "the file contains no tensors");
    return S2P_OK;
}

/* Writing over the input would work (the old file lives until it is closed) and lose the original.
 */
static s2p_status check_paths(const s2v_quant_options *options, s2p_error *error)
{
    struct stat in, out;
    if (stat(options->input, &in) == 0 && stat(options->output, &out) == 0 &&
        in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return s2_fail(error, S2P_EINVAL, "'%.100s' is both input and output", options->output);
    return S2P_OK;
}

/* --- choose ---------------------------------------------------------------------------------- */

static int compare_chosen(const void *a, const void *b)
{
    return s2v_quant_compare(((const chosen *)a)->tensor, ((const chosen *)b)->tensor);
}

static bool layer0_type(const char *name, s2v_tensor_type *out)
{
    static const s2v_tensor_type types[] = { S2V_TENSOR_F32, S2V_TENSOR_F16, S2V_TENSOR_BF16,
                                             S2V_TENSOR_Q8_0 };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *known = s2v_gguf_tensor_type((uint32_t)types[i], NULL, NULL);
        if (strcmp(known, name) == 0) {
            *out = types[i];
            return true;
        }
    }
    return false;
}

static s2p_status choose_types(quantizer *q, s2p_error *error)
{
    const size_t n = s2v_gguf_n_tensors(q->file);
    q->tensors = calloc(n, sizeof *q->tensors);
    if (!q->tensors) return s2_fail_memory(error, n * sizeof *q->tensors, "the list of tensors");
    q->n_tensors = q->result->n_tensors = n;
    for (size_t i = 0; i < n; i++) {
        const s2v_gguf_tensor *t = s2v_gguf_tensor_at(q->file, i);
        q->tensors[i].tensor = t;
        memcpy(q->tensors[i].name, t->name.data, t->name.size); /* at most 63 bytes: checked */
    }
    qsort(q->tensors, n, sizeof *q->tensors, compare_chosen);

    s2v_quant_chooser chooser;
    s2v_quant_chooser_init(&chooser, s2v_quant_kind_at(q->options->type), q->file);
    for (size_t i = 0; i < n; i++) {
        chosen *c = &q->tensors[i];
        const s2v_gguf_tensor *t = c->tensor;
        const s2v_tensor_type from = (s2v_tensor_type)t->type;
        s2v_tensor_type kept;
        c->type = s2v_quant_choose(&chooser, t);
        if (q->options->keep_layer0 && c->type != from && s2v_quant_layer(t->name) == 0 &&
            layer0_type(q->options->keep_layer0, &kept) && t->ne[0] % s2v_gguf_block(kept) == 0)
            c->type = kept;
        if (from != c->type && from != S2V_TENSOR_F32 && from != S2V_TENSOR_F16 &&
            from != S2V_TENSOR_BF16)
            return s2_fail(error, S2P_EUNSUPPORTED,
                           "tensor '%s' is %s already; quantize the F32, F16 or BF16 file instead",
                           c->name, s2v_gguf_tensor_type(t->type, NULL, NULL));
        c->n_rows = t->ne[1] * t->ne[2] * t->ne[3];
        c->n_bytes = (uint64_t)c->n_rows * s2v_gguf_row_bytes(c->type, t->ne[0]);
        q->n_total += c->n_bytes;
        q->result->n_values += (uint64_t)(c->n_rows * t->ne[0]);
    }
    q->result->n_fallback = chooser.n_fallback;
    return S2P_OK;
}

/* --- write ----------------------------------------------------------------------------------- */

static s2p_status put_header(quantizer *q, s2p_error *error)
{
    static const char *const left_out[] = { "general.file_type", "general.quantization_version",
                                            "general.alignment" };
    for (size_t i = 0; i < s2v_gguf_n_keys(q->file); i++) {
        const s2v_gguf_key *key = s2v_gguf_key_at(q->file, i);
        bool copy = true;
        for (size_t k = 0; k < sizeof left_out / sizeof *left_out; k++)
            if (s2v_text_is(key->name, left_out[k])) copy = false;
        if (copy) s2v_gguf_put_key(q->writer, key);
    }
    s2v_gguf_put_u32(q->writer, "general.quantization_version", QUANTIZATION_VERSION);
    s2v_gguf_put_u32(q->writer, "general.file_type",
                     s2v_quant_kind_at(q->options->type)->file_type);
    for (size_t i = 0; i < q->n_tensors; i++) {
        const chosen *c = &q->tensors[i];
        TRY(s2v_gguf_put_tensor(q->writer, c->name, (uint32_t)c->type,
                                s2v_quantize_n_dims(c->tensor), c->tensor->ne, error));
    }
    return S2P_OK;
}

static void show_table(const quantizer *q)
{
    for (size_t i = 0; q->options->tensor && i < q->n_tensors; i++) {
        const chosen *c = &q->tensors[i];
        const s2v_quant_tensor line = {
            .name = c->name,
            .from = s2v_gguf_tensor_type(c->tensor->type, NULL, NULL),
            .to = s2v_gguf_tensor_type((uint32_t)c->type, NULL, NULL),
            .n_bytes_from = c->tensor->n_bytes,
            .n_bytes_to = c->n_bytes,
        };
        q->options->tensor(&line, q->options->user);
    }
}

/* A status of the writer, with errno kept for the caller. */
static s2p_status wrote(quantizer *q, s2p_status st)
{
    if (st == S2P_EIO) q->result->write_errno = errno;
    return st;
}

static s2p_status write_rows(void *user, const void *data, size_t n, s2p_error *error)
{
    quantizer *q = user;
    TRY(wrote(q, s2v_gguf_writer_add(q->writer, data, n, error)));
    q->n_done += n;
    if (q->options->progress &&
        q->options->progress("quantizing", (double)q->n_done / (double)q->n_total,
                             q->options->user))
        return s2_fail(error, S2P_ECANCELLED, "cancelled");
    return S2P_OK;
}

static s2p_status quantize_file(quantizer *q, s2p_error *error)
{
    const s2v_quant_options *o = q->options;
    TRY(check_paths(o, error));
    TRY(s2v_gguf_open(&q->file, o->input, error));
    TRY(check_input(q->file, error));
    TRY(choose_types(q, error));
    TRY(s2v_recoder_create(&q->recoder, o->codec, o->n_threads, error));
    TRY(s2v_gguf_writer_create(&q->writer, o->output, error));
    TRY(put_header(q, error));
    q->result->n_bytes_from = s2v_gguf_n_bytes(q->file);
    q->result->n_bytes_to = s2v_gguf_writer_size(q->writer);
    show_table(q);

    TRY(wrote(q, s2v_gguf_writer_start(q->writer, error)));
    for (size_t i = 0; i < q->n_tensors; i++) {
        const chosen *c = &q->tensors[i];
        const s2v_recoding recoding = {
            .name = c->name,
            .from = (s2v_tensor_type)c->tensor->type,
            .to = c->type,
            .n_per_row = c->tensor->ne[0],
            .n_rows = c->n_rows,
            .rows = c->tensor->data,
            .sink = write_rows,
            .user = q,
        };
        TRY(s2v_recode(q->recoder, &recoding, error));
        if (c->tensor->n_bytes >= LARGE) s2v_gguf_release_pages(q->file); /* it is not read again */
    }
    TRY(wrote(q, s2v_gguf_writer_finish(q->writer, q->result->sha256, error)));
    return wrote(q, s2v_gguf_writer_commit(q->writer, error));
}

s2p_status s2v_quantize(const s2v_quant_options *options, s2v_quant_result *result,
                        s2p_error *error)
{
    *result = (s2v_quant_result){ 0 };
    s2v_tensor_type ignored;
    if (!options->input || !options->output || !s2v_quant_kind_at(options->type))
        return s2_fail(error, S2P_EINVAL, "quantize needs an input, an output and a type");
    if (options->keep_layer0 && !layer0_type(options->keep_layer0, &ignored))
        return s2_fail(error, S2P_EINVAL, "layer 0 can be kept as F32, F16, BF16 or Q8_0");
    quantizer q = { .options = options, .result = result };
    const s2p_status st = quantize_file(&q, error);
    s2v_recoder_free(q.recoder);
    s2v_gguf_writer_free(q.writer);
    s2v_gguf_close(q.file);
    free(q.tensors);
    return st;
}
