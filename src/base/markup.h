/* markup.h - text from outside, made safe inside an SVG or HTML document, a table, a terminal. */
#ifndef S2_BASE_MARKUP_H
#define S2_BASE_MARKUP_H

#include "base/buffer.h"

#include <stdbool.h>

/* Bytes of the UTF-8 character text[0..n) begins with; 0 when it is none (overlong forms,
 * surrogates and cut-off sequences are not) or one no document may hold (controls). */
size_t s2_markup_character(const char *text, size_t n);

/* Of a character of `length` bytes: it turns the direction of writing (U+202E and its like), or ends a
 * line where a terminal shows none; either makes a text look like another one. */
bool s2_markup_misleads(const char *text, size_t length);

/* Append n bytes as the text of an element or of an attribute in double quotes: markup escaped,
 * what is not text shown as '?'. has_lines: line ends and tabs stay, for text shown as it is. */
void s2_markup_append(s2_buffer *out, const char *text, size_t n, bool has_lines);

/* Append n bytes for a terminal: what it would obey (controls of both sets, escapes) and marks that
 * mislead are shown as '?', so is what is not UTF-8. */
void s2_terminal_append(s2_buffer *out, const char *text, size_t n, bool has_lines);

/* A field of CSV as in RFC 4180: in quotes when it must be, quotes doubled. A text that a
 * spreadsheet would take for a formula gets an apostrophe before it; numbers stay. */
void s2_csv_append(s2_buffer *out, const char *text);

#endif /* S2_BASE_MARKUP_H */
