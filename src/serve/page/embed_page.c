/* embed_page.c - a program of the build: the files of a folder as one C file.
 *
 *     s2_embed_page web/dist page_assets.c
 *
 * Each file as it is and packed by gzip, with its type and a tag of its contents. Without the folder the
 * page is one sentence.
 */
#include "base/file.h"
#include "base/path.h"
#include "base/sha256.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define MAX_FILE ((size_t)8 << 20)
#define MAX_FILES 256

typedef struct list {
    char *path[MAX_FILES]; /* below the folder, with '/' in front */
    int n;
} list;

static const char *type_of(const char *path)
{
    static const char *const types[][2] = {
        { ".html", "text/html; charset=utf-8" },
        { ".js", "text/javascript; charset=utf-8" },
        { ".css", "text/css; charset=utf-8" },
        { ".svg", "image/svg+xml" },
        { ".png", "image/png" },
        { ".jpg", "image/jpeg" },
        { ".webp", "image/webp" },
        { ".json", "application/json" },
        { ".ico", "image/x-icon" },
        { ".txt", "text/plain; charset=utf-8" },
        { ".woff2", "font/woff2" },
        { ".webmanifest", "application/manifest+json" },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (s2_path_has_suffix(path, types[i][0])) return types[i][1];
    return "application/octet-stream";
}

static void find_files(const char *folder, const char *below, list *out)
{
    char *path = s2_path_in(folder, below[0] ? below + 1 : ".");
    DIR *dir = path ? opendir(path) : NULL;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) && out->n < MAX_FILES) {
        char name[1024];
        struct stat info;
        if (entry->d_name[0] == '.') continue;
        (void)snprintf(name, sizeof name, "%.500s/%.255s", below, entry->d_name);
        char *whole = s2_path_in(folder, name + 1);
        if (whole && stat(whole, &info) == 0 && S_ISDIR(info.st_mode))
            find_files(folder, name, out);
        else if (whole)
            out->path[out->n++] = strdup(name);
        free(whole);
    }
    if (dir) (void)closedir(dir);
    free(path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* No time and no name in it: the same file gives the same bytes. */
static size_t pack(const uint8_t *data, size_t n, uint8_t *out, size_t room)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)data,
                   .avail_in = (uInt)n,
                   .next_out = out,
                   .avail_out = (uInt)room };
    if (deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    const int st = deflate(&z, Z_FINISH);
    (void)deflateEnd(&z);
    return st == Z_STREAM_END ? room - z.avail_out : 0;
}

static void put_bytes(s2_buffer *out, const char *name, int index, const uint8_t *data, size_t n)
{
    s2_buffer_printf(out, "static const uint8_t %s_%d[] = {", name, index);
    for (size_t i = 0; i < n; i++) s2_buffer_printf(out, "%s%u,", i % 24 ? "" : "\n", data[i]);
    s2_buffer_printf(out, "%s};\n", n ? "\n" : "0");
}

static void put_file(s2_buffer *out, s2_buffer *table, int index, const char *path,
                     const uint8_t *data, size_t n)
{
    const size_t room = n + 1024;
    uint8_t digest[32], *packed = malloc(room);
    char hex[S2_SHA256_HEX];
    size_t n_packed = packed ? pack(data, n, packed, room) : 0;
    if (n_packed >= n) n_packed = 0;
    s2_sha256(data, n, digest);
    s2_sha256_hex(digest, hex);
    put_bytes(out, "plain", index, data, n);
    put_bytes(out, "packed", index, packed, n_packed);
    s2_buffer_printf(table,
                     "    { \"%s\", \"%s\", \"\\\"%.16s\\\"\", plain_%d, packed_%d, %zu, %zu },\n",
                     strcmp(path, "/index.html") == 0 ? "/" : path, type_of(path), hex, index,
                     index, n, n_packed);
    free(packed);
}

int main(int argc, char **argv)
{
    static const char sentence[] = "<!doctype html><html lang=\"en\"><title>s2prune</title><p>This "
                                   "server has no page built in; its "
                                   "API is at /v1.</p></html>\n";
    s2p_error error = { S2P_OK, "" };
    list files = { .n = 0 };
    s2_buffer out, table;
    if (argc != 3) {
        (void)fprintf(stderr, "usage: s2_embed_page FOLDER FILE.c\n");
        return 2;
    }
    find_files(argv[1], "", &files);
    qsort(files.path, (size_t)files.n, sizeof *files.path, by_name);
    s2_buffer_init(&out, 16 * MAX_FILE);
    s2_buffer_init(&table, MAX_FILE);
    s2_buffer_printf(&out, "/* made by s2_embed_page */\n#include \"serve/front/page.h\"\n\n");
    s2p_status st = S2P_OK;
    for (int i = 0; st == S2P_OK && i < files.n; i++) {
        s2_buffer bytes;
        s2_buffer_init(&bytes, MAX_FILE);
        char *path = s2_path_in(argv[1], files.path[i] + 1);
        st = path ? s2_file_read(path, &bytes, &error) : S2P_ENOMEM;
        if (st == S2P_OK) put_file(&out, &table, i, files.path[i], bytes.data, bytes.size);
        s2_buffer_free(&bytes);
        free(path);
        free(files.path[i]);
    }
    if (files.n == 0)
        put_file(&out, &table, 0, "/index.html", (const uint8_t *)sentence, sizeof sentence - 1);
    s2_buffer_append(&table, "", 1);
    s2_buffer_printf(&out, "\nconst s2_asset s2_page_assets[] = {\n%s    { .path = 0 },\n};\n",
                     table.data ? (const char *)table.data : "");
    if (st == S2P_OK)
        st = out.status == S2P_OK ? s2_file_write(argv[2], out.data, out.size, &error) : out.status;
    if (st != S2P_OK) (void)fprintf(stderr, "s2_embed_page: %s\n", error.message);
    s2_buffer_free(&out);
    s2_buffer_free(&table);
    return st == S2P_OK ? 0 : 1;
}
