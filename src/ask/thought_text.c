/* thought_text.c - text is held as long as it may be the end of the thoughts. */
#include "ask/thought_text.h"

#include <string.h>

#define TAG "</think>"
enum { N_TAG = sizeof TAG - 1, MAX_HELD = 1 << 16 };

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

void s2v_thought_text_init(s2v_thought_text *t, bool has_thoughts)
{
    *t = (s2v_thought_text){ .has_thoughts = has_thoughts, .is_open = has_thoughts };
    s2_buffer_init(&t->held, (size_t)1 << 30);
}

void s2v_thought_text_free(s2v_thought_text *t) { s2_buffer_free(&t->held); }

/* Without the white space before the first character of a part. */
static void write_part(s2v_thought_text *t, const char *text, size_t n, s2_buffer *out)
{
    while (!t->has_begun && n > 0 && is_blank(*text)) {
        text++;
        n--;
    }
    if (n == 0) return;
    t->has_begun = true;
    s2_buffer_append(out, text, n);
}

static size_t without_blanks(const char *text, size_t n)
{
    while (n > 0 && is_blank(text[n - 1])) n--;
    return n;
}

/* Bytes at the end that may be the beginning of the tag. */
static size_t begun_tag(const char *text, size_t n)
{
    for (size_t k = n < N_TAG - 1 ? n : N_TAG - 1; k > 0; k--)
        if (memcmp(text + n - k, TAG, k) == 0) return k;
    return 0;
}

static const char *find_tag(const char *text, size_t n)
{
    for (size_t i = 0; i + N_TAG <= n; i++)
        if (memcmp(text + i, TAG, N_TAG) == 0) return text + i;
    return NULL;
}

void s2v_thought_text_feed(s2v_thought_text *t, const char *text, size_t n, s2_buffer *thoughts,
                           s2_buffer *answer)
{
    if (!t->has_thoughts) {
        s2_buffer_append(answer, text, n);
        return;
    }
    if (!t->is_open) {
        write_part(t, text, n, answer);
        return;
    }
    s2_buffer_append(&t->held, text, n);
    const char *all = (const char *)t->held.data;
    const size_t n_all = t->held.size;
    if (n_all == 0) return;
    const char *tag = find_tag(all, n_all);
    if (tag) {
        write_part(t, all, without_blanks(all, (size_t)(tag - all)), thoughts);
        t->is_open = t->has_begun = false;
        write_part(t, tag + N_TAG, n_all - (size_t)(tag + N_TAG - all), answer);
        t->held.size = 0;
        return;
    }
    size_t n_sure = without_blanks(all, n_all - begun_tag(all, n_all));
    if (n_all - n_sure > MAX_HELD) n_sure = n_all - begun_tag(all, n_all); /* nothing but blanks */
    write_part(t, all, n_sure, thoughts);
    if (n_sure > 0) memmove(t->held.data, t->held.data + n_sure, n_all - n_sure);
    t->held.size = n_all - n_sure;
}

void s2v_thought_text_end(s2v_thought_text *t, s2_buffer *thoughts)
{
    const char *all = (const char *)t->held.data;
    if (t->is_open && t->held.size > 0)
        write_part(t, all, without_blanks(all, t->held.size), thoughts);
    t->held.size = 0;
}
