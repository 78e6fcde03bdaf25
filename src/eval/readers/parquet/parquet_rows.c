/* parquet_rows.c - columns side by side become rows again.
 *
 * Every leaf is a stream of entries with two levels: the repetition level says which list an entry
 * goes on with (0: a new row), the definition level how much of the path above it is there. The
 * first leaf below a group or a list decides for all of them whether it is missing, and whether the
 * list goes on; at the end of a row all leaves must stand at the next one.
 *
 * A value at fault costs its row. When a page is broken the leaf cannot be kept in step any more,
 * and the rest of the row group is lost.
 */
#include "eval/readers/reader.h"

#include "eval/readers/parquet/parquet_column.h"
#include "eval/readers/parquet/parquet_meta.h"
#include "eval/readers/picture_cell.h"

#include <stdlib.h>
#include <string.h>

typedef struct parquet_rows {
    s2e_reader reader;
    s2e_parquet_meta meta;
    s2e_chunk *chunk;   /* [n_leaves] of the row group at hand */
    s2e_column *column; /* [n_leaves] */
    int32_t *top;       /* [n_top] nodes that are columns of a row */
    const char **name;  /* [n_top] */
    size_t n_top;
    int64_t group_left; /* rows of the row group that were not read */
    s2p_error fault;    /* of the current row: a value that cannot be given */
} parquet_rows;

static s2p_status read_node(parquet_rows *p, int32_t i, s2e_value *out, s2p_error *error);

/* The first leaf below a node, and its next entry. */
static s2p_status peek_first(parquet_rows *p, int32_t i, s2e_column **out, s2p_error *error)
{
    *out = &p->column[p->meta.node[i].leaf];
    bool end;
    TRY(s2e_column_peek(*out, &end, error));
    if (!end) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "column '%.64s' ends before its rows do",
                   (*out)->leaf->name);
}

/* One entry of every leaf below a node that is not there. */
static s2p_status skip_node(parquet_rows *p, int32_t i, s2p_error *error)
{
    const s2e_schema_node *node = &p->meta.node[i];
    for (int32_t k = i; k < node->end; k++) {
        if (p->meta.node[k].n_children > 0) continue;
        s2e_column *column;
        s2e_value none;
        TRY(peek_first(p, k, &column, error));
        if (column->def >= (uint32_t)node->max_def)
            return s2_fail(error, S2P_EFORMAT, "columns below '%.64s' disagree", node->name);
        TRY(s2e_column_take(column, &p->reader.arena, &none, &p->fault, error));
    }
    return S2P_OK;
}

/* Room for item n, in the arena; when there is none the items are read and dropped. */
static s2e_value *item_at(parquet_rows *p, s2e_value **item, size_t n, size_t *capacity,
                          s2e_value *dropped)
{
    if (n < *capacity) return &(*item)[n];
    const size_t larger = *capacity ? 2 * *capacity : 4;
    s2e_value *copy = s2e_arena_take(&p->reader.arena, larger * sizeof *copy);
    if (!copy) {
        (void)s2e_arena_fail(&p->reader.arena, "a list", &p->fault);
        return dropped;
    }
    if (n) memcpy(copy, *item, n * sizeof *copy);
    *item = copy;
    *capacity = larger;
    return &copy[n];
}

/* A group whose members are its children. */
static s2p_status read_struct(parquet_rows *p, int32_t i, s2e_value *out, s2p_error *error)
{
    const s2e_schema_node *node = &p->meta.node[i];
    const size_t n = (size_t)node->n_children;
    s2e_value *item = s2e_arena_take(&p->reader.arena, n * sizeof *item), dropped;
    const char **name = s2e_arena_take(&p->reader.arena, n * sizeof *name);
    if (!item || !name) (void)s2e_arena_fail(&p->reader.arena, "a struct", &p->fault);
    int32_t child = i + 1;
    for (size_t k = 0; k < n; k++, child = p->meta.node[child].end) {
        TRY(read_node(p, child, item ? &item[k] : &dropped, error));
        if (name) name[k] = p->meta.node[child].name;
    }
    if (item && name) *out = (s2e_value){ .type = S2E_STRUCT, .n = n, .item = item, .name = name };
    return S2P_OK;
}

/* Is the repeated node only there to hold the element? Some writers leave that step out. */
static bool is_wrapper(const s2e_schema_node *list, const s2e_schema_node *repeated)
{
    if (repeated->n_children != 1) return false;
    const size_t n = strlen(list->name);
    return strcmp(repeated->name, "array") != 0 && (strncmp(repeated->name, list->name, n) != 0 ||
                                                    strcmp(repeated->name + n, "_tuple") != 0);
}

