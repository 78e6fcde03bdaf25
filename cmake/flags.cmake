# Compiler flags every target of ours uses.
add_library(s2_flags INTERFACE)
target_compile_options(s2_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wformat=2 -Wundef
  -Wpointer-arith -Wcast-qual $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  -ffp-contract=off # scores must not depend on whether the CPU has FMA
  -fvisibility=hidden -fno-common)
target_compile_definitions(s2_flags INTERFACE _POSIX_C_SOURCE=200809L _DARWIN_C_SOURCE)
if(S2_WERROR)
  target_compile_options(s2_flags INTERFACE -Werror)
endif()
if(S2_SANITIZE)
  set(S2_SANITIZERS -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(s2_flags INTERFACE -g ${S2_SANITIZERS})
  target_link_options(s2_flags INTERFACE ${S2_SANITIZERS})
endif()
if(S2_SANITIZE_THREADS)
  target_compile_options(s2_flags INTERFACE -g -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(s2_flags INTERFACE -fsanitize=thread)
endif()
if(S2_FUZZ)
  target_compile_options(s2_flags INTERFACE -g -fsanitize=fuzzer-no-link)
endif()
