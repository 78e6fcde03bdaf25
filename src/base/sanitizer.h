/* sanitizer.h - whether this is a build under the address sanitizer, by gcc or by clang. */
#ifndef S2_BASE_SANITIZER_H
#define S2_BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define S2_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define S2_HAS_SANITIZER 1
#endif
#endif
#ifndef S2_HAS_SANITIZER
#define S2_HAS_SANITIZER 0
#endif

#endif
