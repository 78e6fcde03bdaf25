/* convert.c - the whole way from a folder to two files.
 *
 * Everything that can be refused is refused before a file is created: numbers, names, shapes,
 * vocabulary. Then the tensors stream through in the order of the checkpoint, each into its file,
 * and both files get their names together at the end.
 */
#include "convert/convert.h"

#include "convert/convert_steps.h"
#include "convert/family.h"
#include "convert/recode.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    s2v_tensor_type type;
    uint32_t file_type; /* value of general.file_type */
} types[] = { { "f32", S2V_TENSOR_F32, 0 },
              { "f16", S2V_TENSOR_F16, 1 },
              { "bf16", S2V_TENSOR_BF16, 32 },
              { "q8_0", S2V_TENSOR_Q8_0, 7 } };

typedef struct converter {
    const s2v_convert_options *options;
    s2v_convert_result *result;
    s2v_numbers numbers;
    json_t *config;
    s2v_checkpoint checkpoint;
    s2v_conversion_plan plan;
    s2v_gguf_writer *writers[2]; /* text, vision */
    s2v_recoder *recoder;
    uint64_t n_total, n_done; /* bytes of output */

    const s2v_planned *current; /* tensor that is moved now */
    s2v_gguf *written;          /* the file it is compared with, NULL: it is written */
    uint64_t n_compared;

    uint8_t *
        matrix; /* group `matrix_group` of the current tensor, where it is turned; NULL: none yet */
    int64_t matrix_group;
} converter;

const char *s2v_convert_type_name(size_t index)
{
    return index < sizeof types / sizeof *types ? types[index].name : NULL;
}

static s2v_convert_file *file_of(converter *c, bool is_vision)
{
    return is_vision ? &c->result->vision : &c->result->text;
}

/* A status of a writer, with errno kept for the caller. */
static s2p_status wrote(converter *c, s2p_status st)
{
    if (st == S2P_EIO) c->result->write_errno = errno;
    return st;
}

/* --- tensors --------------------------------------------------------------------------------- */

static s2v_tensor_type source_type(const s2v_planned *t)
{
    if (t->source->type == S2V_ST_F32) return S2V_TENSOR_F32;
    return t->source->type == S2V_ST_F16 ? S2V_TENSOR_F16 : S2V_TENSOR_BF16;
}

/* Columns of the matrices of a turned source: each is read once, whole. */
static s2p_status fetch_columns(converter *c, int64_t row, int64_t n, size_t width, uint8_t *out,
                                s2p_error *error)
{
    const s2v_planned *t = c->current;
    const size_t n_bytes = (size_t)t->group_stride * width;
    for (int64_t i = 0; i < n; i++) {
        const int64_t group = (row + i) / t->group_rows, column = (row + i) % t->group_rows;
        if (!c->matrix || c->matrix_group != group) {
            if (!c->matrix) c->matrix = malloc(n_bytes);
            if (!c->matrix) return s2_fail_memory(error, n_bytes, "the matrix of an expert");
            c->matrix_group = -1;
            TRY(s2v_safetensors_read(t->file, t->source, (uint64_t)group * n_bytes, n_bytes,
                                     c->matrix, error));
            c->matrix_group = group;
        }
        const uint8_t *from = c->matrix + (size_t)(t->first + column) * width;
        for (int64_t k = 0; k < t->n_per_row; k++, out += width)
            memcpy(out, from + (size_t)(k * t->stride) * width, width);
    }
    return S2P_OK;
}

/* Rows of matrices that are apart from each other, one by one. */
static s2p_status fetch_groups(const s2v_planned *t, int64_t row, int64_t n, size_t width,
                               uint8_t *out, s2p_error *error)
{
    const size_t row_bytes = (size_t)t->n_per_row * width;
    for (int64_t i = 0; i < n; i++, out += row_bytes) {
        const int64_t group = (row + i) / t->group_rows, in_group = (row + i) % t->group_rows;
        const s2v_expert_source whole = { t->file, t->source };
        const s2v_expert_source *from = t->expert ? &t->expert[group] : &whole;
        const int64_t first = t->expert ? 0 : t->first + group * t->group_stride;
        TRY(s2v_safetensors_read(from->file, from->tensor,
                                 (uint64_t)(first + in_group * t->stride) * width, row_bytes, out,
                                 error));
    }
    return S2P_OK;
}

