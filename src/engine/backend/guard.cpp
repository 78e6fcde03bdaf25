/* guard.cpp - the one file of C++: what a backend throws is caught here. */
#include "engine/backend/guard.h"

#include <cstdio>
#include <exception>

bool s2v_guarded(void (*call)(void *user), void *user, char *what, size_t capacity)
{
    try {
        call(user);
        return true;
    } catch (const std::exception &thrown) {
        (void)std::snprintf(what, capacity, "%s", thrown.what());
    } catch (...) {
        (void)std::snprintf(what, capacity, "an exception without a message");
    }
    return false;
}
