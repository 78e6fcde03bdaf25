/* parquet_meta.c - FileMetaData of parquet-format, the fields that reading needs.
 *
 * Row groups are parsed when they are reached, so what is kept in memory is the footer as it is on
 * disk and one row group's chunks, however many groups a file claims to have.
 */
#include "eval/readers/parquet/parquet_meta.h"

#include "eval/readers/value.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FOOTER ((uint64_t)256 << 20)
#define MAX_NODES 10000
#define MAX_DEPTH 32

static s2p_status no_footer(const s2e_input *input, s2p_error *error, const char *why)
{
    return s2_fail(error, S2P_EFORMAT, "%s: its Parquet footer is broken: %s", input->name, why);
}

/* --- the schema --- */

/* LogicalType is a union: the number of the field that is there says which. */
static void read_logical(s2e_thrift *t, s2e_schema_node *node)
{
    s2e_thrift_field field = { 0 };
    while (s2e_thrift_next(t, &field)) {
        s2e_thrift_struct(t, &field);
        if (field.id == 1 || field.id == 4 || field.id == 12) node->meaning = S2E_MEANS_TEXT;
        if (field.id == 2 || field.id == 3) node->meaning = S2E_MEANS_LIST; /* a map: of pairs */
        if (field.id == 5) node->meaning = S2E_MEANS_DECIMAL;
        if (field.id == 15) node->meaning = S2E_MEANS_HALF;
        s2e_thrift_field inner = { 0 };
        while (s2e_thrift_next(t, &inner)) {
            if (field.id == 5 && inner.id == 1) {
                node->scale = (int32_t)s2e_thrift_int(t, &inner);
            } else if (field.id == 10 && inner.id == 2) {
                if (!s2e_thrift_bool(t, &inner)) node->meaning = S2E_MEANS_UNSIGNED;
            } else {
                s2e_thrift_skip(t, &inner);
            }
        }
    }
}

static s2e_meaning converted_meaning(int64_t type)
{
    switch (type) {
    case 0:  /* UTF8 */
    case 4:  /* ENUM */
    case 19: /* JSON */
        return S2E_MEANS_TEXT;
    case 1: /* MAP */
    case 2: /* MAP_KEY_VALUE */
    case 3: /* LIST */
        return S2E_MEANS_LIST;
    case 5:
        return S2E_MEANS_DECIMAL;
    case 11: /* UINT_8 to UINT_64 */
    case 12:
    case 13:
    case 14:
        return S2E_MEANS_UNSIGNED;
    default:
        return S2E_MEANS_NOTHING;
    }
}

static s2p_status read_node(const s2e_input *input, s2e_thrift *t, s2e_schema_node *node,
                            s2p_error *error)
{
    int64_t physical = S2E_PHYSICAL_GROUP, repetition = S2E_REQUIRED, n_children = 0, length = 0;
    const uint8_t *name = NULL;
    size_t n_name = 0;
    s2e_thrift_field field = { 0 };
    while (s2e_thrift_next(t, &field)) {
        if (field.id == 1)
            physical = s2e_thrift_int(t, &field);
        else if (field.id == 2)
            length = s2e_thrift_int(t, &field);
        else if (field.id == 3)
            repetition = s2e_thrift_int(t, &field);
        else if (field.id == 4)
            name = s2e_thrift_binary(t, &field, &n_name);
        else if (field.id == 5)
            n_children = s2e_thrift_int(t, &field);
        else if (field.id == 6)
            node->meaning = converted_meaning(s2e_thrift_int(t, &field));
        else if (field.id == 7)
            node->scale = (int32_t)s2e_thrift_int(t, &field);
        else if (field.id == 10 && field.type == S2E_THRIFT_STRUCT)
            read_logical(t, node);
        else
            s2e_thrift_skip(t, &field);
    }
    if (t->broken || !name) return no_footer(input, error, "a column has no name");
    if (physical < 0 || physical > S2E_PHYSICAL_GROUP || repetition < 0 || repetition > 2 ||
        n_children < 0 || n_children > MAX_NODES || length < 0 || length > 1 << 20)
        return no_footer(input, error, "a column of a type that does not exist");
    if (n_children > 0) physical = S2E_PHYSICAL_GROUP;
    if (physical == S2E_PHYSICAL_GROUP && n_children == 0)
        return no_footer(input, error, "a group without columns");
    if (physical == S2E_PHYSICAL_FIXED && length == 0)
        return no_footer(input, error, "values of no bytes");
    if (!s2e_text_is_clean((const char *)name, n_name))
        return no_footer(input, error, "a column's name is not UTF-8 without NUL");
    node->physical = (s2e_physical)physical;
    node->repetition = (s2e_repetition)repetition;
    node->n_children = (int32_t)n_children;
    node->length = (int32_t)length;
    node->name = malloc(n_name + 1);
    if (!node->name) return s2_fail_memory(error, n_name, "a column's name");
    memcpy(node->name, name, n_name);
    node->name[n_name] = '\0';
    return S2P_OK;
}

