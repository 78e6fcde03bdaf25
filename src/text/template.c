/* template.c - chat messages and raw prompts to tokens and pictures.
 *
 * Roles and special tokens are put in by number; the text of a message is tokenized with
 * special tokens off, so nothing a user writes can end a turn or open another. Literal
 * text and message text that touch are tokenized together, as Hugging Face does with the
 * rendered string: "user\n" followed by "\n" is another token than the two apart.
 */
#include "text/template.h"

#include "text/chat_formats.h"
#include "text/tokenizer_vocab.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

#define IMAGE_MARK "<image>"
#define THINK_END "</think>"
#define TOOL_CALL "<tool_call>"
#define TOOL_CALL_END "</tool_call>"
#define MAX_IMAGES 4096 /* in one prompt; far above what any context holds */

const char *s2v_template_name(size_t index)
{
    const s2v_chat_format *format = s2v_chat_format_at(index);
    return format ? format->name : NULL;
}

const char *s2v_template_picture_end(const char *name)
{
    const s2v_chat_format *format = s2v_chat_format_find(name, NULL);
    return format ? format->picture_end : NULL;
}

bool s2v_template_thinks(const char *name)
{
    const s2v_chat_format *format = s2v_chat_format_find(name, NULL);
    return format && format->thinks;
}

/* --- writing a prompt ------------------------------------------------------------ */

typedef struct writer { /* the first failure sticks, and the rest is ignored */
    const s2v_tokenizer *t;
    const s2v_chat_format *format;
    s2v_chat *chat;
    s2_buffer text;      /* not tokenized yet */
    bool parses_special; /* in that text */
    size_t n_done;       /* tokens in finished pieces */
    size_t piece_capacity;
    s2p_status status;
    s2p_error *error;
} writer;

static void write_text(writer *w, const char *text, size_t n)
{
    s2_buffer_append(&w->text, text, n);
}

static void write_literal(writer *w, const char *text) { write_text(w, text, strlen(text)); }

static void flush(writer *w)
{
    if (w->status == S2P_OK && w->text.status == S2P_ENOMEM)
        w->status = s2_fail_memory(w->error, w->text.size, "the text of a prompt");
    if (w->status == S2P_OK && w->text.status != S2P_OK)
        w->status = s2_fail(w->error, w->text.status, "the prompt is longer than %u bytes",
                            S2V_TEXT_MAX_BYTES);
    if (w->status == S2P_OK)
        w->status = s2v_tokenize(w->t, (const char *)w->text.data, w->text.size, w->parses_special,
                                 &w->chat->tokens, w->error);
    w->text.size = 0;
}

static void write_special(writer *w, const char *name)
{
    if (!name) return;
    flush(w);
    if (w->status != S2P_OK) return;
    const int32_t token = s2v_tokenizer_find(w->t, name);
    const bool is_special = token >= 0 && (w->t->type[token] == S2V_TOKEN_CONTROL ||
                                           w->t->type[token] == S2V_TOKEN_USER_DEFINED);
    if (!is_special)
        w->status = s2_fail(w->error, S2P_EUNSUPPORTED,
                            "the vocabulary has no special token %s, which '%s' needs", name,
                            w->format->name);
    else if ((w->status = s2v_tokens_add(&w->chat->tokens, token)) != S2P_OK)
        s2_fail_memory(w->error, sizeof token, "a token");
}

/* End the piece: a picture follows, or nothing (-1). */
static void end_piece(writer *w, int32_t image)
{
    flush(w);
    if (w->status != S2P_OK) return;
    s2v_chat *chat = w->chat;
    if (image >= MAX_IMAGES) {
        w->status =
            s2_fail(w->error, S2P_ELIMIT, "more than %d pictures in one prompt", MAX_IMAGES);
        return;
    }
    if (chat->n_pieces == w->piece_capacity) {
        const size_t capacity = w->piece_capacity ? 2 * w->piece_capacity : 4;
        s2v_piece *piece = realloc(chat->piece, capacity * sizeof *piece);
        if (!piece) {
            w->status =
                s2_fail_memory(w->error, capacity * sizeof *piece, "the pieces of a prompt");
            return;
        }
        chat->piece = piece;
        w->piece_capacity = capacity;
    }
    chat->piece[chat->n_pieces++] = (s2v_piece){ chat->tokens.n - w->n_done, image };
    w->n_done = chat->tokens.n;
}

