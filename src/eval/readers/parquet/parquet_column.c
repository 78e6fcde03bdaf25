/* parquet_column.c - pages of a chunk in order: levels beside values, values in one of the encodings.
 *
 * A value is first found as bytes somewhere in a page (the data page, the dictionary page, or the
 * buffer that spells differences out), then made what the schema says it is. A picture stays where
 * it was found: its place is the page in the file and the bytes in the page.
 */
#include "eval/readers/parquet/parquet_column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void s2e_column_init(s2e_column *column, const s2e_schema_node *leaf, bool is_picture,
                     const s2e_input *input, const s2e_rows_options *options)
{
    *column =
        (s2e_column){ .leaf = leaf, .is_picture = is_picture, .input = input, .options = options };
    const bool text = leaf->meaning == S2E_MEANS_TEXT;
    s2_buffer_init(&column->texts.value, text ? options->max_text : options->max_picture);
}

void s2e_column_free(s2e_column *column)
{
    s2e_page_free(&column->page);
    s2e_page_free(&column->dictionary);
    free(column->entry);
    s2_buffer_free(&column->texts.value);
    s2e_picture_cell_free(&column->cell);
    column->entry = NULL;
}

void s2e_column_start(s2e_column *column, const s2e_chunk *chunk)
{
    column->chunk = *chunk;
    column->left = chunk->n_values;
    column->page_left = 0;
    column->n_entries = 0;
    column->dictionary.size = 0;
    column->peeked = false;
}

static s2p_status broken(const s2e_column *c, s2p_error *error, const char *why)
{
    return s2_fail(error, S2P_EFORMAT, "column '%.64s': %s (page at byte %llu)", c->leaf->name, why,
                   (unsigned long long)c->page.at);
}

static uint32_t le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t le64(const uint8_t *p) { return le32(p) | (uint64_t)le32(p + 4) << 32; }

/* Bytes of a value that is stored plainly; 0: it says so itself. */
static size_t fixed_size(const s2e_schema_node *leaf)
{
    switch (leaf->physical) {
    case S2E_PHYSICAL_INT32:
    case S2E_PHYSICAL_FLOAT:
        return 4;
    case S2E_PHYSICAL_INT64:
    case S2E_PHYSICAL_DOUBLE:
        return 8;
    case S2E_PHYSICAL_INT96:
        return 12;
    case S2E_PHYSICAL_FIXED:
        return (size_t)leaf->length;
    case S2E_PHYSICAL_BOOLEAN:
    case S2E_PHYSICAL_BYTES:
    case S2E_PHYSICAL_GROUP:
        break;
    }
    return 0;
}

/* --- pages --- */

/* The dictionary page just read becomes the dictionary of the chunk. */
static s2p_status open_dictionary(s2e_column *c, s2p_error *error)
{
    const s2e_page swap = c->dictionary;
    c->dictionary = c->page;
    c->page = swap;
    c->page.at = c->dictionary.at;
    const s2e_page *d = &c->dictionary;
    const size_t n = (size_t)d->n_values, size = fixed_size(c->leaf);
    c->n_entries = 0;
    if (d->encoding != S2E_ENCODING_PLAIN && d->encoding != S2E_ENCODING_PLAIN_DICTIONARY)
        return broken(c, error, "a dictionary in an unknown encoding");
    if (c->leaf->physical == S2E_PHYSICAL_BOOLEAN)
        return broken(c, error, "a dictionary of booleans");
    if (n > d->size / (size ? size : 4)) return broken(c, error, "a truncated dictionary");
    if (size == 0) {
        free(c->entry);
        c->entry = malloc((n + 1) * sizeof *c->entry);
        if (!c->entry) return s2_fail_memory(error, n * sizeof *c->entry, "a dictionary");
        size_t at = 0;
        for (size_t i = 0; i < n; i++) {
            if (d->size - at < 4 || le32(d->data + at) > d->size - at - 4)
                return broken(c, error, "a truncated dictionary");
            c->entry[i] = (uint32_t)at;
            at += 4 + (size_t)le32(d->data + at);
        }
    }
    c->n_entries = (uint32_t)n;
    return S2P_OK;
}

static uint32_t width_of(int32_t max_level)
{
    uint32_t width = 0;
    while (max_level >> width) width++;
    return width;
}

