/* terminal.c - guess by the environment; a wrong guess is one --display away. */
#include "terminal.h"

#include "report.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MAX_COLUMNS 100 /* a larger picture would push the numbers off the screen */

static const struct {
    const char *name;
    s2_display display;
} choices[] = {
    { "auto", S2_DISPLAY_NONE },   { "kitty", S2_DISPLAY_KITTY }, { "blocks", S2_DISPLAY_BLOCKS },
    { "ascii", S2_DISPLAY_ASCII }, { "none", S2_DISPLAY_NONE },
};

const char *s2_terminal_display_name(size_t index)
{
    return index < sizeof choices / sizeof *choices ? choices[index].name : NULL;
}

static bool has_text(const char *variable, const char *text)
{
    const char *value = getenv(variable);
    return value && strstr(value, text);
}

static bool speaks_kitty(void)
{
    return getenv("KITTY_WINDOW_ID") || has_text("TERM", "kitty") || has_text("TERM", "ghostty") ||
           has_text("TERM_PROGRAM", "WezTerm") || has_text("TERM_PROGRAM", "ghostty");
}

s2_display s2_terminal_display(int32_t index)
{
    if (index != 0) return choices[index].display;
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    if (!isatty(STDOUT_FILENO)) return S2_DISPLAY_NONE;
    if (!term || strcmp(term, "dumb") == 0) return S2_DISPLAY_ASCII;
    if (no_color && *no_color) return S2_DISPLAY_ASCII;
    return speaks_kitty() ? S2_DISPLAY_KITTY : S2_DISPLAY_BLOCKS;
}

int32_t s2_terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
    return size.ws_col < MAX_COLUMNS ? size.ws_col : MAX_COLUMNS;
}

s2p_status s2_terminal_show(const s2p_image *picture, s2_display display, s2p_error *error)
{
    s2_buffer bytes;
    s2_buffer_init(&bytes, S2_OUTPUT_MAX);
    const s2p_status st = s2_display_render(picture, display, s2_terminal_columns(), &bytes, error);
    if (st == S2P_OK) (void)fwrite(bytes.data, 1, bytes.size, stderr);
    s2_buffer_free(&bytes);
    return st;
}
