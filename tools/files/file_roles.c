/* file_roles.c - inputs and outputs of a command line, compared before anything is done.
 *
 * Two names are one file when device and inode are the same. A file that is not there yet is known
 * by its folder and its last name. Devices and pipes hold nothing that could be lost.
 */
#include "files/file_roles.h"

#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DEPTH 8
#define MAX_ENTRIES 200000 /* of a folder that is searched for an output */

typedef struct named { /* one value of the command line */
    const char *option, *path, *writes;
    s2_file_role role;
    s2_file_id file, folder; /* unknown while it is not there */
    bool is_regular, is_folder;
} named;

typedef struct named_list {
    named *item;
    size_t n, capacity;
    bool is_full; /* no memory */
} named_list;

/* --- what a name stands for ------------------------------------------------------------- */

static s2_file_id id_of(const struct stat *info)
{
    return (s2_file_id){ true, info->st_dev, info->st_ino };
}

s2_file_id s2_file_id_of(const char *path)
{
    struct stat info;
    if (strcmp(path, "-") == 0 || stat(path, &info) != 0) return (s2_file_id){ .is_known = false };
    return id_of(&info);
}

bool s2_file_id_same(s2_file_id a, s2_file_id b)
{
    return a.is_known && b.is_known && a.device == b.device && a.inode == b.inode;
}

/* The folder a name stands in; false: the name is too long for one. */
static bool folder_of(const char *path, char *out, size_t capacity)
{
    const size_t n = (size_t)(s2_base_name(path) - path);
    if (n >= capacity) return false;
    memcpy(out, n > 0 ? path : ".", n > 0 ? n : 1);
    out[n > 0 ? n : 1] = '\0';
    return true;
}

static void add(named_list *list, const char *option, const char *path, s2_file_role role,
                const char *writes)
{
    if (role == S2_FILE_NONE || !path || strcmp(path, "-") == 0) return;
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 16;
        named *item = realloc(list->item, capacity * sizeof *item);
        list->is_full |= !item;
        if (!item) return;
        list->item = item;
        list->capacity = capacity;
    }
    named *one = &list->item[list->n++];
    *one = (named){ .option = option, .path = path, .writes = writes, .role = role };
    struct stat info;
    char folder[4096];
    if (stat(path, &info) == 0) {
        one->file = id_of(&info);
        one->is_regular = S_ISREG(info.st_mode);
        one->is_folder = S_ISDIR(info.st_mode);
    }
    if (folder_of(path, folder, sizeof folder)) one->folder = s2_file_id_of(folder);
}

static void collect(const s2_command *command, const void *values, named_list *list)
{
    for (const s2_option *o = command->options; o->name; o++) {
        const void *field = (const char *)values + o->offset;
        const char *name = o->letters ? o->letters : o->name;
        const bool is_input = o->role == S2_FILE_NONE && o->type == S2_OPTION_FILE;
        if (o->type == S2_OPTION_LIST && o->role != S2_FILE_NONE)
            for (size_t i = 0; i < ((const s2_list *)field)->n; i++)
                add(list, name, ((const s2_list *)field)->item[i], o->role, o->writes);
        else if (is_input || o->role != S2_FILE_NONE)
            add(list, name, *(const char *const *)field, is_input ? S2_FILE_INPUT : o->role,
                o->writes);
    }
    if (!command->operand) return;
    const s2_list *operands = (const s2_list *)((const char *)values + command->operand_offset);
    for (size_t i = 0; i < operands->n; i++)
        add(list, NULL, operands->item[i], command->operand_role[i < 2 ? i : 2],
            command->operand_writes);
}

/* --- what must not meet ------------------------------------------------------------------- */

/* Is a file with that identity somewhere below the folder? */
static bool is_below(const char *folder, s2_file_id file, int depth, int *n_left)
{
    DIR *directory = depth < MAX_DEPTH ? opendir(folder) : NULL;
    if (!directory) return false;
    bool is_found = false;
    const struct dirent *entry;
    while (!is_found && (entry = readdir(directory)) && (*n_left)-- > 0) {
        char path[4096];
        struct stat info;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            continue;
        if (stat(path, &info) != 0) continue;
        is_found = s2_file_id_same(id_of(&info), file);
        if (!is_found && S_ISDIR(info.st_mode)) is_found = is_below(path, file, depth + 1, n_left);
    }
    (void)closedir(directory);
    return is_found;
}

