/* parquet_page.c - PageHeader of parquet-format, and the codecs people use. */
#include "eval/readers/parquet/parquet_page.h"

#include "eval/readers/parquet/thrift.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_TRY ((size_t)512)
#define MAX_HEADER ((size_t)64 << 20) /* some writers put whole values into its statistics */

typedef struct page_header {
    int64_t kind, full, packed;                                           /* bytes of the page */
    int64_t n_values, encoding, def_encoding, rep_encoding, n_def, n_rep; /* of its inner header */
    bool has_inner, plain; /* plain: the values of a page of version 2 are not compressed */
} page_header;

/* DataPageHeader, DictionaryPageHeader (its first two fields are the same) and DataPageHeaderV2. */
static void read_inner(s2e_thrift *t, int32_t which, page_header *h)
{
    const bool second = which == 8;
    s2e_thrift_field field = { 0 };
    h->has_inner = true;
    while (s2e_thrift_next(t, &field)) {
        if (field.id == 1)
            h->n_values = s2e_thrift_int(t, &field);
        else if (field.id == (second ? 4 : 2))
            h->encoding = s2e_thrift_int(t, &field);
        else if (which == 5 && field.id == 3)
            h->def_encoding = s2e_thrift_int(t, &field);
        else if (which == 5 && field.id == 4)
            h->rep_encoding = s2e_thrift_int(t, &field);
        else if (second && field.id == 5)
            h->n_def = s2e_thrift_int(t, &field);
        else if (second && field.id == 6)
            h->n_rep = s2e_thrift_int(t, &field);
        else if (second && field.id == 7)
            h->plain = !s2e_thrift_bool(t, &field);
        else
            s2e_thrift_skip(t, &field);
    }
}

static void parse_header(s2e_thrift *t, page_header *h)
{
    *h = (page_header){ .kind = -1,
                        .full = -1,
                        .packed = -1,
                        .n_values = -1,
                        .def_encoding = S2E_ENCODING_RLE,
                        .rep_encoding = S2E_ENCODING_RLE };
    s2e_thrift_field field = { 0 };
    while (s2e_thrift_next(t, &field)) {
        if (field.id == 1)
            h->kind = s2e_thrift_int(t, &field);
        else if (field.id == 2)
            h->full = s2e_thrift_int(t, &field);
        else if (field.id == 3)
            h->packed = s2e_thrift_int(t, &field);
        else if ((field.id == 5 || field.id == 7 || field.id == 8) &&
                 field.type == S2E_THRIFT_STRUCT)
            read_inner(t, field.id, h);
        else
            s2e_thrift_skip(t, &field);
    }
}

static s2p_status no_page(const s2e_input *input, uint64_t at, s2p_error *error, const char *why)
{
    return s2_fail(error, S2P_EFORMAT, "%s: the page at byte %llu is broken: %s", input->name,
                   (unsigned long long)at, why);
}

static uint8_t *make_room(uint8_t **data, size_t *capacity, size_t n)
{
    if (n <= *capacity && *data) return *data;
    free(*data); /* what it held is not needed */
    *data = malloc(n ? n : 1);
    *capacity = *data ? n : 0;
    return *data;
}

/* The header: most are short, one with statistics may be long. *n: its bytes. */
static s2p_status read_header(const s2e_input *input, uint64_t at, uint64_t end, s2e_page *page,
                              page_header *h, size_t *n, s2p_error *error)
{
    for (size_t room = FIRST_TRY;; room *= 8) {
        if (room > end - at) room = (size_t)(end - at);
        if (!make_room(&page->packed, &page->packed_capacity, room))
            return s2_fail_memory(error, room, "a page's header");
        TRY(s2e_input_read(input, at, page->packed, room, error));
        s2e_thrift t = { .at = page->packed, .end = page->packed + room };
        parse_header(&t, h);
        *n = (size_t)(t.at - page->packed);
        if (!t.broken) return S2P_OK;
        if (!t.cut || room == end - at || room >= MAX_HEADER)
            return no_page(input, at, error, "no header");
    }
}

s2p_status s2e_page_read(const s2e_input *input, uint64_t at, uint64_t end, int32_t codec,
                         size_t max, s2e_page *page, s2p_error *error)
{
    page_header h = { .kind = -1 };
    size_t n_header = 0;
    if (at >= end) return no_page(input, at, error, "it is not there");
    TRY(read_header(input, at, end, page, &h, &n_header, error));
    if (h.kind < 0 || h.full < 0 || h.full > INT32_MAX || h.packed < 0 ||
        (uint64_t)h.packed > end - at - n_header)
        return no_page(input, at, error, "its sizes do not fit the file");
    page->kind = (int32_t)(h.kind & 0xFF);
    page->at = at;
    page->next = at + n_header + (uint64_t)h.packed;
    page->size = 0;
    if (page->kind == S2E_PAGE_INDEX || page->kind > S2E_PAGE_DATA_2) return S2P_OK;
    if (!h.has_inner || h.n_values < 0 || h.n_values > INT32_MAX || h.encoding < 0 ||
        h.encoding > 100 || h.n_def < 0 || h.n_rep < 0 || h.n_def + h.n_rep > h.packed ||
        h.n_def + h.n_rep > h.full)
        return no_page(input, at, error, "its numbers do not fit");
    page->encoding = (int32_t)h.encoding;
    page->level_encoding = h.def_encoding == h.rep_encoding && h.def_encoding == S2E_ENCODING_RLE
                               ? S2E_ENCODING_RLE
                               : S2E_ENCODING_BIT_PACKED;
    page->n_values = (int32_t)h.n_values;
    page->n_def = (uint32_t)h.n_def;
    page->n_rep = (uint32_t)h.n_rep;

    const size_t full = (size_t)h.full, packed = (size_t)h.packed;
    const size_t levels = (size_t)(h.n_def + h.n_rep); /* of version 2: never compressed */
    if (h.plain) codec = S2E_CODEC_NONE;
    if (full > max)
        return s2_fail(error, S2P_ELIMIT,
                       "%s: the page at byte %llu has %zu bytes; the limit is %zu", input->name,
                       (unsigned long long)at, full, max);
    if (!s2e_codec_can_hold(codec, packed - levels, full - levels))
        return no_page(input, at, error, "its sizes cannot be those of its codec");
    if (!make_room(&page->data, &page->capacity, full))
        return s2_fail_memory(error, full, "a page");
    page->size = full;
    if (codec == S2E_CODEC_NONE)
        return s2e_input_read(input, at + n_header, page->data, full, error);
    if (!make_room(&page->packed, &page->packed_capacity, packed))
        return s2_fail_memory(error, packed, "a compressed page");
    TRY(s2e_input_read(input, at + n_header, page->packed, packed, error));
    if (levels) memcpy(page->data, page->packed, levels);
    s2p_error why;
    const s2p_status st = s2e_codec_decode(codec, page->packed + levels, packed - levels,
                                           page->data + levels, full - levels, &why);
    if (st == S2P_EFORMAT) return no_page(input, at, error, why.message);
    return st == S2P_OK ? S2P_OK : s2_fail(error, st, "%s: %s", input->name, why.message);
}

void s2e_page_free(s2e_page *page)
{
    free(page->data);
    free(page->packed);
    *page = (s2e_page){ .data = NULL };
}
