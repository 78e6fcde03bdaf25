/* cores.c - the affinity mask, the siblings of a core, the quota of a control group.
 *
 * What cannot be read limits nothing: other systems have none of these files.
 */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "base/cores.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CPUS 8192 /* of one system image of Linux */
#define MAX_PATH_BYTES 4096

static int32_t online_count(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_CPUS ? MAX_CPUS : (int32_t)n;
}

/* The first line of root + folder + name, without its end; false: there is none. */
static bool read_line(const char *root, const char *folder, const char *name, char *out, size_t n)
{
    char path[MAX_PATH_BYTES];
    const int length = snprintf(path, sizeof path, "%s%s%s", root, folder, name);
    if (length < 0 || (size_t)length >= sizeof path) return false;
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool is_read = fgets(out, (int)n, file) != NULL;
    fclose(file);
    if (is_read) out[strcspn(out, "\n")] = '\0';
    return is_read;
}

/* --- cores in the mask -------------------------------------------------------- */

#if defined(CPU_ALLOC)
/* Siblings share a list, "0,64" or "0-1": a CPU counts unless one before it in the mask is on the
 * list. */
static bool has_earlier_sibling(const char *root, int cpu, const cpu_set_t *mask, size_t size)
{
    char folder[96], list[256];
    (void)snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%d/topology/", cpu);
    if (!read_line(root, folder, "thread_siblings_list", list, sizeof list)) return false;
    for (char *at = list; *at;) {
        char *end;
        const long first = strtol(at, &end, 10);
        if (end == at || first < 0 || first >= MAX_CPUS) return false;
        long last = first;
        if (*end == '-') {
            at = end + 1;
            last = strtol(at, &end, 10);
            if (end == at || last < first || last >= MAX_CPUS) return false;
        }
        for (long i = first; i <= last && i < cpu; i++)
            if (CPU_ISSET_S((size_t)i, size, mask)) return true;
        at = *end == ',' ? end + 1 : end;
        if (*end != ',' && *end != '\0') return false;
    }
    return false;
}

static int32_t count_cores(const char *root)
{
    cpu_set_t *mask = CPU_ALLOC(MAX_CPUS);
    const size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
    int32_t n = 0;
    if (mask && sched_getaffinity(0, size, mask) == 0)
        for (int cpu = 0; cpu < MAX_CPUS; cpu++)
            n +=
                CPU_ISSET_S((size_t)cpu, size, mask) && !has_earlier_sibling(root, cpu, mask, size);
    if (mask) CPU_FREE(mask);
    return n > 0 ? n : online_count();
}
#else
static int32_t count_cores(const char *root)
{
    (void)root;
    return online_count();
}
#endif

/* --- control groups ----------------------------------------------------------- */

/* quota per period in whole CPUs, the nearest; 0: no limit. */
static int32_t whole_cpus(long long quota, long long period)
{
    if (quota <= 0 || period <= 0 || quota / period >= MAX_CPUS) return 0;
    const long long n = (quota + period / 2) / period;
    return n < 1 ? 1 : (int32_t)n;
}

/* What one group allows. */
static int32_t group_limit(const char *root, const char *folder)
{
    char line[64], period[64], *end;
    if (read_line(root, folder, "/cpu.max", line,
                  sizeof line)) { /* "max 100000", "150000 100000" */
        const long long quota = strtoll(line, &end, 10);
        return end == line ? 0 : whole_cpus(quota, strtoll(end, NULL, 10));
    }
    if (!read_line(root, folder, "/cpu.cfs_quota_us", line, sizeof line) ||
        !read_line(root, folder, "/cpu.cfs_period_us", period, sizeof period))
        return 0;
    return whole_cpus(strtoll(line, NULL, 10), strtoll(period, NULL, 10)); /* -1: no limit */
}

/* Does a list "cpu,cpuacct" name the controller? */
static bool names_cpu(const char *list, size_t n)
{
    while (n > 0) {
        const char *comma = memchr(list, ',', n);
        const size_t length = comma ? (size_t)(comma - list) : n;
        if (length == 3 && memcmp(list, "cpu", 3) == 0) return true;
        if (!comma) return false;
        n -= length + 1;
        list = comma + 1;
    }
    return false;
}

static void lower(int32_t *limit, int32_t other)
{
    if (other > 0 && (*limit == 0 || other < *limit)) *limit = other;
}

/* The least that the group and those above it allow. Inside a container the path may be the one
 * outside it, of which nothing is mounted but the end: the mount itself is asked last. */
static int32_t limit_up_to(const char *root, const char *mount, const char *group)
{
    char folder[MAX_PATH_BYTES];
    const int length = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof folder || strstr(group, "..")) return 0;
    int32_t limit = 0;
    for (char *slash; (slash = strrchr(folder, '/')) && slash >= folder + strlen(mount);
         *slash = '\0')
        lower(&limit, group_limit(root, folder));
    lower(&limit, group_limit(root, mount));
    return limit;
}

/* 0: none. Lines of /proc/self/cgroup are "0::/group" in version 2, "1:cpu,cpuacct:/group" in 1. */
static int32_t quota_limit(const char *root)
{
    static const char *const version2[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
    static const char *const version1[] = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct",
                                            "/sys/fs/cgroup/cpuacct,cpu" };
    char path[MAX_PATH_BYTES], line[MAX_PATH_BYTES];
    const int length = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "r") : NULL;
    int32_t limit = 0;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *names = strchr(line, ':');
        const char *group = names ? strchr(names + 1, ':') : NULL;
        if (!group) continue;
        const size_t n_names = (size_t)(group - names) - 1;
        for (size_t i = 0; n_names == 0 && i < sizeof version2 / sizeof *version2; i++)
            lower(&limit, limit_up_to(root, version2[i], group + 1));
        for (size_t i = 0; names_cpu(names + 1, n_names) && i < sizeof version1 / sizeof *version1;
             i++)
            lower(&limit, limit_up_to(root, version1[i], group + 1));
    }
    if (file) fclose(file);
    return limit;
}

int32_t s2_cores_usable(const char *root)
{
    int32_t n = count_cores(root);
    const int32_t limit = quota_limit(root);
    if (limit > 0 && limit < n) n = limit;
    return n;
}
