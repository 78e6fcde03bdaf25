/* hub_choose.c - the same choice as llama.cpp makes, so that both find each other's files. */
#include "hub/hub_steps.h"

#include "base/path.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Letters, digits, '-', '_' and '.', not beginning with a dot. */
static bool is_plain(const char *text, size_t n)
{
    if (n == 0 || text[0] == '.') return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i])) return false;
    return true;
}

s2p_status s2_hub_read_name(const char *text, s2_hub_repo *out, s2p_error *error)
{
    const char *slash = strchr(text, '/'), *colon = strchr(text, ':');
    const char *end = colon ? colon : text + strlen(text);
    const size_t n_user = slash ? (size_t)(slash - text) : 0;
    const size_t n_repo = slash && slash < end ? (size_t)(end - slash - 1) : 0;
    const size_t n_quant = colon ? strlen(colon + 1) : 0;
    const bool is_name = n_user < S2_HUB_NAME && n_repo < S2_HUB_NAME && n_quant < S2_HUB_NAME &&
                         is_plain(text, n_user) && is_plain(text + n_user + 1, n_repo) &&
                         (!colon || is_plain(colon + 1, n_quant));
    if (!is_name)
        return s2_fail(error, S2P_EINVAL,
                       "'%.100s' is not the name of a repository, like user/repo or user/repo:Q8_0",
                       text);
    *out = (s2_hub_repo){ .user = "" };
    memcpy(out->user, text, n_user);
    memcpy(out->repo, text + n_user + 1, n_repo);
    if (colon) memcpy(out->quant, colon + 1, n_quant);
    return S2P_OK;
}

bool s2_hub_is_file_name(const char *path)
{
    if (!s2_path_has_suffix(path, ".gguf") || strlen(path) >= sizeof((s2_hub_file *)0)->path)
        return false;
    while (*path) {
        const size_t n = strcspn(path, "/");
        if (!is_plain(path, n)) return false;
        path += n;
        if (*path == '/' && !*++path) return false;
    }
    return true;
}

/* The text, whatever its case, with '.' or '-' behind it. */
static bool has_part(const char *name, const char *part)
{
    const size_t n = strlen(part);
    for (; *name; name++)
        if (strncasecmp(name, part, n) == 0 && (name[n] == '.' || name[n] == '-')) return true;
    return false;
}

static bool contains(const char *name, const char *word)
{
    for (; *name; name++)
        if (strncasecmp(name, word, strlen(word)) == 0) return true;
    return false;
}

/* "-00001-of-00003.gguf": one model in several files, which is not read here. */
static bool is_split(const char *name) { return contains(name, "-of-0"); }

static bool is_model(const char *path)
{
    static const char *const others[] = { "mmproj", "imatrix", "mtp-", "draft" };
    const char *name = s2_base_name(path);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (contains(name, others[i])) return false;
    return !is_split(name);
}

int32_t s2_hub_choose_model(const s2_hub_file *file, int32_t n, const char *quant)
{
    const char *wanted[] = { quant[0] ? quant : "Q4_K_M", quant[0] ? NULL : "Q8_0" };
    for (size_t w = 0; w < 2 && wanted[w]; w++)
        for (int32_t i = 0; i < n; i++)
            if (is_model(file[i].path) && has_part(s2_base_name(file[i].path), wanted[w])) return i;
    for (int32_t i = 0; !quant[0] && i < n; i++)
        if (is_model(file[i].path)) return i;
    return -1;
}

void s2_hub_list_models(const s2_hub_file *file, int32_t n, char *out, size_t capacity)
{
    out[0] = '\0';
    for (int32_t i = 0; i < n; i++) {
        const char *name = s2_base_name(file[i].path);
        const size_t used = strlen(out), n_name = strlen(name);
        if (!is_model(file[i].path)) continue;
        if (used + n_name + 8 > capacity) {
            (void)snprintf(out + used, capacity - used, ", ...");
            return;
        }
        (void)snprintf(out + used, capacity - used, "%s%s", used > 0 ? ", " : "", name);
    }
}

int32_t s2_hub_choose_mmproj(const s2_hub_file *file, int32_t n, const char *model_path)
{
    static const char *const types[] = { "-f16", "-bf16", "-f32", "-q8_0", "" };
    const size_t n_folder = (size_t)(s2_base_name(model_path) - model_path);
    for (int is_any = 0; is_any < 2; is_any++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (int32_t i = 0; i < n; i++) {
                const char *path = file[i].path, *name = s2_base_name(path);
                const bool is_beside =
                    (size_t)(name - path) == n_folder && memcmp(path, model_path, n_folder) == 0;
                if ((is_any || is_beside) && contains(name, "mmproj") && contains(name, types[t]))
                    return i;
            }
    return -1;
}
