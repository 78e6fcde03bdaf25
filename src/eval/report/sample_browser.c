/* sample_browser.c - what the page shows of single samples.
 *
 * A choice that several questions share is written once: "kept" has each list of indices, and an
 * answer the number of its list (-1: every token).
 */
#include "eval/report/documents.h"

#include "base/names.h"
#include "image/base64.h"
#include "image/image.h"

#include <stdlib.h>
#include <string.h>

typedef struct browsing { /* everything the browser owns */
    json_t *pictures, *kept, *tasks;
    s2_names choices; /* texts of `kept` */
    size_t n_bytes;   /* of pictures so far */
    /* of the current task */
    const s2e_task_results *task;
    json_t *samples;
    int32_t n_shown;
    int32_t *picture_number; /* [n_pictures] in `pictures`; below 0: see show_picture */
} browsing;

static const char *kind_of(const s2_buffer *bytes)
{
    if (bytes->size >= 3 && memcmp(bytes->data, "\xff\xd8\xff", 3) == 0) return "jpeg";
    if (bytes->size >= 8 && memcmp(bytes->data, "\x89PNG\r\n\x1a\n", 8) == 0) return "png";
    if (bytes->size >= 12 && memcmp(bytes->data + 8, "WEBP", 4) == 0) return "webp";
    return NULL;
}

/* The number of a picture of the set in the list; -1: it cannot be shown, -2: there is no room. */
static int32_t show_picture(browsing *b, int32_t picture)
{
    const int32_t known = b->picture_number[picture];
    if (known != -3) return known;
    s2_buffer bytes, text;
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2_buffer_init(&bytes, limits.max_bytes);
    s2_buffer_init(&text, 2 * limits.max_bytes);
    int32_t number = -1;
    if (s2e_set_picture_bytes(b->task->set, picture, &bytes, NULL) == S2P_OK && kind_of(&bytes)) {
        s2_buffer_printf(&text, "data:image/%s;base64,", kind_of(&bytes));
        s2_base64_append(&text, bytes.data, bytes.size);
        if (b->n_bytes + text.size > S2E_BROWSER_BYTES) {
            number = -2;
        } else if (text.status == S2P_OK &&
                   json_array_append_new(b->pictures,
                                         json_stringn((const char *)text.data, text.size)) == 0) {
            b->n_bytes += text.size;
            number = (int32_t)json_array_size(b->pictures) - 1;
        }
    }
    s2_buffer_free(&bytes);
    s2_buffer_free(&text);
    b->picture_number[picture] = number;
    return number;
}

static json_t *texts(const char *const *text, int32_t n)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++) (void)json_array_append_new(list, json_string(text[i]));
    return list;
}

/* As many samples as there is room for. */
static void start_samples(browsing *b)
{
    const s2e_set *set = b->task->set;
    b->n_shown = 0;
    for (int32_t i = 0; i < set->n_samples && i < S2E_BROWSER_SAMPLES; i++) {
        const s2e_sample *s = &set->sample[i];
        json_t *pictures = json_array();
        bool has_room = true;
        for (int32_t k = 0; k < s->n_pictures; k++) {
            const int32_t number = show_picture(b, s->picture[k]);
            has_room = has_room && number != -2;
            (void)json_array_append_new(pictures, json_integer(number));
        }
        if (!has_room) {
            json_decref(pictures);
            return;
        }
        json_t *shown =
            json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "id", s->id, "q", s->question, "gold",
                      texts(s->answer, s->n_answers), "cat", texts(s->category, s->n_categories),
                      "p", pictures, "a", json_array());
        if (!shown) /* bytes that are no text: the sample keeps its place */
            shown = json_pack("{s:s, s:s, s:[], s:[], s:[], s:[]}", "id", "?", "q", "not text",
                              "gold", "cat", "p", "a");
        if (json_array_append_new(b->samples, shown) != 0) return;
        b->n_shown++;
    }
}

/* The number of a list of kept indices. */
static int32_t choice_of(browsing *b, const char *kept)
{
    bool is_new = false;
    json_t *list = NULL;
    if (!kept) return -1;
    const int32_t number = s2_names_add(&b->choices, kept, &is_new);
    if (!is_new) return number;
    if (s2_json_parse(kept, strlen(kept), "a choice", &list, NULL) != S2P_OK ||
        !json_is_array(list)) {
        json_decref(list);
        list = json_array();
    }
    (void)json_array_append_new(b->kept, list);
    return number;
}

