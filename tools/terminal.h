/* terminal.h - what the terminal can show. */
#ifndef S2_TOOLS_TERMINAL_H
#define S2_TOOLS_TERMINAL_H

#include "image/draw/display.h"

/* auto, kitty, blocks, ascii, none; NULL past the end. */
const char *s2_terminal_display_name(size_t index);

/* How to show a picture on standard output for an index of the names above. auto: nothing unless it
 * is a terminal; NO_COLOR and TERM=dumb are honoured. */
s2_display s2_terminal_display(int32_t index);

/* Columns for a picture: those of the terminal up to 100, 80 when unknown. */
int32_t s2_terminal_columns(void);

/* Draw it on standard error: results own standard output. */
s2p_status s2_terminal_show(const s2p_image *picture, s2_display display, s2p_error *error);

#endif /* S2_TOOLS_TERMINAL_H */
