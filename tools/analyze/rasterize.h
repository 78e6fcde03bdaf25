/* rasterize.h - SVG to PNG and PDF by a program that may be installed. */
#ifndef S2_TOOLS_RASTERIZE_H
#define S2_TOOLS_RASTERIZE_H

#include <stdbool.h>

/* FOLDER/NAME.svg becomes FOLDER/NAME.png, three pixels for each of the SVG (288 to the inch), and
 * FOLDER/NAME.pdf; false: it did not. */
bool s2_rasterize(const char *folder, const char *name);

#endif /* S2_TOOLS_RASTERIZE_H */
