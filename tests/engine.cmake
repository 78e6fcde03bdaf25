# The engine: equal to itself, refusals, memory, RPC, the program, the example.
function(s2_engine_test name)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/engine/${name}) # tests run at the same time
  file(MAKE_DIRECTORY ${folder})
  s2_unit_test(engine_${name} LINK s2_engine m ARGS ${folder} ${ARGN})
  set_tests_properties(engine_${name} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "OMP_WAIT_POLICY=passive") # waiting threads must not spin: cores are shared
endfunction()

foreach(name same refuse prompts probe methods stages pruned published prefix rpc)
  s2_engine_test(${name})
endforeach()
set_tests_properties(engine_rpc PROPERTIES ENVIRONMENT
  "OMP_WAIT_POLICY=passive;LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/lsan.supp:print_suppressions=0")

# Our libraries with other names for malloc, calloc and realloc: ggml in the same program keeps the
# real ones. It aborts without memory, so only ours can fail.
if(CMAKE_OBJCOPY)
  pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
  set(renamed)
  foreach(library s2_engine s2_image s2_base s2prune)
    set(copy ${CMAKE_CURRENT_BINARY_DIR}/lib${library}_counted.a)
    add_custom_command(OUTPUT ${copy} DEPENDS ${library} VERBATIM
      COMMAND ${CMAKE_OBJCOPY} --redefine-sym malloc=s2_test_malloc --redefine-sym calloc=s2_test_calloc
        --redefine-sym realloc=s2_test_realloc $<TARGET_FILE:${library}> ${copy})
    list(APPEND renamed ${copy})
  endforeach()
  add_custom_target(s2_counted DEPENDS ${renamed})
  foreach(name memory methods_memory prefix_memory)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/engine/${name})
    file(MAKE_DIRECTORY ${folder})
    s2_unit_test(engine_${name} ARGS ${folder}
      LINK ${renamed} s2_ggml JPEG::JPEG PkgConfig::SPNG PkgConfig::WEBP PkgConfig::JANSSON PkgConfig::UTF8PROC m)
    add_dependencies(test_engine_${name} s2_counted)
    target_include_directories(test_engine_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    set_tests_properties(engine_${name} PROPERTIES ENVIRONMENT "OMP_WAIT_POLICY=passive")
  endforeach()
endif()

# The example, and the program on the tiny pair and on the goldens.
add_executable(ask ${PROJECT_SOURCE_DIR}/examples/ask.c)
target_link_libraries(ask PRIVATE s2_engine s2_flags)
s2_engine_test(cli $<TARGET_FILE:s2prune_program> $<TARGET_FILE:ask> ${S2_GOLDENS})
add_dependencies(test_engine_cli s2prune_program ask)
