/* verify_hf_files.c - files and tensors a recorded case consists of. */
#include "verify/hf_case.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool s2_hf_find_file(const char *folder, const char *start, const char *end, bool has_mmproj,
                     char out[HF_PATH_CAPACITY])
{
    struct dirent **entries = NULL;
    const int n = scandir(folder, &entries, NULL, alphasort);
    bool found = false;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        const size_t length = strlen(name), tail = strlen(end);
        const bool fits = strncmp(name, start, strlen(start)) == 0 && length >= tail &&
                          strcmp(name + length - tail, end) == 0 &&
                          (strncmp(name, "mmproj", 6) == 0) == has_mmproj;
        if (fits && !found)
            found = snprintf(out, HF_PATH_CAPACITY, "%s/%s", folder, name) < HF_PATH_CAPACITY;
        free(entries[i]);
    }
    free(entries);
    return found;
}

void s2_hf_find_folder(const char *path, const char *arrays, char out[HF_PATH_CAPACITY])
{
    char unused[HF_PATH_CAPACITY], models[HF_PATH_CAPACITY];
    const char *slash = strrchr(path, '/');
    (void)snprintf(out, HF_PATH_CAPACITY, "%.*s", slash ? (int)(slash - path) : 1,
                   slash ? path : ".");
    const char *name = strrchr(out, '/') ? strrchr(out, '/') + 1 : out;
    char own[1024];
    (void)snprintf(own, sizeof own, "%.1000s", name);
    (void)snprintf(models, sizeof models, "%.4000s/gguf", out);
    if (!arrays || s2_hf_find_file(models, "", ".gguf", false, unused)) return;
    static const char *const below[] = { "", "/hf", "/families" };
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        char folder[HF_PATH_CAPACITY];
        (void)snprintf(folder, sizeof folder, "%.2000s%s/%.1000s", arrays, below[i], own);
        (void)snprintf(models, sizeof models, "%.4000s/gguf", folder);
        if (!s2_hf_find_file(models, "", ".gguf", false, unused)) continue;
        memcpy(out, folder, sizeof folder);
        return;
    }
}

void s2_hf_read_tower(hf_case *c)
{
    char models[HF_PATH_CAPACITY], path[HF_PATH_CAPACITY];
    s2v_gguf *mmproj;
    int64_t patch;
    s2v_text projector;
    c->patch = 14;
    (void)snprintf(models, sizeof models, "%.4000s/gguf", c->folder);
    if (!s2_hf_find_file(models, "mmproj", ".gguf", true, path) ||
        s2v_gguf_open(&mmproj, path, NULL) != S2P_OK)
        return;
    if (s2v_gguf_int(mmproj, "clip.vision.patch_size", &patch) && patch >= 1 && patch <= 64)
        c->patch = (int32_t)patch;
    c->is_stretched = s2v_gguf_string(mmproj, "clip.projector_type", &projector) &&
                      s2v_text_is(projector, "gemma3");
    s2v_gguf_close(mmproj);
}

bool s2_hf_text(const s2v_gguf *file, const char *key, char *out, size_t capacity)
{
    s2v_text text;
    if (!s2v_gguf_string(file, key, &text) || text.size >= capacity) return false;
    memcpy(out, text.data, text.size);
    out[text.size] = '\0';
    return true;
}

const float *s2_hf_floats(const s2v_gguf *file, const char *name, size_t *n)
{
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(file, name);
    if (!t || t->type != GGML_TYPE_F32 || (uintptr_t)t->data % sizeof(float) != 0) return NULL;
    *n = (size_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
    return (const float *)(const void *)t->data;
}

const int32_t *s2_hf_ints(const s2v_gguf *file, const char *name, size_t *n)
{
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(file, name);
    if (!t || t->type != GGML_TYPE_I32 || (uintptr_t)t->data % sizeof(int32_t) != 0) return NULL;
    *n = (size_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]);
    return (const int32_t *)(const void *)t->data;
}

s2p_status s2_hf_open_pair(const char *folder, const char *pair, const s2_verdict *verdict,
                           hf_engine_open open, s2v_engine **out, s2p_error *error)
{
    char models[HF_PATH_CAPACITY], model[HF_PATH_CAPACITY], mmproj[HF_PATH_CAPACITY], end[16];
    (void)snprintf(models, sizeof models, "%.4000s/gguf", folder);
    (void)snprintf(end, sizeof end, "%s.gguf", pair);
    if (!s2_hf_find_file(models, "", end, false, model) ||
        !s2_hf_find_file(models, "mmproj", end, true, mmproj))
        return s2_fail(error, S2P_EIO, "no %s pair in gguf/", pair);
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = model;
    options.mmproj_path = mmproj;
    s2_verdict_place(verdict, &options);
    return open(out, &options, error);
}
