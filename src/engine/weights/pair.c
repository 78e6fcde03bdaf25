/* pair.c - where two files come from, by the keys converters write.
 *
 * Widths that differ are refused when the weights are bound. Two models of one width are not: the
 * answers are only wrong. The first key that both files have decides; hashes and addresses of the
 * source before names. Names are compared by their letters and digits, and one may be a part of the
 * other ("Qwen2.5 VL 3B", "qwen2.5-vl-3b-instruct").
 */
#include "engine/weights/pair.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME 128

static const char *const keys[] = { "general.source.hash",     "general.source.uuid",
                                    "general.source.repo_url", "general.base_model.0.repo_url",
                                    "general.basename",        "general.name" };

/* Letters and digits in lower case; 0: there is none. */
static size_t plain_name(const s2v_gguf *file, const char *key, char out[NAME])
{
    s2v_text text;
    size_t n = 0;
    if (!s2v_gguf_string(file, key, &text)) return 0;
    for (size_t i = 0; i < text.size && n + 1 < NAME; i++)
        if (isalnum((unsigned char)text.data[i]))
            out[n++] = (char)tolower((unsigned char)text.data[i]);
    out[n] = '\0';
    return n;
}

/* As in the file, for a message: printable or '?'. */
static const char *shown_name(const s2v_gguf *file, const char *key, char out[NAME])
{
    s2v_text text = { "", 0 };
    (void)s2v_gguf_string(file, key, &text);
    const size_t n = text.size < NAME - 1 ? text.size : NAME - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = text.data[i] >= ' ' && text.data[i] <= '~' ? text.data[i] : '?';
    out[n] = '\0';
    return out;
}

bool s2v_pair_agrees(const s2v_gguf *text, const s2v_gguf *mmproj, char sentence[S2V_PAIR_SENTENCE])
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char ours[NAME], theirs[NAME];
        if (plain_name(text, keys[i], ours) == 0 || plain_name(mmproj, keys[i], theirs) == 0)
            continue;
        if (strstr(ours, theirs) || strstr(theirs, ours)) return true;
        (void)snprintf(sentence, S2V_PAIR_SENTENCE,
                       "the mmproj is of '%.100s', the model is '%.100s': answers make sense only "
                       "with the mmproj published with the model",
                       shown_name(mmproj, keys[i], theirs), shown_name(text, keys[i], ours));
        return false;
    }
    return true;
}
