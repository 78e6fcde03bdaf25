/* verify_hf_chat.c - prompts as tokens: the chat template applied, pictures as so many rows.
 *
 * chat.json has conversations and what Hugging Face's template and processor make of them: `expanded_ids` has one
 * token for each row of the decoder. Rows of a picture are one token over and over, the model's own, except for
 * text between tiles. The input_ids of a recorded run are compared in the same way.
 */
#include "verify/checks.h"

#include "verify/hf_case.h"

#include "base/json.h"
#include "engine/session/session.h"
#include "text/chat_formats.h"
#include "text/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MESSAGES 32
#define MAX_CHAT_BYTES ((size_t)64 << 20)

bool s2_is_hf_chat(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "chat.json") == 0;
}

/* --- tokens ---------------------------------------------------------------------------- */

typedef struct ids { /* what is expected, and how far it has been compared */
    const int32_t *id;
    size_t n, at;
    int32_t picture; /* the token that stands for a picture's rows; -1: none was met yet */
    bool differs;
} ids;

static void expect_id(ids *e, int32_t got, bool is_picture)
{
    if (e->at < e->n && is_picture && e->picture < 0) e->picture = e->id[e->at];
    const int32_t wanted = is_picture ? e->picture : got;
    if (e->at >= e->n || e->id[e->at] != wanted) e->differs = true;
    if (!e->differs) e->at++;
}

/* Token by token. frame: of each picture, grids and rows are enough. */
static void compare_chat(s2_verdict *verdict, const char *what, const s2v_chat *chat,
                         const s2v_frame *frame, const int32_t *expected, size_t n)
{
    ids e = { .id = expected, .n = n, .picture = -1 };
    size_t token = 0;
    for (size_t i = 0; i < chat->n_pieces && !e.differs; i++) {
        const s2v_piece *piece = &chat->piece[i];
        for (size_t k = 0; k < piece->n_tokens && !e.differs; k++)
            expect_id(&e, chat->tokens.id[token++], false);
        if (piece->image < 0) continue;
        const s2v_frame *f = &frame[piece->image];
        for (int32_t row = 0; row < f->n_rows && !e.differs; row++) {
            const int32_t text = f->text ? f->text[row] : -1;
            expect_id(&e, text, text < 0);
        }
    }
    if (e.differs && e.at < n)
        s2_differs(verdict, "%s: another token at %zu, expected %d", what, e.at, expected[e.at]);
    else if (e.differs || e.at != n)
        s2_differs(verdict, "%s: expected %zu tokens, %s", what, n,
                   e.differs ? "got more" : "got fewer");
}

/* The pictures of a case as they would be seen, without looking at their pixels. */
static bool make_frames(hf_case *c, const s2v_engine *engine, s2v_frame *frame)
{
    const s2v_model *model = &engine->model;
    const s2v_framing usual = s2v_engine_usual_framing(engine, c->n_pictures, c->is_pruned);
    s2p_error error = { S2P_OK, "" };
    for (int32_t i = 0; i < c->n_pictures; i++) {
        const s2p_image empty = { c->view[i].width, c->view[i].height,
                                  3 * (ptrdiff_t)c->view[i].width, NULL };
        if (model->arch->frame(model, &empty, &c->size[i], usual, &frame[i], &error) == S2P_OK)
            continue;
        s2_differs(c->verdict, "picture %d: %s", i, error.message);
        return false;
    }
    return true;
}

void s2_hf_check_ids(hf_case *c, const s2v_engine *engine, const char *prompt)
{
    size_t n;
    s2p_error error = { S2P_OK, "" };
    const int32_t *expected = s2_hf_ints(c->full, "input_ids", &n);
    s2v_frame frame[HF_MAX_PICTURES] = { { .n_views = 0 } };
    s2v_chat chat = { .piece = NULL };
    if (!expected) return;
    if (s2v_chat_raw(&chat, engine->tokenizer, engine->model.arch->chat_format, prompt, &error) !=
        S2P_OK)
        s2_differs(c->verdict, "input_ids: %s", error.message);
    else if ((size_t)c->n_pictures + 1 < chat.n_pieces)
        s2_differs(c->verdict, "input_ids: the prompt marks %zu pictures, the case has %d",
                   chat.n_pieces - 1, c->n_pictures);
    else if (make_frames(c, engine, frame))
        compare_chat(c->verdict, "input_ids", &chat, frame, expected, n);
    for (int32_t i = 0; i < c->n_pictures; i++) s2v_frame_free(&frame[i]);
    s2v_chat_free(&chat);
}

/* --- conversations ----------------------------------------------------------------------- */

/* A format that puts text after pictures has them first, wherever they stand in a message; so does every
 * format with those that stand first. Others get a mark at the place. */
static bool has_pictures_first(const s2v_engine *engine)
{
    const s2v_chat_format *f = s2v_chat_format_find(engine->model.arch->chat_format, "");
    return f && !f->after_marked && (f->after_picture || f->after_pictures[0]);
}

static bool add_part(s2_buffer *text, const json_t *part, bool has_marks, int32_t *n_images)
{
    const char *kind = json_string_value(json_object_get(part, "type"));
    const json_t *words = json_object_get(part, "text");
    if (kind && strcmp(kind, "image") == 0) {
        (*n_images)++;
        if (has_marks) s2_buffer_printf(text, "<image>");
        return true;
    }
    if (!json_is_string(words)) return false;
    s2_buffer_append(text, json_string_value(words), json_string_length(words));
    return true;
}