/* What a node holds once it is known to be there, repetition aside. */
static s2p_status read_present(parquet_rows *p, int32_t i, s2e_value *out, s2p_error *error);

/* The items of a repeated node; `wrapped`: each is the node's only child. */
static s2p_status read_repeated(parquet_rows *p, int32_t i, bool wrapped, s2e_value *out,
                                s2p_error *error)
{
    const s2e_schema_node *node = &p->meta.node[i];
    s2e_column *first;
    TRY(peek_first(p, i, &first, error));
    *out = (s2e_value){ .type = S2E_LIST };
    if (first->def < (uint32_t)node->max_def) return skip_node(p, i, error);
    s2e_value *item = NULL, dropped;
    size_t n = 0, capacity = 0;
    bool end = false;
    do {
        s2e_value *value = item_at(p, &item, n, &capacity, &dropped);
        TRY(wrapped ? read_node(p, i + 1, value, error) : read_present(p, i, value, error));
        if (value != &dropped) n++;
        TRY(s2e_column_peek(first, &end, error));
    } while (!end && first->rep == (uint32_t)node->max_rep);
    out->n = n;
    out->item = item;
    return S2P_OK;
}

static s2p_status read_present(parquet_rows *p, int32_t i, s2e_value *out, s2p_error *error)
{
    const s2e_schema_node *node = &p->meta.node[i];
    if (node->n_children == 0) {
        s2e_column *column;
        TRY(peek_first(p, i, &column, error));
        return s2e_column_take(column, &p->reader.arena, out, &p->fault, error);
    }
    const s2e_schema_node *child = &p->meta.node[i + 1];
    if (node->meaning == S2E_MEANS_LIST && node->n_children == 1 &&
        child->repetition == S2E_REPEATED)
        return read_repeated(p, i + 1, is_wrapper(node, child), out, error);
    return read_struct(p, i, out, error);
}

static s2p_status read_node(parquet_rows *p, int32_t i, s2e_value *out, s2p_error *error)
{
    const s2e_schema_node *node = &p->meta.node[i];
    *out = (s2e_value){ .type = S2E_NONE };
    if (node->repetition == S2E_REPEATED) return read_repeated(p, i, false, out, error);
    if (node->repetition == S2E_OPTIONAL && node->n_children > 0) {
        s2e_column *first;
        TRY(peek_first(p, i, &first, error));
        if (first->def < (uint32_t)node->max_def) return skip_node(p, i, error);
    }
    return read_present(p, i, out, error);
}

/* All values of a row; all leaves stand at the next row then. */
static s2p_status read_row(parquet_rows *p, s2e_value *value, s2p_error *error)
{
    for (size_t k = 0; k < p->n_top; k++) {
        TRY(read_node(p, p->top[k], &value[k], error));
        const s2e_schema_node *node = &p->meta.node[p->top[k]];
        for (int32_t i = p->top[k]; node->max_rep + node->n_children > 0 && i < node->end; i++) {
            const s2e_schema_node *leaf = &p->meta.node[i];
            if (leaf->n_children > 0 || leaf->max_rep == 0) continue;
            s2e_column *column = &p->column[leaf->leaf];
            bool end;
            TRY(s2e_column_peek(column, &end, error));
            if (!end && column->rep != 0)
                return s2_fail(error, S2P_EFORMAT, "columns below '%.64s' disagree", node->name);
        }
    }
    return S2P_OK;
}

/* The rows at hand and behind it, to the end of the group, cannot be read. */
static s2p_status lose_group(parquet_rows *p, s2p_status st, s2p_error *error, const char *why)
{
    s2e_reader *r = &p->reader;
    const long long first = r->row, last = first + p->group_left;
    r->n_lost += p->group_left + 1;
    r->row = last;
    p->group_left = 0;
    if (first == last) return s2_fail(error, st, "%s, row %lld: %s", r->input.name, first, why);
    return s2_fail(error, st, "%s, rows %lld to %lld: %s", r->input.name, first, last, why);
}

/* Stand before a row; *end: there is none. */
static s2p_status find_row(parquet_rows *p, bool *end, s2p_error *error)
{
    while (p->group_left == 0) {
        s2p_error why;
        const s2p_status st =
            s2e_parquet_meta_group(&p->meta, &p->reader.input, p->chunk, &p->group_left, end, &why);
        if (*end) return S2P_OK;
        if (p->group_left > INT64_MAX - p->reader.row) /* rows are numbered */
            p->group_left = INT64_MAX - p->reader.row;
        if (st == S2P_OK) {
            for (size_t k = 0; k < p->n_top; k++) {
                const s2e_schema_node *node = &p->meta.node[p->top[k]];
                for (int32_t i = p->top[k]; i < node->end; i++) {
                    const int32_t leaf = p->meta.node[i].leaf;
                    if (p->meta.node[i].n_children == 0)
                        s2e_column_start(&p->column[leaf], &p->chunk[leaf]);
                }
            }
        } else {
            if (p->group_left > 0) p->group_left--;
            p->reader.row++;
            return lose_group(p, st, error, why.message);
        }
    }
    *end = false;
    return S2P_OK;
}

