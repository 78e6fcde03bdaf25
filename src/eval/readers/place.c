/* place.c - go back to where a picture was and fetch it. */
#include "eval/readers/place.h"

#include "base/base64_decode.h"
#include "eval/readers/input.h"
#include "eval/readers/parquet/parquet_runs.h"
#include "eval/readers/parquet/parquet_page.h"

#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)64 << 10)

/* n bytes of the file, decoded on the way when they are base64. */
static s2p_status load_span(const s2e_place *place, const s2e_input *input, s2_buffer *out,
                            s2p_error *error)
{
    const bool is_file = place->form == S2E_PLACE_FILE;
    s2_base64 base64 = { .escapes = place->form == S2E_PLACE_JSON };
    uint8_t *piece = malloc(PIECE);
    if (!piece) return s2_fail_memory(error, PIECE, input->name);
    s2p_status st = S2P_OK;
    for (uint64_t i = 0; i < place->n && st == S2P_OK; i += PIECE) {
        const size_t n = place->n - i < PIECE ? (size_t)(place->n - i) : PIECE;
        st = s2e_input_read(input, place->at + i, piece, n, error);
        if (st != S2P_OK) break;
        if (is_file) {
            s2_buffer_append(out, piece, n);
        } else {
            uint8_t *at = s2_buffer_extend(out, S2_BASE64_ROOM(n));
            if (at) out->size -= S2_BASE64_ROOM(n) - s2_base64_decode(&base64, piece, n, at);
        }
        st = out->status;
    }
    free(piece);
    if (st == S2P_OK && !is_file && !s2_base64_is_whole(&base64))
        st = s2_fail(error, S2P_EFORMAT, "%s: no base64 picture at byte %llu any more", input->name,
                     (unsigned long long)place->at);
    return st;
}

/* The value of a page that spells values by differences. */
static bool load_delta(const s2e_place *place, const s2e_page *page, s2_buffer *out)
{
    s2e_delta_bytes texts = { .at = NULL };
    s2_buffer_init(&texts.value, (size_t)place->size + page->size);
    bool found =
        place->n <= page->size &&
        s2e_delta_bytes_start(&texts, page->data + place->n, page->data + page->size, INT32_MAX);
    for (uint64_t i = 0; found && i <= place->at; i++) found = s2e_delta_bytes_next(&texts);
    if (found) s2_buffer_append(out, texts.value.data, texts.value.size);
    s2_buffer_free(&texts.value);
    return found;
}

/* A part of a page of Parquet. */
static s2p_status load_page(const s2e_place *place, const s2e_input *input, s2_buffer *out,
                            s2p_error *error)
{
    s2e_page page = { .data = NULL };
    s2p_status st =
        s2e_page_read(input, place->page, input->size, place->codec, SIZE_MAX, &page, error);
    const bool inside = place->at <= page.size && place->n <= page.size - place->at;
    bool found = st == S2P_OK && inside;
    if (st == S2P_OK && place->form == S2E_PLACE_PAGE_DELTA) {
        found = load_delta(place, &page, out);
    } else if (found && place->form == S2E_PLACE_PAGE) {
        s2_buffer_append(out, page.data + place->at, (size_t)place->n);
    } else if (found) {
        s2_base64 base64 = { .bits = 0 };
        const size_t room = S2_BASE64_ROOM((size_t)place->n);
        uint8_t *at = s2_buffer_extend(out, room);
        if (at)
            out->size -=
                room - s2_base64_decode(&base64, page.data + place->at, (size_t)place->n, at);
        found = s2_base64_is_whole(&base64);
    }
    s2e_page_free(&page);
    if (st == S2P_OK && !found && out->status == S2P_OK)
        st = s2_fail(error, S2P_EFORMAT, "%s: no picture in the page at byte %llu any more",
                     input->name, (unsigned long long)place->page);
    return st;
}

/* Are the bytes behind `before` those the place was made from? */
static s2p_status check(const s2e_place *place, const s2_buffer *out, size_t before,
                        s2p_error *error)
{
    const size_t n = out->size - before;
    char hex[S2_SHA256_HEX] = "";
    if (place->sha256[0]) {
        uint8_t digest[32];
        s2_sha256(n ? out->data + before : (const uint8_t *)"", n, digest);
        s2_sha256_hex(digest, hex);
    }
    if (n == place->size && strcmp(hex, place->sha256) == 0) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "'%s' changed after it was read: the picture at byte %llu",
                   place->path, (unsigned long long)place->at);
}

s2p_status s2e_place_load(const s2e_place *place, s2_buffer *out, s2p_error *error)
{
    if (place->size > out->max - out->size)
        return s2_fail(error, S2P_ELIMIT, "'%s': a picture of %llu bytes; the limit is %zu",
                       place->path, (unsigned long long)place->size, out->max);
    const size_t before = out->size;
    s2e_input input;
    TRY(s2e_input_open(&input, place->path, error));
    s2p_status st = place->form >= S2E_PLACE_PAGE ? load_page(place, &input, out, error)
                                                  : load_span(place, &input, out, error);
    s2e_input_close(&input);
    if (st == S2P_OK) st = check(place, out, before, error);
    if (out->status != S2P_OK) return s2_fail_memory(error, (size_t)place->size, place->path);
    if (st != S2P_OK) out->size = before;
    return st;
}

s2p_status s2e_place_of_file(const char *path, s2e_place *out, s2p_error *error)
{
    *out = (s2e_place){ .path = path, .form = S2E_PLACE_FILE };
    s2e_input input;
    TRY(s2e_input_open(&input, path, error));
    s2_sha256_state state;
    s2_sha256_start(&state);
    s2p_status st = S2P_OK;
    for (bool end = false; st == S2P_OK && !end;) {
        st = s2e_input_fill(&input, &end, error);
        if (st != S2P_OK || end) break;
        s2_sha256_add(&state, input.window, input.n);
        out->n += input.n;
        input.at = input.n;
    }
    s2e_input_close(&input);
    uint8_t digest[32];
    s2_sha256_finish(&state, digest);
    s2_sha256_hex(digest, out->sha256);
    out->size = out->n;
    return st;
}

s2p_status s2e_place_copy(const s2e_place *place, s2e_place *out, s2p_error *error)
{
    *out = *place;
    out->path = strdup(place->path);
    return out->path ? S2P_OK : s2_fail_memory(error, strlen(place->path), "a path");
}

void s2e_place_free(s2e_place *copy)
{
    free((void *)(uintptr_t)copy->path);
    copy->path = NULL;
}
