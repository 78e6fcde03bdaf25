/* page.h - the files of the web page, built into the program. */
#ifndef S2_SERVE_PAGE_H
#define S2_SERVE_PAGE_H

#include <stddef.h>
#include <stdint.h>

typedef struct s2_asset {
    const char *path; /* "/", "/assets/index-1a2b.js"; NULL ends the table */
    const char *type;
    const char *tag;               /* ETag, in quotes */
    const uint8_t *plain, *packed; /* packed: gzip */
    size_t n_plain, n_packed;
} s2_asset;

extern const s2_asset s2_page_assets[];

#endif /* S2_SERVE_PAGE_H */
