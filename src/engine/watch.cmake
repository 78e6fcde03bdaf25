# What the tower attends to. Its queries and keys depend on the CPU already, so these products may be
# fused where it can.
target_sources(s2_engine PRIVATE watch.c received.c)
set_source_files_properties(received.c PROPERTIES COMPILE_OPTIONS "-ffp-contract=fast")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  target_sources(s2_engine PRIVATE received_avx2.c)
  target_compile_definitions(s2_engine PRIVATE S2V_X86_KERNELS)
  set_source_files_properties(received_avx2.c PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-ffp-contract=fast")
endif()
