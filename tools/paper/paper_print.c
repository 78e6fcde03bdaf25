/* paper_print.c - many tables in one form, with their captions, and the commands that fill blanks. */
#include "paper/paper_print.h"

#include "base/json.h"
#include "report.h"

static void put_text(s2_buffer *out, const char *text)
{
    json_t *value = json_string(text);
    if (!value || s2_json_write(value, 17, out) != S2P_OK) s2_buffer_printf(out, "\"\"");
    json_decref(value);
}

static s2p_status put_json(const s2_study *study, s2_buffer *out)
{
    s2p_status st = S2P_OK;
    bool has_one = false;
    s2_buffer_printf(out, "{\"schema\":\"s2prune.paper/1\",\n\"tables\":{");
    for (int32_t i = 0; i < study->n && st == S2P_OK; i++) {
        if (study->item[i]->kind != S2_STUDY_TABLE) continue;
        s2_buffer_printf(out, "%s\n\"%s\":", has_one ? "," : "", study->item[i]->name);
        st = s2_table_write(&study->item[i]->table, S2_TABLE_JSON, out);
        has_one = true;
    }
    has_one = false;
    s2_buffer_printf(out, "},\n\"captions\":{");
    for (int32_t i = 0; i < study->n; i++) {
        if (study->item[i]->kind != S2_STUDY_TABLE) continue;
        s2_buffer_printf(out, "%s\n\"%s\":", has_one ? "," : "", study->item[i]->name);
        put_text(out, study->item[i]->caption);
        has_one = true;
    }
    const char *section = "";
    has_one = false;
    s2_buffer_printf(out, "},\n\"blanks\":[");
    for (int32_t i = 0; i < study->n; i++) {
        const s2_study_item *item = study->item[i];
        if (item->kind == S2_STUDY_HEADING) section = item->caption;
        if (item->kind != S2_STUDY_COMMAND) continue;
        s2_buffer_printf(out, "%s\n{\"section\":", has_one ? "," : "");
        put_text(out, section);
        s2_buffer_printf(out, ",\"command\":");
        put_text(out, item->caption);
        s2_buffer_printf(out, "}");
        has_one = true;
    }
    s2_buffer_printf(out, "]}\n");
    return st;
}

/* A line that readers of the form pass over, or a row of its own kind. */
static void put_caption(const s2_study_item *item, s2_table_format format, s2_buffer *out)
{
    if (format == S2_TABLE_MARKDOWN)
        s2_buffer_printf(out, "**%s.** %s\n\n", item->name, item->caption);
    else if (format == S2_TABLE_CSV)
        s2_buffer_printf(out, "# %s: %s\n", item->name, item->caption);
    else if (format == S2_TABLE_SQL)
        s2_buffer_printf(out, "-- %s: %s\n", item->name, item->caption);
    else if (format == S2_TABLE_JSONL) {
        s2_buffer_printf(out, "{\"table\":\"%s\",\"caption\":", item->name);
        put_text(out, item->caption);
        s2_buffer_printf(out, "}\n");
    } else if (format == S2_TABLE_TEXT)
        s2_buffer_printf(out, "%s: %s\n\n", item->name, item->caption);
}

/* What opens a comment line of a form that has no other place for words; NULL: it has one. */
static const char *comment_of(s2_table_format format)
{
    return format == S2_TABLE_CSV   ? "#"
           : format == S2_TABLE_SQL ? "--"
           : format == S2_TABLE_TEX ? "%"
                                    : NULL;
}

/* Headings, sentences and the commands that fill blanks. */
static void put_words(const s2_study_item *item, const char *section, s2_table_format format,
                      s2_buffer *out)
{
    const bool is_heading = item->kind == S2_STUDY_HEADING,
               is_command = item->kind == S2_STUDY_COMMAND;
    const char *comment = comment_of(format);
    if (format == S2_TABLE_JSONL) {
        if (!is_command) return;
        s2_buffer_printf(out, "{\"section\":");
        put_text(out, section);
        s2_buffer_printf(out, ",\"command\":");
        put_text(out, item->caption);
        s2_buffer_printf(out, "}\n");
        return;
    }
    if (out->size) s2_buffer_append(out, "\n", 1);
    if (comment)
        s2_buffer_printf(out, "%s %s%s\n", comment,
                         is_command ? "with the paper's model and data: " : "", item->caption);
    else if (is_heading)
        s2_buffer_printf(out, "%s%s\n", format == S2_TABLE_MARKDOWN ? "## " : "", item->caption);
    else if (is_command)
        s2_buffer_printf(out, "With the paper's model and data:\n\n    %s\n", item->caption);
    else
        s2_buffer_printf(out, "%s\n", item->caption);
}

int s2_paper_print(const s2_study *study, s2_table_format format)
{
    s2p_error error = { S2P_OK, "" };
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2p_status st = study->status;
    if (st == S2P_OK && format == S2_TABLE_JSON) st = put_json(study, &out);
    const char *section = "";
    for (int32_t i = 0; i < study->n && st == S2P_OK && format != S2_TABLE_JSON; i++) {
        const s2_study_item *item = study->item[i];
        if (item->kind == S2_STUDY_HEADING) section = item->caption;
        if (item->kind == S2_STUDY_HEADING || item->kind == S2_STUDY_NOTE ||
            item->kind == S2_STUDY_COMMAND)
            put_words(item, section, format, &out);
        if (item->kind != S2_STUDY_TABLE) continue;
        if (out.size && format != S2_TABLE_JSONL) s2_buffer_append(&out, "\n", 1);
        put_caption(item, format, &out);
        st = s2_table_write(&item->table, format, &out);
    }
    if (st == S2P_OK) st = out.status;
    if (st != S2P_OK) s2_fail(&error, st, "no memory for the tables");
    return s2_report_print_made(st, &out, &error);
}
