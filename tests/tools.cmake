# The command line: the parser, the golden checks, and the program as a user runs it.
s2_unit_test(options LINK s2_tools)
s2_unit_test(positions LINK s2_engine)
s2_unit_test(verify LINK s2_tools)
s2_unit_test(compare LINK s2_tools m)
s2_unit_test(compare_report LINK s2_tools m)
s2_unit_test(method_list LINK s2_tools ARGS ${PROJECT_SOURCE_DIR}/docs/METHODS.md)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/record)
s2_unit_test(record LINK s2_tools ARGS ${CMAKE_CURRENT_BINARY_DIR}/record)

add_executable(test_cli cli/test_cli.c)
target_include_directories(test_cli PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(test_cli PRIVATE S2_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data"
  S2_TEST_VERSION="${PROJECT_VERSION}")
target_link_libraries(test_cli PRIVATE s2_image s2_base s2prune m s2_flags PkgConfig::CMOCKA)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cli)
add_test(NAME cli COMMAND test_cli $<TARGET_FILE:s2prune_program> ${CMAKE_CURRENT_BINARY_DIR}/cli)

# What a run records, `select` chooses again.
add_executable(test_record_cli cli/test_record_cli.c)
target_include_directories(test_record_cli PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(test_record_cli PRIVATE s2_engine s2_base s2prune m s2_flags PkgConfig::CMOCKA)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/record_cli)
add_test(NAME record_cli COMMAND test_record_cli $<TARGET_FILE:s2prune_program>
  ${CMAKE_CURRENT_BINARY_DIR}/record_cli ${PROJECT_SOURCE_DIR}/data/synth/images ${S2_GOLDENS})
set_tests_properties(record_cli PROPERTIES ENVIRONMENT "OMP_WAIT_POLICY=passive")

# Every golden that comes with the project, through the program; then all of them where they are at hand.
add_test(NAME verify_bundled COMMAND s2prune_program verify ${CMAKE_CURRENT_SOURCE_DIR}/data/goldens)
add_test(NAME verify_shared COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/cli/verify_shared.sh
  $<TARGET_FILE:s2prune_program> ${PROJECT_SOURCE_DIR}/../shared/goldens)
set_tests_properties(verify_shared PROPERTIES SKIP_RETURN_CODE 77)

# Methods side by side on the bundled model: the program, and what its session computes.
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/compare)
s2_unit_test(compare_cli LINK s2_tools m ARGS ${CMAKE_CURRENT_BINARY_DIR}/compare $<TARGET_FILE:s2prune_program>
  ${PROJECT_SOURCE_DIR})
set_tests_properties(compare_cli PROPERTIES ENVIRONMENT "OMP_WAIT_POLICY=passive")
add_dependencies(test_compare_cli s2prune_program)
