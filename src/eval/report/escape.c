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
    while (*text) {
        const size_t n = s2_markup_character(text, strlen(text));
        if (*text == '<')
            s2_buffer_printf(out, "&lt;");
        else if (*text == '&')
            s2_buffer_printf(out, "&amp;");
        else if (n == 0 || s2_markup_misleads(text, n))
            s2_buffer_append(out, (unsigned char)*text < 0x80 ? " " : "?", 1);
        else {
            if (strchr("\\`*_|[]~>", *text)) s2_buffer_append(out, "\\", 1);
            s2_buffer_append(out, text, n);
        }
        text += n > 0 ? n : 1;
    }
}

void s2e_latex_text(s2_buffer *out, const char *text)
{
    static const struct {
        const char *from, *to;
    } words[] = {
        { "\\", "\\textbackslash{}" },
        { "~", "\\textasciitilde{}" },
        { "^", "\\textasciicircum{}" },
        { "<", "\\textless{}" },
        { ">", "\\textgreater{}" },
        { "|", "\\textbar{}" },
        { "\"", "\\char34{}" },
        { "{", "\\{" },
        { "}", "\\}" },
        { "$", "\\$" },
        { "&", "\\&" },
        { "#", "\\#" },
        { "_", "\\_" },
        { "%", "\\%" },
        { "\xC2\xB2", "\\textsuperscript{2}" }, /* superscript two */
        { "\xC3\x97", "$\\times$" },            /* times sign */
        { "\xE2\x88\x92", "$-$" },              /* minus */
        { "\xE2\x80\x93", "--" },               /* en dash */
        { "\xE2\x89\xA4", "$\\leq$" },          /* at most */
        { "\xE2\x89\xA5", "$\\geq$" },          /* at least */
    };
    while (*text) {
        const size_t n = s2_markup_character(text, strlen(text));
        size_t i = 0;
        while (i < sizeof words / sizeof *words &&
               strncmp(text, words[i].from, strlen(words[i].from)) != 0)
            i++;
        if (i < sizeof words / sizeof *words)
            s2_buffer_append(out, words[i].to, strlen(words[i].to));
        else if (n == 0) /* a control, or no character */
            s2_buffer_append(out, (unsigned char)*text < 0x80 ? " " : "?", 1);
        else
            s2_buffer_append(out, text, n);
        text += i < sizeof words / sizeof *words ? strlen(words[i].from) : n > 0 ? n : 1;
    }
}

void s2e_html_text(s2_buffer *out, const char *text)
{
    s2_markup_append(out, text, strlen(text), false);
}
