/* cmd_serve_engine.c - the other process of `serve`. It is started by the front, never by a person. */
#if defined(__linux__)
#define _GNU_SOURCE /* syscall */
#include <sys/syscall.h>
#endif
#include "serve/serve_options.h"

#include "asking/llama_options.h"
#include "base/path.h"
#include "base/sanitizer.h"
#include "file_watch.h"
#include "program.h"
#include "report.h"
#include "serve/engine/sandbox.h"
#include "serve/engine/serve_engine.h"
#include "serve/protocol/frame.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define USUAL_CONTEXT 4096 /* tokens */
#define FRONT_FD 3
#define MOST_FDS 65536 /* that are looked for, where the kernel cannot close them all at once */

#if S2_HAS_SANITIZER
int __lsan_do_recoverable_leak_check(void);
static bool may_look; /* not inside the sandbox, which knows no other processes */
#endif

/* Whatever is being computed: nobody waits for it any more. */
static void end_with_front(void)
{
#if S2_HAS_SANITIZER
    if (may_look)
        (void)fputs(__lsan_do_recoverable_leak_check() ? "serve-engine: it leaks\n"
                                                       : "serve-engine: it does not leak\n",
                    stderr);
#endif
    _exit(S2_EXIT_OK);
}

/* The front has the sentence, and starts this program again. */
static void end_broken(void) { _exit(S2_EXIT_INPUT); }

/* In the handler of a signal. */
static void tell_front(const char *sentence)
{
    uint8_t frame[S2_FRAME_HEADER + 400];
    size_t n = strlen(sentence);
    if (n > sizeof frame - S2_FRAME_HEADER) n = sizeof frame - S2_FRAME_HEADER;
    s2_frame_header(S2_FRAME_BROKEN, 0, n, frame);
    memcpy(frame + S2_FRAME_HEADER, sentence, n);
    (void)s2_frame_send(FRONT_FD, frame, S2_FRAME_HEADER + n);
}

/* "qwen2.5-vl-7b" of "/models/qwen2.5-vl-7b.gguf". */
static void name_model(const serve_options *o, const char *path, char *out, size_t capacity)
{
    (void)snprintf(out, capacity, "%.150s", o->alias ? o->alias : s2_base_name(path));
    const size_t n = strlen(out);
    if (!o->alias && n > 5 && s2_path_has_suffix(out, ".gguf")) out[n - 5] = '\0';
    for (char *c = out; *c; c++)
        if (*c == '@' || (unsigned char)*c < 0x21) *c = '_'; /* '@' begins what is virtual */
}

/* A name that no request could use is refused at the start. */
static s2p_status check_virtual_models(const char *list, const s2a_setting *usual, s2p_error *error)
{
    while (list && *list) {
        char name[128], param[S2_JSON_PARAM];
        s2a_prune_request request;
        const size_t n = strcspn(list, ",");
        (void)snprintf(name, sizeof name, "%.*s", (int)n, list);
        s2p_error why = { S2P_OK, "" };
        const s2p_status st =
            s2a_prune_read(NULL, "prune.", name, usual, NULL, &request, param, &why);
        s2a_prune_request_free(&request);
        if (st != S2P_OK)
            return s2_fail(error, S2P_EINVAL, "--virtual-models '%.80s': %.300s", name,
                           why.message);
        list += n + (list[n] == ',');
    }
    return S2P_OK;
}

static s2p_status fill_setup(s2_asker *asker, const serve_options *o, s2_engine_setup *setup,
                             s2p_error *error)
{
    TRY(s2_asker_prepare(asker, &o->ask, error));
    const bool is_plain = !o->ask.rpc && !o->ask.device;
    s2v_session_options session = s2_ask_session_options(&o->ask);
    if (session.n_ctx == 0) session.n_ctx = USUAL_CONTEXT; /* clients are told its size */
    s2_ask_sampling(&o->ask, &session.sampling);
    *setup = (s2_engine_setup){ .fd = FRONT_FD,
                                .open = s2_asker_open_options(asker, &session),
                                .pixels = (s2_pixels)o->ask.pixels,
                                .setting = s2_ask_setting(&o->ask),
                                .target = s2_ask_target(&o->ask),
                                .detail_map = o->detail_map,
                                .n_parallel = o->parallel,
                                .n_predict = o->ask.predict,
                                .thinks = s2_ask_thinks(&o->ask),
                                .thought_budget = s2_ask_thoughts(&o->ask),
                                .has_sandbox = !o->no_sandbox && is_plain && s2_sandbox_is_here(),
                                .is_bundled = asker->model == asker->bundled.model,
                                .may_crash = o->may_crash,
                                .gone = end_with_front,
                                .broken = end_broken };
#if S2_HAS_SANITIZER
    may_look = !setup->has_sandbox;
#endif
    setup->open.engine.pictures_soon = 1;
    setup->open.engine.cache_bytes = o->ask.no_cache ? 0 : (uint64_t)o->cache_mib << 20;
    s2_image_limits_init(&setup->limits);
    setup->limits.max_pixels = o->ask.max_image_pixels;
    setup->limits.bounded = true; /* pictures of strangers */
    s2a_setting_use(&setup->setting, s2v_method_name((size_t)o->method));
    setup->setting.budget = o->budget;
    TRY(s2_ask_check_target(&o->ask, o->budget, error));
    TRY(s2_ask_set(&o->ask, &setup->setting, 1, error));
    return check_virtual_models(o->virtual_models, &setup->setting, error);
}

/* What the front inherited from whoever started it is no business of the engine. */
static void close_others(void)
{
#if defined(__linux__)
#if !defined(SYS_close_range)
#define SYS_close_range 436 /* on every machine; Linux 5.9 */
#endif
    if (syscall(SYS_close_range, FRONT_FD + 1, ~0U, 0) == 0) return;
#endif
    const long n = sysconf(_SC_OPEN_MAX);
    for (int fd = FRONT_FD + 1; fd < (n < 0 || n > MOST_FDS ? MOST_FDS : (int)n); fd++) close(fd);
}

static int run_serve_engine(const void *values)
{
    const serve_options *o = values;
    s2p_error error = { S2P_OK, "" };
    char name[160];
    s2_engine_setup setup;
    if (fcntl(FRONT_FD, F_GETFD) < 0) {
        s2_fail(&error, S2P_EINVAL, "serve-engine is started by 's2prune serve'");
        return s2_report_error(S2P_EINVAL, &error);
    }
    close_others();
    s2_watch_tell(tell_front);
    (void)signal(SIGINT, SIG_IGN); /* the front decides when it is over */
    (void)signal(SIGTERM, SIG_IGN);
    s2_asker *asker = calloc(1, sizeof *asker);
    s2p_status st = asker ? fill_setup(asker, o, &setup, &error)
                          : s2_fail_memory(&error, sizeof *asker, "the server");
    if (st == S2P_OK) {
        name_model(o, asker->model, name, sizeof name);
        setup.model = name;
        st = s2_serve_engine(&setup, &error);
    }
    if (asker) s2_asker_close(asker);
    free(asker);
    return s2_report_error(st, &error);
}

const s2_command s2_cmd_serve_engine = {
    .name = "serve-engine",
    .summary = "the process that holds the model of 's2prune serve'",
    .usage = "",
    .options = s2_serve_rows,
    .foreign = s2_llama_options,
    .size = sizeof(serve_options),
    .repeats = true,
    .run = run_serve_engine,
};