static void write_picture(writer *w, bool with_marks)
{
    const bool has_marks = with_marks && w->format->picture_start;
    const char *around = has_marks ? w->format->around_picture : NULL;
    if (around) write_literal(w, around);
    if (has_marks) write_special(w, w->format->picture_start);
    end_piece(w, (int32_t)w->chat->n_pieces); /* every piece so far ended in a picture */
    if (has_marks) write_special(w, w->format->picture_end);
    if (around) write_literal(w, around);
}

static s2p_status begin_chat(writer *w, s2v_chat *out, const s2v_tokenizer *t, const char *name,
                             bool parses_special, s2p_error *error)
{
    *out = (s2v_chat){ .piece = NULL };
    *w = (writer){ .t = t, .chat = out, .parses_special = parses_special, .error = error };
    s2_buffer_init(&w->text, S2V_TEXT_MAX_BYTES);
    w->format = s2v_chat_format_find(name, t->architecture);
    if (w->format) return S2P_OK;
    if (name) return s2_fail(error, S2P_EINVAL, "no chat format is called '%.64s'", name);
    return s2_fail(error, S2P_EUNSUPPORTED,
                   "no chat format is known for this architecture; give one by name");
}

/* The token before every prompt, where the vocabulary has one and `text` does not begin with it. */
static void write_first(writer *w, const char *text)
{
    const int32_t bos = s2v_tokenizer_bos(w->t);
    if (bos < 0) return;
    const s2v_text own = s2v_token_text(w->t, bos);
    if (strncmp(text, own.data, own.size) == 0) return;
    if ((w->status = s2v_tokens_add(&w->chat->tokens, bos)) != S2P_OK)
        s2_fail_memory(w->error, sizeof bos, "a token");
}

static s2p_status finish_chat(writer *w)
{
    end_piece(w, -1);
    s2_buffer_free(&w->text);
    if (w->status != S2P_OK) s2v_chat_free(w->chat);
    return w->status;
}

/* --- messages ---------------------------------------------------------------------- */

static int32_t count_marks(const char *text)
{
    int32_t n = 0;
    for (const char *at = strstr(text, IMAGE_MARK); at && n <= MAX_IMAGES;
         at = strstr(at + strlen(IMAGE_MARK), IMAGE_MARK))
        n++;
    return n;
}

/* Tools come first or after the system message, calls after the assistant. */
static s2p_status check_tools(const s2v_chat_format *format, const s2v_message *message, size_t i,
                              s2p_error *error)
{
    const s2v_role role = message[i].role;
    if (role <= S2V_ASSISTANT) return S2P_OK;
    if (!format->has_tools)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "the chat format '%s' of this model does not support tools", format->name);
    if (message[i].n_images > 0)
        return s2_fail(error, S2P_EINVAL, "message %zu is about tools and cannot have pictures", i);
    const s2v_role before = i > 0 ? message[i - 1].role : S2V_SYSTEM;
    if (role == S2V_TOOLS && (i > 1 || before != S2V_SYSTEM))
        return s2_fail(error, S2P_EINVAL,
                       "message %zu lists tools, which must come first or after the system message",
                       i);
    if (role == S2V_TOOL_CALL && before != S2V_ASSISTANT && before != S2V_TOOL_CALL)
        return s2_fail(error, S2P_EINVAL,
                       "message %zu is a tool result, which must follow the assistant's call", i);
    return S2P_OK;
}

