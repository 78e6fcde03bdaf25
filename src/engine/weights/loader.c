/* loader.c - check, place, move.
 *
 * Tensors are grouped by where they live: one ggml context and one buffer per
 * buffer type, and one "mapped" group per file whose tensors point into the
 * mapping. Nothing is allocated before the last tensor was accepted, so a file
 * that does not fit is refused with its numbers and at no cost.
 */
#include "engine/weights/loader.h"

#include "engine/backend/reserve.h"
#include "base/checked.h"
#include "kernels/pages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_FILE ((size_t)64 << 20) /* F32 costs nothing here and saves roundings */
#define RELEASE_EVERY ((size_t)64 << 20)
#define MAX_GROUPS 12
#define MAX_TENSORS \
    4096 /* per group; 512 layers of 12 tensors would be more than any model has \
          */

typedef struct item item;
typedef void (*fill_function)(const item *it, uint8_t *out);

struct item {
    struct ggml_tensor *tensor;
    const s2v_gguf_tensor *source, *second, *third;
    s2v_gguf *file;
    fill_function fill; /* NULL: the bytes of the file as they are */
    double base;        /* of powers */
};

typedef struct group {
    ggml_backend_buffer_type_t type; /* NULL: mapped */
    const s2v_gguf *file;            /* of a mapped group */
    struct ggml_context *ctx;
    ggml_backend_buffer_t buffer;
    item *items;
    size_t n_items;
} group;

struct s2v_weights {
    group groups[MAX_GROUPS];
    size_t n_groups;
    uint64_t n_bytes, n_device_bytes, n_mapped_bytes, n_tower_bytes;
};

void s2v_weights_free(s2v_weights *weights)
{
    if (!weights) return;
    for (size_t g = 0; g < weights->n_groups; g++) {
        ggml_backend_buffer_free(weights->groups[g].buffer);
        ggml_free(weights->groups[g].ctx);
        free(weights->groups[g].items);
    }
    free(weights);
}

uint64_t s2v_weights_bytes(const s2v_weights *weights) { return weights->n_bytes; }

uint64_t s2v_weights_device_bytes(const s2v_weights *weights) { return weights->n_device_bytes; }

uint64_t s2v_weights_tower_bytes(const s2v_weights *weights) { return weights->n_tower_bytes; }

uint64_t s2v_weights_mapped_bytes(const s2v_weights *weights) { return weights->n_mapped_bytes; }

s2p_status s2v_loader_init(s2v_loader *loader, const s2v_devices *devices, s2p_error *error)
{
    *loader = (s2v_loader){ .devices = devices, .error = error };
    loader->weights = calloc(1, sizeof *loader->weights);
    if (!loader->weights) return s2_fail_memory(error, sizeof *loader->weights, "the weight table");
    return S2P_OK;
}

void s2v_loader_abandon(s2v_loader *loader)
{
    s2v_weights_free(loader->weights);
    loader->weights = NULL;
}

/* --- where a tensor lives --------------------------------------------------- */

static group *group_for(s2v_loader *loader, ggml_backend_buffer_type_t type, const s2v_gguf *file)
{
    s2v_weights *w = loader->weights;
    for (size_t g = 0; g < w->n_groups; g++)
        if (w->groups[g].type == type && w->groups[g].file == file) return &w->groups[g];
    if (w->n_groups == MAX_GROUPS) return NULL;
    const struct ggml_init_params params = { ggml_tensor_overhead() * MAX_TENSORS, NULL, true };
    group *added = &w->groups[w->n_groups];
    added->ctx = s2v_context_open(params);
    added->items = calloc(MAX_TENSORS, sizeof *added->items);
    added->type = type;
    added->file = file;
    w->n_groups++; /* counted even when half made, so that it is freed */
    return added->ctx && added->items ? added : NULL;
}

/* The kernels multiply with this matrix as it is in the file. */
static bool stays_in_blocks(const s2v_loader *loader, const struct ggml_tensor *weight)
{
    const s2k_format format =
        s2k_format_find((int32_t)weight->type, 1, weight->ne[0], weight->ne[1]);
    return loader->keeps_blocks && s2k_products_for(loader->devices->products, format, 1);
}

