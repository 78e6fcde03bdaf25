/* template.h - built-in chat formats; a template in the model file is never run.
 *
 * A prompt becomes a list of pieces: text with special tokens, and pictures. The
 * engine tokenizes the text and puts the visual rows in between.
 *
 * The formats are the rows of chat_formats.c.
 *
 * Where pictures stand in a message: at its "<image>" marks when it has as many marks as pictures,
 * before the text when it has none; any other number is refused. A message without pictures may
 * hold "<image>" as plain text.
 */
#ifndef S2_TEXT_TEMPLATE_H
#define S2_TEXT_TEMPLATE_H

#include "text/tokenizer.h"
#include "s2vlm.h"

typedef enum s2v_opening {               /* how a prompt ends */
                           S2V_OPEN_NOT, /* after the last message */
                           S2V_OPEN_ANSWER, /* where an answer begins; a last message of the assistant is left open, to be
                              continued. Formats with thoughts have empty ones */
                           S2V_OPEN_THOUGHTS /* where thoughts begin, in formats that have them */
} s2v_opening;

typedef struct s2v_piece { /* a run of tokens, then a picture unless it is the last piece */
    size_t n_tokens;       /* tokens of this run in the list */
    int32_t image;         /* index of the picture that follows, -1 at the end */
} s2v_piece;

typedef struct s2v_chat { /* the prompt as tokens; image placeholders are not among them */
    s2v_tokens tokens;
    s2v_piece *piece;
    size_t n_pieces;
} s2v_chat;

/* "qwen2-vl" for Qwen2/2.5-VL, "llava-onevision", "qwen3-vl"; NULL past the end. */
const char *s2v_template_name(size_t index);

/* The special token that closes a picture in this format; NULL: none. */
const char *s2v_template_picture_end(const char *name);

/* Render with the named format (NULL: the one of the architecture the vocabulary came from; qwen2vl
 * has "qwen2-vl", qwen2 has "llava-onevision"). Text from messages never becomes a special token. */
s2p_status s2v_chat_render(s2v_chat *out, const s2v_tokenizer *tokenizer, const char *name,
                           const s2v_message *message, size_t n, s2v_opening opening,
                           s2p_error *error);

/* The format has thoughts. */
bool s2v_template_thinks(const char *name);

/* The next turn of a conversation: no system prompt, and what closes the answer before it.
 * has_ended: that answer already ends with its end token. */
s2p_status s2v_chat_continue(s2v_chat *out, const s2v_tokenizer *tokenizer, const char *name,
                             const s2v_message *message, size_t n, bool has_ended,
                             s2v_opening opening, s2p_error *error);

/* A raw prompt: special tokens are parsed, "<image>" marks each picture; with a vision model the
 * picture is put between its start and end marks, as the format does. A prompt that was rendered
 * elsewhere comes through unchanged: with "qwen2-vl", "<image>" that already stands between
 * <|vision_start|> and <|vision_end|> gets no second pair, and a literal <|image_pad|> is a picture
 * too, to which nothing is ever added. The caller compares the number of pictures, n_pieces - 1. */
s2p_status s2v_chat_raw(s2v_chat *out, const s2v_tokenizer *tokenizer, const char *name,
                        const char *text, s2p_error *error);
void s2v_chat_free(s2v_chat *chat);

#endif /* S2_TEXT_TEMPLATE_H */
