/* memory_report.c - one line for each part, and their sum. */
#include "asking/memory_report.h"

#include "base/error.h"

#include <stddef.h>

static const struct {
    const char *name, *key, *what;
    size_t offset;
} parts[] = {
    { "program", "program_bytes", "this program and the tables of the files",
      offsetof(s2v_memory, program) },
    { "weights", "weights_bytes", "of the language model", offsetof(s2v_memory, weights) },
    { "tower", "tower_bytes", "of the vision tower, with the first picture",
      offsetof(s2v_memory, tower) },
    { "kv cache", "kv_bytes", "when the context is full", offsetof(s2v_memory, kv) },
    { "compute", "compute_bytes", "the largest graph, rows, the picture",
      offsetof(s2v_memory, compute) },
    { "remembered", "prefixes_bytes", "pictures and prompts, at most",
      offsetof(s2v_memory, prefixes) },
    { "total", "total_bytes", "", offsetof(s2v_memory, total) },
    { "available", "available_bytes", "", offsetof(s2v_memory, available) },
};

static uint64_t part_of(const s2v_memory *memory, size_t i)
{
    return *(const uint64_t *)(const void *)((const char *)memory + parts[i].offset);
}

void s2_memory_text(const s2v_memory *memory, s2_buffer *out)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        s2_buffer_printf(out, "%-12s %9.1f MiB%s%s\n", parts[i].name,
                         (double)part_of(memory, i) / (1 << 20), parts[i].what[0] ? "  " : "",
                         parts[i].what);
}

json_t *s2_memory_json(const s2v_memory *memory)
{
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        json_object_set_new(object, parts[i].key, json_integer((json_int_t)part_of(memory, i)));
    return object;
}

s2p_status s2_memory_check(const s2v_memory *m, s2p_error *error)
{
    const double gib = 1024.0 * 1024.0 * 1024.0;
    const uint64_t needed = m->total - m->prefixes;
    if (m->available == 0 || needed <= m->available) return S2P_OK;
    return s2_fail(error, S2P_ENOMEM,
                   "%.2f GiB are needed (weights %.2f, tower %.2f, cache %.2f, compute %.2f), %.2f "
                   "GiB are available: use a smaller quantization, -c or -ub",
                   (double)needed / gib, (double)m->weights / gib, (double)m->tower / gib,
                   (double)m->kv / gib, (double)m->compute / gib, (double)m->available / gib);
}
