/* thrift.c - variable-length integers, and a nibble of type before everything. */
#include "eval/readers/parquet/thrift.h"

#define MAX_DEPTH 32

enum { BYTE = 3, I16 = 4, I32 = 5, I64 = 6, DOUBLE = 7, SET = 10, MAP = 11, UUID = 13 };

static void stop(s2e_thrift *t, bool cut)
{
    t->cut = !t->broken && cut;
    t->broken = true;
    t->at = t->end;
}

static uint8_t take_byte(s2e_thrift *t)
{
    if (t->at < t->end) return *t->at++;
    stop(t, true);
    return 0;
}

static uint64_t take_varint(s2e_thrift *t)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = take_byte(t);
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) return value;
    }
    stop(t, false);
    return 0;
}

static int64_t take_zigzag(s2e_thrift *t)
{
    const uint64_t value = take_varint(t);
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static void drop(s2e_thrift *t, uint64_t n)
{
    if (n > (uint64_t)(t->end - t->at))
        stop(t, true);
    else
        t->at += n;
}

bool s2e_thrift_next(s2e_thrift *t, s2e_thrift_field *field)
{
    const uint8_t head = take_byte(t);
    if (t->broken || head == 0) return false;
    field->type = head & 15;
    const int64_t id = head >> 4 ? field->id + (head >> 4) : take_zigzag(t);
    if (id < 0 || id > INT16_MAX || field->type == 0 || field->type > UUID) stop(t, false);
    field->id = (int32_t)id;
    return !t->broken;
}

/* Count and type of a list; every item has a byte at least, so the count is bounded by the bytes. */
static uint64_t take_list(s2e_thrift *t, uint8_t *type)
{
    const uint8_t head = take_byte(t);
    uint64_t n = head >> 4;
    *type = head & 15;
    if (n == 15) n = take_varint(t);
    if (n > (uint64_t)(t->end - t->at)) stop(t, true);
    return t->broken ? 0 : n;
}

static void skip_value(s2e_thrift *t, uint8_t type, bool in_list, int depth)
{
    if (depth > MAX_DEPTH) stop(t, false);
    if (t->broken) return;
    uint8_t item;
    uint64_t n;
    s2e_thrift_field inner = { 0 };
    switch (type) {
    case S2E_THRIFT_TRUE:
    case S2E_THRIFT_FALSE:
        drop(t, in_list ? 1 : 0);
        return;
    case BYTE:
        drop(t, 1);
        return;
    case I16:
    case I32:
    case I64:
        (void)take_varint(t);
        return;
    case DOUBLE:
        drop(t, 8);
        return;
    case UUID:
        drop(t, 16);
        return;
    case S2E_THRIFT_BINARY:
        drop(t, take_varint(t));
        return;
    case S2E_THRIFT_LIST:
    case SET:
        n = take_list(t, &item);
        for (uint64_t i = 0; i < n && !t->broken; i++) skip_value(t, item, true, depth + 1);
        return;
    case MAP:
        n = take_varint(t);
        if (n == 0) return;
        item = take_byte(t);
        for (uint64_t i = 0; i < n && !t->broken; i++) {
            skip_value(t, item >> 4, true, depth + 1);
            skip_value(t, item & 15, true, depth + 1);
        }
        return;
    case S2E_THRIFT_STRUCT:
        while (s2e_thrift_next(t, &inner)) skip_value(t, inner.type, false, depth + 1);
        return;
    default:
        stop(t, false);
    }
}

void s2e_thrift_skip(s2e_thrift *t, const s2e_thrift_field *field)
{
    skip_value(t, field->type, false, 0);
}

int64_t s2e_thrift_int(s2e_thrift *t, const s2e_thrift_field *field)
{
    if (field->type == BYTE) return (int8_t)take_byte(t);
    if (field->type == I16 || field->type == I32 || field->type == I64) return take_zigzag(t);
    stop(t, false);
    return 0;
}

bool s2e_thrift_bool(s2e_thrift *t, const s2e_thrift_field *field)
{
    if (field->type != S2E_THRIFT_TRUE && field->type != S2E_THRIFT_FALSE) stop(t, false);
    return field->type == S2E_THRIFT_TRUE;
}

const uint8_t *s2e_thrift_binary(s2e_thrift *t, const s2e_thrift_field *field, size_t *n)
{
    *n = 0;
    if (field->type != S2E_THRIFT_BINARY) stop(t, false);
    const uint64_t size = t->broken ? 0 : take_varint(t);
    const uint8_t *bytes = t->at;
    drop(t, size);
    if (!t->broken) *n = (size_t)size;
    return bytes;
}

void s2e_thrift_struct(s2e_thrift *t, const s2e_thrift_field *field)
{
    if (field->type != S2E_THRIFT_STRUCT) stop(t, false);
}

size_t s2e_thrift_structs(s2e_thrift *t, const s2e_thrift_field *field)
{
    uint8_t type = S2E_THRIFT_STRUCT;
    if (field->type != S2E_THRIFT_LIST) stop(t, false);
    const uint64_t n = t->broken ? 0 : take_list(t, &type);
    if (n > 0 && type != S2E_THRIFT_STRUCT) stop(t, false);
    return t->broken ? 0 : (size_t)n;
}
