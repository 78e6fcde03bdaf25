# Tokenizer, chat formats, sampling.
foreach(name tokenizer template sample)
  s2_unit_test(${name} LINK s2_engine)
  target_link_options(test_${name} PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
endforeach()

s2_unit_test(pretokenize LINK s2_engine) # with PCRE2, against the pattern itself
pkg_check_modules(PCRE2_32 IMPORTED_TARGET libpcre2-32)
if(PCRE2_32_FOUND)
  target_link_libraries(test_pretokenize PRIVATE PkgConfig::PCRE2_32)
  target_compile_definitions(test_pretokenize PRIVATE S2_HAVE_PCRE2)
endif()

set(S2_GOLDENS ${PROJECT_SOURCE_DIR}/../shared/goldens CACHE PATH "folder of golden files")
s2_unit_test(tokenizer_golden LINK s2_engine PkgConfig::JANSSON ARGS ${S2_GOLDENS})
set_tests_properties(tokenizer_golden PROPERTIES SKIP_RETURN_CODE 77)
