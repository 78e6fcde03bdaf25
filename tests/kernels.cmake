# The pixel stage and its kernels.
foreach(name kernels structure erc)
  s2_unit_test(${name} LINK s2prune)
endforeach()

# Most CPUs lack AVX-512: its kernels are also tested with the instructions written out in C.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  add_library(s2_avx512_emulated OBJECT ${PROJECT_SOURCE_DIR}/src/prune/kernels/laplacian_avx512.c)
  target_include_directories(s2_avx512_emulated PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(s2_avx512_emulated PRIVATE S2P_X86_KERNELS S2P_EMULATE_AVX512
    s2p_kernels_avx512=s2p_kernels_avx512_emulated)
  target_link_libraries(s2_avx512_emulated PRIVATE s2_flags)
  target_link_libraries(test_kernels PRIVATE s2_avx512_emulated)
  target_compile_definitions(test_kernels PRIVATE S2P_X86_KERNELS)
endif()

# Same text from every compiler, optimisation level and CPU.
add_test(NAME same_bits_compilers
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/emulate/same_bits compilers ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/same_bits)
add_test(NAME same_bits_arm64
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/emulate/same_bits arm64 ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/same_bits_arm64)
set_tests_properties(same_bits_compilers same_bits_arm64 PROPERTIES SKIP_RETURN_CODE 77)
