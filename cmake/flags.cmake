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

# Packages: no folder of the machine they are built on is in a binary, so two builds of a commit are equal.
option(S2_PACKAGE "for packages: binaries without folders of this machine" OFF)
if(S2_PACKAGE)
  target_compile_options(s2_flags INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build)
  set(CMAKE_SKIP_BUILD_RPATH ON)
endif()
# Libraries that come with the program (scripts/bundle-libraries). DT_RPATH, which they inherit, not DT_RUNPATH.
option(S2_BUNDLED_LIBRARIES "look for shared libraries in lib/bundled next to the program" OFF)
if(S2_BUNDLED_LIBRARIES)
  set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/bundled;$ORIGIN/../../../lib/bundled")
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
  set(CMAKE_SKIP_BUILD_RPATH OFF)
  add_link_options(-Wl,--disable-new-dtags)
endif()
