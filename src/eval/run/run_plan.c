/* run_plan.c - columns and tasks of a run, from their text. */
#include "eval/run/run_plan.h"

#include "eval/run/fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIDE 16384 /* of a picture, pixels */

s2e_column s2e_column_of(const s2a_setting *setting, int32_t n_seeds, bool is_bare)
{
    s2e_column c = { .n_seeds = s2a_draws(setting) ? n_seeds : 1 };
    (void)s2a_setting_label(setting, c.label);
    (void)snprintf(c.method, sizeof c.method, "%s", is_bare ? setting->method : c.label);
    if (s2a_keeps_all(setting))
        (void)snprintf(c.budget, sizeof c.budget, "-");
    else
        (void)s2a_budget_text(setting->budget, c.budget);
    return c;
}

const char *s2e_label_method(const char *label, char out[S2E_METHOD])
{
    (void)snprintf(out, S2E_METHOD, "%.*s", (int)strcspn(label, "["), label);
    return out;
}

void s2e_columns_write(const s2e_column *column, int32_t n, s2_buffer *out)
{
    for (int32_t i = 0; i < n; i++) {
        s2_buffer_printf(out, "%s%s/%s", i ? "," : "", column[i].method, column[i].budget);
        if (column[i].n_seeds > 1) s2_buffer_printf(out, "*%d", column[i].n_seeds);
    }
}

/* text[0..n) into `out` with its NUL; false: empty or too long. */
static bool copy(const char *text, size_t n, char *out, size_t capacity)
{
    if (n < 1 || n >= capacity) return false;
    memcpy(out, text, n);
    out[n] = '\0';
    return true;
}

static bool read_column(s2a_item item, s2e_column *out)
{
    const char *slash = item.text + item.n;
    while (slash > item.text && *--slash != '/') continue; /* a budget has none */
    if (slash == item.text) return false;
    const size_t n_method = (size_t)(slash - item.text);
    const size_t n_rest = item.n - n_method - 1;
    const char *star = memchr(slash + 1, '*', n_rest);
    const size_t n_budget = star ? (size_t)(star - slash - 1) : n_rest;
    out->n_seeds = 1;
    if (star) {
        char digits[8];
        if (!copy(star + 1, n_rest - n_budget - 1, digits, sizeof digits)) return false;
        out->n_seeds = (int32_t)strtol(digits, NULL, 10);
    }
    return out->n_seeds >= 1 && out->n_seeds <= S2E_MAX_SEEDS &&
           copy(item.text, n_method, out->method, sizeof out->method) &&
           copy(slash + 1, n_budget, out->budget, sizeof out->budget);
}

/* --- settings ------------------------------------------------------------------------------- */

void s2e_setting_write(const s2a_setting *setting, s2e_common common, s2_buffer *out)
{
    const s2p_method *method = s2a_setting_method(setting);
    const s2p_choice *c = &setting->choice;
    const s2p_parameter *parameter;
    s2_buffer_printf(out, "side=%d allocator=%s selector=%s", c->side,
                     c->allocator ? c->allocator : "", c->selector ? c->selector : "");
    for (size_t i = 0; method && (parameter = s2p_method_parameter(method, i)); i++)
        s2_buffer_printf(out, " %s=%.17g", parameter->name, setting->parameters.value[i]);
    if (setting->published != common.is_published)
        s2_buffer_printf(out, " mode=%s", setting->published ? "published" : "default");
    if (setting->has_after) s2_buffer_printf(out, " after=%d", setting->after);
    if (setting->budget.n_more > 0)
        s2_buffer_printf(out, " confidence=%.17g", s2a_min_confidence(setting));
    if (setting->is_renumbered) s2_buffer_printf(out, " positions=renumbered");
    char before[S2P_PIXELPRUNE_TEXT];
    if (setting->has_before)
        s2_buffer_printf(out, " before-tower=%s", s2p_pixelprune_text(&setting->before, before));
    if (setting->is_resized != common.is_resized)
        s2_buffer_printf(out, " structure=%s", setting->is_resized ? "resized" : "source");
    if (setting->width != 0) s2_buffer_printf(out, " size=%dx%d", setting->width, setting->height);
}

/* The value of " key=" in a list of words, up to the next blank; n 0: none. */
static s2a_item word_of(const char *text, const char *key)
{
    const size_t n = strlen(key);
    for (const char *at = text; at && *at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL)
        if (strncmp(at, key, n) == 0 && at[n] == '=')
            return (s2a_item){ at + n + 1, strcspn(at + n + 1, " ") };
    return (s2a_item){ "", 0 };
}

static const char *name_of(const char *text, const char *key, const char *(*at)(size_t index))
{
    const s2a_item word = word_of(text, key);
    for (size_t i = 0; at(i); i++)
        if (s2a_item_is(word, at(i))) return at(i);
    return NULL;
}

static void read_parameters(const char *text, s2a_setting *out)
{
    const s2p_method *method = s2a_setting_method(out);
    const s2p_parameter *row;
    for (size_t i = 0; (row = s2p_method_parameter(method, i)); i++) {
        const s2a_item word = word_of(text, row->name);
        char number[64];
        if (!copy(word.text, word.n, number, sizeof number)) continue;
        (void)s2p_parameters_set(method, &out->parameters, row->name, number, NULL);
    }
}

