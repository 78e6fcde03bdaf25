/* page.h - the files of the web page, built into the program. */
#ifndef S2_SERVE_PAGE_H
#define S2_SERVE_PAGE_H

#include <stddef.h>
#include <stdint.h>

typedef struct s2_asset {
    const char *path; /* "/", "/assets/index-1a2b.js"; NULL ends the table */
    const char *type;
    const char *tag;               /* of its contents, in quotes */
    const uint8_t *plain, *packed; /* packed: gzip */
    size_t n_plain, n_packed;
} s2_asset;

extern const s2_asset s2_page_assets[];

/* path[0..n) of a target; NULL: no such file. */
const s2_asset *s2_page_find(const char *path, size_t n);

#endif /* S2_SERVE_PAGE_H */