/* A tensor that exists only to ask where it should go. */
static ggml_backend_buffer_type_t place_weight(s2v_loader *loader, enum ggml_type type, s2v_use use,
                                               int64_t ne0, int64_t ne1, int64_t ne2)
{
    const s2v_devices *devices = loader->devices;
    const bool on_device = loader->on_device && devices->main != devices->cpu;
    if (use == S2V_USE_VECTOR)
        return on_device ? ggml_backend_dev_buffer_type(devices->main) : NULL;
    _Alignas(16) char place[S2V_QUESTION_BYTES];
    struct ggml_context *ctx = s2v_question_open(place);
    struct ggml_tensor *probe = ggml_new_tensor_3d(ctx, type, ne0, ne1, ne2);
    ggml_backend_buffer_type_t chosen = NULL; /* a type the device has no kernel for stays here */
    if (on_device && s2v_device_takes(devices, probe, use == S2V_USE_ROWS))
        chosen = ggml_backend_dev_buffer_type(devices->main);
    else if (use == S2V_USE_MATRIX && ne2 == 1 && !stays_in_blocks(loader, probe))
        chosen = s2v_fastest_buffer(devices, probe);
    ggml_free(ctx);
    return chosen;
}

static struct ggml_tensor *add_item(s2v_loader *loader, ggml_backend_buffer_type_t buffer_type,
                                    enum ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2,
                                    item it)
{
    const bool is_mapped = !buffer_type && !it.fill;
    if (!buffer_type && it.fill) buffer_type = ggml_backend_dev_buffer_type(loader->devices->cpu);
    group *to = group_for(loader, buffer_type, is_mapped ? loader->file : NULL);
    if (!to || to->n_items == MAX_TENSORS) {
        loader->status = s2_fail(loader->error, S2P_ENOMEM, "out of memory for the tensor table");
        return NULL;
    }
    it.tensor = ggml_new_tensor_3d(to->ctx, type, ne0, ne1, ne2);
    it.file = loader->file;
    to->items[to->n_items++] = it;
    if (!is_mapped) {
        const size_t n = ggml_backend_buft_get_alloc_size(buffer_type, it.tensor);
        loader->weights->n_bytes += n;
        const s2v_devices *d = loader->devices;
        if (d->main != d->cpu && buffer_type == ggml_backend_dev_buffer_type(d->main))
            loader->weights->n_device_bytes += n;
    }
    return it.tensor;
}

/* --- checks ------------------------------------------------------------------ */

static s2p_status refuse_shape(s2v_loader *loader, const char *name, const s2v_gguf_tensor *t,
                               int64_t ne0, int64_t ne1, int64_t ne2)
{
    char expected[96];
    int n = snprintf(expected, sizeof expected, "%lld, %lld", (long long)ne0, (long long)ne1);
    if (ne2 > 1)
        (void)snprintf(expected + n, sizeof expected - (size_t)n, ", %lld", (long long)ne2);
    return s2_fail(loader->error, S2P_EFORMAT, "%s is [%lld, %lld, %lld], expected [%s]", name,
                   (long long)t->ne[0], (long long)t->ne[1], (long long)t->ne[2], expected);
}

/* The tensor, once its type and shape are what the graph expects. */
static const s2v_gguf_tensor *find_weight(s2v_loader *loader, const char *name, s2v_use use,
                                          int64_t ne0, int64_t ne1, int64_t ne2, bool is_optional)
{
    if (loader->status != S2P_OK) return NULL;
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(loader->file, name);
    if (!t) {
        if (!is_optional)
            loader->status =
                s2_fail(loader->error, S2P_EFORMAT, "the model has no tensor '%s'", name);
        return NULL;
    }
    if (t->ne[0] != ne0 || t->ne[1] != ne1 || t->ne[2] != ne2 || t->ne[3] != 1) {
        loader->status = refuse_shape(loader, name, t, ne0, ne1, ne2);
        return NULL;
    }
    const bool is_float =
        t->type == GGML_TYPE_F32 || t->type == GGML_TYPE_F16 || t->type == GGML_TYPE_BF16;
    const struct ggml_type_traits *traits =
        t->type < GGML_TYPE_COUNT ? ggml_get_type_traits((enum ggml_type)t->type) : NULL;
    const bool is_fine = use == S2V_USE_VECTOR
                             ? t->type == GGML_TYPE_F32
                             : is_float || (traits && traits->is_quantized && traits->to_float);
    if (!is_fine) {
        const char *type = s2v_gguf_tensor_type(t->type, &(int64_t){ 0 }, &(size_t){ 0 });
        loader->status =
            s2_fail(loader->error, S2P_EUNSUPPORTED, "%s has type %s, which it cannot have", name,
                    type ? type : "unknown");
        return NULL;
    }
    return t;
}

