/* test_engine_rpc.c - layers on another machine: the answer does not change.
 *
 * ggml's RPC server runs in a child process on the loopback interface. It is started before this
 * process computes anything: threads do not survive a fork. A build without the RPC
 * backend (-DS2_RPC=OFF, the default) skips.
 */
#include "tiny_run.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SERVER_SECONDS 300 /* it ends by itself should this program be killed */
#define SKIPPED 77

static const char *folder;
static pid_t server = -1;
static char endpoint[64];
static struct sockaddr_in address;

/* A port nobody listens on. */
static bool choose_port(void)
{
    socklen_t n = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    address = (struct sockaddr_in){ .sin_family = AF_INET };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_fine = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                         getsockname(fd, (struct sockaddr *)&address, &n) == 0;
    if (fd >= 0) (void)close(fd);
    (void)snprintf(endpoint, sizeof endpoint, "127.0.0.1:%d", ntohs(address.sin_port));
    return is_fine;
}

static bool accepts(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool is_open = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0) (void)close(fd);
    return is_open;
}

/* Never returns. */
static void serve(ggml_backend_reg_t reg)
{
    void (*start)(const char *, const char *, size_t, size_t, ggml_backend_dev_t *) = NULL;
    void *found = ggml_backend_reg_get_proc_address(reg, "ggml_backend_rpc_start_server");
    memcpy(&start, &found, sizeof start);
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    (void)alarm(SERVER_SECONDS);
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(1);
    if (start) start(endpoint, NULL, 2, 1, &cpu);
    _exit(1);
}

static bool start_server(ggml_backend_reg_t reg)
{
    if (!choose_port()) return false;
    server = fork();
    if (server == 0) serve(reg);
    for (int i = 0; server > 0 && i < 500; i++) {
        if (accepts()) return true;
        if (waitpid(server, NULL, WNOHANG) != 0) break; /* it gave up */
        (void)nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
    }
    return false;
}

static int stop_server(void **state)
{
    (void)state;
    if (server > 0) {
        (void)kill(server, SIGKILL);
        (void)waitpid(server, NULL, 0);
    }
    return 0;
}

static void ask_on(s2v_engine *engine, const question *q, s2v_kv_type kv_type, answer *a)
{
    s2v_session_options o = tiny_session_options();
    o.kv_type = kv_type;
    s2v_session *session = tiny_session(engine, &o);
    ask(session, q, a);
    s2v_session_free(session);
}

static void test_split_over_rpc(void **state)
{
    (void)state;
    static answer here, there;
    static const int32_t layers[] = { 1, TINY_LAYERS / 2, TINY_LAYERS - 1, -1 };
    static const char *const methods[] = { NULL,      "s2prune", "random", "fastv",
                                           "feather", "dart",    "euti",   "sparsevlm" };
    static const s2v_kv_type types[] = { S2V_KV_F32, S2V_KV_F16, S2V_KV_F32, S2V_KV_Q8_0 };
    s2v_engine *engine = tiny_open();
    for (size_t i = 0; i < COUNT_OF(layers); i++) {
        s2v_engine_options options = tiny_options();
        options.rpc_server = endpoint;
        options.gpu_layers = layers[i];
        s2v_engine *split;
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2v_engine_open(&split, &options, &error);
        CHECK_CASE(st == S2P_OK, "%s", error.message);
        s2v_engine_info info;
        s2v_engine_get_info(split, &info);
        assert_non_null(strstr(info.device, "RPC"));
        for (size_t m = 0; m < COUNT_OF(methods); m++) {
            const question q = one_picture(methods[m], 18);
            ask_on(engine, &q, types[i], &here);
            ask_on(split, &q, types[i], &there);
            assert_same_answer(&here, &there);
            CHECK_CASE(distance(here.first, there.first) <= 1e-5, "%d layers: %g", layers[i],
                       distance(here.first, there.first));
        }
        s2v_engine_close(split);
    }
    s2v_engine_close(engine);
}

static void test_nobody_answers(void **state)
{
    (void)state;
    static const char *const servers[] = { "127.0.0.1:1", "nowhere",        "", "127.0.0.1:", ":",
                                           "127.0.0.1:x", "127.0.0.1:99999" };
    for (size_t i = 0; i < COUNT_OF(servers); i++) {
        s2v_engine_options options = tiny_options();
        options.rpc_server = servers[i];
        s2v_engine *engine;
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2v_engine_open(&engine, &options, &error);
        CHECK_CASE((st == S2P_EIO || st == S2P_EINVAL) && !engine, "'%s': %d %s", servers[i],
                   (int)st, error.message);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    tiny_write_plain(folder);
    ggml_backend_reg_t reg = ggml_backend_reg_by_name("RPC");
    if (!reg) {
        (void)printf("skipped: built without the RPC backend (-DS2_RPC=ON)\n");
        return SKIPPED;
    }
    if (!start_server(reg)) {
        (void)fprintf(stderr, "the RPC server did not start on %s\n", endpoint);
        (void)stop_server(NULL);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_over_rpc),
        cmocka_unit_test(test_nobody_answers),
    };
    return cmocka_run_group_tests(tests, NULL, stop_server);
}
