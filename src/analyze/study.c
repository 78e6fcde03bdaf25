/* study.c - the list of what was found, as files and as a page. */
#include "analyze/study.h"

#include "base/file.h"
#include "base/markup.h"
#include "eval/figure/plot.h"
#include "image/base64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEM_BYTES ((size_t)256 << 20)

static void free_item(s2_study_item *item)
{
    free(item->caption);
    s2_buffer_free(&item->bytes);
    s2_table_free(&item->table);
    s2_array_free(&item->array);
}

void s2_study_cut(s2_study *study, int32_t n)
{
    while (study->n > n) {
        free_item(study->item[--study->n]);
        free(study->item[study->n]);
    }
}

void s2_study_free(s2_study *study)
{
    s2_study_cut(study, 0);
    free_item(&study->scrap);
    free(study->item);
    *study = (s2_study){ .n = 0 };
}

double s2_study_width(const s2_study *study)
{
    return study->width > 0.0 ? study->width : S2_PLOT_PAGE;
}

/* --- adding ------------------------------------------------------------------------------ */

static s2_study_item *add(s2_study *study, s2_study_kind kind, const char *name,
                          const char *caption)
{
    if (study->n == study->capacity) {
        const int32_t capacity = study->capacity ? 2 * study->capacity : 16;
        s2_study_item **list = realloc(study->item, (size_t)capacity * sizeof(s2_study_item *));
        if (list) {
            study->item = list;
            study->capacity = capacity;
        }
    }
    s2_study_item *item = study->n < study->capacity ? calloc(1, sizeof *item) : NULL;
    const size_t n = strlen(caption) + 1;
    char *copy = item ? malloc(n) : NULL;
    if (!copy) {
        free(item);
        study->status = S2P_ENOMEM;
        free_item(&study->scrap);
        item = &study->scrap;
        *item = (s2_study_item){ .caption = NULL };
    } else {
        memcpy(copy, caption, n);
        item->caption = copy;
        study->item[study->n++] = item;
    }
    item->kind = kind;
    (void)snprintf(item->name, sizeof item->name, "%s", name);
    s2_buffer_init(&item->bytes, ITEM_BYTES);
    s2_table_init(&item->table, name);
    return item;
}

void s2_study_heading(s2_study *study, const char *text)
{
    (void)add(study, S2_STUDY_HEADING, "", text);
}

void s2_study_note(s2_study *study, const char *text) { (void)add(study, S2_STUDY_NOTE, "", text); }

void s2_study_command(s2_study *study, const char *command)
{
    (void)add(study, S2_STUDY_COMMAND, "", command);
}

s2_buffer *s2_study_figure(s2_study *study, const char *name, const char *caption)
{
    return &add(study, S2_STUDY_FIGURE, name, caption)->bytes;
}

s2_table *s2_study_table(s2_study *study, const char *name, const char *caption)
{
    s2_study_item *item = add(study, S2_STUDY_TABLE, name, caption);
    item->table.caption = item->caption;
    return &item->table;
}

s2p_status s2_study_picture(s2_study *study, const char *name, const char *caption,
                            const s2p_image *picture, s2p_error *error)
{
    return s2_png_encode(picture, &add(study, S2_STUDY_PICTURE, name, caption)->bytes, error);
}

void s2_study_extend(s2_study *study, int32_t first, const char *sentence)
{
    for (int32_t i = first; i < study->n; i++) {
        s2_study_item *item = study->item[i];
        if (item->kind != S2_STUDY_FIGURE && item->kind != S2_STUDY_TABLE &&
            item->kind != S2_STUDY_PICTURE)
            continue;
        const size_t n = strlen(item->caption), more = strlen(sentence) + 2;
        char *longer = realloc(item->caption, n + more);
        if (!longer) {
            study->status = S2P_ENOMEM;
            return;
        }
        item->caption = longer;
        item->table.caption = longer; /* a table borrows it */
        longer[n] = ' ';
        memcpy(longer + n + 1, sentence, more - 1);
    }
}

double *s2_study_array(s2_study *study, const char *name, const char *caption, int32_t rows,
                       int32_t cols)
{
    s2_study_item *item = add(study, S2_STUDY_ARRAY, name, caption);
    const size_t count = (size_t)rows * (size_t)cols;
    double *data = calloc(count + 1, sizeof *data);
    if (!data) {
        study->status = S2P_ENOMEM;
        return NULL;
    }
    item->array = (s2_array){
        .type = S2_F64, .n_dims = 2, .shape = { rows, cols, 1, 1 }, .count = count, .data = data
    };
    return data;
}

/* --- the page --------------------------------------------------------------------------------- */

static void put(s2_buffer *out, const char *text)
{
    s2_markup_append(out, text, strlen(text), true);
}

