/* hub_steps.h - the steps of finding a model on a hub: names, caches, downloads. */
#ifndef S2_TOOLS_HUB_STEPS_H
#define S2_TOOLS_HUB_STEPS_H

#include "base/buffer.h"
#include "base/error.h"
#include "hub/hub.h"
#include "progress.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* hub_choose.c: names of repositories and files, and which file is meant. */
#define S2_HUB_NAME 128
#define S2_HUB_FILES 4096 /* most of a repository */

typedef struct s2_hub_repo {
    char user[S2_HUB_NAME], repo[S2_HUB_NAME], quant[S2_HUB_NAME]; /* quant "": none given */
} s2_hub_repo;

typedef struct s2_hub_file {
    char path[512];   /* below the repository: "Q4_K_M/model-Q4_K_M.gguf" */
    char sha256[65];  /* "" when the listing does not say */
    uint64_t n_bytes; /* 0 when unknown */
} s2_hub_file;

s2p_status s2_hub_read_name(const char *text, s2_hub_repo *out, s2p_error *error);

/* A relative path of plain names, ending in .gguf: nothing that could leave its folder. */
bool s2_hub_is_file_name(const char *path);

/* Index of the model: of the quantization asked for; else Q4_K_M, Q8_0, the first. Below 0: none. */
int32_t s2_hub_choose_model(const s2_hub_file *file, int32_t n, const char *quant);

/* File names of the models in one file, as far as there is room, for a sentence. */
void s2_hub_list_models(const s2_hub_file *file, int32_t n, char *out, size_t capacity);

/* Index of its vision part: in the same folder first, F16 before BF16, F32 and others. */
int32_t s2_hub_choose_mmproj(const s2_hub_file *file, int32_t n, const char *model_path);

/* hub_cache.c: the caches people already have. */
#define S2_HUB_CACHES 6

typedef struct s2_hub_caches { /* in the order they are looked into; downloads go to the first */
    int32_t n;
    char folder[S2_HUB_CACHES][S2_HUB_PATH];
} s2_hub_caches;

void s2_hub_caches_find(s2_env env, s2_hub_caches *out);

/* The pair as one of the caches holds it; false: not there. */
bool s2_hub_cache_find(const s2_hub_caches *caches, const s2_hub_repo *repo, s2_hub_pair *out);

/* hub_fetch.c: bytes from a hub over HTTP: a small document, or a file that may take hours. */
typedef struct s2_hub_server {
    const char *endpoint; /* "https://host" without a final slash */
    const char *token;    /* or NULL; sent to the endpoint only, not to where it redirects */
} s2_hub_server;

/* GET endpoint/path into an initialized buffer, whose max is the limit. */
s2p_status s2_hub_get(const s2_hub_server *server, const char *path, s2_buffer *out,
                      s2p_error *error);

/* GET endpoint/path into `target`, through `target`.partial: goes on where an earlier attempt stopped,
 * is renamed when all bytes are there and have the SHA-256 of `file`. One process at a time; others
 * wait. Wrong bytes are removed. */
s2p_status s2_hub_download(const s2_hub_server *server, const char *path, const s2_hub_file *file,
                           const char *target, s2_progress *progress, s2p_error *error);

#endif /* S2_TOOLS_HUB_STEPS_H */
