/* labels.c - the one name of a setting: its method and all that differs from the method's default.
 *
 * One walk over the elements makes both forms, so that no output can leave one out. What a method does
 * not read (an allocator of FastV) changes nothing and does not appear.
 */
#include "ask/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest label: a name of 64 characters, and 8 parameters with names of 64 and a number of 24,
 * is below 800 characters; the other elements together are below 150. */
typedef struct writing {
    char *text; /* [S2A_LABEL_SIZE] */
    size_t n;
    bool is_title, is_open; /* for people; the bracket is there */
} writing;

static void add(writing *w, const char *text)
{
    const int n = snprintf(w->text + w->n, S2A_LABEL_SIZE - w->n, "%s", text);
    w->n += (size_t)n < S2A_LABEL_SIZE - w->n ? (size_t)n : S2A_LABEL_SIZE - 1 - w->n;
}

static void add_element(writing *w, const char *text)
{
    if (w->is_open)
        add(w, w->is_title ? ", " : ",");
    else
        add(w, w->is_title ? " [" : "[");
    w->is_open = true;
    add(w, text);
}

static bool has_name(const char *(*name_at)(size_t index), const char *name)
{
    const char *known;
    for (size_t i = 0; (known = name_at(i)); i++)
        if (strcmp(known, name) == 0) return true;
    return false;
}

/* An allocator or a selector: the name alone, unless both tables have it (random). */
static void add_choice(writing *w, const char *name, const char *kind,
                       const char *(*own)(size_t index), const char *(*other)(size_t index))
{
    char text[96];
    if (!name || strcmp(name, own(0)) == 0) return;
    if (has_name(other, name))
        (void)snprintf(text, sizeof text, "%s=%.60s", kind, name);
    else
        (void)snprintf(text, sizeof text, "%.60s", name);
    add_element(w, text);
}

/* The shortest number that is read back as this one. */
static const char *number_text(double value, char out[32])
{
    const bool is_whole = fabs(value) < 1e9 && value == rint(value);
    if (is_whole) (void)snprintf(out, 32, "%.0f", value);
    for (int digits = 6; !is_whole && digits <= 17; digits++) {
        (void)snprintf(out, 32, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
    return out;
}

static void add_parameters(writing *w, const s2p_method *method, const s2p_parameters *parameters)
{
    const s2p_parameter *row;
    for (size_t i = 0; (row = s2p_method_parameter(method, i)); i++) {
        char text[128], number[32];
        if (parameters->value[i] == row->fallback) continue;
        (void)snprintf(text, sizeof text, "%s=%s", row->name,
                       number_text(parameters->value[i], number));
        add_element(w, text);
    }
}

static void add_layer(writing *w, int32_t after)
{
    char text[48];
    if (!w->is_title)
        (void)snprintf(text, sizeof text, "L%d", after);
    else if (after < 0)
        (void)snprintf(text, sizeof text, "before the decoder");
    else
        (void)snprintf(text, sizeof text, "after layer %d", after);
    add_element(w, text);
}

/* "pixelprune:0.01"; for people "PixelPrune 0.01". */
static void add_before(writing *w, const char *text)
{
    char title[S2P_PIXELPRUNE_TEXT + 16];
    const char *rest = strchr(text, ':');
    (void)snprintf(title, sizeof title, "PixelPrune%s", rest ? rest : "");
    for (char *at = title; *at; at++)
        if (*at == ':') *at = ' ';
    add_element(w, w->is_title ? title : text);
}

static const char *write_name(const s2a_setting *s, bool is_title, char *out)
{
    const s2p_method *method = s2a_setting_method(s);
    const s2p_method_info *about = s2p_method_about(method);
    const s2p_choice *choice = &s->choice;
    writing w = { .text = out, .is_title = is_title };
    char text[48];
    add(&w, is_title ? about->title : about->name);
    if (about->reads & S2P_READS_ALLOCATOR)
        add_choice(&w, choice->allocator, "allocator", s2p_allocator_name, s2p_selector_name);
    if (about->reads & S2P_READS_SELECTOR)
        add_choice(&w, choice->selector, "selector", s2p_selector_name, s2p_allocator_name);
    if ((about->reads & S2P_READS_SIDE) && choice->side > 0) {
        (void)snprintf(text, sizeof text, "K=%d", choice->side);
        add_element(&w, text);
    }
    add_parameters(&w, method, &s->parameters);
    if (s->published && !about->keeps_all) add_element(&w, "published");
    if (s->has_after && !about->keeps_all && (about->n_stages != 1 || s->after != about->after[0]))
        add_layer(&w, s->after);
    if (s->is_renumbered && !about->keeps_all) add_element(&w, "renumbered");
    if (s->budget.n_more > 0 && s2a_min_confidence(s) != S2A_MIN_CONFIDENCE) {
        char number[32];
        (void)snprintf(text, sizeof text, "confidence=%s",
                       number_text(s2a_min_confidence(s), number));
        add_element(&w, text);
    }
    char before[S2P_PIXELPRUNE_TEXT];
    if (s->has_before) add_before(&w, s2p_pixelprune_text(&s->before, before));
    if (s->is_resized && (s2p_method_needs(method, choice) & S2P_NEED_PIXELS))
        add_element(&w, "structure=resized");
    if (s->width > 0) (void)snprintf(text, sizeof text, "%dx%d", s->width, s->height);
    if (s->width != 0) add_element(&w, s->width > 0 ? text : "native");
    if (w.is_open) add(&w, "]");
    return out;
}

const char *s2a_setting_label(const s2a_setting *setting, char out[S2A_LABEL_SIZE])
{
    return write_name(setting, false, out);
}

const char *s2a_setting_title(const s2a_setting *setting, char out[S2A_LABEL_SIZE])
{
    return write_name(setting, true, out);
}