/* Is `name` among the words of `names`, which may be NULL? */
static bool is_word(const char *names, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = names; at && *at; at += strspn(at, " ")) {
        const size_t word = strcspn(at, " ");
        if (word == n && memcmp(at, name, n) == 0) return true;
        at += word;
    }
    return false;
}

/* Does `folder`, an output, write a file under the name of `file`? */
static bool writes_into(const named *folder, const named *file)
{
    return folder->role == S2_FOLDER_OUTPUT && s2_file_id_same(folder->file, file->folder) &&
           is_word(folder->writes, s2_base_name(file->path));
}

static bool replaces(const named *output, const named *input)
{
    if (!input->file.is_known) return false;
    if (output->role == S2_FOLDER_OUTPUT)
        return (input->is_folder && s2_file_id_same(output->file, input->file)) ||
               writes_into(output, input);
    if (!output->is_regular) return false;
    int n_left = MAX_ENTRIES;
    return s2_file_id_same(output->file, input->file) ||
           (input->is_folder && is_below(input->path, output->file, 0, &n_left));
}

static bool is_twice(const named *a, const named *b)
{
    if (a->role != b->role) return writes_into(a, b) || writes_into(b, a);
    if (a->role == S2_FOLDER_OUTPUT) return false; /* a run's folder may be named twice */
    if (a->file.is_known != b->file.is_known) return false;
    if (a->file.is_known) return a->is_regular && s2_file_id_same(a->file, b->file);
    return s2_file_id_same(a->folder, b->folder) &&
           strcmp(s2_base_name(a->path), s2_base_name(b->path)) == 0;
}

/* "--png x.svg": the name says what the file will not be. */
static bool has_other_suffix(const named *output)
{
    static const char known[] = ".png .svg .jpg .jpeg .webp .gif .bmp .html .htm .json .jsonl .npy "
                                ".gguf .safetensors .sqlite .csv .tsv .md .tex .pdf .parquet";
    const char *dot = strrchr(s2_base_name(output->path), '.');
    return output->role == S2_FILE_OUTPUT && output->writes && dot && is_word(known, dot) &&
           !is_word(output->writes, dot);
}

/* "-i 'a.png'", or the bare name of an operand. */
static const char *said(const named *one, char out[300])
{
    (void)snprintf(out, 300, "%s%s'%.200s'", one->option ? one->option : "", one->option ? " " : "",
                   one->path);
    return out;
}

s2p_status s2_file_roles_check(const s2_command *command, const void *values, s2p_error *error)
{
    named_list list = { .n = 0 };
    collect(command, values, &list);
    s2p_status st = list.is_full ? s2_fail(error, S2P_ENOMEM, "no memory for the names") : S2P_OK;
    for (size_t i = 0; i < list.n && st == S2P_OK; i++) {
        const named *output = &list.item[i];
        char first[300], second[300];
        if (output->role == S2_FILE_INPUT) continue;
        if (has_other_suffix(output))
            st = s2_fail(error, S2P_EINVAL,
                         "%s: its name should end in %s, the format that is written",
                         said(output, first), output->writes);
        for (size_t k = 0; k < list.n && st == S2P_OK; k++) {
            const named *other = &list.item[k];
            const bool is_inside = output->role == S2_FILE_OUTPUT && other->is_folder;
            if (other->role == S2_FILE_INPUT && replaces(output, other))
                st = s2_fail(
                    error, S2P_EINVAL,
                    "%s would replace %s%s; an output never replaces an input; choose another name",
                    said(output, first), is_inside ? "a file of " : "", said(other, second));
            else if (k > i && other->role != S2_FILE_INPUT && is_twice(output, other))
                st = s2_fail(error, S2P_EINVAL,
                             "%s and %s are the same file; give each output its own file",
                             said(output, first), said(other, second));
        }
    }
    free(list.item);
    return st;
}

s2p_status s2_file_check_writable(const char *source, const char *path, s2p_error *error)
{
    char folder[4096];
    struct stat info;
    int code = 0;
    if (!folder_of(path, folder, sizeof folder))
        code = ENAMETOOLONG;
    else if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        code = EISDIR;
    else if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) /* written in place */
        code = access(path, W_OK) != 0 ? errno : 0;
    else if (access(folder, W_OK | X_OK) != 0)
        code = errno;
    if (code == 0) return S2P_OK;
    s2_fail(error, S2P_EIO, "%s: cannot write '%.200s': %s", source, path, strerror(code));
    errno = code;
    return S2P_EIO;
}
