# The image layer: decoding, resizing, geometry, overlays.
foreach(name image image_bombs image_malformed image_torture resize geometry overlay contact_sheet)
  s2_unit_test(${name} LINK s2_image)
  target_compile_definitions(test_${name} PRIVATE S2_TEST_CORPUS="${CMAKE_CURRENT_LIST_DIR}/fuzz/corpus")
endforeach()
target_link_options(test_image_torture PRIVATE
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free)

# Pixels against Pillow. Debian's own python3 first: that is where python3-pil lives.
add_executable(pillow_compare ${CMAKE_CURRENT_LIST_DIR}/image/pillow_compare.c)
target_link_libraries(pillow_compare PRIVATE s2_image s2_flags)
find_program(S2_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(S2_PYTHON NAMES python3)
foreach(what decode resize)
  if(S2_PYTHON)
    add_test(NAME pillow_${what} COMMAND ${S2_PYTHON} -B
      ${CMAKE_CURRENT_LIST_DIR}/image/pillow_oracle.py ${what} $<TARGET_FILE:pillow_compare>)
  else()
    add_test(NAME pillow_${what} COMMAND sh -c "echo skipped: no python3; exit 77")
  endif()
  set_tests_properties(pillow_${what} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
