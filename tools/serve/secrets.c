/* secrets.c - lists of names: secrets by option and variable, and what the engine inherits. */
#if defined(__linux__)
#define _GNU_SOURCE /* environ, unsetenv */
#include <sys/prctl.h>
#endif
#include "serve/secrets.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__APPLE__)
extern char **environ;
#endif

bool s2_is_secret_option(const char *word, bool *takes_next)
{
    static const char *const names[] = { "--api-key", "--api-key-file", "--ssl-key-file",
                                         "--hf-token", "-hft" };
    *takes_next = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i]);
        if (strncmp(word, names[i], n) != 0 || (word[n] && word[n] != '=')) continue;
        *takes_next = word[n] == '\0';
        return true;
    }
    return false;
}

void s2_wipe_secret(const char *value)
{
    if (!value) return;
    /* memory of this process that the kernel filled; volatile: it is read by others only */
    volatile char *at = (volatile char *)(uintptr_t)value;
    for (size_t n = strlen(value); n > 0; n--) *at++ = '*';
}

/* "NAME=value": of these names, or of those that begin like this where it ends in '*'. */
static bool is_listed(const char *variable, const char *const *names, size_t n)
{
    const size_t n_name = strcspn(variable, "=");
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(names[i]);
        const bool is_prefix = names[i][length - 1] == '*';
        if (is_prefix ? strncmp(variable, names[i], length - 1) == 0
                      : n_name == length && memcmp(variable, names[i], length) == 0)
            return true;
    }
    return false;
}

static bool is_secret(const char *variable)
{
    static const char *const names[] = { "S2PRUNE_API_KEY*",      "S2PRUNE_HF_TOKEN",
                                         "S2PRUNE_SSL_KEY*",      "LLAMA_API_KEY",
                                         "LLAMA_ARG_API_KEY*",    "LLAMA_ARG_HF_TOKEN",
                                         "LLAMA_ARG_SSL_KEY*",    "HF_TOKEN",
                                         "HUGGING_FACE_HUB_TOKEN" };
    return is_listed(variable, names, sizeof names / sizeof *names);
}

void s2_hide_secrets(void)
{
#if defined(__linux__)
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
    for (char **at = environ; at && *at;) {
        char name[128];
        const size_t n = strcspn(*at, "=");
        if (!is_secret(*at) || n >= sizeof name) {
            at++;
            continue;
        }
        memcpy(name, *at, n);
        name[n] = '\0';
        s2_wipe_secret((*at)[n] ? *at + n + 1 : NULL);
        if (unsetenv(name) != 0) at++; /* otherwise the next one has its place */
    }
}

s2p_status s2_engine_environment(char ***out, s2p_error *error)
{
    /* Options and their values; where models lie; the C library, threads and devices. */
    static const char *const names[] = {
        "S2PRUNE_*",
        "LLAMA_ARG_*",
        "LLAMA_CACHE",
        "HF_HOME",
        "HF_HUB_CACHE",
        "HUGGINGFACE_HUB_CACHE",
        "XDG_CACHE_HOME",
        "XDG_DATA_*",
        "XDG_RUNTIME_DIR",
        "HOME",
        "PATH",
        "PWD",
        "TMPDIR",
        "TZ",
        "LANG",
        "LC_*",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "GLIBC_TUNABLES",
        "MALLOC_*",
        "GGML_*",
        "OMP_*",
        "GOMP_*",
        "KMP_*",
        "CUDA_*",
        "NVIDIA_*",
        "HIP_*",
        "HSA_*",
        "ROCR_*",
        "VK_*",
        "MESA_*",
        "ASAN_*",
        "UBSAN_*",
        "LSAN_*",
        "TSAN_*",
        "LLVM_PROFILE_FILE",
    };
    size_t n = 0, k = 0;
    while (environ && environ[n]) n++;
    char **list = calloc(n + 1, sizeof *list);
    if (!list)
        return s2_fail_memory(error, (n + 1) * sizeof *list, "the environment of the engine");
    for (size_t i = 0; i < n; i++)
        if (is_listed(environ[i], names, sizeof names / sizeof *names) && !is_secret(environ[i]))
            list[k++] = environ[i];
    *out = list;
    return S2P_OK;
}
