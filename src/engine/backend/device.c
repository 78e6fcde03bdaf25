/* device.c - devices by name, threads, and the buffer types that make products fast. */
#include "engine/backend/device.h"
#include "engine/backend/reserve.h"

#include "base/cores.h"
#include "kernels/tower/kernels.h"
#include "s2vlm.h"

#include <fcntl.h>
#include <ggml_needs.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_THREADS 256               /* ggml aborts beyond its own limit of 512 */
#define STACK_BYTES ((size_t)8 << 20) /* of a thread, as a rule */
#define MOST_STACKS \
    16 /* that are looked for at once: a system may refuse more than it has in one piece */

static void ignore_log(enum ggml_log_level level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

#if defined(__x86_64__)
/* The first instructions ggml was compiled for that this CPU lacks; NULL: it has them all. Until
 * this is known nothing of ggml's CPU backend may run, not even its list of devices. */
static const char *missing_instructions(void)
{
#define LACKS(name) \
    if (!__builtin_cpu_supports(name)) return name;
    S2V_GGML_NEEDS(LACKS)
#undef LACKS
    return NULL;
}
#else
static const char *missing_instructions(void) { return NULL; }
#endif

/* The first access to the registry opens drivers, which print messages.
 *
 * Backends that are compiled in are there. Those that are libraries come from ggml's own folder and
 * from nowhere else: ggml_backend_load_all() would also run libraries in the current folder, which may
 * be untrusted. */
static void open_registry(void)
{
    ggml_log_set(ignore_log, NULL); /* the library prints nothing */
#ifdef S2V_GGML_BACKENDS
    if (!ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU))
        ggml_backend_load_all_from_path(S2V_GGML_BACKENDS);
#endif
}

static ggml_backend_dev_t device_at(size_t index)
{
    if (missing_instructions()) return NULL;
    open_registry();
    return index < ggml_backend_dev_count() ? ggml_backend_dev_get(index) : NULL;
}

const char *s2v_device_name(size_t index)
{
    ggml_backend_dev_t device = device_at(index);
    return device ? ggml_backend_dev_name(device) : NULL;
}

const char *s2v_device_description(size_t index)
{
    ggml_backend_dev_t device = device_at(index);
    return device ? ggml_backend_dev_description(device) : NULL;
}

void s2v_device_get_memory(size_t index, uint64_t *available, uint64_t *total)
{
    ggml_backend_dev_t device = device_at(index);
    size_t of_device[2] = { 0, 0 };
    if (device) ggml_backend_dev_memory(device, &of_device[0], &of_device[1]);
    *available = of_device[0];
    *total = of_device[1];
}

const char *s2v_backend_version(void) { return ggml_version(); }

/* A function of the registry by name, into *out; NULL when it has none. ISO C keeps functions and
 * objects apart, so the pointer is copied. */
static void find_function(ggml_backend_reg_t reg, const char *name, void *out, size_t n)
{
    void *address = ggml_backend_reg_get_proc_address(reg, name);
    memcpy(out, &address, n);
}

/* Whether something accepts connections at "host:port". */
static bool server_answers(const char *server)
{
    const char *colon = strrchr(server, ':');
    char host[256];
    if (!colon || colon == server || (size_t)(colon - server) >= sizeof host) return false;
    memcpy(host, server, (size_t)(colon - server));
    host[colon - server] = '\0';
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0) return false;
    bool is_open = false;
    for (const struct addrinfo *a = found; a && !is_open; a = a->ai_next) {
        const int fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
        is_open = fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0;
        if (fd >= 0) (void)close(fd);
    }
    freeaddrinfo(found);
    return is_open;
}

static s2p_status check_threads(int32_t n_threads, s2p_error *error)
{
    if (n_threads >= 0 && n_threads <= MAX_THREADS) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "%d threads are outside 0 to %d", n_threads, MAX_THREADS);
}

