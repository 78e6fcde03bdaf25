/* test_cores.c - threads a process can keep busy: its mask, siblings of a core, quotas of both
 * versions of control groups, and files that make no sense. */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "check.h"

#include "base/cores.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *work; /* a folder of our own */
static char root[512];   /* the system a test shows; one for each */

static void show_system(const char *name)
{
    (void)snprintf(root, sizeof root, "%s/%s", work, name);
    (void)mkdir(root, 0777);
}

static void show_file(const char *name, const char *text)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(path, 0777);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* What the mask alone allows, each CPU as a core of its own. */
static int32_t all_cpus(void)
{
    show_system("nothing");
    return s2_cores_usable(root);
}

static void test_quota_version_2(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int32_t wanted; /* 0: no limit */
    } cases[] = { { "max 100000\n", 0 },
                  { "100000 100000\n", 1 },
                  { "40000 100000\n", 1 },
                  { "1000 100000\n", 1 },
                  { "149999 100000", 1 },
                  { "150000 100000\n", 2 },
                  { "75000 50000\n", 2 },
                  { "", 0 },
                  { "\n", 0 },
                  { "0 100000\n", 0 },
                  { "-5 100000\n", 0 },
                  { "100000 0\n", 0 },
                  { "100000\n", 0 },
                  { "100000 -1\n", 0 },
                  { "one 100000\n", 0 },
                  { "9223372036854775807 1\n", 0 } };
    const int32_t all = all_cpus();
    show_system("version2");
    show_file("/proc/self/cgroup", "0::/service/job\n");
    show_file("/sys/fs/cgroup/service/cpu.max", "max 100000\n"); /* an earlier run left another */
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        show_file("/sys/fs/cgroup/service/job/cpu.max", cases[i].text);
        const int32_t wanted =
            cases[i].wanted == 0 || cases[i].wanted > all ? all : cases[i].wanted;
        CHECK_CASE(s2_cores_usable(root) == wanted, "'%s'", cases[i].text);
    }
    show_file("/sys/fs/cgroup/service/job/cpu.max", "max 100000\n");
    show_file("/sys/fs/cgroup/service/cpu.max", "100000 100000\n");
    assert_int_equal(s2_cores_usable(root), 1); /* the group above counts */
}

static void test_quota_version_1(void **state)
{
    (void)state;
    const int32_t all = all_cpus();
    show_system("version1");
    show_file("/proc/self/cgroup", "9:name=systemd:/\n3:cpuset:/x\n4:cpuacct,cpu:/box\n0::/\n");
    show_file("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
    show_file("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    assert_int_equal(s2_cores_usable(root), all);
    show_file("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "120000\n");
    assert_int_equal(s2_cores_usable(root), 1);
    show_file("/proc/self/cgroup", "3:cpuset:/box\n5:cpuacct:/box\n7:mycpu:/box\n");
    assert_int_equal(s2_cores_usable(root), all); /* none of them is the controller */
}

/* Inside a container the group's path may be one that only exists outside. */
static void test_quota_of_a_container(void **state)
{
    (void)state;
    const int32_t all = all_cpus();
    show_system("container");
    show_file("/proc/self/cgroup", "0::/kubepods/pod1/abc\n");
    show_file("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_int_equal(s2_cores_usable(root), 1);
    show_file("/proc/self/cgroup", "0::/../../other\n");
    show_file("/other/cpu.max", "50000 100000\n");
    show_file("/sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_int_equal(s2_cores_usable(root), all); /* no way out of the mount */
}

static void test_odd_files(void **state)
{
    (void)state;
    static const char *const tables[] = { "",    "\n\n",    "0",     "0:",
                                          "0::", ":::::\n", "::/\n", "0::relative\n" };
    const int32_t all = all_cpus();
    show_system("odd");
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        show_file("/proc/self/cgroup", tables[i]);
        CHECK_CASE(s2_cores_usable(root) == all, "table %zu", i);
    }
    char *text = malloc(70000);
    assert_non_null(text);
    memset(text, '/', 70000);
    memcpy(text, "0::", 3);
    text[69999] = '\0';
    show_file("/proc/self/cgroup", text);
    assert_int_equal(s2_cores_usable(root), all);
    free(text);
}

#if defined(__linux__)
/* Every second CPU of the mask is the other half of a core. */
static void test_siblings_are_one_core(void **state)
{
    (void)state;
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) skip();
    const int32_t all = all_cpus();
    for (int form = 0; form < 2; form++) {
        show_system(form ? "range" : "pair");
        size_t first = CPU_SETSIZE;
        for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (!CPU_ISSET(cpu, &mask)) continue;
            if (first == CPU_SETSIZE) {
                first = cpu;
                continue;
            }
            char name[96], list[64];
            for (int i = 0; i < 2; i++) {
                (void)snprintf(list, sizeof list, form ? "%zu-%zu\n" : "%zu,%zu\n", first, cpu);
                (void)snprintf(name, sizeof name,
                               "/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list",
                               i ? cpu : first);
                show_file(name, list);
            }
            first = CPU_SETSIZE;
        }
        assert_int_equal(s2_cores_usable(root), (all + 1) / 2);
    }
    show_system("senseless");
    show_file("/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "-3,x0\n");
    assert_int_equal(s2_cores_usable(root), all);
}

/* What taskset does. */
static void test_mask(void **state)
{
    (void)state;
    cpu_set_t before, one;
    if (sched_getaffinity(0, sizeof before, &before) != 0) skip();
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(s2_cores_usable(""), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_true(all_cpus() <= CPU_COUNT(&before));
}
#endif

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    work = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quota_version_2),
        cmocka_unit_test(test_quota_version_1),
        cmocka_unit_test(test_quota_of_a_container),
        cmocka_unit_test(test_odd_files),
#if defined(__linux__)
        cmocka_unit_test(test_siblings_are_one_core),
        cmocka_unit_test(test_mask),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
