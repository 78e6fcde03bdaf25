# ggml, the engine's only dependency, as the target s2_ggml. Include it in the top-level
# CMakeLists.txt: what it finds is visible there and below.
#
#   -DS2_GGML_DIR=<dir>        a checkout of llama.cpp or ggml; built in the build folder, nothing is fetched
#   -DS2_SYSTEM_GGML=ON        find_package(ggml); slower F16 where it was built without GGML_LLAMAFILE
#   (neither)                  fetched (ggml_source.cmake) and built static, once per machine
#   -DS2_RPC=ON                with the RPC backend
#   -DS2_CPU=portable          for any CPU of this architecture, or x86-64-v2, -v3, -v4; else native, for this
#                              one. Our own kernels are chosen at run time and do not depend on it
#   -DS2_GPU=<name>            with a GPU backend: vulkan, cuda, metal, hip (gpu.cmake)
#   -DS2_GGML_OPTIONS="A=B;…"  more options for ggml: GGML_OPENMP=ON
#   -DS2_CACHE_DIR=<dir>       where fetched and built things are kept (see ggml_source.cmake)
#
# The built library is kept in the cache under a name made from everything that went
# into it: ggml's version, the compiler, this CPU, the options, the recipe. So a clean
# clone finds it there, and a different compiler, CPU or option builds its own.
# ggml is never built with our sanitizers: they watch our code and its calls into ggml.
#
# Sets S2_GGML_PREFIX (include/, lib/, share/licenses/ggml; empty with a system ggml) and
# S2_CXX_LIBRARIES (stdc++ m, or c++), for those who link our static library by hand.
option(S2_SYSTEM_GGML "use the ggml that find_package finds" OFF)
option(S2_RPC "ggml's RPC backend: layers on other machines" OFF)
set(S2_CPU native CACHE STRING "CPUs ggml is built for: native, portable, x86-64-v2, x86-64-v3 or x86-64-v4")
set_property(CACHE S2_CPU PROPERTY STRINGS native portable x86-64-v2 x86-64-v3 x86-64-v4)
set(S2_GGML_DIR "" CACHE PATH "checkout of llama.cpp or ggml to build instead of fetching one")
set(S2_GGML_OPTIONS "" CACHE STRING "more options for ggml's build, as A=B;C=D")
set(S2_CACHE_DIR "" CACHE PATH "where fetched and built dependencies are kept")
set(S2_GGML_OLDEST 0.25.0) # what the engine is written against

# ggml is C++ inside: it needs the compiler, and our programs its libraries. Left alone, CMake
# pairs clang with g++, and ggml would get the OpenMP of both.
if(NOT CMAKE_CXX_COMPILER AND "$ENV{CXX}" STREQUAL "")
  get_filename_component(S2_CC_DIR "${CMAKE_C_COMPILER}" DIRECTORY)
  get_filename_component(S2_CC_NAME "${CMAKE_C_COMPILER}" NAME)
  string(REGEX REPLACE "clang" "clang++" S2_CXX_NAME "${S2_CC_NAME}")
  string(REGEX REPLACE "gcc" "g++" S2_CXX_NAME "${S2_CXX_NAME}")
  find_program(S2_CXX "${S2_CXX_NAME}" HINTS "${S2_CC_DIR}")
  if(S2_CXX AND NOT S2_CXX_NAME STREQUAL S2_CC_NAME)
    set(CMAKE_CXX_COMPILER "${S2_CXX}")
  endif()
endif()
enable_language(CXX)
if(NOT CMAKE_C_COMPILER_ID STREQUAL CMAKE_CXX_COMPILER_ID)
  message(FATAL_ERROR "ggml needs a C and a C++ compiler of one kind; these are ${CMAKE_C_COMPILER} (${CMAKE_C_COMPILER_ID}) "
    "and ${CMAKE_CXX_COMPILER} (${CMAKE_CXX_COMPILER_ID}): pass -DCMAKE_CXX_COMPILER")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/ggml_source.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/gpu.cmake")
set(S2_GGML_RECIPE "${CMAKE_CURRENT_LIST_DIR}/ggml")