static s2p_status check_messages(const s2v_chat_format *format, const s2v_message *message,
                                 size_t n, s2p_error *error)
{
    if (n == 0) return s2_fail(error, S2P_EINVAL, "a chat needs at least one message");
    for (size_t i = 0; i < n; i++) {
        const s2v_message *m = &message[i];
        if (!m->text || (unsigned)m->role > S2V_TOOL || m->n_images < 0)
            return s2_fail(error, S2P_EINVAL, "message %zu has no text, role or picture count", i);
        TRY(check_tools(format, message, i, error));
        const int32_t n_marks = count_marks(m->text);
        if (m->n_images > 0 && n_marks > 0 && n_marks != m->n_images)
            return s2_fail(error, S2P_EINVAL,
                           "message %zu has %d pictures, but %d times " IMAGE_MARK, i, m->n_images,
                           n_marks);
    }
    return S2P_OK;
}

/* What Python's str.strip removes, which templates use. */
static bool is_white(int32_t code)
{
    return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 ||
           code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
           code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

/* Bytes of a white character at the start, or at the end; 0: there is none. */
static size_t white_at_start(const char *text, size_t n)
{
    int32_t code = 0;
    const size_t used = s2v_utf8_read((const uint8_t *)text, n, &code);
    return used > 0 && is_white(code) ? used : 0;
}

static size_t white_at_end(const char *text, size_t n)
{
    size_t at = n - 1;
    while (at > 0 && ((uint8_t)text[at] & 0xC0) == 0x80) at--;
    return white_at_start(text + at, n - at) == n - at ? n - at : 0;
}

/* n bytes of a message's text, without white space at both ends where the format wants that. */
static void write_content(writer *w, const char *text, size_t n)
{
    while (w->format->trims_text && n > 0) {
        const size_t first = white_at_start(text, n);
        const size_t last = first == 0 ? white_at_end(text, n) : 0;
        if (first + last == 0) break;
        text += first;
        n -= first + last;
    }
    write_text(w, text, n);
}

/* An answer of the conversation without what the model thought before it. */
static const char *without_thoughts(const char *text)
{
    const char *end = text, *next;
    while ((next = strstr(end, THINK_END))) end = next + strlen(THINK_END);
    while (end != text && *end == '\n') end++;
    return end;
}

/* prefix: [n_prefix] messages whose texts come first. */
static void write_message(writer *w, const s2v_message *m, const s2v_message *prefix,
                          size_t n_prefix)
{
    const bool may_think = w->format->thinks && m->role == S2V_ASSISTANT;
    const char *text = may_think ? without_thoughts(m->text) : m->text;
    const char *mark = m->n_images > 0 ? strstr(text, IMAGE_MARK) : NULL;
    const char *after_marked = w->format->after_marked;
    const bool is_picture_first = m->n_images > 0 && (!mark || mark == text);
    write_special(w, w->format->start);
    write_literal(w, w->format->role[m->role]);
    write_literal(w, is_picture_first && w->format->after_role_picture
                         ? w->format->after_role_picture
                         : w->format->after_role);
    for (size_t i = 0; i < n_prefix; i++) {
        write_literal(w, prefix[i].text);
        write_literal(w, "\n\n");
    }
    for (int32_t i = 0; !mark && i < m->n_images && w->status == S2P_OK; i++) {
        write_picture(w, true);
        if (w->format->after_picture) write_literal(w, w->format->after_picture);
    }
    write_literal(w, w->format->after_pictures);
    for (; mark && w->status == S2P_OK; mark = strstr(text, IMAGE_MARK)) {
        write_content(w, text, (size_t)(mark - text));
        write_picture(w, true);
        text = mark + strlen(IMAGE_MARK);
        if (after_marked && strncmp(text, after_marked, strlen(after_marked)) != 0)
            write_literal(w, after_marked);
    }
    write_content(w, text, strlen(text));
    write_special(w, w->format->end);
    write_literal(w, w->format->after_end);
}

/* --- tools, as the templates published with Qwen2.5 and Qwen3-VL render them ----------------- */

/* A tag that is a token of its own where the vocabulary has it, else text. */
static void write_tag(writer *w, const char *tag)
{
    const int32_t token = s2v_tokenizer_find(w->t, tag);
    if (token >= 0 &&
        (w->t->type[token] == S2V_TOKEN_CONTROL || w->t->type[token] == S2V_TOKEN_USER_DEFINED))
        write_special(w, tag);
    else
        write_literal(w, tag);
}

/* The system message with what can be called; system: its text, or NULL. */
static void write_tools(writer *w, const char *system, const char *tools)
{
    write_special(w, w->format->start);
    write_literal(w, w->format->role[S2V_SYSTEM]);
    write_literal(w, w->format->after_role);
    if (system) {
        write_literal(w, system);
        write_literal(w, "\n\n");
    }
    write_literal(w,
                  "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
                  "You are provided with function signatures within <tools></tools> XML tags:\n"
                  "<tools>\n");
    write_literal(w, tools);
    write_literal(
        w, "\n</tools>\n\nFor each function call, return a json object with function name and "
           "arguments within ");
    write_tag(w, TOOL_CALL);
    write_tag(w, TOOL_CALL_END);
    write_literal(w, " XML tags:\n");
    write_tag(w, TOOL_CALL);
    write_literal(w, "\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n");
    write_tag(w, TOOL_CALL_END);
    write_special(w, w->format->end);
    write_literal(w, w->format->after_end);
}

/* The assistant's text and calls[0..n). */
static void write_calls(writer *w, const char *text, const s2v_message *calls, size_t n)
{
    write_special(w, w->format->start);
    write_literal(w, w->format->role[S2V_ASSISTANT]);
    write_literal(w, w->format->after_role);
    write_literal(w, text);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 || *text) write_literal(w, "\n");
        write_tag(w, TOOL_CALL);
        write_literal(w, "\n");
        write_literal(w, calls[i].text);
        write_literal(w, "\n");
        write_tag(w, TOOL_CALL_END);
    }
    write_special(w, w->format->end);
    write_literal(w, w->format->after_end);
}

