/* run_corpus.c - feed every file of a folder to a fuzz target, as a plain test; then CASES more, which are accepted
 * files with small changes. At least half of these have to be accepted, or the code behind the parser is
 * not tested. */
#include "fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

#define MAX_BYTES ((size_t)1 << 20)

#define MAX_SEEDS 4096

static struct {
    uint8_t *bytes;
    size_t n;
} seeds[MAX_SEEDS]; /* inputs that were accepted */
static int n_seeds;

static bool run(const uint8_t *bytes, size_t n)
{
    uint8_t *exact = malloc(n ? n : 1); /* so that one byte too far is seen */
    if (!exact) abort();
    for (size_t i = 0; i < n; i++) exact[i] = bytes[i];
    fuzz_is_accepted = 0;
    (void)LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    return fuzz_is_accepted;
}

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(MAX_BYTES);
    if (!file || !bytes) return -1;
    const size_t n = fread(bytes, 1, MAX_BYTES, file);
    fclose(file);
    if (run(bytes, n) && n_seeds < MAX_SEEDS) {
        seeds[n_seeds].bytes = bytes;
        seeds[n_seeds++].n = n;
    } else {
        free(bytes);
    }
    return 0;
}

/* Accepted inputs with a byte or two changed; how many of them are accepted. */
static int run_changed(int n_cases)
{
    int n_accepted = 0;
    for (int i = 0; i < n_cases; i++) {
        const int k = i % n_seeds;
        uint8_t *bytes = malloc(seeds[k].n + 1);
        if (!bytes) abort();
        for (size_t j = 0; j < seeds[k].n; j++) bytes[j] = seeds[k].bytes[j];
        fuzz_change(bytes, seeds[k].n, (uint32_t)i);
        n_accepted += run(bytes, seeds[k].n);
        free(bytes);
    }
    return n_accepted;
}

int main(int argc, char **argv)
{
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s CORPUS [CASES]\n", argv[0]);
        return 2;
    }
    int n = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        struct stat info;
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        if (run_file(path) != 0) {
            fprintf(stderr, "cannot read %s\n", path);
            return 1;
        }
        n++;
    }
    closedir(folder);
    const int n_cases = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    const int n_accepted = n_seeds > 0 ? run_changed(n_cases) : 0;
    printf("%d files, %d accepted; of %d cases like these %d accepted\n", n, n_seeds, n_cases,
           n_accepted);
    for (int i = 0; i < n_seeds; i++) free(seeds[i].bytes);
    return n > 0 && 2 * n_accepted >= n_cases ? 0 : 1;
}
