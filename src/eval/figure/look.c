/* look.c - the one table of colors, marks and citation keys.
 *
 * Hues follow families: blue reads the decoder's attention, purple the tower's, green compares tokens
 * with each other, brown works region by region, gray is a control. Shades of neighbors differ in
 * lightness, so that they stay apart in gray print and for readers who see no red or no green.
 */
#include "eval/figure/look.h"

#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

enum { OURS, CONTROL, BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY, MAGENTA, OLIVE, BROWN, INDIGO };

/* clang-format off */
static const char *const hex[S2_LOOK_COLOURS][2] = {
    [OURS]    = { "#c1121f", "#ff7b72" }, [CONTROL] = { "#6b6b6b", "#b0b4bb" },
    [BLUE]    = { "#0060a8", "#62b5f5" }, [ORANGE]  = { "#d06000", "#ff9f50" },
    [GREEN]   = { "#007d5b", "#4fd0a5" }, [PURPLE]  = { "#7b3fa0", "#cba6f7" },
    [AMBER]   = { "#8a6d00", "#e6c34a" }, [SKY]     = { "#2f93c8", "#a5dbf7" },
    [MAGENTA] = { "#b0307a", "#f08cc4" }, [OLIVE]   = { "#4b6a1e", "#b4d284" },
    [BROWN]   = { "#6d4534", "#d3ab9c" }, [INDIGO]  = { "#3446b0", "#9fa8ff" },
};

static const char *const dashes[S2_LOOK_DASHES] = { "none", "6 2.5", "2 2", "7 2.5 2 2.5", "11 3" };

static const struct method_look {
    const char *name, *cite;
    int32_t colour;
    s2_mark mark;
    int32_t dash;
} methods[] = {
    { "full",          NULL,                  CONTROL, S2_MARK_PLUS,    0 },
    { "random",        NULL,                  CONTROL, S2_MARK_RING,    2 },
    { "uniform",       NULL,                  CONTROL, S2_MARK_SQUARE,  1 },
    { "equal-density", NULL,                  CONTROL, S2_MARK_DIAMOND, 3 },
    { "resize",        NULL,                  CONTROL, S2_MARK_DOWN,    4 },
    { "pool",          NULL,                  CONTROL, S2_MARK_UP,      3 },
    { "by area",       NULL,                  CONTROL, S2_MARK_CROSS,   0 }, /* an even selection */
    { "s2prune",       "s2prune",             OURS,    S2_MARK_CIRCLE,  0 },
    { "erc-top",       NULL,                  ORANGE,  S2_MARK_UP,      2 },
    { "fastv",         "chen2024fastv",       BLUE,    S2_MARK_SQUARE,  0 },
    { "fastv-top",     "chen2024fastv",       BLUE,    S2_MARK_CROSS,   2 },
    { "sparsevlm",     "zhang2025sparsevlm",  BLUE,    S2_MARK_UP,      1 },
    { "feather",       "endo2025feather",     SKY,     S2_MARK_UP,      0 },
    { "feather-8",     "endo2025feather",     SKY,     S2_MARK_DOWN,    1 },
    { "feather-full",  "endo2025feather",     SKY,     S2_MARK_DIAMOND, 3 },
    { "feather-top",   "endo2025feather",     SKY,     S2_MARK_CROSS,   2 },
    { "feather-top-8", "endo2025feather",     SKY,     S2_MARK_PLUS,    2 },
    { "v2drop",        "chen2026v2drop",      ORANGE,  S2_MARK_DOWN,    1 },
    { "dart",          "wen2025dart",         GREEN,   S2_MARK_DIAMOND, 0 },
    { "gprune",        "jiang2025gprune",     AMBER,   S2_MARK_DOWN,    0 },
    { "divprune",      "alvar2025divprune",   GREEN,   S2_MARK_RING,    1 },
    { "cdpruner",      "zhang2025cdpruner",   INDIGO,  S2_MARK_SQUARE,  1 },
    { "euti",          "dhouib2025pact",      AMBER,   S2_MARK_CROSS,   1 },
    { "visionzip",     "yang2025visionzip",   PURPLE,  S2_MARK_UP,      0 },
    { "visionzip-top", "yang2025visionzip",   PURPLE,  S2_MARK_CROSS,   2 },
    { "vispruner",     "zhang2025vispruner",  MAGENTA, S2_MARK_DIAMOND, 0 },
    { "prumerge+",     "shang2025prumerge",   PURPLE,  S2_MARK_RING,    1 },
    { "gridprune",     "duan2025gridprune",   BROWN,   S2_MARK_SQUARE,  0 },
    { "holov",         "zou2025holov",        OLIVE,   S2_MARK_CIRCLE,  0 },
};
/* clang-format on */