s2p_status s2v_devices_open(s2v_devices *out, const char *device, const char *rpc_server,
                            int32_t n_threads, s2p_error *error)
{
    const int32_t n_cores = s2_cores_usable("");
    *out = (s2v_devices){ .n_threads = n_cores > MAX_THREADS ? MAX_THREADS : n_cores };
    if (n_threads > 0) out->n_threads = n_threads;
    if (check_threads(n_threads, error) != S2P_OK) return S2P_EINVAL;
    const char *missing = missing_instructions();
    if (missing)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "this program was built for CPUs with %s, which this one lacks; configure "
                       "with -DS2_CPU=portable",
                       missing);
    open_registry();
    out->cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (!out->cpu) return s2_fail(error, S2P_EUNSUPPORTED, "ggml has no CPU device in this build");
    out->main = out->cpu;

    /* Buffer types of the CPU device that hold weights in another layout. */
    ggml_backend_dev_get_extra_bufts_t get;
    find_function(ggml_backend_dev_backend_reg(out->cpu), "ggml_backend_dev_get_extra_bufts", &get,
                  sizeof get);
    ggml_backend_buffer_type_t *types = get ? get(out->cpu) : NULL;
    while (types && *types && out->n_extra < S2V_MAX_EXTRA_TYPES)
        out->extra[out->n_extra++] = *types++;

    if (rpc_server) { /* its first device; ggml aborts when it cannot connect, so we try first */
        ggml_backend_reg_t reg = ggml_backend_reg_by_name("RPC"), added = NULL;
        ggml_backend_reg_t (*add)(const char *) = NULL;
        if (reg) find_function(reg, "ggml_backend_rpc_add_server", &add, sizeof add);
        if (!add)
            return s2_fail(error, S2P_EUNSUPPORTED,
                           "this build has no RPC backend; configure with -DS2_RPC=ON");
        if (server_answers(rpc_server)) added = add(rpc_server);
        if (!added || ggml_backend_reg_dev_count(added) == 0)
            return s2_fail(error, S2P_EIO, "no RPC server answers at '%.100s'; expected HOST:PORT",
                           rpc_server);
        out->main = ggml_backend_reg_dev_get(added, 0);
    }
    if (device) {
        out->main = ggml_backend_dev_by_name(device);
        char known[256] = "";
        for (size_t i = 0, n = 0; !out->main && s2v_device_name(i) && n < sizeof known; i++)
            n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "",
                                  s2v_device_name(i));
        if (!out->main)
            return s2_fail(error, S2P_EINVAL, "no device '%.60s'; there are %s", device, known);
    }
    if (!device && !rpc_server) { /* the best there is */
        ggml_backend_dev_t gpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
        if (!gpu) gpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU);
        if (gpu) out->main = gpu;
    }
    if (out->main == out->cpu) s2v_devices_stay(out);
    return S2P_OK;
}

void s2v_devices_stay(s2v_devices *devices)
{
#ifdef S2V_KNOWN_GGML
    const bool is_packing_known = true;
#else
    const bool is_packing_known = false; /* another version may pack weights in another way */
#endif
    const s2_cpu cpu = s2v_kernels_tested();
    devices->main = devices->cpu;
    devices->products = s2k_products_on(&cpu, is_packing_known);
}

/* Ask the device with a product of the right shape: a buffer type takes some types and sizes only.
 */
static bool can_multiply(ggml_backend_dev_t device, ggml_backend_buffer_type_t type,
                         struct ggml_tensor *weight)
{
    _Alignas(16) char place[S2V_QUESTION_BYTES];
    struct ggml_context *ctx = s2v_question_open(place);
    struct ggml_tensor *rows = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, weight->ne[0], 1, 512);
    struct ggml_tensor *product;
    if (weight->ne[2] > 1) { /* experts, of which each row names some */
        struct ggml_tensor *chosen = ggml_new_tensor_2d(ctx, GGML_TYPE_I32, 1, 512);
        product = ggml_mul_mat_id(ctx, weight, rows, chosen);
    } else {
        product = ggml_mul_mat(ctx, weight, ggml_reshape_2d(ctx, rows, weight->ne[0], 512));
    }
    weight->buffer = ggml_backend_buft_alloc_buffer(type, 0);
    const bool can = weight->buffer && ggml_backend_dev_supports_op(device, product);
    ggml_backend_buffer_free(weight->buffer);
    weight->buffer = NULL;
    ggml_free(ctx);
    return can;
}