/* Ends, leaves and levels, in the order of the nodes: a stack of the groups that are open. */
static s2p_status link_nodes(const s2e_input *input, s2e_parquet_meta *meta, s2p_error *error)
{
    int32_t open[MAX_DEPTH], left[MAX_DEPTH], depth = 0;
    for (int32_t i = 0; i < meta->n_nodes; i++) {
        s2e_schema_node *node = &meta->node[i];
        const s2e_schema_node *parent = depth > 0 ? &meta->node[open[depth - 1]] : NULL;
        if (i > 0 && !parent) return no_footer(input, error, "columns outside of its root");
        if (i == 0) node->repetition = S2E_REQUIRED; /* some writers say repeated */
        node->leaf = meta->n_leaves;
        node->max_def = (parent ? parent->max_def : 0) + (node->repetition != S2E_REQUIRED);
        node->max_rep = (parent ? parent->max_rep : 0) + (node->repetition == S2E_REPEATED);
        node->end = i + 1;
        if (depth > 0) left[depth - 1]--;
        if (node->n_children > 0) {
            if (depth == MAX_DEPTH) return no_footer(input, error, "columns nested too deep");
            open[depth] = i;
            left[depth++] = node->n_children;
        } else {
            meta->n_leaves++;
        }
        while (depth > 0 && left[depth - 1] == 0) meta->node[open[--depth]].end = i + 1;
    }
    if (depth > 0 || meta->n_nodes == 0) return no_footer(input, error, "columns are missing");
    return S2P_OK;
}

static s2p_status read_schema(const s2e_input *input, s2e_thrift *t, const s2e_thrift_field *field,
                              s2e_parquet_meta *meta, s2p_error *error)
{
    const size_t n = s2e_thrift_structs(t, field);
    if (meta->node || n > MAX_NODES) return no_footer(input, error, "too many columns");
    meta->node = calloc(n + 1, sizeof *meta->node);
    if (!meta->node) return s2_fail_memory(error, n * sizeof *meta->node, input->name);
    for (size_t i = 0; i < n; i++) {
        meta->n_nodes++;
        TRY(read_node(input, t, &meta->node[i], error));
    }
    TRY(link_nodes(input, meta, error));
    const s2e_schema_node *root = &meta->node[0];
    if (root->n_children == 0) return no_footer(input, error, "no columns");
    for (int32_t i = 1; i < root->end; i = meta->node[i].end)
        for (int32_t k = 1; k < i; k = meta->node[k].end)
            if (strcmp(meta->node[i].name, meta->node[k].name) == 0)
                return s2_fail(error, S2P_EFORMAT, "%s: two columns are called '%.64s'",
                               input->name, meta->node[i].name);
    return S2P_OK;
}

/* --- the footer --- */

static s2p_status parse_footer(const s2e_input *input, s2e_parquet_meta *meta, size_t n,
                               s2p_error *error)
{
    s2e_thrift t = { .at = meta->footer, .end = meta->footer + n };
    s2e_thrift_field field = { 0 };
    while (s2e_thrift_next(&t, &field)) {
        if (field.id == 2) {
            TRY(read_schema(input, &t, &field, meta, error));
        } else if (field.id == 4) {
            s2e_thrift items = t; /* a second reader remembers where the groups begin */
            meta->groups_left = s2e_thrift_structs(&items, &field);
            meta->groups = items;
            s2e_thrift_skip(&t, &field);
        } else {
            if (field.id == 8)
                return s2_fail(error, S2P_EUNSUPPORTED, "%s: it is encrypted", input->name);
            s2e_thrift_skip(&t, &field);
        }
    }
    if (t.broken || !meta->node || meta->groups.broken) return no_footer(input, error, "it is cut");
    return S2P_OK;
}