const char *s2_look_hex(int32_t colour, bool is_dark) { return hex[colour][is_dark]; }

const char *s2_look_dash(int32_t dash) { return dashes[dash]; }

void s2_look_css(s2_buffer *out)
{
    for (int is_dark = 0; is_dark < 2; is_dark++) {
        if (is_dark) s2_buffer_printf(out, "@media screen and (prefers-color-scheme:dark){");
        for (int32_t i = 0; i < S2_LOOK_COLOURS; i++)
            s2_buffer_printf(out, ".c%d{background:%s}", i, s2_look_hex(i, is_dark));
    }
    s2_buffer_printf(out, "}\n");
}

/* The name of the method text[0..n) names or entitles; NULL: none. */
static const char *method_of(const char *text, size_t n)
{
    for (size_t i = 0; i < N(methods); i++)
        if (strlen(methods[i].name) == n && memcmp(methods[i].name, text, n) == 0)
            return methods[i].name;
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method_info *about = s2p_method_about(s2p_method_at(i));
        if (about->title && strlen(about->title) == n && memcmp(about->title, text, n) == 0)
            return about->name;
    }
    return NULL;
}

static const struct method_look *row_of(const char *name)
{
    for (size_t i = 0; name && i < N(methods); i++)
        if (strcmp(methods[i].name, name) == 0) return &methods[i];
    return NULL;
}

/* FNV-1a: the same text has the same look in every program. */
static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash ^ hash >> 15;
}

static s2_look hashed(const char *text)
{
    const uint32_t hash = hash_of(text);
    return (s2_look){ .colour = BLUE + (int32_t)(hash % (S2_LOOK_COLOURS - BLUE)),
                      .mark = (s2_mark)(hash / 16 % S2_LOOK_MARKS),
                      .dash = 1 + (int32_t)(hash / 256 % (S2_LOOK_DASHES - 1)) };
}

s2_look s2_look_at(int32_t index)
{
    static const int32_t order[] = { BLUE,   ORANGE, GREEN, MAGENTA, AMBER,
                                     INDIGO, SKY,    BROWN, OLIVE,   PURPLE };
    const int32_t n = (int32_t)N(order);
    return (s2_look){ .colour = order[index % n],
                      .mark = (s2_mark)((index + index / n) % S2_LOOK_MARKS),
                      .dash = index % S2_LOOK_DASHES };
}

s2_look s2_look_of(const char *label, bool *is_known)
{
    const char *name = method_of(label, strlen(label));
    const struct method_look *row = row_of(name);
    if (is_known) *is_known = name || strpbrk(label, "[:");
    if (row) return (s2_look){ row->colour, row->mark, row->dash, row->colour == OURS };
    return hashed(name ? name : label);
}

const char *s2_look_cite(const char *label)
{
    size_t n = strcspn(label, "[");
    while (n > 0 && label[n - 1] == ' ') n--;
    const struct method_look *row = row_of(method_of(label, n));
    return row ? row->cite : NULL;
}

const char *s2_title_of(const char *label, char out[S2_TITLE_SIZE])
{
    size_t n = strlen(label);
    if (!method_of(label, n)) n = strcspn(label, "[ ");
    const char *name = method_of(label, n);
    const s2p_method *method = name ? s2p_method_find(name) : NULL;
    const char *title = method ? s2p_method_about(method)->title : NULL;
    if (title)
        (void)snprintf(out, S2_TITLE_SIZE, "%s%s%s", title, label[n] == '[' ? " " : "", label + n);
    else
        (void)snprintf(out, S2_TITLE_SIZE, "%s", label);
    return out;
}