ggml_backend_buffer_type_t s2v_fastest_buffer(const s2v_devices *devices,
                                              struct ggml_tensor *weight)
{
    /* With rows of one block ggml 0.25's AMX products add to whatever the result held before. */
    if (weight->ne[0] == ggml_blck_size(weight->type)) return NULL;
    for (int32_t i = 0; i < devices->n_extra; i++)
        if (can_multiply(devices->cpu, devices->extra[i], weight)) return devices->extra[i];
    return NULL;
}

bool s2v_device_takes(const s2v_devices *devices, struct ggml_tensor *weight, bool by_row)
{
    if (!by_row)
        return can_multiply(devices->main, ggml_backend_dev_buffer_type(devices->main), weight);
    _Alignas(16) char place[S2V_QUESTION_BYTES];
    struct ggml_context *ctx = s2v_question_open(place);
    struct ggml_tensor *ids = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 512);
    const bool can = ggml_backend_dev_supports_op(devices->main, ggml_get_rows(ctx, weight, ids));
    ggml_free(ctx);
    return can;
}

s2p_status s2v_backends_open(s2v_backends *out, const s2v_devices *devices, int32_t n_threads,
                             s2p_error *error)
{
    *out = (s2v_backends){ .n = 0 };
    if (check_threads(n_threads, error) != S2P_OK) return S2P_EINVAL;
    if (n_threads == 0) n_threads = devices->n_threads;
    const int32_t n_stacks = n_threads - 1 < MOST_STACKS ? n_threads - 1 : MOST_STACKS;
    if (!s2v_can_take((size_t)n_stacks * STACK_BYTES))
        return s2_fail(error, S2P_ENOMEM, "out of memory for %d threads", n_threads);
    out->n_threads = n_threads;
    out->products = devices->products;
    ggml_backend_dev_t wanted[2] = { devices->main, devices->cpu };
    for (int i = devices->main == devices->cpu ? 1 : 0; i < 2; i++) {
        ggml_backend_t backend = ggml_backend_dev_init(wanted[i], NULL);
        if (!backend) {
            s2v_backends_close(out);
            return s2_fail(error, S2P_EUNSUPPORTED, "cannot open device '%s'",
                           ggml_backend_dev_name(wanted[i]));
        }
        out->backend[out->n++] = backend;
        ggml_backend_set_n_threads_t set_threads;
        find_function(ggml_backend_dev_backend_reg(wanted[i]), "ggml_backend_set_n_threads",
                      &set_threads, sizeof set_threads);
        if (set_threads) set_threads(backend, n_threads);
    }
    out->pool = s2v_pool_open(out->backend[out->n - 1], n_threads);
    return S2P_OK;
}

void s2v_backends_close(s2v_backends *backends)
{
    for (int i = 0; i < backends->n; i++) ggml_backend_free(backends->backend[i]);
    backends->n = 0;
    s2v_pool_close(&backends->pool);
}

ggml_backend_buffer_t s2v_place_outline(struct ggml_context *ctx, ggml_backend_buffer_type_t type)
{
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(type, 0);
    struct ggml_tensor *t = buffer ? ggml_get_first_tensor(ctx) : NULL;
    for (; t; t = ggml_get_next_tensor(ctx, t)) {
        if (t->view_src) continue;
        t->buffer = buffer;
        t->data = (void *)(uintptr_t)4096; /* never accessed */
    }
    return buffer;
}

/* --- memory ------------------------------------------------------------------------------ */

/* A number from a file of the system, in bytes; 0 if the file lacks it. */
static uint64_t read_kib(int fd, const char *tag)
{
    char text[4096];
    const ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    if (n <= 0) return 0;
    text[n] = '\0';
    const char *line = strstr(text, tag);
    return line ? strtoull(line + strlen(tag), NULL, 10) * 1024 : 0;
}

int s2v_memory_open(void) { return open("/proc/meminfo", O_RDONLY | O_CLOEXEC); }

uint64_t s2v_memory_available(int fd) { return read_kib(fd, "MemAvailable:"); }

uint64_t s2v_memory_resident(void)
{
    const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    const uint64_t bytes = read_kib(fd, "VmRSS:");
    if (fd >= 0) close(fd);
    return bytes;
}
