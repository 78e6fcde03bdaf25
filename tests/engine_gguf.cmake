# Model files: the validator on good, bad and other programs' files.
foreach(name gguf gguf_malformed)
  s2_unit_test(${name} LINK s2_engine)
endforeach()
target_link_libraries(test_gguf PRIVATE m)
target_link_options(test_gguf PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)

set(S2_GOLDENS "${PROJECT_SOURCE_DIR}/../shared/goldens" CACHE PATH "outputs of other programs, for tests")
add_test(NAME gguf_golden COMMAND test_gguf golden ${S2_GOLDENS})
set_tests_properties(gguf_golden PROPERTIES SKIP_RETURN_CODE 77)
s2_unit_test(inspect LINK s2_tools)