/* Levels of a page of version 1: their size, then the runs. */
static bool open_levels(s2e_column *c, int32_t max_level, s2e_runs *out)
{
    const s2e_page *p = &c->page;
    s2e_runs_start(out, p->data, p->data, 0);
    if (max_level == 0) return true;
    if (p->size - c->at < 4) return false;
    const size_t n = le32(p->data + c->at);
    c->at += 4;
    if (n > p->size - c->at) return false;
    s2e_runs_start(out, p->data + c->at, p->data + c->at + n, width_of(max_level));
    c->at += n;
    return true;
}

/* Get ready to read values where they begin. */
static s2p_status open_values(s2e_column *c, s2p_error *error)
{
    const s2e_page *p = &c->page;
    const uint8_t *at = p->data + c->at, *end = p->data + p->size;
    const s2e_physical type = c->leaf->physical;
    const bool is_int = type == S2E_PHYSICAL_INT32 || type == S2E_PHYSICAL_INT64;
    const bool is_bytes = type == S2E_PHYSICAL_BYTES || type == S2E_PHYSICAL_FIXED;
    const uint64_t n = (uint64_t)p->n_values;
    c->values = c->at;
    c->n_taken = 0;
    if (at == end) { /* nulls alone: every other value is one too many */
        s2e_runs_start(&c->indices, at, end, 0);
        c->numbers = (s2e_delta){ .left = 0 };
        c->texts.prefixes = c->texts.lengths = c->numbers;
        return S2P_OK;
    }
    switch (p->encoding) {
    case S2E_ENCODING_PLAIN:
        return S2P_OK;
    case S2E_ENCODING_SPLIT:
        if (fixed_size(c->leaf) == 0 || type == S2E_PHYSICAL_INT96) break;
        return S2P_OK;
    case S2E_ENCODING_PLAIN_DICTIONARY:
    case S2E_ENCODING_RLE_DICTIONARY:
        if (c->dictionary.size == 0 && c->n_entries == 0)
            return broken(c, error, "a page needs a dictionary, but the column has no dictionary");
        if (*at > 32) return broken(c, error, "indices of more than 32 bits");
        s2e_runs_start(&c->indices, at + 1, end, *at);
        return S2P_OK;
    case S2E_ENCODING_RLE:
        if (type != S2E_PHYSICAL_BOOLEAN) break;
        if (end - at < 4 || le32(at) > (size_t)(end - at) - 4)
            return broken(c, error, "truncated booleans");
        s2e_runs_start(&c->indices, at + 4, at + 4 + le32(at), 1);
        return S2P_OK;
    case S2E_ENCODING_DELTA:
        if (!is_int) break;
        if (s2e_delta_start(&c->numbers, at, end, n)) return S2P_OK;
        return broken(c, error, "truncated numbers");
    case S2E_ENCODING_DELTA_LENGTH:
        if (type != S2E_PHYSICAL_BYTES) break;
        if (!s2e_delta_start(&c->numbers, at, end, n) || !s2e_delta_end(&c->numbers))
            return broken(c, error, "truncated lengths");
        c->at = (size_t)(s2e_delta_end(&c->numbers) - p->data);
        return S2P_OK;
    case S2E_ENCODING_DELTA_BYTES:
        if (!is_bytes) break;
        if (s2e_delta_bytes_start(&c->texts, at, end, n)) return S2P_OK;
        return broken(c, error, "truncated strings");
    default:
        break;
    }
    return s2_fail(error, S2P_EUNSUPPORTED, "column '%.64s': encoding %ld of type %d is not read",
                   c->leaf->name, (long)p->encoding, (int)type);
}

static s2p_status open_page(s2e_column *c, s2p_error *error)
{
    for (;;) {
        TRY(s2e_page_read(c->input, c->chunk.at, c->chunk.end, c->chunk.codec, c->options->max_page,
                          &c->page, error));
        c->chunk.at = c->page.next;
        const s2e_page *p = &c->page;
        if (p->kind == S2E_PAGE_DICTIONARY)
            TRY(open_dictionary(c, error));
        else if (p->kind == S2E_PAGE_DATA || p->kind == S2E_PAGE_DATA_2)
            if (p->n_values > 0) break;
    }
    const s2e_page *p = &c->page;
    const s2e_schema_node *leaf = c->leaf;
    c->at = 0;
    if (p->kind == S2E_PAGE_DATA_2) {
        const uint8_t *rep = p->data, *def = rep + p->n_rep;
        s2e_runs_start(&c->rep_levels, rep, def, width_of(leaf->max_rep));
        s2e_runs_start(&c->def_levels, def, def + p->n_def, width_of(leaf->max_def));
        c->at = (size_t)p->n_rep + p->n_def;
    } else {
        if (p->level_encoding != S2E_ENCODING_RLE && leaf->max_def > 0)
            return s2_fail(error, S2P_EUNSUPPORTED, "column '%.64s': levels of the first Parquet",
                           leaf->name);
        if (!open_levels(c, leaf->max_rep, &c->rep_levels) ||
            !open_levels(c, leaf->max_def, &c->def_levels))
            return broken(c, error, "truncated levels");
    }
    c->page_left = p->n_values < c->left ? p->n_values : (int32_t)c->left;
    return open_values(c, error);
}

