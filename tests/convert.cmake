# Checkpoints to GGUF, GGUF to smaller GGUF: right values, wrong files, failing disks, killed processes.
s2_unit_test(safetensors LINK s2_engine)

foreach(name convert convert_malformed quantize)
  s2_unit_test(${name} LINK s2_engine m ARGS ${CMAKE_CURRENT_BINARY_DIR}/work_${name}) # tests run at the same time
endforeach()
target_link_options(test_convert PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=open,--wrap=write,--wrap=fsync)

add_test(NAME convert_golden COMMAND test_convert ${CMAKE_CURRENT_BINARY_DIR}/work_convert_golden golden ${S2_GOLDENS})
set_tests_properties(convert_golden PROPERTIES SKIP_RETURN_CODE 77)

# The same bytes as llama-quantize, where scripts/build-peer has built it.
add_test(NAME quantize_peer COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/convert/quantize_peer.sh
  $<TARGET_FILE:s2prune_program> ${S2_GOLDENS} ${CMAKE_CURRENT_BINARY_DIR}/work_peer)
set_tests_properties(quantize_peer PROPERTIES SKIP_RETURN_CODE 77)

# kill -9 at random moments: the old file or the new one. `make test-long` runs it with 200.
add_executable(kill_points ${CMAKE_CURRENT_LIST_DIR}/convert/kill_points.c)
target_include_directories(kill_points PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(kill_points PRIVATE s2_base s2_flags PkgConfig::CMOCKA)
add_test(NAME kill_points COMMAND kill_points $<TARGET_FILE:s2prune_program>
  ${CMAKE_CURRENT_BINARY_DIR}/work_kill 20)
