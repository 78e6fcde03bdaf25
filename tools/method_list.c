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

static void list_parameters(const s2p_method *method, s2_buffer *out)
{
    for (size_t i = 0; s2p_method_parameter(method, i); i++) {
        const s2p_parameter *p = s2p_method_parameter(method, i);
        const bool is_rule = p->fallback < p->min || p->fallback > p->max;
        s2_buffer_printf(out, "%-14s %-16s %s", i == 0 ? s2p_method_about(method)->name : "",
                         p->name, p->help);
        if (!is_rule) s2_buffer_printf(out, "; %g", p->fallback);
        s2_buffer_printf(out, " (%g to %.10g)\n", p->min, p->max);
    }
}

void s2_method_list(const char *(*name)(size_t index), s2_buffer *out)
{
    s2_buffer_printf(out, "%-14s %-22s %-9s %-7s %s\n", "method", "prunes", "question", "merges",
                     "source");
    for (size_t i = 0; name(i); i++) {
        const s2p_method *m = s2p_method_find(name(i));
        char after[S2_AFTER_TEXT];
        s2_after_text(s2p_method_about(m)->after, s2p_method_about(m)->n_stages, after);
        s2_buffer_printf(out, "%-14s %-22s %-9s %-7s %s\n", s2p_method_about(m)->name, after,
                         s2p_method_about(m)->sees_question ? "yes" : "no",
                         s2p_method_about(m)->merges ? "yes" : "no", s2p_method_about(m)->source);
    }
    s2_buffer_printf(out, "\nwhat they look at\n");
    for (size_t i = 0; name(i); i++) {
        s2_buffer_printf(out, "%-14s ", name(i));
        list_needs(s2p_method_find(name(i)), out);
    }
    s2_buffer_printf(out, "\nparameters, for --set; the value that holds if none is set, and the "
                          "range\n");
    for (size_t i = 0; name(i); i++) list_parameters(s2p_method_find(name(i)), out);
    /* "[h][e]": a letter for each dimension. */
    s2_buffer_printf(out,
                     "\nsignals by name, for select --in (n tokens, a rows alive, L rows of the "
                     "prompt)\n");
    for (size_t i = 0; s2p_signal_at(i); i++) {
        const s2p_signal_info *info = s2p_signal_at(i);
        char shape[16] = "";
        for (size_t d = 0; info->shape[d]; d++)
            (void)snprintf(shape + 3 * d, sizeof shape - 3 * d, "[%c]", info->shape[d]);
        s2_buffer_printf(out, "%-14s %-10s %s; from %s\n", info->name, shape, info->words,
                         info->from);
    }
    s2_buffer_printf(out, "\nwhat --mode published changes; nothing for the others\n");
    for (size_t i = 0; name(i); i++) {
        const s2p_method *m = s2p_method_find(name(i));
        if (s2p_method_about(m)->published)
            s2_buffer_printf(out, "%-14s %s\n", s2p_method_about(m)->name,
                             s2p_method_about(m)->published);
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