s2p_status s2e_column_peek(s2e_column *column, bool *end, s2p_error *error)
{
    *end = column->left == 0;
    if (*end || column->peeked) return S2P_OK;
    if (column->page_left == 0) TRY(open_page(column, error));
    const s2e_schema_node *leaf = column->leaf;
    column->rep = column->def = 0;
    if (leaf->max_rep > 0 && !s2e_runs_next(&column->rep_levels, &column->rep))
        return broken(column, error, "truncated levels");
    if (leaf->max_def > 0 && !s2e_runs_next(&column->def_levels, &column->def))
        return broken(column, error, "truncated levels");
    if (column->rep > (uint32_t)leaf->max_rep || column->def > (uint32_t)leaf->max_def)
        return broken(column, error, "a level that the schema does not have");
    column->peeked = true;
    return S2P_OK;
}

/* --- values --- */

typedef struct found { /* the bytes of a value, and where they are */
    const uint8_t *bytes;
    size_t n;
    const s2e_page *page; /* NULL: spelled out from differences */
    size_t at;
    uint8_t own[16]; /* of numbers that are stored in another way */
} found;

static bool find_plain(s2e_column *c, const s2e_page *page, size_t at, found *out)
{
    size_t n = fixed_size(c->leaf);
    if (n == 0) {
        if (page->size < at || page->size - at < 4) return false;
        n = le32(page->data + at);
        at += 4;
    }
    if (page->size < at || n > page->size - at) return false;
    *out = (found){ .bytes = page->data + at, .n = n, .page = page, .at = at };
    return true;
}

static void put_le64(found *out, uint64_t value)
{
    for (int i = 0; i < 8; i++) out->own[i] = (uint8_t)(value >> (8 * i));
    out->bytes = out->own;
    out->n = 8;
}

/* Value number n_taken of a page that has first all first bytes, then all second ones, ... */
static bool find_split(s2e_column *c, found *out)
{
    const size_t size = fixed_size(c->leaf), n = (c->page.size - c->values) / size;
    if (c->n_taken >= n || size > sizeof out->own) return false;
    for (size_t i = 0; i < size; i++) out->own[i] = c->page.data[c->values + i * n + c->n_taken];
    out->bytes = out->own;
    out->n = size;
    return true;
}

static bool find_value(s2e_column *c, found *out)
{
    uint32_t index = 0;
    int64_t number = 0;
    *out = (found){ .n = 0 };
    switch (c->page.encoding) {
    case S2E_ENCODING_PLAIN:
        if (c->leaf->physical == S2E_PHYSICAL_BOOLEAN) {
            const size_t byte = c->values + c->n_taken / 8;
            if (byte >= c->page.size) return false;
            put_le64(out, c->page.data[byte] >> (c->n_taken % 8) & 1u);
            return true;
        }
        if (!find_plain(c, &c->page, c->at, out)) return false;
        c->at = out->at + out->n;
        return true;
    case S2E_ENCODING_SPLIT:
        return find_split(c, out);
    case S2E_ENCODING_PLAIN_DICTIONARY:
    case S2E_ENCODING_RLE_DICTIONARY:
        if (!s2e_runs_next(&c->indices, &index) || index >= c->n_entries) return false;
        return find_plain(c, &c->dictionary,
                          fixed_size(c->leaf) ? index * fixed_size(c->leaf) : c->entry[index], out);
    case S2E_ENCODING_RLE:
        if (!s2e_runs_next(&c->indices, &index)) return false;
        put_le64(out, index);
        return true;
    case S2E_ENCODING_DELTA:
        if (!s2e_delta_next(&c->numbers, &number)) return false;
        put_le64(out, (uint64_t)number);
        return true;
    case S2E_ENCODING_DELTA_LENGTH:
        if (!s2e_delta_next(&c->numbers, &number)) return false;
        if (number < 0 || (uint64_t)number > c->page.size - c->at) return false;
        *out = (found){
            .bytes = c->page.data + c->at, .n = (size_t)number, .page = &c->page, .at = c->at
        };
        c->at += out->n;
        return true;
    case S2E_ENCODING_DELTA_BYTES:
        if (!s2e_delta_bytes_next(&c->texts)) return false;
        *out = (found){ .bytes = c->texts.value.data, .n = c->texts.value.size };
        if (!out->bytes) out->bytes = out->own;
        return c->leaf->physical != S2E_PHYSICAL_FIXED || out->n == (size_t)c->leaf->length;
    default:
        return false;
    }
}