static void full_name(char *out, size_t capacity, const char *name, int32_t layer)
{
    const char *mark = layer < 0 ? NULL : strstr(name, "%d");
    if (!mark)
        (void)snprintf(out, capacity, "%s", name);
    else
        (void)snprintf(out, capacity, "%.*s%d%s", (int)(mark - name), name, layer, mark + 2);
}

/* Mapped data must be aligned as ggml's own buffers are. */
static bool is_aligned(const s2v_gguf_tensor *t) { return (uintptr_t)t->data % 32 == 0; }

static void fill_plain(const item *it, uint8_t *out)
{
    memcpy(out, it->source->data, (size_t)it->source->n_bytes);
}

static float element_of(const s2v_gguf_tensor *t, int64_t i)
{
    float f32;
    ggml_fp16_t f16;
    ggml_bf16_t bf16;
    switch ((enum ggml_type)t->type) {
    case GGML_TYPE_F16:
        memcpy(&f16, t->data + (size_t)i * 2, 2);
        return ggml_fp16_to_fp32(f16);
    case GGML_TYPE_BF16:
        memcpy(&bf16, t->data + (size_t)i * 2, 2);
        return ggml_bf16_to_fp32(bf16);
    default:
        memcpy(&f32, t->data + (size_t)i * 4, 4);
        return f32;
    }
}

static void fill_f32(const item *it, uint8_t *out)
{
    float *values = (float *)(void *)out;
    for (int64_t i = 0; i < ggml_nelements(it->tensor); i++) values[i] = element_of(it->source, i);
}

static struct ggml_tensor *get_weight(s2v_loader *loader, const char *pattern, int32_t layer,
                                      s2v_use use, int64_t ne0, int64_t ne1, int64_t ne2,
                                      bool is_optional)
{
    char name[96];
    full_name(name, sizeof name, pattern, layer);
    const s2v_gguf_tensor *t = find_weight(loader, name, use, ne0, ne1, ne2, is_optional);
    if (!t) return NULL;
    const bool is_half = t->type == GGML_TYPE_F16 || t->type == GGML_TYPE_BF16;
    const bool is_exact = loader->as_f32 || s2v_gguf_n_bytes(loader->file) < SMALL_FILE;
    const bool widen = is_exact && use == S2V_USE_MATRIX && is_half;
    const enum ggml_type type = widen ? GGML_TYPE_F32 : (enum ggml_type)t->type;
    ggml_backend_buffer_type_t buffer = place_weight(loader, type, use, ne0, ne1, ne2);
    item it = { .source = t };
    if (widen)
        it.fill = fill_f32;
    else if (!buffer && !is_aligned(t))
        it.fill = fill_plain;
    struct ggml_tensor *tensor = add_item(loader, buffer, type, ne0, ne1, ne2, it);
    if (tensor) ggml_set_name(tensor, name);
    const bool is_mapped = tensor && !buffer && !it.fill;
    if (is_mapped && use != S2V_USE_ROWS) loader->weights->n_mapped_bytes += t->n_bytes;
    return tensor;
}

struct ggml_tensor *s2v_loader_get(s2v_loader *loader, const char *name, int32_t layer, s2v_use use,
                                   int64_t ne0, int64_t ne1)
{
    return get_weight(loader, name, layer, use, ne0, ne1, 1, false);
}

struct ggml_tensor *s2v_loader_try(s2v_loader *loader, const char *name, int32_t layer, s2v_use use,
                                   int64_t ne0, int64_t ne1)
{
    return get_weight(loader, name, layer, use, ne0, ne1, 1, true);
}

struct ggml_tensor *s2v_loader_experts(s2v_loader *loader, const char *name, int32_t layer,
                                       int64_t ne0, int64_t ne1, int64_t n)
{
    return get_weight(loader, name, layer, S2V_USE_MATRIX, ne0, ne1, n, false);
}

/* --- padded and summed tensors ------------------------------------------------ */

static void fill_padded(const item *it, uint8_t *out)
{
    const s2v_gguf_tensor *t = it->source;
    const size_t from = ggml_row_size((enum ggml_type)t->type, t->ne[0]);
    const size_t to = ggml_row_size((enum ggml_type)t->type, it->tensor->ne[0]);
    memset(out, 0, to * (size_t)it->tensor->ne[1]);
    for (int64_t r = 0; r < t->ne[1]; r++)
        memcpy(out + (size_t)r * to, t->data + (size_t)r * from, from);
}

