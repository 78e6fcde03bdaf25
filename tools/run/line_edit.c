/* line_edit.c - libedit where both ends are a terminal and it was there at build time.
 *
 * The line shows on standard error: standard output belongs to the answers. libedit reads characters by
 * the locale, so LC_CTYPE is set and nothing else of it. A terminal that is asked to marks what is pasted:
 * line ends in it then belong to the text.
 */
#include "run/line_edit.h"

#include "asking/interrupt.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef S2_HAS_LIBEDIT
#include <histedit.h>
#include <langinfo.h>
#include <wchar.h>
#endif

#define MAX_HISTORY 500
#define MAX_PASTED (1 << 20) /* characters */

struct s2_line_edit {
    bool is_terminal;
    const char *prompt;
    char *line;
    size_t capacity;
#ifdef S2_HAS_LIBEDIT
    EditLine *edit;
    History *history;
    s2_word_at command;
    s2_buffer add, list; /* scratch of s2_complete */
#endif
};

#ifdef S2_HAS_LIBEDIT
static char *prompt_of(EditLine *el)
{
    s2_line_edit *e = NULL;
    static char none[] = "";
    if (el_get(el, EL_CLIENTDATA, &e) != 0 || !e) return none;
    return (char *)(uintptr_t)e->prompt; /* libedit only reads it */
}

/* From the mark the terminal puts before what is pasted to the one behind it. */
static unsigned char insert_pasted(EditLine *el, int key)
{
    static const wchar_t end[] = L"\033[201~";
    const size_t n_end = wcslen(end);
    (void)key;
    wchar_t *text = calloc(MAX_PASTED + 1, sizeof *text), next;
    size_t n = 0;
    bool is_over = false;
    while (text && !is_over && el_wgetc(el, &next) == 1) {
        if (n < MAX_PASTED) text[n++] = next;
        is_over = n >= n_end && wmemcmp(text + n - n_end, end, n_end) == 0;
        if (n == MAX_PASTED && !is_over) memmove(text, text + 1, --n * sizeof *text);
    }
    if (is_over) n -= n_end;
    size_t used = 0; /* line ends as \n, no other control characters */
    wchar_t before = L'\0';
    for (size_t i = 0; i < n; i++) {
        const wchar_t raw = text[i], c = raw == L'\r' ? L'\n' : raw;
        const bool is_second = raw == L'\n' && before == L'\r';
        if (!is_second && (c >= L' ' || c == L'\n' || c == L'\t')) text[used++] = c;
        before = raw;
    }
    while (used > 0 && text[used - 1] == L'\n') used--;
    if (text) text[used] = L'\0';
    const bool is_in = used == 0 || el_winsertstr(el, text) == 0;
    free(text);
    return is_in ? CC_REFRESH : CC_ERROR;
}

static unsigned char complete_word(EditLine *el, int key)
{
    s2_line_edit *e = NULL;
    (void)key;
    const LineInfo *line = el_line(el);
    if (el_get(el, EL_CLIENTDATA, &e) != 0 || !e || !line) return CC_ERROR;
    s2_complete(line->buffer, (size_t)(line->cursor - line->buffer), e->command, &e->add, &e->list);
    if (e->list.size > 0) {
        (void)fprintf(stderr, "\n%.*s", (int)e->list.size, (const char *)e->list.data);
        return CC_REDISPLAY;
    }
    s2_buffer_append(&e->add, "", 1);
    if (e->add.status != S2P_OK || e->add.size < 2) return CC_ERROR;
    return el_insertstr(el, (const char *)e->add.data) == 0 ? CC_REFRESH : CC_ERROR;
}

/* Only what a character is; numbers stay as they are in C. */
static void use_utf8(void)
{
    static const char *const others[] = { "C.UTF-8", "C.utf8", "en_US.UTF-8" };
    if (setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0) return;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (setlocale(LC_CTYPE, others[i])) return;
}

