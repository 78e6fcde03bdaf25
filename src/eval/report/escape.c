/* escape.c - one rule for each kind of document. */
#include "eval/report/escape.h"

#include "base/markup.h"

#include <stdlib.h>
#include <string.h>

void s2e_csv_text(s2_buffer *out, const char *text)
{
    if (!text[0] || !strchr("=+-@\t\r", text[0])) {
        s2_csv_append(out, text);
        return;
    }
    const size_t n = strlen(text);
    char *safe = malloc(n + 2);
    if (!safe) {
        out->status = S2P_ENOMEM;
        return;
    }
    safe[0] = '\'';
    memcpy(safe + 1, text, n + 1);
    s2_csv_append(out, safe);
    free(safe);
}

void s2e_markdown_text(s2_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            s2_buffer_printf(out, "&lt;");
        else if (*text == '&')
            s2_buffer_printf(out, "&amp;");
        else if ((unsigned char)*text < 0x20 || *text == 0x7f)
            s2_buffer_append(out, " ", 1);
        else {
            if (strchr("\\`*_|[]~>", *text)) s2_buffer_append(out, "\\", 1);
            s2_buffer_append(out, text, 1);
        }
    }
}

void s2e_latex_text(s2_buffer *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '\\':
            s2_buffer_printf(out, "\\textbackslash{}");
            break;
        case '~':
            s2_buffer_printf(out, "\\textasciitilde{}");
            break;
        case '^':
            s2_buffer_printf(out, "\\textasciicircum{}");
            break;
        case '{':
        case '}':
        case '$':
        case '&':
        case '#':
        case '_':
        case '%':
            s2_buffer_printf(out, "\\%c", *text);
            break;
        default:
            if ((unsigned char)*text < 0x20 || *text == 0x7f)
                s2_buffer_append(out, " ", 1);
            else
                s2_buffer_append(out, text, 1);
        }
    }
}

void s2e_html_text(s2_buffer *out, const char *text)
{
    s2_markup_append(out, text, strlen(text), false);
}