s2p_status s2e_parquet_meta_read(const s2e_input *input, s2e_parquet_meta *out, s2p_error *error)
{
    *out = (s2e_parquet_meta){ .footer = NULL };
    uint8_t tail[8];
    if (input->size < 12)
        return s2_fail(error, S2P_EFORMAT, "%s: %llu bytes are not a Parquet file", input->name,
                       (unsigned long long)input->size);
    TRY(s2e_input_read(input, input->size - 8, tail, 8, error));
    if (memcmp(tail + 4, "PARE", 4) == 0)
        return s2_fail(error, S2P_EUNSUPPORTED, "%s: it is encrypted", input->name);
    if (memcmp(tail + 4, "PAR1", 4) != 0)
        return s2_fail(error, S2P_EFORMAT, "%s: it is truncated: a Parquet file ends with PAR1",
                       input->name);
    const uint64_t n = (uint64_t)tail[0] | (uint64_t)tail[1] << 8 | (uint64_t)tail[2] << 16 |
                       (uint64_t)tail[3] << 24;
    if (n > input->size - 12 || n > MAX_FOOTER)
        return s2_fail(error, S2P_EFORMAT, "%s: a footer of %llu bytes in a file of %llu",
                       input->name, (unsigned long long)n, (unsigned long long)input->size);
    out->data_end = input->size - 8 - n;
    out->footer = malloc((size_t)n + 1);
    s2p_status st = out->footer ? S2P_OK : s2_fail_memory(error, (size_t)n, input->name);
    if (st == S2P_OK) st = s2e_input_read(input, out->data_end, out->footer, (size_t)n, error);
    if (st == S2P_OK) st = parse_footer(input, out, (size_t)n, error);
    if (st != S2P_OK) s2e_parquet_meta_free(out);
    return st;
}

void s2e_parquet_meta_free(s2e_parquet_meta *meta)
{
    for (int32_t i = 0; i < meta->n_nodes; i++) free(meta->node[i].name);
    free(meta->node);
    free(meta->footer);
    *meta = (s2e_parquet_meta){ .footer = NULL };
}

/* --- a row group --- */

/* ColumnMetaData; false: its numbers make no sense. */
static bool read_chunk_meta(s2e_thrift *t, uint64_t data_end, s2e_chunk *out)
{
    int64_t codec = -1, size = -1, data = -1, dictionary = -1;
    s2e_thrift_field field = { 0 };
    out->n_values = -1;
    while (s2e_thrift_next(t, &field)) {
        if (field.id == 4)
            codec = s2e_thrift_int(t, &field);
        else if (field.id == 5)
            out->n_values = s2e_thrift_int(t, &field);
        else if (field.id == 7)
            size = s2e_thrift_int(t, &field);
        else if (field.id == 9)
            data = s2e_thrift_int(t, &field);
        else if (field.id == 11)
            dictionary = s2e_thrift_int(t, &field);
        else
            s2e_thrift_skip(t, &field);
    }
    const int64_t at = dictionary > 0 && dictionary < data ? dictionary : data;
    if (codec < 0 || codec > 100 || out->n_values < 0 || size < 0 || at < 0) return false;
    if ((uint64_t)at > data_end || (uint64_t)size > data_end - (uint64_t)at) return false;
    out->codec = (int32_t)codec;
    out->at = (uint64_t)at;
    out->end = (uint64_t)at + (uint64_t)size;
    return true;
}

/* ColumnChunk; NULL, or why it cannot be read. */
static const char *read_chunk(s2e_thrift *t, uint64_t data_end, s2e_chunk *out)
{
    const char *why = "a column without its place in the file";
    s2e_thrift_field field = { 0 };
    while (s2e_thrift_next(t, &field)) {
        size_t n_path = 0;
        if (field.id == 3 && field.type == S2E_THRIFT_STRUCT) {
            const bool fits = read_chunk_meta(t, data_end, out);
            why = fits ? NULL : "a column that is not inside the file";
        } else if (field.id == 1 && field.type == S2E_THRIFT_BINARY) {
            (void)s2e_thrift_binary(t, &field, &n_path);
            if (n_path > 0) why = "a column in another file";
        } else {
            s2e_thrift_skip(t, &field);
        }
    }
    return why;
}

s2p_status s2e_parquet_meta_group(s2e_parquet_meta *meta, const s2e_input *input, s2e_chunk *chunk,
                                  int64_t *n_rows, bool *end, s2p_error *error)
{
    s2e_thrift *t = &meta->groups;
    const char *why = NULL;
    size_t n_chunks = 0;
    *n_rows = 0;
    *end = meta->groups_left == 0;
    if (*end) return S2P_OK;
    meta->groups_left--;
    s2e_thrift_field field = { 0 };
    while (s2e_thrift_next(t, &field)) {
        if (field.id == 1) {
            n_chunks = s2e_thrift_structs(t, &field);
            for (size_t i = 0; i < n_chunks && !t->broken; i++) {
                s2e_chunk unused;
                const char *problem =
                    read_chunk(t, meta->data_end, i < (size_t)meta->n_leaves ? &chunk[i] : &unused);
                if (!why) why = problem;
            }
        } else if (field.id == 3) {
            *n_rows = s2e_thrift_int(t, &field);
        } else {
            s2e_thrift_skip(t, &field);
        }
    }
    if (t->broken) meta->groups_left = 0;
    if (t->broken || *n_rows < 0) why = "a row group that does not end, or with less than no rows";
    if (!why && n_chunks != (size_t)meta->n_leaves) why = "a row group with other columns";
    if (*n_rows < 0) *n_rows = 0;
    return why ? no_footer(input, error, why) : S2P_OK;
}