static s2p_status next_row(s2e_reader *reader, s2e_row *row, bool *end, s2p_error *error)
{
    parquet_rows *p = (parquet_rows *)reader;
    TRY(find_row(p, end, error));
    if (*end) return S2P_OK;
    p->group_left--;
    reader->row++;
    p->fault = (s2p_error){ .status = S2P_OK };
    s2e_value *value = s2e_arena_take(&reader->arena, p->n_top * sizeof *value);
    if (!value) return s2_fail_memory(error, p->n_top * sizeof *value, reader->input.name);
    s2p_error why;
    const s2p_status st = read_row(p, value, &why);
    if (st != S2P_OK && !s2e_row_is_lost(st)) return s2_fail(error, st, "%s", why.message);
    if (st != S2P_OK) return lose_group(p, st, error, why.message);
    if (p->fault.status != S2P_OK) {
        reader->n_lost++;
        return s2_fail(error, p->fault.status, "%s, row %lld: %s", reader->input.name,
                       (long long)reader->row, p->fault.message);
    }
    row->n = p->n_top;
    row->name = p->name;
    row->value = value;
    return S2P_OK;
}

static void close_parquet(s2e_reader *reader)
{
    parquet_rows *p = (parquet_rows *)reader;
    for (int32_t i = 0; p->column && i < p->meta.n_leaves; i++) s2e_column_free(&p->column[i]);
    free(p->column);
    free(p->chunk);
    free(p->top);
    free(p->name);
    s2e_parquet_meta_free(&p->meta);
    s2e_arena_free(&reader->arena);
    s2e_input_close(&reader->input);
    free(p);
}

static bool is_wanted(const s2e_rows_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_columns; i++)
        if (strcmp(options->column[i], name) == 0) return true;
    return options->n_columns == 0;
}

/* Which columns to read, and a stream for each of their leaves. */
static s2p_status choose_columns(parquet_rows *p, s2p_error *error)
{
    const s2e_parquet_meta *meta = &p->meta;
    const size_t n_leaves = (size_t)meta->n_leaves;
    p->chunk = calloc(n_leaves, sizeof *p->chunk);
    p->column = calloc(n_leaves, sizeof *p->column);
    p->top = calloc((size_t)meta->n_nodes, sizeof *p->top);
    p->name = calloc((size_t)meta->n_nodes, sizeof *p->name);
    if (!p->chunk || !p->column || !p->top || !p->name)
        return s2_fail_memory(error, n_leaves * sizeof *p->column, p->reader.input.name);
    const s2e_rows_options *options = p->reader.options;
    for (int32_t i = 1; i < meta->n_nodes; i = meta->node[i].end) {
        const s2e_schema_node *node = &meta->node[i];
        if (!is_wanted(options, node->name)) continue;
        p->name[p->n_top] = node->name;
        p->top[p->n_top++] = i;
        for (int32_t k = i; k < node->end; k++) {
            const s2e_schema_node *leaf = &meta->node[k];
            if (leaf->n_children > 0) continue;
            const bool is_picture =
                s2e_is_picture_column(options, node->name) && strcmp(leaf->name, "path") != 0;
            s2e_column_init(&p->column[leaf->leaf], leaf, is_picture, &p->reader.input, options);
        }
    }
    if (p->n_top > 0) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "%s: it has none of the columns asked for",
                   p->reader.input.name);
}

s2p_status s2e_parquet_rows_open(s2e_input *input, const s2e_rows_options *options,
                                 s2e_reader **out, s2p_error *error)
{
    *out = NULL;
    parquet_rows *p = calloc(1, sizeof *p);
    if (!p) return s2_fail_memory(error, sizeof *p, input->name);
    p->reader = (s2e_reader){
        .next = next_row, .close = close_parquet, .options = options, .input = *input
    };
    s2e_arena_init(&p->reader.arena, options->max_row);
    s2p_status st = s2e_parquet_meta_read(&p->reader.input, &p->meta, error);
    if (st == S2P_OK) st = choose_columns(p, error);
    if (st == S2P_OK) {
        *out = &p->reader;
        return S2P_OK;
    }
    *input = p->reader.input;
    p->reader.input = (s2e_input){ .fd = -1 };
    close_parquet(&p->reader);
    return st;
}