struct ggml_tensor *s2v_loader_padded(s2v_loader *loader, const char *pattern, int32_t layer,
                                      int64_t ne0, int64_t ne1, int64_t to0, int64_t to1)
{
    if (ne0 == to0 && ne1 == to1)
        return s2v_loader_get(loader, pattern, layer, ne1 == 1 ? S2V_USE_VECTOR : S2V_USE_MATRIX,
                              ne0, ne1);
    char name[96];
    full_name(name, sizeof name, pattern, layer);
    const s2v_use use = ne1 == 1 ? S2V_USE_VECTOR : S2V_USE_MATRIX;
    const s2v_gguf_tensor *t = find_weight(loader, name, use, ne0, ne1, 1, false);
    if (!t) return NULL;
    if (to0 % ggml_blck_size((enum ggml_type)t->type) != 0) { /* rows grow by whole blocks only */
        loader->status =
            s2_fail(loader->error, S2P_EUNSUPPORTED,
                    "%s of type %s and %lld columns cannot be padded to %lld", name,
                    ggml_type_name((enum ggml_type)t->type), (long long)ne0, (long long)to0);
        return NULL;
    }
    ggml_backend_buffer_type_t buffer =
        place_weight(loader, (enum ggml_type)t->type, use, to0, to1, 1);
    struct ggml_tensor *tensor = add_item(loader, buffer, (enum ggml_type)t->type, to0, to1, 1,
                                          (item){ .source = t, .fill = fill_padded });
    if (tensor) ggml_set_name(tensor, name);
    return tensor;
}

static void fill_sum(const item *it, uint8_t *out)
{
    const int64_t to = it->tensor->ne[0], rows = it->tensor->ne[1];
    const int64_t from = it->source->ne[0] * it->source->ne[1] * it->source->ne[2];
    float *values = (float *)(void *)out;
    memset(out, 0, (size_t)(to * rows) * sizeof *values);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < from; i++)
            values[r * to + i] = element_of(it->source, r * from + i) +
                                 (it->second ? element_of(it->second, r * from + i) : 0.0f);
}

static const s2v_gguf_tensor *find_kernel(s2v_loader *loader, const char *name, const int64_t ne[4])
{
    if (loader->status != S2P_OK) return NULL;
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(loader->file, name);
    if (!t) {
        loader->status = s2_fail(loader->error, S2P_EFORMAT, "the model has no tensor '%s'", name);
        return NULL;
    }
    const bool is_float =
        t->type == GGML_TYPE_F32 || t->type == GGML_TYPE_F16 || t->type == GGML_TYPE_BF16;
    if (!is_float || memcmp(t->ne, ne, sizeof t->ne) != 0) {
        loader->status = s2_fail(
            loader->error, S2P_EFORMAT,
            "%s is [%lld, %lld, %lld, %lld], expected floats [%lld, %lld, %lld, %lld]", name,
            (long long)t->ne[0], (long long)t->ne[1], (long long)t->ne[2], (long long)t->ne[3],
            (long long)ne[0], (long long)ne[1], (long long)ne[2], (long long)ne[3]);
        return NULL;
    }
    return t;
}

struct ggml_tensor *s2v_loader_sum(s2v_loader *loader, const char *first, const char *second,
                                   const int64_t ne[4], int64_t to0)
{
    const s2v_gguf_tensor *a = find_kernel(loader, first, ne);
    const s2v_gguf_tensor *b = a && second ? find_kernel(loader, second, ne) : NULL;
    if (loader->status != S2P_OK) return NULL;
    ggml_backend_buffer_type_t buffer =
        place_weight(loader, GGML_TYPE_F32, S2V_USE_MATRIX, to0, ne[3], 1);
    struct ggml_tensor *tensor = add_item(loader, buffer, GGML_TYPE_F32, to0, ne[3], 1,
                                          (item){ .source = a, .second = b, .fill = fill_sum });
    if (tensor) ggml_set_name(tensor, first);
    return tensor;
}

/* --- computed tensors ------------------------------------------------------------ */

static void fill_powers(const item *it, uint8_t *out)
{
    float *values = (float *)(void *)out;
    const int64_t n = it->tensor->ne[0];
    for (int64_t i = 0; i < n; i++) values[i] = (float)pow(it->base, (double)i / (double)n);
}

