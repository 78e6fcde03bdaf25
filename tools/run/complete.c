/* complete.c - commands at the start of a line, files elsewhere.
 *
 * After a command all of the line is one name, blanks included, as the commands read it; in a question
 * a name is what stands after the last blank.
 */
#include "run/complete.h"

#include "base/markup.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_LISTED 60

typedef struct found { /* what all candidates begin with, after what is typed */
    s2_buffer *add, *list;
    int32_t n;
    bool is_folder; /* the last of them */
} found;

static void offer(found *f, const char *name, size_t n_typed, bool is_folder)
{
    const char *rest = name + n_typed;
    if (f->n == 0) {
        s2_buffer_append(f->add, rest, strlen(rest));
    } else {
        size_t n = 0;
        while (n < f->add->size && rest[n] && (char)f->add->data[n] == rest[n]) n++;
        f->add->size = n;
    }
    f->is_folder = is_folder;
    if (f->n++ < MOST_LISTED) s2_buffer_printf(f->list, "%s%s\n", name, is_folder ? "/" : "");
}

static bool is_text(const char *name)
{
    for (size_t left = strlen(name), n; left > 0; name += n, left -= n) {
        n = (unsigned char)*name < 0x80 ? (*name >= ' ' && *name != 0x7F)
                                        : s2_markup_character(name, left);
        if (n == 0) return false;
    }
    return true;
}

static bool is_a_folder(const char *folder, const char *name)
{
    char path[4096];
    struct stat about;
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* word: "pictures/ca", "~/x" or "ca". */
static void offer_files(found *f, const char *word)
{
    char folder[4096];
    const char *slash = strrchr(word, '/'), *typed = slash ? slash + 1 : word;
    const char *home = word[0] == '~' && word[1] == '/' ? getenv("HOME") : NULL;
    const char *start = home ? word + 1 : word;
    const int n = slash ? snprintf(folder, sizeof folder, "%s%.*s", home ? home : "",
                                   (int)(slash + 1 - start), start)
                        : snprintf(folder, sizeof folder, ".");
    if (n < 0 || (size_t)n >= sizeof folder) return;
    DIR *dir = opendir(folder);
    const size_t n_typed = strlen(typed);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *name = entry->d_name;
        const bool is_hidden = name[0] == '.' && typed[0] != '.';
        if (is_hidden || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (strncmp(name, typed, n_typed) == 0 && is_text(name))
            offer(f, name, n_typed, is_a_folder(folder, name));
    }
    if (dir) (void)closedir(dir);
}

/* Names may differ inside a character: it is left out. */
static void drop_half(s2_buffer *text)
{
    size_t at = text->size;
    while (at > 0 && (text->data[at - 1] & 0xC0) == 0x80) at--;
    if (at == 0 || text->data[at - 1] < 0x80) return;
    const uint8_t lead = text->data[at - 1];
    const size_t n = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (text->size - (at - 1) < n) text->size = at - 1;
}

void s2_complete(const char *line, size_t n, s2_word_at command, s2_buffer *add, s2_buffer *list)
{
    char text[4096];
    found f = { .add = add, .list = list };
    add->size = list->size = 0;
    if (n >= sizeof text) return;
    memcpy(text, line, n);
    text[n] = '\0';
    const char *blank = strchr(text, ' ');
    const bool is_command = text[0] == '/' && !blank;
    if (is_command) {
        for (size_t i = 0; command(i); i++)
            if (strncmp(command(i), text, n) == 0) offer(&f, command(i), n, false);
    } else {
        const char *word = text[0] == '/' ? blank + 1 : strrchr(text, ' ');
        offer_files(&f, text[0] == '/' ? word : word ? word + 1 : text);
    }
    const char *end = is_command ? " " : f.is_folder ? "/" : "";
    if (f.n == 1) s2_buffer_append(add, end, strlen(end));
    if (f.n > 1) drop_half(add);
    if (f.n <= 1 || add->size > 0) list->size = 0;
    if (f.n > MOST_LISTED && list->size > 0)
        s2_buffer_printf(list, "... and %d more\n", f.n - MOST_LISTED);
    if (add->status != S2P_OK) add->size = 0;
}