/* A picture where it was found. */
static s2p_status make_place(s2e_column *c, const found *f, s2e_arena *arena, s2e_value *out,
                             s2p_error *fault)
{
    if (f->n > c->options->max_picture)
        return s2_fail(fault, S2P_ELIMIT,
                       "column '%.64s': the picture has %zu bytes; the limit is %zu", c->leaf->name,
                       f->n, c->options->max_picture);
    s2e_place *place = s2e_arena_take(arena, sizeof *place);
    if (!place) return s2e_arena_fail(arena, "the row", fault);
    *place = (s2e_place){ .path = c->input->path,
                          .form = f->page ? S2E_PLACE_PAGE : S2E_PLACE_PAGE_DELTA,
                          .codec = c->chunk.codec,
                          .page = f->page ? f->page->at : c->page.at,
                          .at = f->page ? f->at : c->n_taken,
                          .n = f->page ? f->n : c->values,
                          .size = f->n };
    if (!c->options->unhashed) {
        uint8_t digest[32];
        s2_sha256(f->bytes, f->n, digest);
        s2_sha256_hex(digest, place->sha256);
    }
    *out = (s2e_value){ .type = S2E_PLACE, .place = place };
    return S2P_OK;
}

/* Places in base64 that the cell found in a page are of that page. */
static void move_place(const s2e_column *c, const found *f, const s2e_value *value)
{
    if (value->type != S2E_PLACE) return;
    s2e_place *place = (s2e_place *)(uintptr_t)value->place; /* made for this row a moment ago */
    place->form = S2E_PLACE_PAGE_BASE64;
    place->page = f->page->at;
    place->codec = c->chunk.codec;
}

static s2p_status make_text(s2e_column *c, const found *f, s2e_arena *arena, s2e_value *out,
                            s2p_error *fault)
{
    const char *name = c->leaf->name;
    const char *text = (const char *)f->bytes;
    if (c->is_picture && f->page && f->n > S2E_REFERENCE_MAX && !s2e_is_file_name(text, f->n)) {
        s2p_error why;
        s2e_picture_cell_start(&c->cell, c->options, c->input->path, arena);
        s2e_picture_cell_add(&c->cell, f->bytes, f->n, f->at);
        const s2p_status st = s2e_picture_cell_finish(&c->cell, out, &why);
        if (st != S2P_OK) return s2_fail(fault, st, "column '%.64s': %s", name, why.message);
        move_place(c, f, out);
        for (size_t i = 0; out->type == S2E_LIST && i < out->n; i++)
            move_place(c, f, &out->item[i]);
        return S2P_OK;
    }
    if (f->n > c->options->max_text)
        return s2_fail(fault, S2P_ELIMIT, "column '%.64s': it has %zu bytes; the limit is %zu",
                       name, f->n, c->options->max_text);
    if (!s2e_text_is_clean(text, f->n))
        return s2_fail(fault, S2P_EFORMAT, "column '%.64s': it is not UTF-8 text without NUL",
                       name);
    if (c->options->nan_is_none && s2e_text_is_nan(text, f->n)) return S2P_OK;
    const char *copy = s2e_arena_text(arena, text, f->n);
    if (!copy) return s2e_arena_fail(arena, "the row", fault);
    *out = (s2e_value){ .type = S2E_TEXT, .n = f->n, .text = copy };
    return S2P_OK;
}

/* A number of up to 16 bytes, the highest first, in two's complement. */
static double big_endian(const uint8_t *p, size_t n)
{
    double value = 0;
    const bool negative = n > 0 && p[0] & 0x80;
    for (size_t i = 0; i < n; i++) value = value * 256 + (negative ? 255 - p[i] : p[i]);
    return negative ? -value - 1 : value;
}

