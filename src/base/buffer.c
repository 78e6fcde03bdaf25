/* buffer.c - growth by doubling, capped; the first failure sticks. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256u

/* Make room for n more bytes, or record why not. */
static int grow_buffer(s2_buffer *buffer, size_t n)
{
    if (buffer->status != S2P_OK) return 0;
    if (n > buffer->max - buffer->size) {
        buffer->status = S2P_ELIMIT;
        return 0;
    }
    const size_t needed = buffer->size + n;
    if (needed <= buffer->capacity) return 1;

    size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;
    while (capacity < needed) capacity = capacity > buffer->max / 2 ? buffer->max : 2 * capacity;
    uint8_t *data = realloc(buffer->data, capacity);
    if (!data) {
        buffer->status = S2P_ENOMEM;
        return 0;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return 1;
}

void s2_buffer_init(s2_buffer *buffer, size_t max) { *buffer = (s2_buffer){ .max = max }; }

void s2_buffer_free(s2_buffer *buffer)
{
    free(buffer->data);
    s2_buffer_init(buffer, buffer->max);
}

uint8_t *s2_buffer_extend(s2_buffer *buffer, size_t n)
{
    if (!grow_buffer(buffer, n)) return NULL;
    uint8_t *at = buffer->data + buffer->size;
    buffer->size += n;
    return at;
}

void s2_buffer_append(s2_buffer *buffer, const void *data, size_t n)
{
    if (n == 0) return; /* data may be NULL then */
    uint8_t *at = s2_buffer_extend(buffer, n);
    if (at) memcpy(at, data, n);
}

void s2_buffer_printf(s2_buffer *buffer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        buffer->status = S2P_EINVAL;
    } else if (grow_buffer(buffer, (size_t)n + 1)) { /* vsnprintf ends with a NUL we do not keep */
        (void)vsnprintf((char *)buffer->data + buffer->size, (size_t)n + 1, format, again);
        buffer->size += (size_t)n;
    }
    va_end(again);
}