/* What n calls returned, in one message of the user. */
static void write_results(writer *w, const s2v_message *results, size_t n)
{
    write_special(w, w->format->start);
    write_literal(w, w->format->role[S2V_USER]);
    for (size_t i = 0; i < n; i++) {
        write_literal(w, "\n");
        write_tag(w, "<tool_response>");
        write_literal(w, "\n");
        write_literal(w, results[i].text);
        write_literal(w, "\n");
        write_tag(w, "</tool_response>");
    }
    write_special(w, w->format->end);
    write_literal(w, w->format->after_end);
}

static size_t count_role(const s2v_message *message, size_t n, s2v_role role)
{
    size_t count = 0;
    while (count < n && message[count].role == role) count++;
    return count;
}

/* Where thoughts begin, or empty ones. */
static void write_thoughts(writer *w, s2v_opening opening)
{
    write_special(w, "<think>");
    write_literal(w, "\n");
    if (opening == S2V_OPEN_THOUGHTS) return;
    write_literal(w, "\n");
    write_special(w, THINK_END);
    write_literal(w, "\n\n");
}

static s2p_status write_turn(writer *w, const s2v_message *message, size_t n, s2v_opening opening)
{
    /* an answer that was begun goes on: it is written like the start of one, and not closed */
    const bool is_begun = opening != S2V_OPEN_NOT && message[n - 1].role == S2V_ASSISTANT;
    if (is_begun) n--;
    size_t n_prefix = 0; /* system messages that wait for the one they are the start of */
    for (size_t i = 0; i < n && w->status == S2P_OK;) {
        const s2v_message *m = &message[i++];
        const size_t n_calls = count_role(m + 1, n - i, S2V_TOOL_CALL);
        if (m->role == S2V_SYSTEM && i < n && message[i].role == S2V_TOOLS) {
            write_tools(w, m->text, message[i++].text);
        } else if (m->role == S2V_TOOLS) {
            write_tools(w, w->format->default_system, m->text);
        } else if (m->role == S2V_ASSISTANT && n_calls > 0) {
            write_calls(w, m->text, m + 1, n_calls);
            i += n_calls;
        } else if (m->role == S2V_TOOL) {
            const size_t n_results = count_role(m, n - i + 1, S2V_TOOL);
            write_results(w, m, n_results);
            i += n_results - 1;
        } else if (w->format->joins_system && m->role == S2V_SYSTEM && i < n) {
            n_prefix++;
        } else {
            write_message(w, m, m - n_prefix, n_prefix);
            n_prefix = 0;
        }
    }
    if (opening != S2V_OPEN_NOT) {
        write_special(w, w->format->start);
        write_literal(w, w->format->answer);
        if (w->format->thinks) write_thoughts(w, opening);
        if (is_begun) write_literal(w, message[n].text);
    }
    return finish_chat(w);
}

