# The bundled model and its benchmark: reading and scoring, the program without -m, the generator,
# the reference of the training program, llama.cpp on the same files.
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tiny/eval)
s2_unit_test(eval LINK s2_eval m ARGS ${CMAKE_CURRENT_BINARY_DIR}/tiny/eval ${PROJECT_SOURCE_DIR})
set_tests_properties(eval PROPERTIES ENVIRONMENT "OMP_WAIT_POLICY=passive")

set(tiny_reference ${S2_GOLDENS}/../tiny/results)
add_test(NAME tiny_reference COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/tiny/verify_reference.sh
  $<TARGET_FILE:s2prune_program> ${tiny_reference})
set(tiny_tests tiny_reference)

if(S2_PYTHON)
  add_test(NAME tiny_program COMMAND ${S2_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/tiny/check_program.py
    $<TARGET_FILE:s2prune_program> ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/tiny)
  add_test(NAME tiny_generator COMMAND ${S2_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/tiny/check_generator.py
    ${PROJECT_SOURCE_DIR})
  add_test(NAME tiny_training COMMAND ${S2_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/tiny/smoke_training.py
    ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/tiny)
  add_test(NAME tiny_peer COMMAND ${S2_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/tiny/compare_llama_server.py
    $<TARGET_FILE:s2prune_program> ${PROJECT_SOURCE_DIR})
  list(APPEND tiny_tests tiny_program tiny_generator tiny_training tiny_peer)
endif()
set_tests_properties(${tiny_tests} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "OMP_WAIT_POLICY=passive")
