/* runs_routes.c - folders with a summary.json.
 *
 * Text from a client never becomes part of a path: it is compared with the names in the folder.
 */
#include "serve/front/routes.h"

#include "base/file.h"
#include "base/json_limit.h"
#include "base/path.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SUMMARY ((size_t)16 << 20)
#define MAX_PAGE ((size_t)64 << 20)
#define MAX_VALUES 2000000u
#define MAX_RUNS 1000
#define DATA_OPENS "<script type=\"application/json\" id=\"data\">"
#define DATA_CLOSES "</script>"

/* The folder of a run in new memory; NULL: no memory. */
static char *folder_of(const s2_exchange *x, const char *name)
{
    return s2_path_in(x->server->options->results_dir, name);
}

/* The page names a column by its method: two settings of one method need their labels there. */
static void name_settings(json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        json_t *setting = json_object_get(row, "setting");
        if (json_is_string(setting)) (void)json_object_set(row, "method", setting);
    }
}

static json_t *read_summary(const s2_exchange *x, const char *name)
{
    json_t *summary = NULL;
    char *folder = folder_of(x, name);
    if (folder)
        (void)s2_json_read_in(folder, "summary.json", MAX_SUMMARY, MAX_VALUES, &summary, NULL);
    free(folder);
    size_t i;
    json_t *task;
    json_array_foreach(json_object_get(summary, "tasks"), i, task)
    {
        name_settings(json_object_get(task, "results"));
    }
    name_settings(json_object_get(summary, "table"));
    return summary;
}

/* The data of the sample browser inside report.html; NULL: none. */
static json_t *read_samples(const s2_exchange *x, const char *name)
{
    json_t *samples = NULL;
    char *folder = folder_of(x, name), *path = folder ? s2_path_in(folder, "report.html") : NULL;
    s2_buffer page;
    s2_buffer_init(&page, MAX_PAGE);
    if (path && s2_file_read(path, &page, NULL) == S2P_OK) {
        s2_buffer_append(&page, "", 1);
        const char *text = page.status == S2P_OK ? (const char *)page.data : "";
        const char *start = strstr(text, DATA_OPENS),
                   *end = start ? strstr(start, DATA_CLOSES) : NULL;
        if (end) {
            start += strlen(DATA_OPENS);
            (void)s2_json_parse_few(start, (size_t)(end - start), name, MAX_VALUES, &samples, NULL);
        }
    }
    s2_buffer_free(&page);
    free(path);
    free(folder);
    return samples;
}

static json_t *line_of(const char *name, const json_t *summary)
{
    json_t *tasks = json_array();
    const json_t *list = json_object_get(summary, "tasks");
    for (size_t i = 0; i < json_array_size(list); i++)
        json_array_append(tasks, json_object_get(json_array_get(list, i), "task"));
    return json_pack("{s:s,s:O?,s:o}", "id", name, "model", json_object_get(summary, "model"),
                     "tasks", tasks);
}

static bool has_results(const s2_exchange *x, s2_http_error *error)
{
    return x->server->options->results_dir ||
           s2_http_fail(error, 404, NULL, "no results folder; start the server with --results-dir");
}

bool s2_handle_runs(s2_exchange *x, s2_http_error *error)
{
    if (!has_results(x, error)) return false;
    json_t *runs = json_array();
    DIR *dir = opendir(x->server->options->results_dir);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) && json_array_size(runs) < MAX_RUNS) {
        json_t *summary = entry->d_name[0] == '.' ? NULL : read_summary(x, entry->d_name);
        if (summary) json_array_append_new(runs, line_of(entry->d_name, summary));
        json_decref(summary);
    }
    if (dir) (void)closedir(dir);
    s2_exchange_json(x, 200, json_pack("{s:s,s:o}", "object", "list", "data", runs));
    return true;
}

bool s2_handle_run(s2_exchange *x, s2_http_error *error)
{
    if (!has_results(x, error)) return false;
    const char *wanted = x->target + strlen(x->route->path);
    const size_t n = s2_target_path(wanted);
    json_t *summary = NULL, *samples = NULL;
    DIR *dir = opendir(x->server->options->results_dir);
    const struct dirent *entry;
    while (dir && !summary && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' && strlen(entry->d_name) == n &&
            memcmp(entry->d_name, wanted, n) == 0) {
            summary = read_summary(x, entry->d_name);
            samples = summary ? read_samples(x, entry->d_name) : NULL;
        }
    if (dir) (void)closedir(dir);
    if (!summary) return s2_http_fail(error, 404, NULL, "unknown run");
    s2_exchange_json(x, 200, json_pack("{s:o,s:o?}", "summary", summary, "browser", samples));
    return true;
}
