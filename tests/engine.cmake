# The engine: equal to itself, refusals, memory, RPC, the program, the example.
# OpenMP threads that wait must not spin: tests share the cores.
set(S2_ENGINE_FOLDER ${CMAKE_CURRENT_BINARY_DIR}/engine)
file(MAKE_DIRECTORY ${S2_ENGINE_FOLDER})
function(s2_engine_test name)
  s2_unit_test(engine_${name} LINK s2_engine m ARGS ${S2_ENGINE_FOLDER} ${ARGN})
  set_tests_properties(engine_${name} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "OMP_WAIT_POLICY=passive")
endfunction()

s2_engine_test(same)
