/* picture_cell.c - decode to the hash and forget; remember where it was. */
#include "eval/readers/picture_cell.h"

#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)4096)
#define MAX_NAME 1024  /* of a file */
#define MAX_ITEMS 1024 /* pictures in one cell */

bool s2e_is_picture_column(const s2e_rows_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_pictures; i++)
        if (strcmp(options->picture[i], name) == 0) return true;
    if (options->n_pictures > 0 || strncmp(name, "image", 5) != 0) return false;
    return name[5] == '\0' ||
           (name[5] == '_' && name[6] >= '1' && name[6] <= '9' && name[7] == '\0');
}

bool s2e_is_file_name(const char *text, size_t n)
{
    return n <= MAX_NAME && memchr(text, '.', n) && !(n > 5 && memcmp(text, "data:", 5) == 0);
}

/* --- one text --- */

void s2e_picture_text_start(s2e_picture_text *text, const s2e_rows_options *options, bool escapes)
{
    text->options = options;
    text->n_head = 0;
    text->first = text->last = text->size = 0;
    text->base64 = (s2_base64){ .escapes = escapes };
    if (!options->unhashed) s2_sha256_start(&text->sha256);
}

static void decode(s2e_picture_text *text, const uint8_t *bytes, size_t n, uint64_t at)
{
    uint8_t out[S2_BASE64_ROOM(PIECE)];
    if (n > 0) text->last = at + n;
    for (size_t i = 0; i < n && !text->base64.broken; i += PIECE) {
        const size_t n_out =
            s2_base64_decode(&text->base64, bytes + i, n - i < PIECE ? n - i : PIECE, out);
        text->size += n_out;
        if (!text->options->unhashed) s2_sha256_add(&text->sha256, out, n_out);
    }
}

/* The head is full: this is a picture. "data:image/png;base64," before it is not base64. */
static void decode_head(s2e_picture_text *text)
{
    size_t skip = 0;
    if (strncmp(text->head, "data:", 5) == 0) {
        static const char mark[] = ";base64,";
        for (size_t i = 5; i + sizeof mark - 1 <= text->n_head && skip == 0; i++)
            if (memcmp(text->head + i, mark, sizeof mark - 1) == 0) skip = i + sizeof mark - 1;
    }
    text->first = skip < text->n_head ? text->head_at[skip] : text->head_at[skip - 1] + 1;
    for (size_t i = skip; i < text->n_head; i++)
        decode(text, (const uint8_t *)text->head + i, 1, text->head_at[i]);
}

void s2e_picture_text_add(s2e_picture_text *text, const uint8_t *bytes, size_t n, uint64_t at)
{
    size_t i = 0;
    for (; i < n && text->n_head <= S2E_REFERENCE_MAX; i++) {
        text->head[text->n_head] = (char)bytes[i];
        text->head_at[text->n_head++] = at + i;
        if (text->n_head > S2E_REFERENCE_MAX) decode_head(text);
    }
    if (text->size <= text->options->max_picture) decode(text, bytes + i, n - i, at + i);
}

s2p_status s2e_picture_text_finish(s2e_picture_text *text, const char *path, s2e_arena *arena,
                                   s2e_value *out, s2p_error *error)
{
    *out = (s2e_value){ .type = S2E_NONE };
    if (text->n_head <= S2E_REFERENCE_MAX) {
        const char *head = s2e_arena_text(arena, text->head, text->n_head);
        if (!head) return s2e_arena_fail(arena, "a picture", error);
        if (!s2e_text_is_clean(head, text->n_head))
            return s2_fail(error, S2P_EFORMAT, "it is neither base64 nor text");
        if (text->n_head == 0 ||
            (text->options->nan_is_none && s2e_text_is_nan(head, text->n_head)))
            return S2P_OK;
        *out = (s2e_value){ .type = S2E_TEXT, .n = text->n_head, .text = head };
        return S2P_OK;
    }
    if (text->size > text->options->max_picture)
        return s2_fail(error, S2P_ELIMIT, "the picture has more than %zu bytes, the limit",
                       text->options->max_picture);
    if (!s2_base64_is_whole(&text->base64))
        return s2_fail(error, S2P_EFORMAT, "the picture is %s base64 after %llu decoded bytes",
                       text->base64.broken ? "no" : "cut", (unsigned long long)text->size);
    s2e_place *place = s2e_arena_take(arena, sizeof *place);
    if (!place) return s2e_arena_fail(arena, "a picture", error);
    *place = (s2e_place){ .path = path,
                          .form = text->base64.escapes ? S2E_PLACE_JSON : S2E_PLACE_BASE64,
                          .at = text->first,
                          .n = text->last - text->first,
                          .size = text->size };
    if (!text->options->unhashed) {
        uint8_t digest[32];
        s2_sha256_finish(&text->sha256, digest);
        s2_sha256_hex(digest, place->sha256);
    }
    *out = (s2e_value){ .type = S2E_PLACE, .place = place };
    return S2P_OK;
}

