/* buffer.h - bytes that grow up to a hard maximum.
 *
 * A buffer that failed once stays failed and ignores what follows, so a writer
 * checks once, at the end.
 */
#ifndef S2_BASE_BUFFER_H
#define S2_BASE_BUFFER_H

#include "base/error.h"

typedef struct s2_buffer {
    uint8_t *data;
    size_t size, capacity;
    size_t max;        /* never grows beyond */
    s2p_status status; /* S2P_OK, S2P_ENOMEM or S2P_ELIMIT */
} s2_buffer;

void s2_buffer_init(s2_buffer *buffer, size_t max);
void s2_buffer_free(s2_buffer *buffer);
void s2_buffer_append(s2_buffer *buffer, const void *data, size_t n);
void s2_buffer_printf(s2_buffer *buffer, const char *format, ...) S2_PRINTF(2, 3);

/* Room for n more bytes at the end, to be filled by the caller; NULL when it cannot grow. */
uint8_t *s2_buffer_extend(s2_buffer *buffer, size_t n);

#endif /* S2_BASE_BUFFER_H */
