/* json_rows.c - records of JSON, wherever they stand: on lines, in an array, under the keys of an
 * object or in one member of it. Only one record is in memory. */
#include "eval/readers/reader.h"

#include "eval/readers/json_scan.h"

#include <stdlib.h>
#include <string.h>

typedef struct json_rows {
    s2e_reader reader;
    s2e_json_shape shape;
    bool started, ended;
    s2_buffer record, key;
} json_rows;

static s2p_status broken(json_rows *j, s2p_status st, s2p_error *error, const char *why)
{
    j->reader.n_lost++;
    return s2_fail(error, st, "%s, row %lld: %s", j->reader.input.name, (long long)j->reader.row,
                   why);
}

/* What is wrong with the file cannot be walked around: this is its last row. */
static s2p_status give_up(json_rows *j, s2p_error *error, const char *why)
{
    j->ended = true;
    return broken(j, S2P_EFORMAT, error, why);
}

/* Past the separator before the next record and, in an object, past its key. */
static s2p_status find_record(json_rows *j, s2p_error *error)
{
    s2e_input *in = &j->reader.input;
    const int closing = j->shape == S2E_JSON_ARRAY ? ']' : '}';
    int c;
    TRY(s2e_json_peek(in, &c, error));
    if (c == closing) {
        j->ended = true;
        return S2P_OK;
    }
    j->reader.row++;
    if (j->started) {
        if (c != ',')
            return give_up(j, error,
                           c < 0 ? "the file ends before this record" : "no comma before it");
        in->at++;
        TRY(s2e_json_peek(in, &c, error));
    }
    j->started = true;
    if (c < 0) return give_up(j, error, "the file ends before this record");
    if (j->shape == S2E_JSON_ARRAY) return S2P_OK;
    bool whole = false;
    if (c == '"') TRY(s2e_json_take(in, &j->key, &whole, error));
    if (!whole || j->key.status != S2P_OK) return give_up(j, error, "no key before it");
    TRY(s2e_json_peek(in, &c, error));
    if (c != ':') return give_up(j, error, "no colon after its key");
    in->at++;
    TRY(s2e_json_peek(in, &c, error));
    return c < 0 ? give_up(j, error, "the file ends after its key") : S2P_OK;
}

/* The next line that has something on it. */
static s2p_status take_line(json_rows *j, uint64_t *at, s2p_error *error)
{
    int c;
    bool whole;
    TRY(s2e_json_peek(&j->reader.input, &c, error));
    j->ended = c < 0;
    if (j->ended) return S2P_OK;
    j->reader.row++;
    *at = s2e_input_tell(&j->reader.input);
    return s2e_json_take_line(&j->reader.input, &j->record, &whole, error);
}

static s2p_status take_record(json_rows *j, uint64_t *at, s2p_error *error)
{
    TRY(find_record(j, error));
    if (j->ended) return S2P_OK;
    *at = s2e_input_tell(&j->reader.input);
    bool whole;
    TRY(s2e_json_take(&j->reader.input, &j->record, &whole, error));
    if (!whole) return give_up(j, error, "the file ends inside it");
    if (j->record.size == 0 && j->record.status == S2P_OK)
        return give_up(j, error, "there is no value where it should be");
    return S2P_OK;
}

static s2p_status next_record(s2e_reader *reader, s2e_row *row, bool *end, s2p_error *error)
{
    json_rows *j = (json_rows *)reader;
    uint64_t at = 0;
    if (!j->ended)
        TRY(j->shape == S2E_JSON_LINES ? take_line(j, &at, error) : take_record(j, &at, error));
    *end = j->ended;
    if (*end) return S2P_OK;
    if (j->record.status == S2P_ENOMEM)
        return s2_fail_memory(error, j->record.size, reader->input.name);
    if (j->record.status != S2P_OK)
        return broken(j, S2P_ELIMIT, error, "the record is longer than the limit of a row");
    size_t n = j->record.size;
    const char *text = (const char *)j->record.data;
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\r' || text[n - 1] == '\t')) n--;
    const s2e_json_record record = {
        reader->options, reader->input.path, &reader->arena, text, n, at
    };
    const bool has_key = j->shape == S2E_JSON_OBJECT;
    s2p_error why;
    const s2p_status st = s2e_json_record_read(&record, has_key ? (const char *)j->key.data : NULL,
                                               j->key.size, row, &why);
    return st == S2P_OK ? S2P_OK : broken(j, st, error, why.message);
}

