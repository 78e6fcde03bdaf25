/* page.c - a file of the page by its path. */
#include "serve/front/page.h"

#include <string.h>

const s2_asset *s2_page_find(const char *path, size_t n)
{
    for (const s2_asset *asset = s2_page_assets; asset->path; asset++)
        if (strlen(asset->path) == n && memcmp(asset->path, path, n) == 0) return asset;
    return NULL;
}
