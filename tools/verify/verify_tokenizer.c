/* verify_tokenizer.c - texts and their tokens against a vocabulary: goldens/tokenizer, and
 * tokenizer_cases.json of a family.
 *
 * The cases belong to the vocabulary beside them, the one model file of their folder or of gguf/ in it. It
 * takes longer to load than any case to run, so a file is checked as a whole. The texts may
 * hold U+0000, which other goldens must not.
 */
#include "verify/checks.h"

#include "base/file.h"
#include "text/tokenizer.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define PATH_CAPACITY 4096

/* "a/tokenizer/cases.json" -> the length of "a/tokenizer", 0 when there is no folder. */
static size_t folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

static bool ends_with(const char *text, size_t n, const char *suffix)
{
    const size_t m = strlen(suffix);
    return n > m && memcmp(text + n - m, suffix, m) == 0;
}

bool s2_golden_is_tokenizer(const char *path)
{
    const size_t n = strlen(path);
    return ends_with(path, n, "/tokenizer_cases.json") ||
           (ends_with(path, n, ".json") && ends_with(path, folder_of(path), "/tokenizer"));
}

/* The first model file, by name, in `folder`. */
static bool first_model(const char *folder, char out[PATH_CAPACITY])
{
    char first[256] = "";
    DIR *dir = opendir(folder);
    if (!dir) return false;
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        const char *name = entry->d_name;
        const bool is_model = ends_with(name, strlen(name), ".gguf") &&
                              strncmp(name, "mmproj", 6) != 0 && strlen(name) < sizeof first;
        if (is_model && (!first[0] || strcmp(name, first) < 0))
            memcpy(first, name, strlen(name) + 1);
    }
    closedir(dir);
    return first[0] && snprintf(out, PATH_CAPACITY, "%s/%s", folder, first) < PATH_CAPACITY;
}

/* Beside the cases, else where --arrays says. */
static bool find_vocabulary(const char *path, const char *arrays, char out[PATH_CAPACITY])
{
    char folder[PATH_CAPACITY];
    (void)snprintf(folder, sizeof folder, "%.*s/gguf", (int)folder_of(path), path);
    if (first_model(folder, out)) return true;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)folder_of(path), path);
    if (first_model(folder, out)) return true;
    if (!arrays) return false;
    (void)snprintf(folder, sizeof folder, "%.4000s/tokenizer", arrays);
    return first_model(folder, out) || first_model(arrays, out);
}

static s2v_tokenizer *load_vocabulary(const char *path, const char *arrays, s2_verdict *verdict)
{
    char vocabulary[PATH_CAPACITY];
    s2v_gguf *file = NULL;
    s2v_tokenizer *tokenizer = NULL;
    s2p_error error = { S2P_OK, "" };
    if (!find_vocabulary(path, arrays, vocabulary))
        s2_malformed(verdict, "no .gguf vocabulary next to the cases or in --arrays");
    else if (s2v_gguf_open(&file, vocabulary, &error) != S2P_OK ||
             s2v_tokenizer_create(&tokenizer, file, &error) != S2P_OK)
        s2_malformed(verdict, "%s", error.message);
    s2v_gguf_close(file);
    return tokenizer;
}

static json_t *load_cases(const char *path, s2_verdict *verdict)
{
    s2_buffer text;
    s2_buffer_init(&text, S2_GOLDEN_MAX_BYTES);
    s2p_error error = { S2P_OK, "" };
    json_error_t why;
    json_t *root = NULL;
    if (s2_file_read(path, &text, &error) != S2P_OK)
        s2_malformed(verdict, "%s", error.message);
    else if (!(root = json_loadb((const char *)text.data, text.size,
                                 JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why)))
        s2_malformed(verdict, "not valid JSON at line %d, column %d", why.line, why.column);
    s2_buffer_free(&text);
    json_t *cases = json_incref(json_is_array(root) ? root : json_object_get(root, "cases"));
    if (root && json_array_size(cases) == 0) s2_malformed(verdict, "no cases");
    json_decref(root);
    return cases;
}

static void check_case(const s2v_tokenizer *tokenizer, const json_t *c, s2_verdict *verdict)
{
    const json_t *text = json_object_get(c, "text"), *ids = json_object_get(c, "ids");
    const json_t *decoded = json_object_get(c, "decoded");
    if (!json_is_string(text) || !json_is_array(ids) || (decoded && !json_is_string(decoded))) {
        s2_malformed(verdict, "'text', 'ids' or 'decoded' is missing or of another kind");
        return;
    }
    s2v_tokens tokens = { .id = NULL };
    s2p_error error = { S2P_OK, "" };
    if (s2v_tokenize(tokenizer, json_string_value(text), json_string_length(text), true, &tokens,
                     &error) != S2P_OK)
        s2_differs(verdict, "refused: %s", error.message);
    else
        s2_same_number(verdict, "number of tokens", (int64_t)json_array_size(ids),
                       (int64_t)tokens.n);
    for (size_t i = 0; i < tokens.n && !verdict->case_failed; i++) {
        const int64_t expected = json_integer_value(json_array_get(ids, i));
        if (expected != tokens.id[i])
            s2_differs(verdict, "expected token %lld at %zu, got %d", (long long)expected, i,
                       tokens.id[i]);
    }
    s2_buffer bytes, whole; /* the tokens together, as one text */
    s2_buffer_init(&bytes, S2_GOLDEN_MAX_BYTES);
    s2_buffer_init(&whole, S2_GOLDEN_MAX_BYTES);
    if (decoded && !verdict->case_failed) {
        s2v_detokenizer state = { .n_held = 0 };
        for (size_t i = 0; i < tokens.n; i++)
            s2v_token_bytes(tokenizer, tokens.id[i], true, &bytes);
        s2v_detokenize_bytes(&state, bytes.data, bytes.size, &whole);
        s2v_detokenize_end(&state, &whole);
        const size_t n = json_string_length(decoded);
        if (whole.size != n || (n > 0 && memcmp(whole.data, json_string_value(decoded), n) != 0))
            s2_differs(verdict, "decoded: expected '%.80s', got '%.*s'", json_string_value(decoded),
                       (int)(whole.size < 80 ? whole.size : 80),
                       whole.data ? (const char *)whole.data : "");
    }
    s2_buffer_free(&bytes);
    s2_buffer_free(&whole);
    s2v_tokens_free(&tokens);
}

void s2_golden_check_tokenizer(const char *path, const char *arrays, s2_verdict *verdict)
{
    *verdict = (s2_verdict){ .n_cases = 1, .label = "file" };
    s2_buffer_init(&verdict->lines, 4096);
    json_t *cases = load_cases(path, verdict);
    s2v_tokenizer *tokenizer = verdict->case_failed ? NULL : load_vocabulary(path, arrays, verdict);
    verdict->n_failed = verdict->case_failed;
    if (tokenizer) {
        verdict->n_cases = json_array_size(cases);
        for (size_t i = 0; i < verdict->n_cases; i++) {
            (void)snprintf(verdict->label, sizeof verdict->label, "case %zu", i);
            verdict->case_failed = false;
            check_case(tokenizer, json_array_get(cases, i), verdict);
            verdict->n_failed += verdict->case_failed;
        }
    }
    s2v_tokenizer_free(tokenizer);
    json_decref(cases);
}
