/* status.c - the version, and every way to fail in one English sentence. */
#include "prune/refuse.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *s2p_version(void)
{
    return VERSION_TEXT(S2P_VERSION_MAJOR, S2P_VERSION_MINOR, S2P_VERSION_PATCH);
}

const char *s2p_status_text(s2p_status status)
{
    switch (status) {
    case S2P_OK:
        return "success";
    case S2P_EINVAL:
        return "an argument is outside its documented range";
    case S2P_ENOMEM:
        return "out of memory";
    case S2P_EBUDGET:
        return "the budget is below the region count or above the token count";
    case S2P_EIO:
        return "the operating system refused a read or write";
    case S2P_EFORMAT:
        return "the data is not what it claims to be";
    case S2P_EUNSUPPORTED:
        return "the input is valid but not supported";
    case S2P_ELIMIT:
        return "the input is larger than a limit";
    case S2P_ECANCELLED:
        return "cancelled";
    }
    return "unknown status";
}

s2p_status s2p_refuse(s2p_error *error, s2p_status status, const char *format, ...)
{
    if (!error) return status;
    error->status = status;
    va_list args;
    va_start(args, format);
    if (vsnprintf(error->message, sizeof error->message, format, args) < 0)
        error->message[0] = '\0';
    va_end(args);
    return status;
}