/* Blocks of a row to their places. */
static s2p_status move_columns(const s2v_planned *t, size_t width, uint8_t *row, s2p_error *error)
{
    const size_t n_bytes = (size_t)t->n_per_row * width, block = (size_t)t->column_block * width;
    uint8_t *before = malloc(n_bytes);
    if (!before) return s2_fail_memory(error, n_bytes, "a row");
    memcpy(before, row, n_bytes);
    for (int64_t i = 0; i < t->n_per_row / t->column_block; i++)
        memcpy(row + (size_t)i * block, before + (size_t)s2v_planned_block(t, i) * block, block);
    free(before);
    return S2P_OK;
}

/* Rows of the current tensor; in a solid source one read has them all. */
static s2p_status fetch_rows(void *user, int64_t row, int64_t n, void *out, s2p_error *error)
{
    converter *c = user;
    const s2v_planned *t = c->current;
    size_t width = 0;
    (void)s2v_st_type_name(t->source->type, &width);
    if (t->is_turned) return fetch_columns(c, row, n, width, out, error);
    if (t->group_rows > 0) return fetch_groups(t, row, n, width, out, error);
    const size_t row_bytes = (size_t)t->n_per_row * width;
    const bool is_solid =
        t->stride == t->n_per_row && t->head_rows == 0 && t->row_block == 0 && t->column_block == 0;
    const int64_t n_reads = is_solid ? 1 : n;
    const size_t n_bytes = is_solid ? (size_t)n * row_bytes : row_bytes;
    for (int64_t i = 0; i < n_reads; i++) {
        int64_t at = row + i;
        if (t->head_rows >
            0) { /* even rows from the first half of a head, odd ones from the second */
            const int64_t in_head = at % t->head_rows;
            at += in_head % 2 * (t->head_rows / 2) + in_head / 2 - in_head;
        }
        if (t->row_block > 0)
            at = s2v_planned_block(t, at / t->row_block) * t->row_block + at % t->row_block;
        const uint64_t from = (uint64_t)(t->first + at * t->stride) * width;
        TRY(s2v_safetensors_read(t->file, t->source, from, n_bytes,
                                 (uint8_t *)out + (size_t)i * row_bytes, error));
        if (t->column_block > 0)
            TRY(move_columns(t, width, (uint8_t *)out + (size_t)i * row_bytes, error));
    }
    return S2P_OK;
}

static s2p_status tell_progress(converter *c, size_t n, s2p_error *error)
{
    c->n_done += n;
    const s2v_convert_options *o = c->options;
    const char *name = c->written ? "verifying" : "converting";
    if (o->progress && o->progress(name, (double)c->n_done / (double)c->n_total, o->user))
        return s2_fail(error, S2P_ECANCELLED, "cancelled");
    return S2P_OK;
}

static s2p_status write_rows(void *user, const void *data, size_t n, s2p_error *error)
{
    converter *c = user;
    TRY(wrote(c, s2v_gguf_writer_add(c->writers[c->current->is_vision], data, n, error)));
    return tell_progress(c, n, error);
}

/* Instead of writing: is this what the file holds? */
static s2p_status compare_rows(void *user, const void *data, size_t n, s2p_error *error)
{
    converter *c = user;
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(c->written, c->current->name);
    if (!t || n > t->n_bytes - c->n_compared || memcmp(t->data + c->n_compared, data, n) != 0)
        return s2_fail(error, S2P_EFORMAT, "tensor '%s' was not written as it was converted",
                       c->current->name);
    c->n_compared += n;
    return tell_progress(c, n, error);
}

