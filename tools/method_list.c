/* method_list.c - what the table of methods says, in columns. Nothing here knows a method by name.
 */
#include "method_list.h"

#include "report.h"

#include <stdio.h>
#include <string.h>

const char *s2_mode_name(size_t index)
{
    static const char *const modes[] = {
        [S2P_MODE_DEFAULT] = "default", [S2P_MODE_PUBLISHED] = "published"
    };
    return index < sizeof modes / sizeof *modes ? modes[index] : NULL;
}

void s2_after_text(const int32_t *after, int32_t n_stages, char out[S2_AFTER_TEXT])
{
    size_t n = 0;
    out[0] = '\0';
    for (int32_t i = 0; i < n_stages && n < S2_AFTER_TEXT; i++) {
        const char *before = i > 0 ? ", " : n_stages > 1 ? "after layers " : "after layer ";
        const int added = after[i] == S2P_BEFORE_DECODER
                              ? snprintf(out, S2_AFTER_TEXT, "before the decoder")
                              : snprintf(out + n, S2_AFTER_TEXT - n, "%s%d", before, after[i]);
        n += (size_t)added;
    }
}

static void list_needs(const s2p_method *method, s2_buffer *out)
{
    const uint32_t needs = s2p_method_needs(method, &(s2p_choice){ .side = 0 });
    const char *before = NULL;
    for (uint32_t left = needs; left; left &= left - 1) { /* the lowest one goes */
        const char *text = s2p_need_text(left);
        if (before && strcmp(before, text) == 0) continue; /* two needs may share their words */
        s2_buffer_printf(out, "%s%s", before ? ", " : "", text);
        before = text;
    }
    s2_buffer_printf(out, "%s\n", before ? "" : "nothing");
}

void s2_method_list(const char *(*name)(size_t index), s2_buffer *out)
{
    s2_buffer_printf(out, "%-14s %-22s %-9s %-7s %s\n", "method", "prunes", "question", "merges",
                     "source");
    for (size_t i = 0; name(i); i++) {
        const s2p_method *m = s2p_method_find(name(i));
        char after[S2_AFTER_TEXT];
        s2_after_text(m->after, m->n_stages, after);
        s2_buffer_printf(out, "%-14s %-22s %-9s %-7s %s\n", m->name, after,
                         m->sees_question ? "yes" : "no", m->merges ? "yes" : "no", m->source);
    }
    s2_buffer_printf(out, "\nwhat they look at\n");
    for (size_t i = 0; name(i); i++) {
        s2_buffer_printf(out, "%-14s ", name(i));
        list_needs(s2p_method_find(name(i)), out);
    }
    s2_buffer_printf(out, "\nwhat --mode published changes; nothing for the others\n");
    for (size_t i = 0; name(i); i++) {
        const s2p_method *m = s2p_method_find(name(i));
        if (m->published) s2_buffer_printf(out, "%-14s %s\n", m->name, m->published);
    }
}

int s2_method_list_print(const char *(*name)(size_t index))
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2_method_list(name, &out);
    const int code = s2_report_print(&out);
    s2_buffer_free(&out);
    return code;
}