/* --- a text or a list of texts --- */

void s2e_picture_cell_start(s2e_picture_cell *cell, const s2e_rows_options *options,
                            const char *path, s2e_arena *arena)
{
    if (cell->items.max == 0) /* else the memory of the cell before is used again */
        s2_buffer_init(&cell->items, MAX_ITEMS * sizeof(s2e_value));
    cell->items.size = 0;
    cell->items.status = S2P_OK;
    cell->path = path;
    cell->arena = arena;
    cell->state = S2E_CELL_BLANK;
    cell->after_item = false;
    cell->status = S2P_OK;
    s2e_picture_text_start(&cell->text, options, false);
}

void s2e_picture_cell_free(s2e_picture_cell *cell) { s2_buffer_free(&cell->items); }

static void finish_item(s2e_picture_cell *cell)
{
    s2e_value item;
    cell->status =
        s2e_picture_text_finish(&cell->text, cell->path, cell->arena, &item, &cell->error);
    if (cell->status != S2P_OK) return;
    s2_buffer_append(&cell->items, &item, sizeof item);
    if (cell->items.status != S2P_OK)
        cell->status = s2_fail(&cell->error, cell->items.status,
                               "the list of pictures has more than %d items, the limit", MAX_ITEMS);
    s2e_picture_text_start(&cell->text, cell->text.options, false);
    cell->state = S2E_CELL_LIST;
    cell->after_item = true;
}

/* A character of the list outside its strings. */
static void take_between(s2e_picture_cell *cell, uint8_t c)
{
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') return;
    if (cell->state == S2E_CELL_LIST && c == ']') {
        cell->state = S2E_CELL_CLOSED;
    } else if (cell->state == S2E_CELL_LIST && cell->after_item && c == ',') {
        cell->after_item = false;
    } else if (cell->state == S2E_CELL_LIST && !cell->after_item && (c == '\'' || c == '"')) {
        cell->state = S2E_CELL_ITEM;
        cell->quote = c;
    } else {
        cell->status =
            s2_fail(&cell->error, S2P_EFORMAT, "the list of pictures is not a list of strings");
    }
}

void s2e_picture_cell_add(s2e_picture_cell *cell, const uint8_t *bytes, size_t n, uint64_t at)
{
    for (size_t i = 0; i < n && cell->status == S2P_OK;) {
        if (cell->state == S2E_CELL_BLANK) {
            cell->state = bytes[i] == '[' ? S2E_CELL_LIST : S2E_CELL_TEXT;
            if (cell->state == S2E_CELL_LIST) i++;
        } else if (cell->state == S2E_CELL_TEXT) {
            s2e_picture_text_add(&cell->text, bytes + i, n - i, at + i);
            return;
        } else if (cell->state == S2E_CELL_ITEM) {
            const uint8_t *stop = memchr(bytes + i, cell->quote, n - i);
            const size_t m = stop ? (size_t)(stop - (bytes + i)) : n - i;
            s2e_picture_text_add(&cell->text, bytes + i, m, at + i);
            i += m;
            if (stop) {
                finish_item(cell);
                i++;
            }
        } else {
            take_between(cell, bytes[i++]);
        }
    }
}

s2p_status s2e_picture_cell_finish(s2e_picture_cell *cell, s2e_value *out, s2p_error *error)
{
    *out = (s2e_value){ .type = S2E_NONE };
    if (cell->status != S2P_OK) return s2_fail(error, cell->status, "%s", cell->error.message);
    if (cell->state == S2E_CELL_BLANK || cell->state == S2E_CELL_TEXT)
        return s2e_picture_text_finish(&cell->text, cell->path, cell->arena, out, error);
    if (cell->state != S2E_CELL_CLOSED)
        return s2_fail(error, S2P_EFORMAT, "the list of pictures does not end");
    s2e_value *item = s2e_arena_take(cell->arena, cell->items.size + 1);
    if (!item) return s2e_arena_fail(cell->arena, "a list of pictures", error);
    if (cell->items.size) memcpy(item, cell->items.data, cell->items.size);
    *out = (s2e_value){ .type = S2E_LIST, .n = cell->items.size / sizeof *item, .item = item };
    return S2P_OK;
}
