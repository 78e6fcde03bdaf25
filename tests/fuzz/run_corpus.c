/* run_corpus.c - feed every file of a folder to a fuzz target, as a plain test. */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

#define MAX_BYTES ((size_t)1 << 20)

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(MAX_BYTES);
    if (!file || !bytes) return -1;
    const size_t n = fread(bytes, 1, MAX_BYTES, file);
    uint8_t *exact = malloc(n ? n : 1); /* so that one byte too far is seen */
    if (!exact) return -1;
    for (size_t i = 0; i < n; i++) exact[i] = bytes[i];
    (void)LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    free(bytes);
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *folder = argc > 1 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
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
    printf("%d files\n", n);
    return n > 0 ? 0 : 1;
}
