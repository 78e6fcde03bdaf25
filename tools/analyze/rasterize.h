/* rasterize.h - SVG to PNG by a program that may be installed. */
#ifndef S2_TOOLS_RASTERIZE_H
#define S2_TOOLS_RASTERIZE_H

#include <stdbool.h>

/* FOLDER/NAME.svg becomes FOLDER/NAME.png, two pixels for each of the SVG; false: it did not. */
bool s2_rasterize(const char *folder, const char *name);

#endif /* S2_TOOLS_RASTERIZE_H */
