/* failing_vulkan.c - a Vulkan driver whose memory runs out: LD_PRELOAD, S2_VK_ALLOCATIONS=N.
 *
 * The first N allocations succeed, all others fail as a full device does. ggml asks the loader for
 * its functions by name, so the one that allocates is exchanged there. S2_VK_COUNT=FILE gets the
 * number of allocations asked for.
 */
#define _GNU_SOURCE /* RTLD_NEXT */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

static long n_asked;

static VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                    const VkAllocationCallbacks *callbacks, VkDeviceMemory *out)
{
    const char *limit = getenv("S2_VK_ALLOCATIONS"), *count = getenv("S2_VK_COUNT");
    n_asked++;
    FILE *file = count ? fopen(count, "w") : NULL;
    if (file) {
        (void)fprintf(file, "%ld\n", n_asked);
        (void)fclose(file);
    }
    if (limit && n_asked > strtol(limit, NULL, 10)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    PFN_vkAllocateMemory real;
    void *address = dlsym(RTLD_NEXT, "vkAllocateMemory");
    memcpy(&real, &address, sizeof real);
    return real(device, info, callbacks, out);
}

static PFN_vkVoidFunction exchange(const char *name, PFN_vkVoidFunction found)
{
    return strcmp(name, "vkAllocateMemory") == 0 ? (PFN_vkVoidFunction)allocate : found;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance,
                                                               const char *name)
{
    PFN_vkGetInstanceProcAddr real;
    void *address = dlsym(RTLD_NEXT, "vkGetInstanceProcAddr");
    memcpy(&real, &address, sizeof real);
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)vkGetDeviceProcAddr;
    return exchange(name, real(instance, name));
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device, const char *name)
{
    PFN_vkGetDeviceProcAddr real;
    void *address = dlsym(RTLD_NEXT, "vkGetDeviceProcAddr");
    memcpy(&real, &address, sizeof real);
    return exchange(name, real(device, name));
}

/* For who links it directly. */
VKAPI_ATTR VkResult VKAPI_CALL vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                const VkAllocationCallbacks *callbacks,
                                                VkDeviceMemory *out)
{
    return allocate(device, info, callbacks, out);
}
