# The pruning library: links to nothing above it.
foreach(name budget cells partition plan methods alloc_fail)
  s2_unit_test(${name} LINK s2prune)
endforeach()
target_link_options(test_alloc_fail PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/kernels.cmake)
  include(kernels.cmake)
endif()
