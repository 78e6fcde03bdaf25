/* decoder.h - one format: how it begins and who reads it. One file each, listed in decode.c.
 *
 * A decoder reads its header, calls s2_source_admit, and only then allocates.
 */
#ifndef S2_IMAGE_DECODER_H
#define S2_IMAGE_DECODER_H

#include "image/picture.h"
#include "image/source.h"

typedef struct s2_decoder {
    bool (*knows)(const s2_source *source); /* by its first bytes */

    /* Fill *out (pixels owned) or leave it alone. *orientation: EXIF 1..8, 1 when unknown. */
    s2p_status (*decode)(const s2_source *source, s2_image *out, int *orientation,
                         s2p_error *error);
} s2_decoder;

#endif /* S2_IMAGE_DECODER_H */
