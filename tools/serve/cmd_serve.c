/* cmd_serve.c - `s2prune serve`: check the options, start the front.
 *
 * The front starts this program once more as `serve-engine`, with the same arguments; that process loads the
 * model. Nothing of ggml is called here.
 */
#include "serve/models_file.h"
#include "serve/serve_options.h"

#include "asking/llama_options.h"
#include "base/file.h"
#include "program.h"
#include "report.h"
#include "serve/front/front.h"
#include "serve/front/pictures.h"
#include "serve/secrets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_WORDS 512
#define MAX_COMMAND_LINE ((size_t)1 << 20)
#define MAX_PEM ((size_t)1 << 20)

typedef struct serve_job { /* everything the command owns */
    const serve_options *options;
    s2_front_options front;
    s2_buffer words, key, cert;
    s2_pool pool; /* several models */
    char *argv[MAX_WORDS + 1], **environment;
} serve_job;

static void log_line(const char *text) { s2_report_line("serve", text); }

static void log_request(const char *line) { s2_report_tell("%s", line); }

static void say_nothing(const char *text) { (void)text; }

/* --- the command line of the engine ----------------------------------------------------- */

/* Without the keys: the process that decodes pictures must not know them. */
static s2p_status repeat_command_line(serve_job *job, s2p_error *error)
{
    s2_buffer_init(&job->words, MAX_COMMAND_LINE);
    TRY(s2_file_read("/proc/self/cmdline", &job->words, error));
    s2_buffer_append(&job->words, "", 1);
    if (job->words.status != S2P_OK) return s2_fail(error, job->words.status, "no memory");
    size_t n = 0, at = 0, index = 0;
    bool skips = false;
    for (; at + 1 < job->words.size; index++) {
        char *word = (char *)job->words.data + at;
        at += strlen(word) + 1;
        bool takes_next;
        if (skips || (index > 1 && s2_is_secret_option(word, &takes_next))) {
            skips = !skips && takes_next;
            continue;
        }
        if (n == MAX_WORDS)
            return s2_fail(error, S2P_ELIMIT, "too many arguments (limit %d)", MAX_WORDS);
        job->argv[n++] = index == 1 ? "serve-engine" : word;
    }
    job->front.model[0] = (s2_front_model){ .name = "", .argv = job->argv, .is_pinned = true };
    job->front.n_models = 1;
    return S2P_OK;
}

/* --- access ------------------------------------------------------------------------- */

static s2p_status read_keys(serve_job *job, s2p_error *error)
{
    const serve_options *o = job->options;
    s2_access *access = &job->front.access;
    for (size_t i = 0; i < o->api_keys.n; i++)
        TRY(s2_access_add_key(access, o->api_keys.item[i], strlen(o->api_keys.item[i]), error));
    job->front.n_fixed_keys = access->n_keys;
    job->front.key_file = o->api_key_file;
    if (o->api_key_file) TRY(s2_access_read_keys(access, o->api_key_file, error));
    access->host = o->host;
    access->allowed_hosts = o->allowed_hosts;
    access->cors_origins = o->cors_origins;
    for (size_t i = 0; i < o->api_keys.n; i++) s2_wipe_secret(o->api_keys.item[i]); /* hashed now */
    const bool is_local = o->unix_socket || s2_host_is_loopback(o->host);
    if (!is_local && access->n_keys == 0 && !o->is_open)
        return s2_fail(error, S2P_EINVAL,
                       "--host %.60s is reachable from other machines, but no key is required: use "
                       "--api-key-file, or --i-know-this-is-open",
                       o->host);
    if (!is_local && !o->ssl_key && !o->ask.quiet)
        s2_report_line("note", "traffic is not encrypted; see --ssl-key-file");
    return S2P_OK;
}

static s2p_status check_image_hosts(const serve_options *o, s2p_error *error)
{
    if (!o->image_hosts) return S2P_OK;
    TRY(s2_remote_check_list(o->image_hosts, error));
    if (!s2_remote_init())
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "--allow-image-urls: this program was built without libcurl");
    if (strchr(o->image_hosts, '*'))
        s2_report_line("note",
                       "clients can make this machine fetch pictures from any public server");
    return S2P_OK;
}

static s2p_status read_pem(const char *path, s2_buffer *out, s2p_error *error)
{
    s2_buffer_init(out, MAX_PEM);
    if (!path) return S2P_OK;
    TRY(s2_file_read(path, out, error));
    s2_buffer_append(out, "", 1);
    return out->status;
}

static s2p_status read_certificate(serve_job *job, s2p_error *error)
{
    const serve_options *o = job->options;
    if (!o->ssl_key != !o->ssl_cert)
        return s2_fail(error, S2P_EINVAL,
                       "--ssl-key-file and --ssl-cert-file must be given together");
    TRY(read_pem(o->ssl_key, &job->key, error));
    TRY(read_pem(o->ssl_cert, &job->cert, error));
    job->front.ssl_key = (const char *)job->key.data;
    job->front.ssl_cert = (const char *)job->cert.data;
    return S2P_OK;
}

/* --- ready ---------------------------------------------------------------------------------- */

static const char *or_nothing(const char *text) { return text ? text : ""; }

