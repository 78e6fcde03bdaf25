/* test_engine_rpc.c - a model on another machine, in part or whole: the answer does not change.
 *
 * ggml's RPC server runs in a child process on the loopback interface. It is started before this
 * process computes anything: threads do not survive a fork. A build without the RPC
 * backend (-DS2_RPC=OFF, the default) skips.
 */
#include "device_checks.h"

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

static device_case over_rpc(void)
{
    return (device_case){ .rpc = endpoint, .tolerance = 1e-4, .n_types = 3, .every = 3 };
}

static void test_split_over_rpc(void **state)
{
    (void)state;
    const device_case d = over_rpc();
    check_methods(&d);
}

static void test_pictures(void **state)
{
    (void)state;
    const device_case d = over_rpc();
    check_pictures(&d);
}

static void test_memory(void **state)
{
    (void)state;
    const device_case d = over_rpc();
    check_memory(&d);
    check_unrounded(&d);
}

static void test_traffic(void **state)
{
    (void)state;
    const device_case d = over_rpc();
    check_traffic(&d);
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
        cmocka_unit_test(test_split_over_rpc), cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_memory),         cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_nobody_answers),
    };
    return cmocka_run_group_tests(tests, NULL, stop_server);
}