# What S2_CPU means: flags for the compiler, of which the hash below is made, and options for ggml.
if(S2_CPU STREQUAL "native")
  set(S2_CPU_FLAGS -march=native)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64|i.86")
    set(S2_CPU_FLAGS -mcpu=native)
  endif()
  set(S2_CPU_OPTIONS "")
elseif(S2_CPU STREQUAL "portable")
  set(S2_CPU_FLAGS "")
  set(S2_CPU_OPTIONS GGML_NATIVE=OFF GGML_SSE42=OFF GGML_AVX=OFF GGML_AVX2=OFF GGML_BMI2=OFF GGML_FMA=OFF GGML_F16C=OFF)
elseif(S2_CPU STREQUAL "x86-64-v2")
  set(S2_CPU_FLAGS -march=x86-64-v2)
  set(S2_CPU_OPTIONS GGML_NATIVE=OFF GGML_SSE42=ON GGML_AVX=OFF GGML_AVX2=OFF GGML_BMI2=OFF GGML_FMA=OFF GGML_F16C=OFF)
elseif(S2_CPU STREQUAL "x86-64-v3")
  set(S2_CPU_FLAGS -march=x86-64-v3)
  set(S2_CPU_OPTIONS GGML_NATIVE=OFF GGML_SSE42=ON GGML_AVX=ON GGML_AVX2=ON GGML_BMI2=ON GGML_FMA=ON GGML_F16C=ON)
elseif(S2_CPU STREQUAL "x86-64-v4")
  set(S2_CPU_FLAGS -march=x86-64-v4)
  set(S2_CPU_OPTIONS GGML_NATIVE=OFF GGML_SSE42=ON GGML_AVX=ON GGML_AVX2=ON GGML_BMI2=ON GGML_FMA=ON GGML_F16C=ON GGML_AVX512=ON)
else()
  message(FATAL_ERROR "S2_CPU=${S2_CPU} is not known; it can be native, portable, x86-64-v2, x86-64-v3 or x86-64-v4")
endif()
execute_process(COMMAND ${CMAKE_C_COMPILER} ${S2_CPU_FLAGS} -dM -E -x c /dev/null
  OUTPUT_VARIABLE S2_CPU_MACROS ERROR_QUIET)

# What the engine asks a CPU for before ggml runs on it: a sentence instead of SIGILL.
set(needs "")
foreach(pair SSE4_2/sse4.2 AVX/avx AVX2/avx2 FMA/fma BMI2/bmi2 AVX512F/avx512f AVX512BW/avx512bw AVX512DQ/avx512dq
    AVX512VL/avx512vl AVX512VBMI/avx512vbmi AVX512VNNI/avx512vnni)
  string(REPLACE "/" ";" pair ${pair})
  list(GET pair 0 macro)
  list(GET pair 1 name)
  if(NOT S2_SYSTEM_GGML AND S2_CPU_MACROS MATCHES "#define __${macro}__ 1")
    string(APPEND needs " X(\"${name}\")")
  endif()
endforeach()
file(WRITE "${CMAKE_BINARY_DIR}/ggml_needs/ggml_needs.h.new"
  "/* What ggml was built for: -DS2_CPU=${S2_CPU}. */\n#define S2V_GGML_NEEDS(X)${needs}\n")
configure_file("${CMAKE_BINARY_DIR}/ggml_needs/ggml_needs.h.new" "${CMAKE_BINARY_DIR}/ggml_needs/ggml_needs.h" COPYONLY)