/* The exponential in float32 with the rounding of the program the checkpoints' other converters run on, which
 * differs from the C library's in the last bit of a value in twelve: files are the same byte for byte. */
static float exponential(float x)
{
    static const float term[] = { 1.98527617612853646278381e-4f, 1.39304355252534151077271e-3f,
                                  8.33336077630519866943359e-3f, 4.16664853692054748535156e-2f,
                                  1.66666671633720397949219e-1f, 0.5f };
    const float n = rintf(x * 1.44269504088896341f); /* x = n log 2 + rest */
    float rest = fmaf(n, -0.693145751953125f, x), sum = term[0];
    rest = fmaf(n, -1.428606765330187045e-06f, rest);
    for (size_t i = 1; i < sizeof term / sizeof *term; i++) sum = fmaf(sum, rest, term[i]);
    return n > -200.0f && n < 200.0f ? ldexpf(1.0f + fmaf(rest * rest, sum, rest), (int)n)
                                     : expf(x);
}

/* What the model file has instead of the checkpoint's values, F32, then as usual. */
static s2p_status change_rows(void *user, const void *data, size_t n, s2p_error *error)
{
    converter *c = user;
    const s2v_planned *t = c->current;
    float *values = malloc(n);
    if (!values) return s2_fail_memory(error, n, "a row");
    memcpy(values, data, n);
    s2p_status st = S2P_OK;
    for (size_t i = 0; i < n / sizeof *values && st == S2P_OK; i++) {
        values[i] = -exponential(values[i]);
        if (!isfinite(values[i]))
            st = s2_fail(error, S2P_EFORMAT, "tensor '%.64s' becomes a value that is not finite",
                         t->source->name);
    }
    if (st == S2P_OK) st = (c->written ? compare_rows : write_rows)(c, values, n, error);
    free(values);
    return st;
}

static s2p_status move_tensor(converter *c, const s2v_planned *t, s2p_error *error)
{
    c->current = t;
    c->n_compared = 0;
    free(c->matrix);
    c->matrix = NULL;
    const s2v_recoding recoding = { .name = t->source->name,
                                    .from = source_type(t),
                                    .to = t->type,
                                    .n_per_row = t->n_per_row,
                                    .n_rows = t->n_rows,
                                    .added = t->added,
                                    .fetch = fetch_rows,
                                    .sink = t->is_rate   ? change_rows
                                            : c->written ? compare_rows
                                                         : write_rows,
                                    .user = c };
    return s2v_recode(c->recoder, &recoding, error);
}

/* --- files ----------------------------------------------------------------------------------- */

static const char *folder_name(const char *folder, char *out, size_t room)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') n--;
    size_t first = n;
    while (first > 0 && folder[first - 1] != '/') first--;
    const size_t length = n - first < room - 1 ? n - first : room - 1;
    memcpy(out, folder + first, length);
    out[length] = '\0';
    return length ? out : "model";
}

static s2p_status put_header(converter *c, bool is_vision, s2p_error *error)
{
    const s2v_convert_options *o = c->options;
    s2v_gguf_writer **writer = &c->writers[is_vision];
    s2v_convert_file *file = file_of(c, is_vision);
    TRY(s2v_gguf_writer_create(writer, is_vision ? o->mmproj_out : o->outfile, error));
    for (size_t i = 0; i < c->plan.n_tensors; i++) {
        const s2v_planned *t = &c->plan.tensors[i];
        if (t->is_vision != is_vision) continue;
        const uint64_t n_rows = (uint64_t)(t->ne[1] * t->ne[2] * t->ne[3]);
        file->n_tensors++;
        file->n_values += n_rows * (uint64_t)t->ne[0];
        c->n_total += n_rows * s2v_gguf_row_bytes(t->type, t->ne[0]);
        TRY(s2v_gguf_put_tensor(*writer, t->name, (uint32_t)t->type, t->n_dims, t->ne, error));
    }
    char name[128];
    const s2v_key_facts facts = { o->name ? o->name : folder_name(o->folder, name, sizeof name),
                                  file->n_values, types[o->type].file_type };
    if (is_vision) {
        s2v_vision_keys_put(&c->numbers, &facts, *writer);
        return S2P_OK;
    }
    s2v_text_keys_put(&c->numbers, &facts, *writer);
    return s2v_vocabulary_put(o->folder, c->numbers.n_vocab, c->config, *writer, error);
}

