# The command line: the parser, the golden checks, and the program as a user runs it.
s2_unit_test(options LINK s2_tools)
s2_unit_test(positions LINK s2_engine)
s2_unit_test(verify LINK s2_tools)

add_executable(test_cli cli/test_cli.c)
target_include_directories(test_cli PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(test_cli PRIVATE S2_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data"
  S2_TEST_VERSION="${PROJECT_VERSION}")
target_link_libraries(test_cli PRIVATE s2_image s2_base s2prune m s2_flags PkgConfig::CMOCKA)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cli)
add_test(NAME cli COMMAND test_cli $<TARGET_FILE:s2prune_program> ${CMAKE_CURRENT_BINARY_DIR}/cli)

# Every golden that comes with the project, through the program; then all of them where they are at hand.
add_test(NAME verify_bundled COMMAND s2prune_program verify ${CMAKE_CURRENT_SOURCE_DIR}/data/goldens)
add_test(NAME verify_shared COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/cli/verify_shared.sh
  $<TARGET_FILE:s2prune_program> ${PROJECT_SOURCE_DIR}/../shared/goldens)
set_tests_properties(verify_shared PROPERTIES SKIP_RETURN_CODE 77)
