/* line_edit.c - libedit where both ends are a terminal and it was there at build time.
 *
 * The line shows on standard error: standard output belongs to the answers.
 */
#include "run/line_edit.h"

#include "asking/interrupt.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef S2_HAS_LIBEDIT
#include <histedit.h>
#endif

#define MAX_HISTORY 500

struct s2_line_edit {
    bool is_terminal;
    const char *prompt;
    char *line;
    size_t capacity;
#ifdef S2_HAS_LIBEDIT
    EditLine *edit;
    History *history;
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

static void open_editor(s2_line_edit *e)
{
    HistEvent event;
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
    (void)el_source(e->edit, NULL); /* ~/.editrc */
}
#endif

s2_line_edit *s2_line_edit_open(void)
{
    s2_line_edit *e = calloc(1, sizeof *e);
    if (!e) return NULL;
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
#endif
    free(e->line);
    free(e);
}

bool s2_line_edit_is_terminal(const s2_line_edit *e) { return e->is_terminal; }

/* The text of a line into memory of our own; false: none. */
static bool keep_line(s2_line_edit *e, const char *text)
{
    const size_t n = strcspn(text, "\r\n");
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
    const char *text = el_gets(e->edit, &n);
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