/* Open what was written through the door every model file goes through, and convert again. */
static s2p_status verify_file(converter *c, bool is_vision, s2p_error *error)
{
    s2p_status st = s2v_gguf_writer_open(c->writers[is_vision], &c->written, error);
    if (st == S2P_OK && s2v_gguf_n_tensors(c->written) != file_of(c, is_vision)->n_tensors)
        st = s2_fail(error, S2P_EFORMAT, "a file has %zu tensors instead of %zu",
                     s2v_gguf_n_tensors(c->written), file_of(c, is_vision)->n_tensors);
    for (size_t i = 0; i < c->plan.n_tensors && st == S2P_OK; i++) {
        if (c->plan.tensors[i].is_vision != is_vision) continue;
        st = move_tensor(c, &c->plan.tensors[i], error);
        s2v_gguf_release_pages(c->written);
    }
    s2v_gguf_close(c->written);
    c->written = NULL;
    return st;
}

static s2p_status convert_folder(converter *c, s2p_error *error)
{
    const s2v_convert_options *o = c->options;
    TRY(s2v_numbers_read(o->folder, &c->numbers, &c->config, error));
    TRY(s2v_checkpoint_open(&c->checkpoint, o->folder, error));
    TRY(s2v_conversion_plan_make(&c->plan, &c->checkpoint, &c->numbers, types[o->type].type,
                                 error));
    c->result->architecture = c->numbers.family->name;
    c->result->n_ignored = c->plan.n_ignored;
    c->result->n_files = c->checkpoint.n_files;
    for (size_t i = 0; i < c->checkpoint.n_files; i++)
        c->result->n_bytes += s2v_safetensors_n_bytes(c->checkpoint.files[i]);

    TRY(s2v_recoder_create(&c->recoder, o->codec, o->n_threads, error));
    for (int i = 0; i < 2; i++) TRY(put_header(c, i, error));

    for (int i = 0; i < 2; i++) {
        file_of(c, i)->n_bytes = s2v_gguf_writer_size(c->writers[i]);
        TRY(wrote(c, s2v_gguf_writer_start(c->writers[i], error)));
    }
    for (size_t i = 0; i < c->plan.n_tensors; i++) TRY(move_tensor(c, &c->plan.tensors[i], error));
    for (int i = 0; i < 2; i++)
        TRY(wrote(c, s2v_gguf_writer_finish(c->writers[i], file_of(c, i)->sha256, error)));

    c->n_done = 0;
    for (int i = 0; i < 2 && o->verify; i++) TRY(verify_file(c, i, error));
    for (int i = 0; i < 2; i++) TRY(wrote(c, s2v_gguf_writer_commit(c->writers[i], error)));
    return S2P_OK;
}

s2p_status s2v_convert(const s2v_convert_options *options, s2v_convert_result *result,
                       s2p_error *error)
{
    *result = (s2v_convert_result){ 0 };
    if (!options->folder || !options->outfile || !options->mmproj_out ||
        !s2v_convert_type_name(options->type))
        return s2_fail(error, S2P_EINVAL, "convert needs a folder, two files and a type");
    if (strcmp(options->outfile, options->mmproj_out) == 0)
        return s2_fail(error, S2P_EINVAL, "the two output files must have different names");
    converter c = { .options = options, .result = result };
    const s2p_status st = convert_folder(&c, error);
    free(c.matrix);
    s2v_recoder_free(c.recoder);
    s2v_gguf_writer_free(c.writers[0]);
    s2v_gguf_writer_free(c.writers[1]);
    s2v_conversion_plan_free(&c.plan);
    s2v_checkpoint_close(&c.checkpoint);
    json_decref(c.config);
    return st;
}