# Configure, build and install `source` into `prefix`; `build` is the folder to work in.
function(s2_ggml_build source build prefix)
  set(jobs "$ENV{JOBS}") # of `make JOBS=1`
  if(NOT jobs MATCHES "^[1-9][0-9]*$")
    include(ProcessorCount)
    ProcessorCount(jobs)
  endif()
  if(jobs EQUAL 0)
    set(jobs 2)
  endif()
  set(arguments -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib "-DCMAKE_INSTALL_PREFIX=${prefix}"
    "-DS2_GGML_SOURCE=${source}" -DGGML_RPC=${S2_RPC})
  foreach(name CMAKE_TOOLCHAIN_FILE CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_MAKE_PROGRAM CMAKE_SYSROOT
      CMAKE_OSX_ARCHITECTURES CMAKE_OSX_DEPLOYMENT_TARGET CMAKE_OSX_SYSROOT)
    if(${name})
      list(APPEND arguments "-D${name}=${${name}}")
    endif()
  endforeach()
  foreach(option IN LISTS S2_CPU_OPTIONS S2_GGML_OPTIONS)
    if(option MATCHES "^CMAKE_CUDA_ARCHITECTURES=")
      string(REPLACE "," "\\\;" option "${option}") # one argument
    endif()
    list(APPEND arguments "-D${option}")
  endforeach()

  if(S2_PACKAGE) # assertions name files: by their place in the source, not on this machine
    list(APPEND arguments "-DCMAKE_C_FLAGS=-ffile-prefix-map=${source}=ggml" "-DCMAKE_CXX_FLAGS=-ffile-prefix-map=${source}=ggml")
  endif()

  file(MAKE_DIRECTORY "${build}")
  set(clean_env "${CMAKE_COMMAND}" -E env --unset=CFLAGS --unset=CXXFLAGS --unset=LDFLAGS)
  foreach(step
      "-G;${CMAKE_GENERATOR};-S;${S2_GGML_RECIPE};-B;${build};${arguments}"
      "--build;${build};--config;Release;--parallel;${jobs}"
      "--install;${build};--config;Release")
    execute_process(COMMAND ${clean_env} "${CMAKE_COMMAND}" ${step} RESULT_VARIABLE result
      OUTPUT_VARIABLE text ERROR_VARIABLE text)
    file(APPEND "${build}/log.txt" "${text}")
    if(NOT result EQUAL 0)
      string(REGEX MATCH "[^\n]*[Ee]rror.*" text "${text}")
      string(SUBSTRING "${text}" 0 2000 text)
      message(FATAL_ERROR "ggml did not build (all of it: ${build}/log.txt):\n${text}")
    endif()
  endforeach()
endfunction()

# The fetched ggml, from the cache or built into it.
function(s2_ggml_cached out)
  string(SHA256 cpu "${S2_CPU_MACROS}") # a home folder may be shared by several
  file(SHA256 "${S2_GGML_RECIPE}/CMakeLists.txt" recipe)
  file(SHA256 "${S2_GGML_RECIPE}/../amx_fix.h" amx_fix)
  file(SHA256 "${S2_GGML_RECIPE}/../wait_fix.h" wait_fix)
  set(compiler ${CMAKE_C_COMPILER_ID}-${CMAKE_C_COMPILER_VERSION})
  set(key "ggml ${S2_GGML_VERSION}, source ${S2_GGML_SHA256}
${compiler}, C++ ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}
${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR} ${CMAKE_SYSROOT} ${CMAKE_OSX_ARCHITECTURES} cpu ${cpu}
GGML_RPC=${S2_RPC} ${S2_CPU_OPTIONS} ${S2_GGML_OPTIONS}
recipe ${recipe} ${amx_fix} ${wait_fix}
")
  if(S2_PACKAGE)
    string(APPEND key "package\n")
  endif()
  string(SHA256 hash "${key}")
  string(SUBSTRING ${hash} 0 12 hash)
  s2_cache_dir(cache)
  set(prefix "${cache}/ggml/${S2_GGML_VERSION}-${compiler}-${hash}")
  set(${out} "${prefix}" PARENT_SCOPE)
  if(EXISTS "${prefix}")
    return()
  endif()

  s2_ggml_source(source)
  file(MAKE_DIRECTORY "${cache}/ggml")
  # One lock for each build: a build for a GPU takes up to an hour, and others must not wait for it.
  file(LOCK "${prefix}.lock" GUARD FUNCTION TIMEOUT 7200 RESULT_VARIABLE locked)
  if(NOT locked EQUAL 0)
    message(FATAL_ERROR "cannot lock ${prefix}.lock: ${locked}; set S2_CACHE_DIR to a folder that can be written")
  endif()
  if(EXISTS "${prefix}") # somebody else built it while we waited
    return()
  endif()
  set(time "about a minute")
  if(S2_GPU STREQUAL "vulkan")
    set(time "about ten minutes on two cores: shaders")
  elseif(S2_GPU MATCHES "cuda|hip")
    set(time "up to an hour on two cores")
  endif()
  message(NOTICE "ggml ${S2_GGML_VERSION}: building (once, ${time}) into ${prefix}")
  file(REMOVE_RECURSE "${prefix}.build" "${prefix}.part")
  s2_ggml_build("${source}/ggml" "${prefix}.build" "${prefix}.part")
  file(WRITE "${prefix}.part/key.txt" "${key}")
  file(RENAME "${prefix}.part" "${prefix}") # whole or not there
  file(REMOVE_RECURSE "${prefix}.build")