s2p_status s2v_chat_render(s2v_chat *out, const s2v_tokenizer *tokenizer, const char *name,
                           const s2v_message *message, size_t n, s2v_opening opening,
                           s2p_error *error)
{
    writer w;
    TRY(begin_chat(&w, out, tokenizer, name, false, error));
    TRY(check_messages(w.format, message, n, error));
    write_first(&w, "");
    write_special(&w, w.format->prompt_start);
    if (w.format->default_system && message[0].role != S2V_SYSTEM && message[0].role != S2V_TOOLS)
        write_message(&w, &(s2v_message){ S2V_SYSTEM, w.format->default_system, 0 }, NULL, 0);
    return write_turn(&w, message, n, opening);
}

s2p_status s2v_chat_continue(s2v_chat *out, const s2v_tokenizer *tokenizer, const char *name,
                             const s2v_message *message, size_t n, bool has_ended,
                             s2v_opening opening, s2p_error *error)
{
    writer w;
    TRY(begin_chat(&w, out, tokenizer, name, false, error));
    TRY(check_messages(w.format, message, n, error));
    if (!has_ended) write_special(&w, w.format->end);
    if (!tokenizer->adds_space) /* else tokenizing puts one space before the text by itself */
        write_literal(&w, w.format->after_end);
    return write_turn(&w, message, n, opening);
}

/* --- raw prompts --------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The next thing in `text` that stands for a picture, and its length; NULL when there is none. */
static const char *next_picture(const s2v_chat_format *f, const char *text, size_t *n)
{
    for (const char *at = strchr(text, '<'); at; at = strchr(at + 1, '<')) {
        const bool is_mark = starts_with(at, IMAGE_MARK);
        if (!is_mark && !(f->picture && starts_with(at, f->picture))) continue;
        *n = strlen(is_mark ? IMAGE_MARK : f->picture);
        return at;
    }
    return NULL;
}

/* Whether the picture at `at` stands between the format's marks already. */
static bool is_wrapped(const s2v_chat_format *f, const char *prompt, const char *at, size_t n)
{
    if (!f->picture_start) return false;
    const size_t n_start = strlen(f->picture_start);
    return (size_t)(at - prompt) >= n_start && starts_with(at - n_start, f->picture_start) &&
           starts_with(at + n, f->picture_end);
}

s2p_status s2v_chat_raw(s2v_chat *out, const s2v_tokenizer *tokenizer, const char *name,
                        const char *text, s2p_error *error)
{
    writer w;
    TRY(begin_chat(&w, out, tokenizer, name, true, error));
    write_first(&w, text);
    size_t n;
    const char *from = text;
    for (const char *at; w.status == S2P_OK && (at = next_picture(w.format, from, &n)) != NULL;
         from = at + n) {
        write_text(&w, from, (size_t)(at - from));
        const bool is_bare = starts_with(at, IMAGE_MARK) || w.format->wraps_picture;
        write_picture(&w, is_bare && !is_wrapped(w.format, text, at, n));
    }
    write_literal(&w, from);
    return finish_chat(&w);
}

void s2v_chat_free(s2v_chat *chat)
{
    s2v_tokens_free(&chat->tokens);
    free(chat->piece);
    *chat = (s2v_chat){ .piece = NULL };
}