struct ggml_tensor *s2v_loader_powers(s2v_loader *loader, double base, int64_t n)
{
    if (loader->status != S2P_OK) return NULL;
    ggml_backend_buffer_type_t buffer =
        place_weight(loader, GGML_TYPE_F32, S2V_USE_VECTOR, n, 1, 1);
    return add_item(loader, buffer, GGML_TYPE_F32, n, 1, 1,
                    (item){ .fill = fill_powers, .base = base });
}

/* --- packed and joined tensors ------------------------------------------------- */

bool s2v_loader_packs(const s2v_loader *loader, const char *prefix)
{
    const size_t n = strlen(prefix);
    for (size_t i = 0; i < s2v_gguf_n_tensors(loader->file); i++) {
        const s2v_gguf_tensor *t = s2v_gguf_tensor_at(loader->file, i);
        if (t->ne[1] == 1 || t->name.size < n || memcmp(t->name.data, prefix, n) != 0) continue;
        if (!s2v_kernels_for(loader->kernels, loader->quant_kernels, t)) return false;
    }
    return loader->kernels && !loader->on_device;
}

const s2v_kernels *s2v_loader_origin(s2v_loader *loader, const char *const *pattern, int32_t layer,
                                     s2v_packed *packed, s2v_origin *origin)
{
    char name[96];
    const s2v_kernels *kernels = loader->kernels;
    bool is_quantized = false;
    *origin = (s2v_origin){ { NULL } };
    for (int32_t i = 0; i < packed->n_parts; i++) {
        full_name(name, sizeof name, pattern[i], layer);
        const s2v_gguf_tensor *t =
            find_weight(loader, name, S2V_USE_MATRIX, packed->k, packed->n, 1, false);
        if (!t) return NULL;
        origin->part[i] = t;
        loader->weights->n_tower_bytes += t->n_bytes;
        const s2v_kernels *own = s2v_kernels_for(loader->kernels, loader->quant_kernels, t);
        if (!own) {
            loader->status = s2_fail(loader->error, S2P_EUNSUPPORTED,
                                     "%s has type %s, which the tower's kernels do not read", name,
                                     ggml_type_name((enum ggml_type)t->type));
            return NULL;
        }
        is_quantized = is_quantized || ggml_is_quantized((enum ggml_type)t->type);
        if (is_quantized) kernels = loader->quant_kernels;
    }
    loader->n_matrices++;
    loader->n_quantized += is_quantized;
    packed->type = kernels->stored(s2v_origin_type(origin, packed->n_parts));
    return kernels;
}

static void fill_joined(const item *it, uint8_t *out)
{
    const s2v_gguf_tensor *part[3] = { it->source, it->second, it->third };
    for (int i = 0; i < 3 && part[i]; i++, out += part[i - 1]->n_bytes)
        memcpy(out, part[i]->data, (size_t)part[i]->n_bytes);
}

struct ggml_tensor *s2v_loader_joined(s2v_loader *loader, const char *const *pattern,
                                      int32_t n_names, int32_t layer, int64_t n)
{
    if (n_names == 1) return s2v_loader_get(loader, pattern[0], layer, S2V_USE_VECTOR, n, 1);
    char name[96];
    const s2v_gguf_tensor *part[3] = { NULL, NULL, NULL };
    for (int32_t i = 0; i < n_names; i++) {
        full_name(name, sizeof name, pattern[i], layer);
        part[i] = find_weight(loader, name, S2V_USE_VECTOR, n, 1, 1, false);
        if (!part[i]) return NULL;
    }
    return add_item(
        loader, NULL, GGML_TYPE_F32, n * n_names, 1, 1,
        (item){ .source = part[0], .second = part[1], .third = part[2], .fill = fill_joined });
}

uint64_t s2v_loader_bytes(const s2v_loader *loader) { return loader->weights->n_bytes; }

uint64_t s2v_loader_device_bytes(const s2v_loader *loader)
{
    return loader->weights->n_device_bytes;
}

/* --- moving ------------------------------------------------------------------- */

