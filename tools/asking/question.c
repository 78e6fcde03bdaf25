/* question.c - the question of -p or -f: escapes, and text that is no UTF-8. */
#include "asking/asker.h"

#include "base/file.h"
#include "base/markup.h"

#include <string.h>

/* In place; what is no escape stays as it is. */
static size_t unescape(uint8_t *text, size_t n)
{
    static const char from[] = "ntr\"'\\", to[] = "\n\t\r\"'\\";
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const char *known =
            text[i] == '\\' && i + 1 < n && text[i + 1] ? strchr(from, text[i + 1]) : NULL;
        text[used++] = known ? (uint8_t)to[known - from] : text[i];
        i += known != NULL;
    }
    return used;
}

/* A file in another encoding: where, as an editor counts. */
static s2p_status check_utf8(const char *name, const s2_buffer *text, s2p_error *error)
{
    int line = 1, column = 1;
    for (size_t i = 0; i < text->size;) {
        const uint8_t byte = text->data[i];
        const size_t n =
            byte < 0x80 ? 1 : s2_markup_character((const char *)text->data + i, text->size - i);
        const bool is_control = byte == 0xC2 && i + 1 < text->size; /* U+0080 to U+009F: text */
        if (n == 0 && !is_control)
            return s2_fail(error, S2P_EFORMAT,
                           "%.200s is not UTF-8: byte 0x%02X at line %d, character %d", name, byte,
                           line, column);
        column = byte == '\n' ? 1 : column + 1;
        line += byte == '\n';
        i += n > 0 ? n : 2;
    }
    return S2P_OK;
}

s2p_status s2_ask_question(const char *prompt, const char *file, bool escapes, s2_buffer *text,
                           s2p_error *error)
{
    if (prompt && file) return s2_fail(error, S2P_EINVAL, "-p and -f cannot be combined");
    if (file) TRY(s2_file_read(file, text, error));
    if (prompt) s2_buffer_append(text, prompt, strlen(prompt));
    if (escapes) text->size = unescape(text->data, text->size);
    if (text->size && memchr(text->data, 0, text->size))
        return s2_fail(error, S2P_EFORMAT, "the question contains a NUL byte");
    TRY(check_utf8(file ? file : "the question", text, error));
    while (file && text->size && text->data[text->size - 1] == '\n') text->size--;
    s2_buffer_append(text, "", 1);
    return text->status == S2P_OK ? S2P_OK
                                  : s2_fail(error, text->status, "the question is too long");
}