bool s2e_setting_read(const json_t *values, const s2e_column *column, s2a_setting *out)
{
    char key[S2A_LABEL_SIZE + 32], name[S2E_METHOD];
    const char *mode = s2_json_string(values, S2E_IS "mode");
    const char *pictures = s2_json_string(values, S2E_IS "pictures");
    const s2p_method *method = s2p_method_find(s2e_label_method(column->method, name));
    if (!method) return false;
    (void)snprintf(key, sizeof key, S2E_IS "method.%s", column->method);
    const char *text = s2_json_string(values, key);
    text = text ? text : "";
    *out = (s2a_setting){ .published = mode && strcmp(mode, "published") == 0,
                          .is_resized = s2a_item_is(word_of(pictures, "structure"), "resized") };
    s2a_setting_use(out, s2p_method_about(method)->name);
    if (strcmp(column->budget, "-") != 0)
        (void)s2a_budget_read_steps("", column->budget, strlen(column->budget), S2P_MAX_TOKENS,
                                    &out->budget, NULL);
    const long side = strtol(word_of(text, "side").text, NULL, 10);
    if (side > 0 && side <= S2P_MAX_SIDE) out->choice.side = (int32_t)side;
    out->choice.allocator = name_of(text, "allocator", s2p_allocator_name);
    out->choice.selector = name_of(text, "selector", s2p_selector_name);
    read_parameters(text, out);
    s2a_item word = word_of(text, "mode");
    if (word.n > 0) out->published = s2a_item_is(word, "published");
    word = word_of(text, "structure");
    if (word.n > 0) out->is_resized = s2a_item_is(word, "resized");
    word = word_of(text, "after");
    const long after = strtol(word.text, NULL, 10);
    out->has_after = word.n > 0 && after >= S2P_BEFORE_DECODER && after <= 1000;
    if (out->has_after) out->after = (int32_t)after;
    word = word_of(text, "confidence");
    const double confidence = strtod(word.text, NULL);
    if (word.n > 0 && confidence >= S2A_LEAST_CONFIDENCE && confidence <= 1.0)
        out->min_confidence = confidence;
    out->is_renumbered = s2a_item_is(word_of(text, "positions"), "renumbered");
    word = word_of(text, "before-tower");
    out->has_before =
        word.n > 0 && s2p_pixelprune_read(word.text, word.n, &out->before, NULL) == S2P_OK;
    char *end;
    word = word_of(text, "size");
    const long width = strtol(word.text, &end, 10);
    const long height = *end == 'x' ? strtol(end + 1, NULL, 10) : 0;
    if (width >= -1 && width <= MAX_SIDE && height >= -1 && height <= MAX_SIDE) {
        out->width = (int32_t)width;
        out->height = (int32_t)height;
    }
    return true;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static s2p_status read_task(const json_t *values, const char *name, s2e_run_task *out,
                            s2p_error *error)
{
    char key[S2E_NAME + 16];
    (void)snprintf(key, sizeof key, S2E_IS "task.%s", name);
    const char *text = s2_json_string(values, key);
    json_t *about = NULL;
    if (!text) return s2_fail(error, S2P_EFORMAT, "the run has no value '%s'", key);
    TRY(s2_json_parse(text, strlen(text), key, &about, error));
    const bool is_known = s2_json_int(about, "samples", &out->n_samples) && out->n_samples >= 0;
    json_decref(about);
    return is_known
               ? S2P_OK
               : s2_fail(error, S2P_EFORMAT, "the run does not say how many samples %s has", name);
}

s2p_status s2e_run_plan_read(const json_t *values, s2e_run_plan *out, s2p_error *error)
{
    const char *columns = s2_json_string(values, S2E_IS "methods");
    const char *tasks = s2_json_string(values, S2E_IS "tasks");
    s2a_item item;
    out->n_columns = out->n_tasks = 0;
    if (!columns || !tasks)
        return s2_fail(error, S2P_EFORMAT, "the run does not say its methods and tasks");
    while (s2a_next_label(&columns, &item)) {
        s2e_column *column = &out->column[out->n_columns];
        if (out->n_columns == S2A_MAX_SETTINGS || !read_column(item, column))
            return s2_fail(error, S2P_EFORMAT, "the run has a method '%.*s'",
                           (int)(item.n < 60 ? item.n : 60), item.text);
        s2a_setting setting;
        if (s2e_setting_read(values, column, &setting))
            (void)s2a_setting_label(&setting, column->label);
        else
            memcpy(column->label, column->method, sizeof column->label);
        out->n_columns++;
    }
    while (s2a_next_item(&tasks, &item)) {
        if (out->n_tasks == S2E_MAX_TASKS ||
            !copy(item.text, item.n, out->task[out->n_tasks].name, S2E_NAME))
            return s2_fail(error, S2P_EFORMAT, "the run has a task '%.*s'",
                           (int)(item.n < 60 ? item.n : 60), item.text);
        TRY(read_task(values, out->task[out->n_tasks].name, &out->task[out->n_tasks], error));
        out->n_tasks++;
    }
    return S2P_OK;
}

int64_t s2e_run_plan_answers(const s2e_run_plan *plan)
{
    int64_t n_samples = 0, n_runs = 0;
    for (int32_t i = 0; i < plan->n_tasks; i++) n_samples += plan->task[i].n_samples;
    for (int32_t i = 0; i < plan->n_columns; i++) n_runs += plan->column[i].n_seeds;
    return n_samples * n_runs;
}
