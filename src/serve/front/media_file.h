/* media_file.h - a picture of this machine that a client names, from one folder only. */
#ifndef S2_SERVE_MEDIA_FILE_H
#define S2_SERVE_MEDIA_FILE_H

#include "base/buffer.h"
#include "serve/front/http_error.h"

/* "file://photos/a.jpg", as llama-server takes it: the path is below `folder`. No link is followed and no
 * "..", so nothing outside can be named. Whatever is wrong, the client hears the same sentence (400). */
bool s2_media_read(const char *folder, const char *url, const char *param, size_t max_bytes,
                   s2_buffer *out, s2_http_error *error);

#endif /* S2_SERVE_MEDIA_FILE_H */
