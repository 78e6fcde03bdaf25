/* hub_choose.h - names of repositories and files, and which file is meant. */
#ifndef S2_TOOLS_HUB_CHOOSE_H
#define S2_TOOLS_HUB_CHOOSE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Index of the model: of the quantisation asked for; else Q4_K_M, Q8_0, the first. Below 0: none. */
int32_t s2_hub_choose_model(const s2_hub_file *file, int32_t n, const char *quant);

/* Index of its vision part: in the same folder first, F16 before BF16, F32 and others. */
int32_t s2_hub_choose_mmproj(const s2_hub_file *file, int32_t n, const char *model_path);

#endif /* S2_TOOLS_HUB_CHOOSE_H */