static s2p_status add_answer(const s2e_record *r, void *user, s2p_error *error)
{
    (void)error;
    browsing *b = user;
    const int32_t i = s2e_set_find(b->task->set, r->sample);
    json_t *sample = json_array_get(b->samples, (size_t)i), *grids = NULL;
    if (i < 0 || !sample) return S2P_OK;
    if (r->grids && !json_object_get(sample, "g") &&
        s2_json_parse(r->grids, strlen(r->grids), "the grids", &grids, NULL) == S2P_OK)
        (void)json_object_set_new(sample, "g", grids);
    json_t *answer = json_pack("[s, f, i, s?]", r->text, 0.0, choice_of(b, r->kept), r->failure);
    (void)json_object_set_new(sample, "now", answer ? answer : json_null());
    return S2P_OK;
}

/* The answers of a column follow those before it; its score is the mean of its seeds. */
static s2p_status add_column(browsing *b, const s2e_report_input *in, const s2e_result *result,
                             s2p_error *error)
{
    const s2e_record which = { .task = b->task->task->name,
                               .method = result->column.method,
                               .budget = result->column.budget,
                               .seed = 0 };
    TRY(s2e_store_walk(in->store, &which, add_answer, b, error));
    for (int32_t i = 0; i < b->n_shown; i++) {
        json_t *sample = json_array_get(b->samples, (size_t)i);
        json_t *answer = json_object_get(sample, "now");
        if (json_is_array(answer))
            (void)json_array_set_new(answer, 1,
                                     json_real((double)result->score[in->results->protocol][i]));
        (void)json_array_append(json_object_get(sample, "a"), answer);
        (void)json_object_del(sample, "now");
    }
    return S2P_OK;
}

static s2p_status add_task(browsing *b, const s2e_report_input *in, int32_t t, s2p_error *error)
{
    const s2e_set *set = in->results->task[t].set;
    b->task = &in->results->task[t];
    b->samples = json_array();
    b->picture_number = malloc(((size_t)set->n_pictures + 1) * sizeof *b->picture_number);
    if (!b->picture_number)
        return s2_fail_memory(error, (size_t)set->n_pictures * 4, "the pictures");
    for (int32_t i = 0; i < set->n_pictures; i++) b->picture_number[i] = -3; /* not looked at */
    start_samples(b);
    s2p_status st = S2P_OK;
    for (int32_t i = 0; i < b->task->n_results && st == S2P_OK; i++)
        st = add_column(b, in, &b->task->result[i], error);
    (void)json_array_append_new(b->tasks, json_pack("{s:s, s:i, s:i, s:o}", "title",
                                                    b->task->task->title, "shown", b->n_shown, "of",
                                                    set->n_samples, "samples", b->samples));
    free(b->picture_number);
    return st;
}

s2p_status s2e_browser_write(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    browsing b = { .pictures = json_array(), .kept = json_array(), .tasks = json_array() };
    json_t *columns = json_array();
    char name[S2E_COLUMN_TEXT];
    s2p_status st = S2P_OK;
    for (int32_t t = 0; t < in->results->n_tasks && st == S2P_OK; t++)
        st = add_task(&b, in, t, error);
    for (int32_t i = 0; in->results->n_tasks && i < in->results->task[0].n_results; i++)
        (void)json_array_append_new(
            columns, json_string(s2e_column_text(&in->results->task[0].result[i].column, name)));
    json_t *root = json_pack("{s:o, s:o, s:o, s:o}", "columns", columns, "kept", b.kept, "pictures",
                             b.pictures, "tasks", b.tasks);
    s2_buffer text;
    s2_buffer_init(&text, out->max);
    if (st == S2P_OK) st = root ? s2_json_write(root, 5, &text) : S2P_ENOMEM;
    for (size_t i = 0, from = 0; st == S2P_OK && i <= text.size; i++) {
        if (i < text.size && text.data[i] != '<') continue;
        s2_buffer_append(out, text.data + from, i - from);
        if (i < text.size) s2_buffer_append(out, "\\u003c", 6);
        from = i + 1;
    }
    if (st == S2P_OK) st = text.status != S2P_OK ? text.status : out->status;
    s2_buffer_free(&text);
    s2_names_free(&b.choices);
    json_decref(root);
    return st;
}
