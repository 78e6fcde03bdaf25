/* cores.h - how many threads this process can keep busy.
 *
 * The smallest of three: the CPUs it may run on (affinity mask: taskset, cpusets), counted as cores,
 * because two threads on one core share its arithmetic; and the time its control group allows
 * (cgroup v2 cpu.max, v1 cpu.cfs_quota_us), of the group and of every group above it.
 */
#ifndef S2_BASE_CORES_H
#define S2_BASE_CORES_H

#include <stdint.h>

/* At least 1. root: "" for this system; tests show another /proc and /sys below it. */
int32_t s2_cores_usable(const char *root);

#endif /* S2_BASE_CORES_H */
