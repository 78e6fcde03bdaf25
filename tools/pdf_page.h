/* pdf_page.h - a page of a PDF file as a picture file, drawn by `pdftoppm` where it is installed. */
#ifndef S2_TOOLS_PDF_PAGE_H
#define S2_TOOLS_PDF_PAGE_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>

#define S2_PDF_LONG_SIDE \
    2048 /* pixels of the longer side, whatever the size of the page: 175 dpi of A4 */

/* "paper.pdf#3" is page 3 of paper.pdf, unless a file has that very name. Copies the name of the file
 * to `file` and returns the page; 0: no page is named, and `file` is the whole path. */
int32_t s2_pdf_split(const char *path, char *file, size_t n_file);

/* Append page `page` (from 1) as a PNG file. The child has 30 s of CPU, 60 s in all, 2 GiB, no
 * files to write. S2P_EUNSUPPORTED: pdftoppm is not installed. S2P_EFORMAT: no such page, or not a
 * PDF that it can draw. */
s2p_status s2_pdf_draw(const char *file, int32_t page, s2_buffer *png, s2p_error *error);

#endif /* S2_TOOLS_PDF_PAGE_H */