/* One message: a text, or a list of texts and pictures. The buffer owns its words. */
static bool read_message(const json_t *from, bool has_marks, s2_buffer *text, s2v_message *out)
{
    static const char *const roles[] = { "system", "user", "assistant" };
    static const s2v_role role[] = { S2V_SYSTEM, S2V_USER, S2V_ASSISTANT };
    const char *name = json_string_value(json_object_get(from, "role"));
    const json_t *content = json_object_get(from, "content");
    *out = (s2v_message){ .n_images = 0 };
    size_t r = 0;
    while (r < 3 && !(name && strcmp(name, roles[r]) == 0)) r++;
    if (r == 3) return false;
    out->role = role[r];
    if (json_is_string(content))
        s2_buffer_append(text, json_string_value(content), json_string_length(content));
    else if (!json_is_array(content))
        return false;
    for (size_t i = 0; i < json_array_size(content); i++)
        if (!add_part(text, json_array_get(content, i), has_marks, &out->n_images)) return false;
    s2_buffer_append(text, "", 1);
    out->text = (const char *)text->data;
    return text->status == S2P_OK;
}

static int32_t *read_ids(const json_t *list, size_t *n)
{
    *n = json_array_size(list);
    int32_t *out = malloc((*n + 1) * sizeof *out);
    for (size_t i = 0; out && i < *n; i++)
        out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return out;
}

/* "image_b" is a source beside the goldens. */
static bool read_pictures(hf_case *c, const json_t *names)
{
    const s2v_image_options o = { .size = sizeof(s2v_image_options) };
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!name || strncmp(name, "image_", 6) != 0 || !s2_hf_add_named(c, name + 6, &o)) {
            s2_malformed(c->verdict, "there is no picture '%.60s'", name ? name : "");
            return false;
        }
    }
    return true;
}

static void check_conversation(const char *folder, const s2v_engine *engine, const json_t *from,
                               s2_verdict *verdict)
{
    const json_t *list = json_object_get(from, "messages");
    const size_t n = json_array_size(list);
    hf_case c = { .verdict = verdict };
    s2_buffer text[MAX_MESSAGES];
    s2v_message message[MAX_MESSAGES] = { { .text = NULL } };
    s2v_frame frame[HF_MAX_PICTURES] = { { .n_views = 0 } };
    s2v_chat chat = { .piece = NULL };
    s2p_error error = { S2P_OK, "" };
    size_t n_ids = 0;
    int32_t *expected = read_ids(json_object_get(from, "expanded_ids"), &n_ids);
    (void)snprintf(c.folder, sizeof c.folder, "%s", folder);
    bool is_read = expected && n_ids > 0 && n > 0 && n <= MAX_MESSAGES;
    for (size_t i = 0; i < MAX_MESSAGES; i++) s2_buffer_init(&text[i], (size_t)1 << 20);
    for (size_t i = 0; i < n && is_read; i++)
        is_read = read_message(json_array_get(list, i), !has_pictures_first(engine), &text[i],
                               &message[i]);
    if (!is_read)
        s2_malformed(verdict, "no messages of texts and pictures, or no expanded_ids");
    else if (read_pictures(&c, json_object_get(from, "images")) && make_frames(&c, engine, frame)) {
        const s2v_opening opening =
            json_is_true(json_object_get(from, "thinking")) ? S2V_OPEN_THOUGHTS : S2V_OPEN_ANSWER;
        if (s2v_chat_render(&chat, engine->tokenizer, engine->model.arch->chat_format, message, n,
                            opening, &error) != S2P_OK)
            s2_differs(verdict, "refused: %s", error.message);
        else if (chat.n_pieces != (size_t)c.n_pictures + 1)
            s2_differs(verdict, "the messages have %zu pictures, %d are named", chat.n_pieces - 1,
                       c.n_pictures);
        else
            compare_chat(verdict, "expanded_ids", &chat, frame, expected, n_ids);
    }
    for (int32_t i = 0; i < c.n_pictures; i++) {
        s2v_frame_free(&frame[i]);
        s2_image_free(&c.picture[i]);
    }
    for (size_t i = 0; i < MAX_MESSAGES; i++) s2_buffer_free(&text[i]);
    s2v_chat_free(&chat);
    free(expected);
}

s2p_status s2_check_hf_chat(const char *path, const char *arrays, s2_verdict *verdict,
                            s2p_error *error)
{
    char folder[HF_PATH_CAPACITY];
    json_t *cases = NULL;
    s2v_engine *engine = NULL;
    *verdict = (s2_verdict){ .n_cases = 1, .label = "file", .where = verdict->where };
    s2_buffer_init(&verdict->lines, 4096);
    s2_hf_find_folder(path, arrays, folder);
    s2p_status st = s2_hf_open_pair(folder, "f32", verdict, s2v_engine_outline, &engine, error);
    if (st == S2P_OK) st = s2_json_read_file(path, MAX_CHAT_BYTES, &cases, error);
    if (st == S2P_OK && json_array_size(cases) == 0)
        st = s2_fail(error, S2P_EFORMAT, "not a list of conversations");
    verdict->n_failed = st != S2P_OK && st != S2P_EUNSUPPORTED;
    if (verdict->n_failed) s2_malformed(verdict, "%s", error->message);
    if (st == S2P_OK) verdict->n_cases = json_array_size(cases);
    for (size_t i = 0; st == S2P_OK && i < verdict->n_cases; i++) {
        const json_t *c = json_array_get(cases, i);
        const char *name = json_string_value(json_object_get(c, "name"));
        (void)snprintf(verdict->label, sizeof verdict->label, "%.40s", name ? name : "case");
        verdict->case_failed = false;
        check_conversation(folder, engine, c, verdict);
        verdict->n_failed += verdict->case_failed;
    }
    s2v_engine_close(engine);
    json_decref(cases);
    return st == S2P_EUNSUPPORTED ? st : S2P_OK;
}