#define MANY_COLUMNS 13 /* more are set in smaller letters */

/* Tables that are wider than the page scroll in their own box; on paper they shrink and wrap instead. */
static const char style[] =
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:1240px;margin:2em auto;padding:0 1em;"
    "color:#1d2027;background:#fff}h1{font-size:1.5em}h2{font-size:1.2em;margin-top:2.2em;"
    "border-bottom:1px solid #bbb}figure{margin:1.5em 0}figcaption{font-size:.9em;max-width:60em;"
    "margin-top:.5em}.wide{overflow-x:auto}"
    "table{border-collapse:collapse;font-size:.85em;font-variant-numeric:tabular-nums}"
    "th,td{padding:.15em .6em;text-align:left;border-bottom:1px solid #ddd}"
    "th{vertical-align:bottom}td.number{white-space:nowrap}"
    ".many table{font-size:.76em}.many th,.many td{padding:.15em .4em}"
    ".number{text-align:right}pre{background:#f2f2f2;padding:.6em;white-space:pre-wrap;"
    "overflow-wrap:anywhere}pre span{white-space:nowrap}"
    ".blank{border-left:4px solid #c84800;padding-left:.8em}svg,img{max-width:100%;height:auto}"
    "svg.page{width:940px}svg.column{width:480px}\n"
    "@media screen and (max-width:700px){figure{overflow-x:auto}svg.page{width:660px;"
    "max-width:none}pre span{white-space:inherit}}\n"
    "@media screen and (prefers-color-scheme:dark){body{color:#e6e7ea;background:#16181d}"
    "th,td{border-color:#454952}pre{background:#23262d}}\n"
    "@media print{:root{color-scheme:light}@page{margin:15mm}body{font-size:10pt;max-width:none;"
    "margin:0;padding:0}h1,h2{break-after:avoid}figure,.blank{break-inside:avoid}"
    "figure:has(table){break-inside:auto}tr{break-inside:avoid}thead{display:table-header-group}"
    ".wide{overflow:visible}table{font-size:7pt;width:100%}th,td{white-space:normal;"
    "padding:.1em .3em}svg.page{width:6.9in}svg.column{width:3.3in}pre{background:none;"
    "border:1px solid #bbb}}\n";

static int32_t n_shown(const s2_table *table)
{
    int32_t n = 0;
    for (int32_t i = 0; i < table->n_columns; i++) n += !table->column[i].is_detail;
    return n;
}

/* Lines break between the words of a command, never behind a hyphen. */
static void put_command(s2_buffer *out, const char *command)
{
    while (*command) {
        const size_t n = strcspn(command, " ");
        s2_buffer_printf(out, "<span>");
        s2_markup_append(out, command, n, true);
        s2_buffer_printf(out, "</span>%s", command[n] ? " " : "");
        command += n + (command[n] != '\0');
    }
}

static void put_item(const s2_study_item *item, s2_buffer *out)
{
    switch (item->kind) {
    case S2_STUDY_HEADING:
        s2_buffer_printf(out, "<h2>");
        put(out, item->caption);
        s2_buffer_printf(out, "</h2>\n");
        return;
    case S2_STUDY_NOTE:
        s2_buffer_printf(out, "<p>");
        put(out, item->caption);
        s2_buffer_printf(out, "</p>\n");
        return;
    case S2_STUDY_COMMAND:
        s2_buffer_printf(out, "<div class=\"blank\"><p>With the paper's model and data:</p><pre>");
        put_command(out, item->caption);
        s2_buffer_printf(out, "</pre></div>\n");
        return;
    case S2_STUDY_ARRAY:
        return; /* in its file */
    case S2_STUDY_FIGURE:
        s2_buffer_printf(out, "<figure>\n");
        s2_buffer_append(out, item->bytes.data, item->bytes.size);
        break;
    case S2_STUDY_PICTURE:
        s2_buffer_printf(out, "<figure>\n<img alt=\"");
        put(out, item->caption);
        s2_buffer_printf(out, "\" src=\"data:image/png;base64,");
        s2_base64_append(out, item->bytes.data, item->bytes.size);
        s2_buffer_printf(out, "\">\n");
        break;
    case S2_STUDY_TABLE:
        s2_buffer_printf(out, "<figure>\n<div class=\"wide%s\" tabindex=\"0\">",
                         n_shown(&item->table) > MANY_COLUMNS ? " many" : "");
        if (s2_table_write(&item->table, S2_TABLE_HTML, out) != S2P_OK)
            s2_buffer_printf(out, "<p>no memory</p>");
        s2_buffer_printf(out, "</div>\n");
        break;
    }
    s2_buffer_printf(out, "<figcaption>");
    put(out, item->caption);
    s2_buffer_printf(out, " <small>(%s)</small></figcaption></figure>\n", item->name);
}

