/* chat_formats.h - how a model wants a conversation written: one row for each format (chat_formats.c). */
#ifndef S2_TEXT_CHAT_FORMATS_H
#define S2_TEXT_CHAT_FORMATS_H

#include "s2vlm.h"

#include <stdbool.h>

#define S2V_N_ROLES 3 /* as s2v_role counts them */

/* A message is: start, role, after_role, pictures, after_pictures, text, end, after_end. Before all
 * of them goes the token that the vocabulary wants there (s2v_tokenizer_bos). */
typedef struct s2v_chat_format {
    const char *name;
    const char *architecture;   /* general.architecture of models that use it; NULL: by name only */
    const char *default_system; /* text of a system message that is added; NULL: none */
    const char *role[S2V_N_ROLES]; /* what a message of this role says at its start */
    const char *start, *end;       /* special tokens around a message; NULL: none */
    const char *after_role, *after_pictures, *after_end; /* literal text */
    const char *after_role_picture; /* instead of after_role before a picture; NULL: the same */
    const char *after_picture;      /* after each one, instead of after_pictures; NULL: nothing */
    const char *
        after_marked; /* after one at an "<image>" mark, unless the text goes on so; NULL: nothing */
    const char
        *around_picture; /* literal text before picture_start and after picture_end; NULL: none */
    bool
        joins_system; /* system messages have no message of their own: before the text of the next one */
    bool
        trims_text; /* no white space at the ends of a message's text and of what stands at its marks */
    const char *prompt_start; /* a special token before the first message; NULL: none */
    const char *answer;       /* after `start`, where an answer begins */
    bool thinks; /* and then thoughts, between <think> and </think>: empty ones unless asked for */
    const char *picture_start, *picture_end; /* special tokens around a picture; NULL: none */
    const char *picture; /* what marks a picture in a rendered prompt, in addition to "<image>" */
    bool wraps_picture;  /* and gets picture_start and picture_end around it */
    bool has_tools; /* tools are listed, called and answered as Qwen's models do (template.c) */
} s2v_chat_format;

/* In the order of s2v_template_name; NULL past the end. */
const s2v_chat_format *s2v_chat_format_at(size_t index);

/* By its name, or with name NULL by the architecture of the vocabulary; NULL when there is none. */
const s2v_chat_format *s2v_chat_format_find(const char *name, const char *architecture);

#endif /* S2_TEXT_CHAT_FORMATS_H */