endfunction()

# A checkout of the user's: it may change, so it is built here and brought up to date each time.
function(s2_ggml_checkout out)
  if(EXISTS "${S2_GGML_DIR}/ggml/src/ggml.c")
    set(source "${S2_GGML_DIR}/ggml")
  elseif(EXISTS "${S2_GGML_DIR}/src/ggml.c")
    set(source "${S2_GGML_DIR}")
  else()
    message(FATAL_ERROR "S2_GGML_DIR=${S2_GGML_DIR} is no checkout of llama.cpp or ggml: it has no ggml/src/ggml.c and no src/ggml.c")
  endif()
  message(STATUS "ggml: building ${source} into ${CMAKE_BINARY_DIR}/ggml")
  s2_ggml_build("${source}" "${CMAKE_BINARY_DIR}/ggml/build" "${CMAKE_BINARY_DIR}/ggml/install")
  set(${out} "${CMAKE_BINARY_DIR}/ggml/install" PARENT_SCOPE)
endfunction()

if(S2_SYSTEM_GGML)
  set(S2_GGML_PREFIX "")
  s2_cache_dir(cache)
  string(FIND "${ggml_DIR}" "${cache}" at)
  if(at EQUAL 0) # left by an earlier configure of this folder
    unset(ggml_DIR CACHE)
  endif()
  find_package(ggml ${S2_GGML_OLDEST} CONFIG REQUIRED)
else()
  if(S2_GGML_DIR)
    s2_ggml_checkout(S2_GGML_PREFIX)
  else()
    s2_ggml_cached(S2_GGML_PREFIX)
  endif()
  set(S2_GGML_PREFIX_USED "${S2_GGML_PREFIX}" CACHE INTERNAL "for scripts/bundle-libraries: ggml's licence is there")
  set(ggml_ROOT "${S2_GGML_PREFIX}") # its package file searches for its libraries: here first
  set(ggml_DIR "${S2_GGML_PREFIX}/lib/cmake/ggml" CACHE PATH "" FORCE)
  find_package(ggml ${S2_GGML_OLDEST} CONFIG REQUIRED)
endif()
message(STATUS "ggml ${ggml_VERSION}: ${ggml_DIR}")

# What a C program lacks at the link: the C++ libraries the C compiler does not add by itself.
set(S2_CXX_LIBRARIES ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_ITEM S2_CXX_LIBRARIES ${CMAKE_C_IMPLICIT_LINK_LIBRARIES})
list(REMOVE_DUPLICATES S2_CXX_LIBRARIES)

# Link only: its package would otherwise compile our files with -fopenmp.
add_library(s2_ggml INTERFACE)
target_include_directories(s2_ggml SYSTEM INTERFACE "${GGML_INCLUDE_DIR}" "${CMAKE_BINARY_DIR}/ggml_needs")
if(TARGET ggml::ggml-cuda) # static, its package file leaves these out
  set(S2_GPU_LIBRARIES CUDA::cudart CUDA::cublas CUDA::cublasLt)
endif()
if(GGML_BACKEND_DL) # backends are libraries: the folder they are installed in, and no other
  set(S2_GGML_BACKENDS "${GGML_BACKEND_DIR}")
  if(NOT S2_GGML_BACKENDS)
    get_filename_component(S2_GGML_BACKENDS "${GGML_LIB_DIR}/../bin" ABSOLUTE)
  endif()
  target_compile_definitions(s2_ggml INTERFACE "S2V_GGML_BACKENDS=\"${S2_GGML_BACKENDS}\"")
endif()
target_link_libraries(s2_ggml INTERFACE $<LINK_ONLY:ggml::ggml> ${S2_GPU_LIBRARIES} Threads::Threads ${S2_CXX_LIBRARIES}
  ${CMAKE_DL_LIBS})
