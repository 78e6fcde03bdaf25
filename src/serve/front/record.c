/* record.c - one line for each request, as text or JSON, and the histograms of all. */
#include "serve/front/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* --- one request ---------------------------------------------------------------------------- */

void s2_record_name(s2_record *record, const char *given)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "-_.:";
    const size_t n = given ? strspn(given, allowed) : 0;
    if (n > 0 && n <= S2_REQUEST_ID && given[n] == '\0') {
        memcpy(record->id, given, n + 1);
        return;
    }
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = (uint64_t)(record->arrived_ms * 1e3);
    (void)snprintf(record->id, sizeof record->id, "req-%016llx", (unsigned long long)number);
}

static void add_count(const json_t *object, const char *name, int64_t *sum)
{
    int32_t n = 0;
    if (s2_json_int(object, name, &n) && n > 0) *sum += n;
}

void s2_record_add(s2_record *r, const json_t *result)
{
    const json_t *usage = json_object_get(result, "usage");
    const json_t *details = json_object_get(usage, "prompt_tokens_details");
    const double tower =
        json_number_value(json_object_get(json_object_get(result, "timings"), "vision_ms"));
    add_count(usage, "prompt_tokens", &r->n_prompt);
    add_count(usage, "completion_tokens", &r->n_generated);
    add_count(details, "image_tokens", &r->n_image);
    add_count(details, "image_tokens_full", &r->n_image_full);
    add_count(details, "cached_tokens", &r->n_cached);
    if (isfinite(tower) && tower > 0.0) r->tower_ms += tower;
}

static double between(double from, double to) { return from > 0.0 && to > from ? to - from : 0.0; }

typedef struct row { /* a field of the line: a time or a number */
    const char *name;
    double ms;
    int64_t n;
    bool is_time;
} row;

void s2_record_line(const s2_record *r, const s2_record_words *words, bool is_json, s2_buffer *out)
{
    const double end = words->now_ms;
    const row rows[] = {
        { "queue_ms", between(r->queued_ms, r->started_ms > 0.0 ? r->started_ms : end), 0, true },
        { "tower_ms", r->tower_ms, 0, true },
        { "first_ms", between(r->arrived_ms, r->first_ms), 0, true },
        { "total_ms", between(r->arrived_ms, end), 0, true },
        { "prompt_tokens", 0.0, r->n_prompt, false },
        { "image_tokens_full", 0.0, r->n_image_full, false },
        { "image_tokens", 0.0, r->n_image, false },
        { "cached_tokens", 0.0, r->n_cached, false },
        { "generated_tokens", 0.0, r->n_generated, false },
    };
    const time_t seconds = (time_t)(words->unix_ms / 1000);
    char when[40] = "", address[S2_ADDRESS_TEXT], model[128];
    struct tm date;
    if (gmtime_r(&seconds, &date)) (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &date);
    s2_address_text(r->client, address);
    /* a name of the operator, which may have any byte */
    (void)snprintf(model, sizeof model, "%s", words->model[0] ? words->model : "-");
    for (char *c = model; *c; c++)
        if (*c <= 0x20 || *c >= 0x7F || *c == '"' || *c == '\\') *c = '_';
    const char *method = words->method ? words->method : "-";
    const char *route = words->route ? words->route : "-";
    const int ms = (int)(words->unix_ms % 1000);
    if (is_json)
        s2_buffer_printf(out,
                         "{\"time\":\"%s.%03dZ\",\"id\":\"%s\",\"address\":\"%s\","
                         "\"key\":%d,\"method\":\"%s\",\"route\":\"%s\",\"model\":\"%s\","
                         "\"status\":%d",
                         when, ms, r->id, address, (int)r->key, method, route, model,
                         words->status);
    else
        s2_buffer_printf(out, "%s.%03dZ id=%s address=%s key=%d %s %s model=%s status=%d", when, ms,
                         r->id, address, (int)r->key, method, route, model, words->status);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (is_json)
            s2_buffer_printf(out, ",\"%s\":", rows[i].name);
        else
            s2_buffer_printf(out, " %s=", rows[i].name);
        if (rows[i].is_time)
            s2_buffer_printf(out, "%.3f", rows[i].ms);
        else
            s2_buffer_printf(out, "%lld", (long long)rows[i].n);
    }
    if (is_json) s2_buffer_printf(out, "}");
}

/* --- histograms ------------------------------------------------------------------------------- */

static const double bounds_s[S2_HISTOGRAM_BOUNDS] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                      0.1,   0.25,   0.5,   1.0,  2.5,   5.0,
                                                      10.0,  30.0,   60.0,  120.0 };

void s2_histogram_add(s2_histogram *h, double ms)
{
    size_t i = 0;
    while (i < S2_HISTOGRAM_BOUNDS && ms > bounds_s[i] * 1e3) i++;
    atomic_fetch_add(&h->n[i], 1u);
    atomic_fetch_add(&h->sum_us, (uint64_t)(ms * 1e3));
}

void s2_histograms_add(s2_histograms *all, const s2_record *r)
{
    if (r->started_ms <= 0.0 || r->ended_ms <= 0.0 || r->n_generated == 0) return;
    s2_histogram_add(&all->queue, between(r->queued_ms, r->started_ms));
    s2_histogram_add(&all->total, between(r->arrived_ms, r->ended_ms));
    if (r->first_ms > 0.0) s2_histogram_add(&all->first, between(r->arrived_ms, r->first_ms));
    if (r->first_ms > 0.0 && r->n_generated > 1)
        s2_histogram_add(&all->token,
                         between(r->first_ms, r->ended_ms) / (double)(r->n_generated - 1));
}

static void write_one(s2_histogram *h, const char *name, const char *help, s2_buffer *out)
{
    unsigned long long n = 0;
    s2_buffer_printf(out, "# HELP s2prune_%s %s\n# TYPE s2prune_%s histogram\n", name, help, name);
    for (size_t i = 0; i < S2_HISTOGRAM_BOUNDS; i++) {
        n += (unsigned long long)atomic_load(&h->n[i]);
        s2_buffer_printf(out, "s2prune_%s_bucket{le=\"%g\"} %llu\n", name, bounds_s[i], n);
    }
    n += (unsigned long long)atomic_load(&h->n[S2_HISTOGRAM_BOUNDS]);
    s2_buffer_printf(
        out, "s2prune_%s_bucket{le=\"+Inf\"} %llu\ns2prune_%s_sum %.6f\ns2prune_%s_count %llu\n",
        name, n, name, (double)atomic_load(&h->sum_us) / 1e6, name, n);
}

void s2_histograms_write(s2_histograms *all, s2_buffer *out)
{
    write_one(&all->queue, "queue_seconds", "Time in the queue.", out);
    write_one(&all->first, "first_token_seconds", "Time to the first token.", out);
    write_one(&all->token, "token_seconds", "Time per token after the first.", out);
    write_one(&all->total, "request_seconds", "Time of the whole request.", out);
}
