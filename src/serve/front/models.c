/* models.c - which models are loaded. */
#define _GNU_SOURCE /* sysconf */
#include "serve/front/models.h"

#include "base/clock.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_QUEUE_BYTES ((size_t)256 << 20)
#define PATIENCE_MS 5000.0 /* after this time a request may unload a model that is busy */

s2p_status s2_models_start(s2_models *m, const s2_front_options *options, s2p_error *error)
{
    m->options = options;
    for (int32_t i = 0; i < options->n_models; i++) {
        const s2_front_model *model = &options->model[i];
        const s2_link_options link = { .argv = model->argv,
                                       .environment = options->engine_environment,
                                       .name = options->n_models > 1 ? model->name : "",
                                       .is_on_demand = !model->is_pinned,
                                       .n_parallel = options->n_parallel,
                                       .n_queue = options->n_queue,
                                       .max_queue_bytes = MAX_QUEUE_BYTES,
                                       .silent_ms = options->stuck_s * 1e3,
                                       .log = options->log };
        TRY(s2_link_start(&m->link[i], &link, error));
        m->name[i] = options->n_models > 1 ? model->name : "";
        m->n++;
    }
    return S2P_OK;
}

void s2_models_stop(s2_models *m)
{
    for (int32_t i = 0; i < m->n; i++) s2_link_stop(m->link[i]);
    m->n = 0;
}

/* --- loading and unloading ---------------------------------------------------------------------- */

/* Bytes in memory of a process; 0: not known. */
static uint64_t resident_bytes(int pid)
{
    char path[48];
    s2_buffer text;
    uint64_t pages = 0;
    s2_buffer_init(&text, 4096);
    (void)snprintf(path, sizeof path, "/proc/%d/statm", pid);
    if (s2_file_read(path, &text, NULL) == S2P_OK) { /* the second number of a line */
        s2_buffer_append(&text, "", 1);
        const char *second = text.status == S2P_OK ? strchr((const char *)text.data, ' ') : NULL;
        if (second) pages = strtoull(second, NULL, 10);
    }
    s2_buffer_free(&text);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The one to unload for a request that has waited for `waited` ms: of those without work the one used least
 * recently; if all are busy for too long, the one loaded first, which finishes its answers. -1: none yet. */
static int32_t choose_victim(const s2_models *m, const s2_link_state *state, double waited)
{
    int32_t idle = -1, busy = -1;
    for (int32_t i = 0; i < m->n; i++) {
        if (m->options->model[i].is_pinned || state[i].is_parked || state[i].pid == 0) continue;
        if (state[i].n_running + state[i].n_queued == 0) {
            if (idle < 0 || state[i].used_ms < state[idle].used_ms) idle = i;
        } else if (busy < 0 || m->loaded_ms[i] < m->loaded_ms[busy]) {
            busy = i;
        }
    }
    return idle >= 0 ? idle : waited > PATIENCE_MS ? busy : -1;
}

void s2_models_tick(s2_models *m)
{
    s2_link_state state[S2_FRONT_MAX_MODELS];
    uint64_t total = 0, leaving = 0;
    int32_t next = -1; /* whose oldest request waits longest */
    if (m->options->n_models < 2) return;
    const double now = s2_now_ms();
    for (int32_t i = 0; i < m->n; i++) {
        s2_link_get_state(m->link[i], &state[i]);
        if (state[i].is_parked && state[i].n_queued > 0 &&
            (next < 0 || state[i].waits_since_ms < state[next].waits_since_ms))
            next = i;
        if (state[i].pid == 0 && state[i].is_parked) continue;
        const uint64_t resident = state[i].pid ? resident_bytes(state[i].pid) : 0;
        const uint64_t own = m->options->model[i].bytes;
        total += resident > own ? resident : own;
        if (state[i].is_parked) leaving += resident > own ? resident : own;
    }
    if (next < 0) return;
    const uint64_t limit = m->options->models_bytes, needed = m->options->model[next].bytes;
    if (total + needed <= limit) {
        m->loaded_ms[next] = now;
        s2_link_park(m->link[next], false);
    } else if (total - leaving + needed > limit) {
        const int32_t victim = choose_victim(m, state, now - state[next].waits_since_ms);
        if (victim >= 0) s2_link_park(m->link[victim], true);
    }
}

bool s2_models_are_ready(const s2_models *m, s2p_error *error)
{
    bool is_ready = true;
    for (int32_t i = 0; i < m->n; i++) {
        s2_link_state state;
        s2_link_get_state(m->link[i], &state);
        if (!m->options->model[i].is_pinned) continue;
        if (!state.has_been_ready && state.n_deaths > 0) {
            (void)s2_fail(error, S2P_EFORMAT,
                          "the model %s%scould not be loaded; see the message above", m->name[i],
                          m->name[i][0] ? " " : "");
            return false;
        }
        is_ready &= state.is_ready;
    }
    return is_ready;
}

/* --- what others want to know ---------------------------------------------------------------------- */

void s2_models_state(const s2_models *m, s2_link_state *out)
{
    s2_link_get_state(m->link[0], out);
    for (int32_t i = 1; i < m->n; i++) {
        s2_link_state one;
        s2_link_get_state(m->link[i], &one);
        out->n_running += one.n_running;
        out->n_queued += one.n_queued;
        out->n_starts += one.n_starts;
        out->n_deaths += one.n_deaths;
        out->n_refused += one.n_refused;
    }
}

const char *s2_models_status(const s2_models *m, int32_t index)
{
    s2_link_state state;
    s2_link_get_state(m->link[index], &state);
    if (state.is_parked) return state.pid ? "unloading" : "unloaded";
    return state.is_ready ? "loaded" : "loading";
}

int32_t s2_models_loaded(const s2_models *m)
{
    int32_t n = 0;
    for (int32_t i = 0; i < m->n; i++) n += strcmp(s2_models_status(m, i), "loaded") == 0;
    return n;
}

int32_t s2_models_find(const s2_models *m, const char *name)
{
    for (int32_t i = 0; name && i < m->n; i++) {
        const size_t n = strlen(m->name[i]);
        if (n > 0 && strncmp(name, m->name[i], n) == 0 && (name[n] == '\0' || name[n] == '@'))
            return i;
    }
    return 0;
}

void s2_models_context(const s2_models *m, int32_t index, s2_model_info *info, s2_chat_context *out)
{
    s2_link_get_model(m->link[index], info);
    *out = (s2_chat_context){ .model = m->n > 1 ? m->name[0] : info->model,
                              .others = m->name + 1,
                              .n_others = m->n > 1 ? (size_t)m->n - 1 : 0,
                              .virtual_models = m->options->virtual_models,
                              .n_ctx = info->n_ctx };
}
