/* identity.c - two files and a way to compute, as two digests. */
#include "engine/identity.h"

#include "base/sha256.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define SAMPLE 64 /* bytes */

static void add_number(s2_sha256_state *h, int64_t x) { s2_sha256_add(h, &x, sizeof x); }

static void add_name(s2_sha256_state *h, const char *name)
{
    add_number(h, (int64_t)strlen(name));
    s2_sha256_add(h, name, strlen(name));
}

static void add_sample(s2_sha256_state *h, const s2v_gguf_tensor *t, uint64_t at)
{
    const uint64_t left = t->n_bytes - at;
    s2_sha256_add(h, t->data + at, (size_t)(left < SAMPLE ? left : SAMPLE));
}

static s2p_status add_file(s2_sha256_state *h, const s2v_gguf *file, const char *path,
                           s2p_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return s2_fail(error, S2P_EIO, "cannot access '%s': %s", path, strerror(errno));
    add_number(h, (int64_t)s2v_gguf_n_bytes(file));
    add_number(h, (int64_t)info.st_mtim.tv_sec);
    add_number(h, (int64_t)info.st_mtim.tv_nsec);
    for (size_t i = 0; i < s2v_gguf_n_tensors(file); i++) {
        const s2v_gguf_tensor *t = s2v_gguf_tensor_at(file, i);
        const size_t n_header = s2v_gguf_data_offset(file);
        if (i == 0) s2_sha256_add(h, t->data - t->offset - n_header, n_header);
        add_sample(h, t, 0);
        add_sample(h, t, t->n_bytes / 2);
        add_sample(h, t, t->n_bytes > SAMPLE ? t->n_bytes - SAMPLE : 0);
    }
    return S2P_OK;
}

s2p_status s2v_identity_make(s2v_engine *engine, const char *text_path, const char *mmproj_path,
                             s2p_error *error)
{
    s2_sha256_state h;
    s2_sha256_start(&h);
    add_name(&h, s2p_version());
    add_name(&h, s2v_backend_version());
    for (size_t i = 0; s2v_kernels_at(i); i++) add_name(&h, s2v_kernels_at(i)->name);
    add_name(&h, engine->tower_kernels);
    add_name(&h, ggml_backend_dev_name(engine->devices.main));
    add_name(&h, ggml_backend_dev_description(engine->devices.main));
    add_number(&h, engine->offload.tower);
    TRY(add_file(&h, engine->mmproj, mmproj_path, error));
    s2_sha256_finish(&h, engine->identity.tower);

    s2_sha256_start(&h);
    s2_sha256_add(&h, engine->identity.tower, sizeof engine->identity.tower);
    add_number(&h, engine->offload.n_layers);
    TRY(add_file(&h, engine->text, text_path, error));
    s2_sha256_finish(&h, engine->identity.model);
    return S2P_OK;
}