static double half_float(uint32_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double sign = bits >> 15 ? -1 : 1, fraction = bits & 1023;
    if (exponent == 31) return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static s2p_status make_bytes(const s2e_column *c, const found *f, s2e_arena *arena, s2e_value *out,
                             s2p_error *fault)
{
    (void)c;
    const char *copy = s2e_arena_text(arena, f->bytes, f->n);
    if (!copy) return s2e_arena_fail(arena, "the row", fault);
    *out = (s2e_value){ .type = S2E_BYTES, .n = f->n, .text = copy };
    return S2P_OK;
}

static s2p_status make_value(s2e_column *c, const found *f, s2e_arena *arena, s2e_value *out,
                             s2p_error *fault)
{
    const s2e_schema_node *leaf = c->leaf;
    const s2e_meaning meaning = leaf->meaning;
    float real32;
    uint32_t bits32;
    uint64_t bits64;
    int64_t whole = 0;
    switch (leaf->physical) {
    case S2E_PHYSICAL_BOOLEAN:
        *out = (s2e_value){ .type = S2E_BOOL, .truth = f->bytes[0] & 1 };
        return S2P_OK;
    case S2E_PHYSICAL_FLOAT:
        bits32 = le32(f->bytes);
        memcpy(&real32, &bits32, sizeof real32);
        *out = (s2e_value){ .type = S2E_REAL, .real = (double)real32 };
        return S2P_OK;
    case S2E_PHYSICAL_DOUBLE:
        bits64 = le64(f->bytes);
        *out = (s2e_value){ .type = S2E_REAL };
        memcpy(&out->real, &bits64, sizeof out->real);
        return S2P_OK;
    case S2E_PHYSICAL_INT32:
    case S2E_PHYSICAL_INT64:
        bits64 = leaf->physical == S2E_PHYSICAL_INT64 ? le64(f->bytes) : le32(f->bytes);
        whole = (int64_t)bits64;
        if (leaf->physical == S2E_PHYSICAL_INT32 && meaning != S2E_MEANS_UNSIGNED)
            whole = (int32_t)(uint32_t)bits64;
        *out = (s2e_value){ .type = S2E_INT, .whole = whole };
        if (meaning == S2E_MEANS_UNSIGNED && whole < 0)
            *out = (s2e_value){ .type = S2E_REAL, .real = (double)bits64 };
        if (meaning == S2E_MEANS_DECIMAL)
            *out = (s2e_value){ .type = S2E_REAL, .real = (double)whole / pow(10, leaf->scale) };
        return S2P_OK;
    case S2E_PHYSICAL_BYTES:
        if (meaning == S2E_MEANS_TEXT) return make_text(c, f, arena, out, fault);
        if (meaning != S2E_MEANS_DECIMAL) return make_place(c, f, arena, out, fault);
        break;
    case S2E_PHYSICAL_FIXED:
        if (meaning == S2E_MEANS_HALF && f->n == 2) {
            const double real = half_float(f->bytes[0] | (uint32_t)f->bytes[1] << 8);
            *out = (s2e_value){ .type = S2E_REAL, .real = real };
            return S2P_OK;
        }
        break;
    case S2E_PHYSICAL_INT96:
    case S2E_PHYSICAL_GROUP:
        break;
    }
    if (meaning == S2E_MEANS_DECIMAL && f->n <= 16) {
        const double real = big_endian(f->bytes, f->n) / pow(10, leaf->scale);
        *out = (s2e_value){ .type = S2E_REAL, .real = real };
        return S2P_OK;
    }
    return make_bytes(c, f, arena, out, fault);
}

s2p_status s2e_column_take(s2e_column *column, s2e_arena *arena, s2e_value *out, s2p_error *fault,
                           s2p_error *error)
{
    *out = (s2e_value){ .type = S2E_NONE };
    column->peeked = false;
    column->left--;
    column->page_left--;
    if (column->def < (uint32_t)column->leaf->max_def) return S2P_OK;
    found f;
    if (!find_value(column, &f)) return broken(column, error, "truncated values");
    const s2p_status st = make_value(column, &f, arena, out, fault);
    column->n_taken++;
    if (st == S2P_ENOMEM) return s2_fail(error, st, "%s", fault->message);
    return S2P_OK;
}