static void open_editor(s2_line_edit *e)
{
    HistEvent event;
    use_utf8();
    e->edit = el_init("s2prune", stdin, stderr, stderr);
    if (!e->edit) return;
    e->history = history_init();
    if (e->history) {
        (void)history(e->history, &event, H_SETSIZE, MAX_HISTORY);
        (void)history(e->history, &event, H_SETUNIQUE, 1);
        (void)el_set(e->edit, EL_HIST, history, e->history);
    }
    (void)el_set(e->edit, EL_CLIENTDATA, e);
    (void)el_set(e->edit, EL_PROMPT, prompt_of);
    (void)el_set(e->edit, EL_EDITOR, "emacs");
    (void)el_set(e->edit, EL_SIGNAL, 0);
    (void)el_set(e->edit, EL_ADDFN, "s2-paste", "insert what is pasted", insert_pasted);
    (void)el_set(e->edit, EL_BIND, "\\e[200~", "s2-paste", NULL);
    (void)el_set(e->edit, EL_ADDFN, "s2-complete", "complete a command or a file", complete_word);
    (void)el_set(e->edit, EL_BIND, "^I", "s2-complete", NULL);
    (void)el_source(e->edit, NULL); /* ~/.editrc */
}
#endif

s2_line_edit *s2_line_edit_open(s2_word_at command)
{
    s2_line_edit *e = calloc(1, sizeof *e);
    if (!e) return NULL;
#ifdef S2_HAS_LIBEDIT
    e->command = command;
    s2_buffer_init(&e->add, 1 << 16);
    s2_buffer_init(&e->list, 1 << 16);
#else
    (void)command;
#endif
    e->is_terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
#ifdef S2_HAS_LIBEDIT
    const char *term = getenv("TERM");
    if (e->is_terminal && term && strcmp(term, "dumb") != 0) open_editor(e);
#endif
    return e;
}

void s2_line_edit_close(s2_line_edit *e)
{
    if (!e) return;
#ifdef S2_HAS_LIBEDIT
    if (e->history) history_end(e->history);
    if (e->edit) el_end(e->edit);
    s2_buffer_free(&e->add);
    s2_buffer_free(&e->list);
#endif
    free(e->line);
    free(e);
}

bool s2_line_edit_is_terminal(const s2_line_edit *e) { return e->is_terminal; }

/* The text of a line into memory of our own; false: none. */
static bool keep_line(s2_line_edit *e, const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && strchr("\r\n", text[n - 1])) n--;
    if (n + 1 > e->capacity) {
        char *larger = realloc(e->line, n + 1);
        if (!larger) return false;
        e->line = larger;
        e->capacity = n + 1;
    }
    memcpy(e->line, text, n);
    e->line[n] = '\0';
    return true;
}

#ifdef S2_HAS_LIBEDIT
static s2_line_end read_edited(s2_line_edit *e)
{
    int n = 0;
    (void)fputs("\033[?2004h", stderr); /* mark what is pasted */
    const char *text = el_gets(e->edit, &n);
    (void)fputs("\033[?2004l", stderr);
    if (s2_interrupted()) {
        (void)fputc('\n', stderr);
        return S2_LINE_INTERRUPTED;
    }
    if (!text || n <= 0 || !keep_line(e, text)) return S2_LINE_OVER;
    HistEvent event;
    if (e->line[0] && e->history) (void)history(e->history, &event, H_ENTER, e->line);
    return S2_LINE_READ;
}
#endif

s2_line_end s2_line_edit_read(s2_line_edit *e, const char *prompt, char **line)
{
    e->prompt = prompt;
    *line = NULL;
#ifdef S2_HAS_LIBEDIT
    if (e->edit) {
        const s2_line_end end = read_edited(e);
        *line = e->line;
        return end;
    }
#endif
    if (e->is_terminal) (void)fputs(prompt, stderr);
    if (getline(&e->line, &e->capacity, stdin) < 0) {
        if (!s2_interrupted()) return S2_LINE_OVER;
        clearerr(stdin);
        return S2_LINE_INTERRUPTED;
    }
    e->line[strcspn(e->line, "\r\n")] = '\0';
    *line = e->line;
    return S2_LINE_READ;
}
