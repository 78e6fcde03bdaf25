/* bench_machine.c - which machine this was, and how busy others kept it. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Clock ticks of all cores since the machine started: busy, and in all. false: not told. */
static bool read_ticks(double *busy, double *all)
{
    FILE *file = fopen("/proc/stat", "r");
    char line[512] = "";
    if (!file) return false;
    const bool is_read = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    if (!is_read || strncmp(line, "cpu ", 4) != 0) return false;
    *busy = *all = 0.0;
    char *at = line + 4;
    for (int i = 0; i < 8; i++) { /* user nice system idle iowait irq softirq steal */
        char *end;
        const double ticks = strtod(at, &end);
        if (end == at) break;
        at = end;
        *all += ticks;
        if (i != 3 && i != 4) *busy += ticks;
    }
    return *all > 0.0;
}

static double own_ticks(void)
{
    struct rusage use;
    if (getrusage(RUSAGE_SELF, &use) != 0) return 0.0;
    const double seconds = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                           1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    return seconds * (double)sysconf(_SC_CLK_TCK);
}

/* The value of "name : value" in a file of /proc, without the line end. */
static bool read_field(const char *path, const char *name, char *out, size_t capacity)
{
    FILE *file = fopen(path, "r");
    char line[512];
    bool is_found = false;
    if (!file) return false;
    while (!is_found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, name, strlen(name)) != 0 || !colon) continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        (void)snprintf(out, capacity, "%s", colon);
        is_found = true;
    }
    (void)fclose(file);
    return is_found;
}

void s2_machine_start(bench_machine *m)
{
    char text[64];
    *m = (bench_machine){ .others_percent = -1.0 };
    if (!read_field("/proc/cpuinfo", "model name", m->cpu, sizeof m->cpu))
        (void)snprintf(m->cpu, sizeof m->cpu, "unknown processor");
    m->n_cores = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (read_field("/proc/meminfo", "MemTotal", text, sizeof text))
        m->memory_gib = strtod(text, NULL) / 1048576.0;
    if (!read_ticks(&m->start_busy, &m->start_all)) m->start_all = -1.0;
    m->start_own = own_ticks();
}

void s2_machine_stop(bench_machine *m)
{
    double busy, all;
    if (m->start_all < 0.0 || !read_ticks(&busy, &all) || all <= m->start_all) return;
    const double others = busy - m->start_busy - (own_ticks() - m->start_own);
    m->others_percent = 100.0 * (others > 0.0 ? others : 0.0) / (all - m->start_all);
}

void s2_memory_peak_reset(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    (void)fputs("5", file); /* the high-water mark alone */
    (void)fclose(file);
}

double s2_memory_peak(void)
{
    char text[64];
    return read_field("/proc/self/status", "VmHWM", text, sizeof text) ? strtod(text, NULL) * 1024.0
                                                                       : 0.0;
}