static void show_ready(const s2_front_options *o, const char *url, const json_t *hello,
                       double took_s)
{
    char size[S2_SIZE_TEXT];
    for (int32_t i = 0; o->n_models > 1 && i < o->n_models; i++)
        s2_report_tell("model  %s, %s, %s", o->model[i].name,
                       s2_report_size((double)o->model[i].bytes, size),
                       o->model[i].is_pinned ? "pinned" : "loaded on demand");
    if (hello)
        s2_report_tell(
            "s2prune %s (ggml %s, %s, tower %s)   model %s, %s, loaded in %.1f s", s2p_version(),
            or_nothing(s2_json_string(hello, "ggml")), or_nothing(s2_json_string(hello, "device")),
            or_nothing(s2_json_string(hello, "kernels")),
            or_nothing(s2_json_string(hello, "model")),
            s2_report_size(json_number_value(json_object_get(hello, "size")), size), took_s);
    if (o->has_ui) s2_report_tell("page   %s/", url);
    s2_report_tell("api    %s/v1", url);
    s2_report_tell("limits %d answers at once, %d may wait · body %zu MiB · picture %.1f Mpx · "
                   "%s · remote images %s",
                   o->n_parallel, o->n_queue, o->max_body >> 20,
                   floor((double)o->max_image_pixels / 1e5) / 10.0,
                   o->access.n_keys > 0 ? "key required" : "no key",
                   o->image_hosts ? o->image_hosts : "off");
}

static s2p_status check_media_path(const serve_options *o, s2p_error *error)
{
    struct stat about;
    if (!o->media_path) return S2P_OK;
    if (stat(o->media_path, &about) == 0 && S_ISDIR(about.st_mode)) return S2P_OK;
    return s2_fail(error, S2P_EIO, "--media-path '%.200s' is not a folder", o->media_path);
}

static s2p_status read_models(serve_job *job, s2p_error *error)
{
    const serve_options *o = job->options;
    if (!o->models) return S2P_OK;
    if (o->ask.model || o->ask.mmproj || o->alias)
        return s2_fail(error, S2P_EINVAL,
                       "--models names the models: leave out --model, --mmproj "
                       "and --alias");
    return s2_models_file_read(o->models, job->argv, o->models_mib, &job->pool, &job->front, error);
}

/* A model of a hub, before the engine starts: it does not get the token, and finds it in the cache. */
static s2p_status fetch_model(const serve_options *o, s2p_error *error)
{
    if (!o->ask.hub_name) return S2P_OK;
    s2_asker *asker = calloc(1, sizeof *asker);
    if (!asker) return s2_fail_memory(error, sizeof *asker, "the model");
    const s2p_status st = s2_asker_prepare(asker, &o->ask, error);
    s2_asker_close(asker);
    free(asker);
    s2_wipe_secret(o->ask.hub_token);
    return st;
}

static s2p_status prepare(serve_job *job, s2p_error *error)
{
    const serve_options *o = job->options;
    job->front = (s2_front_options){ .host = o->host,
                                     .unix_socket = o->unix_socket,
                                     .port = o->port,
                                     .virtual_models = o->virtual_models,
                                     .results_dir = o->results_dir,
                                     .media_path = o->media_path,
                                     .image_hosts = o->image_hosts,
                                     .n_parallel = o->parallel,
                                     .n_queue = o->queue,
                                     .n_per_address = o->per_address,
                                     .max_body = (size_t)o->max_body << 20,
                                     .max_image_pixels = o->ask.max_image_pixels,
                                     .header_s = o->header_s,
                                     .body_s = o->body_s,
                                     .idle_s = o->idle_s,
                                     .send_s = o->send_s,
                                     .drain_s = o->drain_s,
                                     .stuck_s = o->stuck_s,
                                     .leave_s = o->leave_s,
                                     .has_ui = !o->no_ui,
                                     .has_metrics = o->metrics,
                                     .may_crash = o->may_crash,
                                     .cache_per_key = o->cache_per_key == 0,
                                     .log_request = o->log_requests ? log_request : NULL,
                                     .log_as_json = o->log_format == 1,
                                     .log = o->ask.quiet ? say_nothing : log_line,
                                     .ready = show_ready };
    TRY(read_keys(job, error));
    TRY(s2_proxies_read(&job->front.proxies, o->trusted_proxy, error));
    TRY(check_image_hosts(o, error));
    TRY(check_media_path(o, error));
    TRY(s2a_detail_map_check("--detail-map", o->detail_map, error));
    TRY(read_certificate(job, error));
    TRY(fetch_model(o, error));
    s2_hide_secrets();
    TRY(s2_engine_environment(&job->environment, error));
    job->front.engine_environment = job->environment;
    TRY(repeat_command_line(job, error));
    return read_models(job, error);
}

static int run_serve(const void *values)
{
    s2p_error error = { S2P_OK, "" };
    serve_job job = { .options = values };
    s2p_status st = prepare(&job, &error);
    if (st == S2P_OK) st = s2_front_run(&job.front, &error);
    s2_pool_free(&job.pool);
    free(job.environment);
    s2_buffer_free(&job.words);
    s2_buffer_free(&job.key);
    s2_buffer_free(&job.cert);
    return st == S2P_OK ? S2_EXIT_OK : s2_report_error(st, &error);
}

const s2_command s2_cmd_serve = {
    .name = "serve",
    .summary = "run an OpenAI-compatible server with a web page",
    .usage = "[-m MODEL -mm MMPROJ] [--host ADDRESS] [--port N] [options]",
    .examples = "  s2prune serve\n"
                "  s2prune serve -m model.gguf -mm mmproj.gguf --parallel 8 --metrics\n"
                "  s2prune serve --host 0.0.0.0 --api-key-file keys.txt --ssl-key-file k.pem "
                "--ssl-cert-file c.pem\n",
    .options = s2_serve_rows,
    .foreign = s2_llama_options,
    .size = sizeof(serve_options),
    .run = run_serve,
};