static void close_json_rows(s2e_reader *reader)
{
    json_rows *j = (json_rows *)reader;
    s2_buffer_free(&j->record);
    s2_buffer_free(&j->key);
    s2e_arena_free(&reader->arena);
    s2e_input_close(&reader->input);
    free(j);
}

/* Up to the value of the member that holds the rows. */
static s2p_status find_member(json_rows *j, const char *member, s2p_error *error)
{
    s2e_input *in = &j->reader.input;
    for (bool first = true;; first = false) {
        int c;
        bool whole = false;
        TRY(s2e_json_peek(in, &c, error));
        if (!first && c == ',') {
            in->at++;
            TRY(s2e_json_peek(in, &c, error));
        }
        if (c == '"') TRY(s2e_json_take(in, &j->key, &whole, error));
        if (whole) TRY(s2e_json_peek(in, &c, error));
        if (!whole || c != ':' || j->key.status != S2P_OK)
            return s2_fail(error, S2P_EFORMAT, "%s: the object has no member '%.64s'", in->name,
                           member);
        in->at++;
        TRY(s2e_json_peek(in, &c, error));
        const size_t n = strlen(member);
        if (j->key.size == n + 2 && memcmp(j->key.data + 1, member, n) == 0) return S2P_OK;
        TRY(s2e_json_take(in, NULL, &whole, error));
    }
}

/* Inside the brackets that hold the records. */
static s2p_status enter(json_rows *j, s2p_error *error)
{
    s2e_input *in = &j->reader.input;
    const char *member = j->reader.options->member;
    int c;
    TRY(s2e_json_peek(in, &c, error));
    if (j->shape == S2E_JSON_OBJECT && member) {
        in->at++;
        TRY(find_member(j, member, error));
        TRY(s2e_json_peek(in, &c, error));
        if (c != '[' && c != '{')
            return s2_fail(error, S2P_EFORMAT, "%s: its '%.64s' is neither an array nor an object",
                           in->name, member);
        j->shape = c == '[' ? S2E_JSON_ARRAY : S2E_JSON_OBJECT;
    }
    in->at++;
    return S2P_OK;
}

s2p_status s2e_json_rows_open(s2e_input *input, s2e_json_shape shape,
                              const s2e_rows_options *options, s2e_reader **out, s2p_error *error)
{
    *out = NULL;
    json_rows *j = calloc(1, sizeof *j);
    if (!j) return s2_fail_memory(error, sizeof *j, input->name);
    j->reader = (s2e_reader){
        .next = next_record, .close = close_json_rows, .options = options, .input = *input
    };
    j->shape = shape;
    s2e_arena_init(&j->reader.arena, options->max_row);
    s2_buffer_init(&j->record, options->max_row);
    s2_buffer_init(&j->key, options->max_text);
    const s2p_status st = shape == S2E_JSON_LINES ? S2P_OK : enter(j, error);
    if (st == S2P_OK) {
        *out = &j->reader;
        return S2P_OK;
    }
    *input = j->reader.input;
    j->reader.input = (s2e_input){ .fd = -1 };
    close_json_rows(&j->reader);
    return st;
}

s2p_status s2e_json_shape_of(s2e_input *input, s2e_json_shape *out, s2p_error *error)
{
    const uint64_t at = s2e_input_tell(input);
    int c;
    bool whole;
    TRY(s2e_json_peek(input, &c, error));
    *out = S2E_JSON_ARRAY;
    if (c == '{') {
        TRY(s2e_json_take(input, NULL, &whole, error));
        TRY(s2e_json_peek(input, &c, error));
        *out = c < 0 ? S2E_JSON_OBJECT : S2E_JSON_LINES;
    }
    s2e_input_seek(input, at);
    return S2P_OK;
}
