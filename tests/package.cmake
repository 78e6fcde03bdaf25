# The library as others get it: headers, symbols, install, consumers.
if(NOT S2_SANITIZE)
  foreach(name headers symbols consumer)
    add_test(NAME package_${name}
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/package/check_${name} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    set_tests_properties(package_${name} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endif()