s2p_status s2_study_html(const s2_study *study, const char *title, const char *settings,
                         s2_buffer *out)
{
    if (study->status != S2P_OK) return study->status;
    s2_buffer_printf(out,
                     "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta "
                     "name=\"viewport\" content=\"width=device-width\">\n<meta "
                     "name=\"color-scheme\" content=\"light dark\">\n<title>");
    put(out, title);
    s2_buffer_printf(out, "</title>\n<style>\n%s</style></head><body>\n<h1>", style);
    put(out, title);
    s2_buffer_printf(out, "</h1>\n<pre>");
    put(out, settings);
    s2_buffer_printf(out, "</pre>\n");
    for (int32_t i = 0; i < study->n; i++) put_item(study->item[i], out);
    s2_buffer_printf(out, "</body></html>\n");
    return out->status;
}

/* --- files -------------------------------------------------------------------------------------- */

static s2p_status save_table(const s2_study_item *item, const char *path, s2_table_format format,
                             s2p_error *error)
{
    s2_buffer bytes;
    s2_buffer_init(&bytes, ITEM_BYTES);
    s2p_status st = s2_table_write(&item->table, format, &bytes);
    st = st == S2P_OK ? s2_file_write(path, bytes.data, bytes.size, error)
                      : s2_fail(error, st, "%s could not be made", item->name);
    s2_buffer_free(&bytes);
    return st;
}

static s2p_status save_item(const s2_study_item *item, const char *folder, s2p_error *error)
{
    char path[4096];
    const bool is_svg = item->kind == S2_STUDY_FIGURE, is_png = item->kind == S2_STUDY_PICTURE;
    const char *suffix = is_svg                         ? "svg"
                         : is_png                       ? "png"
                         : item->kind == S2_STUDY_ARRAY ? "npy"
                                                        : "csv";
    if (snprintf(path, sizeof path, "%s/%s.%s", folder, item->name, suffix) >= (int)sizeof path)
        return s2_fail(error, S2P_ELIMIT, "the path of the folder is too long");
    if (item->kind == S2_STUDY_ARRAY) return s2_npy_write(path, &item->array, error);
    if (is_svg || is_png)
        return item->bytes.status == S2P_OK
                   ? s2_file_write(path, item->bytes.data, item->bytes.size, error)
                   : s2_fail(error, item->bytes.status, "%s could not be made", item->name);
    TRY(save_table(item, path, S2_TABLE_CSV, error));
    memcpy(strrchr(path, '.'), ".tex", sizeof ".tex"); /* as long as ".csv" */
    return save_table(item, path, S2_TABLE_TEX, error);
}

/* Whether the page begins as one with this title does. */
static bool has_title(const char *path, const char *title)
{
    char head[1024], wanted[256];
    FILE *file = s2_file_stream(path);
    const size_t n = file ? fread(head, 1, sizeof head - 1, file) : 0;
    if (file) (void)fclose(file);
    head[n] = '\0';
    const size_t plain = strcspn(title, "&<>\"'"); /* what follows is written in another way */
    (void)snprintf(wanted, sizeof wanted, "<title>%.*s%s", (int)(plain < 200 ? plain : 200), title,
                   title[plain] ? "" : "</title>");
    return n == 0 || strstr(head, wanted) != NULL;
}

void s2_study_report_name(const char *folder, const char *title, const char *name,
                          char out[S2_STUDY_REPORT])
{
    char path[4096];
    const bool fits = snprintf(path, sizeof path, "%s/report.html", folder) < (int)sizeof path;
    const bool is_free = !fits || has_title(path, title);
    (void)snprintf(out, S2_STUDY_REPORT, is_free ? "report.html" : "report-%.60s.html", name);
}

s2p_status s2_study_save(const s2_study *study, const char *folder, const char *report,
                         const char *title, const char *settings, s2p_error *error)
{
    char path[4096];
    for (int32_t i = 0; i < study->n; i++)
        if (study->item[i]->kind >= S2_STUDY_FIGURE) TRY(save_item(study->item[i], folder, error));
    if (snprintf(path, sizeof path, "%s/%s", folder, report) >= (int)sizeof path)
        return s2_fail(error, S2P_ELIMIT, "the path of the folder is too long");
    s2_buffer page;
    s2_buffer_init(&page, (size_t)1 << 30);
    s2p_status st = s2_study_html(study, title, settings, &page);
    st = st == S2P_OK ? s2_file_write(path, page.data, page.size, error)
                      : s2_fail(error, st, "no memory for the report");
    s2_buffer_free(&page);
    return st;
}