/* Point the tensors of a mapped group into the mapping. */
static s2p_status map_group(s2v_loader *loader, group *g)
{
    const uintptr_t page = 4096;
    uintptr_t low = UINTPTR_MAX, high = 0;
    size_t largest = 0;
    for (size_t i = 0; i < g->n_items; i++) {
        const s2v_gguf_tensor *t = g->items[i].source;
        const uintptr_t at = (uintptr_t)t->data;
        if (at < low) low = at;
        if (at + t->n_bytes > high) high = at + (uintptr_t)t->n_bytes;
        if (t->n_bytes > largest) largest = (size_t)t->n_bytes;
    }
    low -= low % page; /* the mapping starts on a page */
    g->buffer = ggml_backend_dev_buffer_from_host_ptr(loader->devices->cpu, (void *)low, high - low,
                                                      largest);
    if (!g->buffer) return s2_fail(loader->error, S2P_ENOMEM, "cannot map the weights");
    for (size_t i = 0; i < g->n_items; i++)
        if (ggml_backend_tensor_alloc(g->buffer, g->items[i].tensor,
                                      (void *)(uintptr_t)g->items[i].source->data) !=
            GGML_STATUS_SUCCESS)
            return s2_fail(loader->error, S2P_EFORMAT, "cannot map the weights");
    return S2P_OK;
}

static s2p_status set_item(s2v_loader *loader, const item *it)
{
    const size_t n = ggml_nbytes(it->tensor);
    if (!it->fill) {
        ggml_backend_tensor_set(it->tensor, it->source->data, 0, n);
        return S2P_OK;
    }
    uint8_t *bytes = malloc(n);
    if (!bytes) return s2_fail_memory(loader->error, n, it->tensor->name);
    it->fill(it, bytes);
    ggml_backend_tensor_set(it->tensor, bytes, 0, n);
    free(bytes);
    return S2P_OK;
}

static s2p_status copy_group(s2v_loader *loader, group *g, uint64_t *done, uint64_t total,
                             s2v_progress_callback progress, void *user)
{
    size_t touched = 0;
    for (size_t i = 0; i < g->n_items; i++) {
        const s2p_status st = set_item(loader, &g->items[i]);
        if (st != S2P_OK) return st;
        const size_t n = ggml_nbytes(g->items[i].tensor);
        *done += n;
        touched += n;
        if (touched > RELEASE_EVERY) { /* never the whole file and its copy in memory at once */
            s2v_gguf_release_pages(g->items[i].file);
            touched = 0;
        }
        if (progress && progress("loading weights", (double)*done / (double)total, user) != 0)
            return s2_fail(loader->error, S2P_ECANCELLED, "loading was cancelled");
    }
    return S2P_OK;
}

s2p_status s2v_loader_finish(s2v_loader *loader, s2v_progress_callback progress, void *user)
{
    uint64_t done = 0;
    s2v_weights *w = loader->weights;
    for (size_t g = 0; loader->status == S2P_OK && g < w->n_groups; g++) {
        group *to = &w->groups[g];
        if (to->n_items == 0) continue;
        if (!to->type) {
            loader->status = map_group(loader, to);
            continue;
        }
        to->buffer = ggml_backend_alloc_ctx_tensors_from_buft(to->ctx, to->type);
        if (!to->buffer)
            return loader->status =
                       s2_fail(loader->error, S2P_ENOMEM, "out of memory: %llu bytes of weights",
                               (unsigned long long)w->n_bytes);
        ggml_backend_dev_t device = ggml_backend_buft_get_device(to->type);
        if (device && ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU)
            s2v_huge_pages(ggml_backend_buffer_get_base(to->buffer),
                           ggml_backend_buffer_get_size(to->buffer));
    }
    for (size_t g = 0; loader->status == S2P_OK && g < w->n_groups; g++) {
        group *to = &w->groups[g];
        if (to->n_items == 0) continue;
        if (to->type) loader->status = copy_group(loader, to, &done, w->n_bytes, progress, user);
        if (loader->status == S2P_OK)
            ggml_backend_buffer_set_usage(to->buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        free(to->items);
        to->items = NULL;
        to->n_items = 0;
    }
    return loader->status;
}

s2p_status s2v_loader_outline(s2v_loader *loader)
{
    s2v_weights *w = loader->weights;
    for (size_t g = 0; loader->status == S2P_OK && g < w->n_groups; g++) {
        group *to = &w->groups[g];
        ggml_backend_buffer_type_t type =
            to->type ? to->type : ggml_backend_dev_buffer_type(loader->devices->cpu);
        to->buffer = s2v_place_outline(to->ctx, type);
        if (!to->buffer)
            loader->status = s2_fail(loader->error, S2P_ENOMEM, "out of memory for an outline");
        else
            ggml_backend_buffer_set_usage(to->buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }
    return loader->status;
}
