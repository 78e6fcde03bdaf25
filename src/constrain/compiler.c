/* compiler.c - what every step of compiling a schema uses: memory, refusals, equal values. */
#include "constrain/shape.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 64 << 20, BLOCK_BYTES = 64 << 10 };

struct s2c_block {
    struct s2c_block *next;
    size_t used, size;
    max_align_t data[];
};

void *s2c_take(s2c_compiler *c, size_t n)
{
    n = (n + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!c->blocks || c->blocks->size - c->blocks->used < n) {
        const size_t size = n > BLOCK_BYTES ? n : BLOCK_BYTES;
        if (n > MAX_BYTES || c->n_bytes + size > MAX_BYTES) {
            (void)s2_fail(c->error, S2P_ELIMIT, "the schema needs more than %d MiB to compile",
                          MAX_BYTES >> 20);
            return NULL;
        }
        struct s2c_block *block = malloc(sizeof *block + size);
        if (!block) {
            (void)s2_fail_memory(c->error, size, "the schema");
            return NULL;
        }
        *block = (struct s2c_block){ .next = c->blocks, .size = size };
        c->blocks = block;
        c->n_bytes += size;
    }
    void *out = (char *)c->blocks->data + c->blocks->used;
    if (!s2c_count(c->g, (int64_t)n / 32)) {
        (void)s2_fail(c->error, S2P_ELIMIT, "the schema needs more than %d steps to compile",
                      S2C_MAX_STEPS);
        return NULL;
    }
    c->blocks->used += n;
    return memset(out, 0, n);
}

void s2c_release(s2c_compiler *c)
{
    while (c->blocks) {
        struct s2c_block *next = c->blocks->next;
        free(c->blocks);
        c->blocks = next;
    }
    s2c_nfa_free(&c->automaton);
    free(c->is_open);
    s2c_document_free(&c->document);
}

s2p_status s2c_refuse(s2c_compiler *c, int32_t node, const char *format, ...)
{
    char pointer[256], why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    s2c_pointer(&c->document, node, pointer, sizeof pointer);
    return s2_fail(c->error, S2P_EINVAL, "%s: %s", pointer, why);
}

bool s2c_same_value(s2c_compiler *c, int32_t a, int32_t b)
{
    const s2c_document *d = &c->document;
    const s2c_node *x = &d->node[a], *y = &d->node[b];
    if (x->type != y->type || !s2c_count(c->g, 1)) return false;
    switch (x->type) {
    case S2C_NUMBER: {
        s2c_decimal m, n;
        if (!s2c_decimal_read(x->text, x->size, &m) || !s2c_decimal_read(y->text, y->size, &n))
            return s2c_same_text(x->text, x->size, y->text, y->size);
        return s2c_decimal_compare(&m, &n) == 0;
    }
    case S2C_STRING:
        return s2c_same_text(x->text, x->size, y->text, y->size);
    case S2C_ARRAY:
        if (x->n_children != y->n_children) return false;
        for (int32_t i = x->child, k = y->child; i >= 0; i = d->node[i].next, k = d->node[k].next)
            if (!s2c_same_value(c, i, k)) return false;
        return true;
    case S2C_OBJECT:
        if (x->n_children != y->n_children) return false;
        for (int32_t i = x->child; i >= 0; i = d->node[i].next) {
            int32_t k = y->child;
            while (k >= 0 && !s2c_same_text(d->node[i].key, d->node[i].key_size, d->node[k].key,
                                            d->node[k].key_size))
                k = d->node[k].next;
            if (k < 0 || !s2c_count(c->g, y->n_children / 8) || !s2c_same_value(c, i, k))
                return false;
        }
        return true;
    default:
        return true;
    }
}
