# What `make install` puts where: the two libraries for engine authors, the program for everyone.
include(CMakePackageConfigHelpers)

# NAME.h, NAMEConfig.cmake and its version, NAME.pc.
function(s2_install_package name)
  set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(FILES include/${name}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  configure_package_config_file(cmake/${name}Config.cmake.in ${PROJECT_BINARY_DIR}/${name}Config.cmake
    INSTALL_DESTINATION ${folder} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/${name}ConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/${name}Config.cmake ${PROJECT_BINARY_DIR}/${name}ConfigVersion.cmake
    DESTINATION ${folder})
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# s2prune: the methods, static and shared.
install(TARGETS s2prune s2prune_shared EXPORT s2prune-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT s2prune-targets NAMESPACE s2prune:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/s2prune)
s2_install_package(s2prune)

# s2vlm: the engine in one archive, with the rooms below it and the ggml that was built for it. A
# system ggml, and one with backends that want libraries of their own, stays outside: its package
# says what to link.
if(S2_TOOLS)
  add_library(s2vlm STATIC)
  foreach(room s2_engine s2_kernels s2_text s2_gguf s2_image s2_base s2prune_objects)
    target_sources(s2vlm PRIVATE $<TARGET_OBJECTS:${room}>)
  endforeach()
  set_target_properties(s2vlm PROPERTIES LINKER_LANGUAGE C ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

  set(S2VLM_REQUIRES libutf8proc spng libwebp libjpeg)
  set(S2VLM_LIBRARIES utf8proc spng webp jpeg)
  set(own_backends ${GGML_AVAILABLE_BACKENDS})
  list(REMOVE_ITEM own_backends ggml-cpu ggml-rpc)
  if(S2_GGML_PREFIX AND NOT own_backends AND NOT APPLE)
    set(S2VLM_GGML "") # inside
    file(GLOB archives ${S2_GGML_PREFIX}/lib/libggml*.a)
    file(COPY ${archives} DESTINATION ${PROJECT_BINARY_DIR}/s2vlm)
    file(GLOB archives RELATIVE ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/s2vlm/*.a)
    # GNU's ar and LLVM's: no spaces in names, and no "open".
    string(REPLACE ";" "\naddlib " script "create s2vlm.part.a;libs2vlm.a;${archives}")
    file(WRITE ${PROJECT_BINARY_DIR}/s2vlm.mri "${script}\nsave\nend\n")
    add_custom_command(TARGET s2vlm POST_BUILD VERBATIM WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
      COMMAND sh -c "\"$1\" -M < s2vlm.mri" sh ${CMAKE_AR}
      COMMAND ${CMAKE_COMMAND} -E rename s2vlm.part.a libs2vlm.a)
    if(GGML_OPENMP_ENABLED)
      list(APPEND S2VLM_LIBRARIES ${OpenMP_C_LIB_NAMES})
    endif()
    list(APPEND S2VLM_LIBRARIES ${S2_CXX_LIBRARIES} ${CMAKE_DL_LIBS} m)
  else()
    set(S2VLM_GGML ggml)
    list(APPEND S2VLM_REQUIRES ggml)
    list(APPEND S2VLM_LIBRARIES ggml::ggml ${S2_CXX_LIBRARIES} ${CMAKE_DL_LIBS} m)
  endif()
  list(REMOVE_DUPLICATES S2VLM_LIBRARIES)
  # pkg-config takes the libraries of other packages from them.
  set(own ${S2VLM_LIBRARIES})
  list(REMOVE_ITEM own utf8proc spng webp jpeg ggml::ggml)
  string(REPLACE ";" " " S2VLM_PC_REQUIRES "${S2VLM_REQUIRES}")
  string(REPLACE ";" " -l" S2VLM_PC_LIBS "s2vlm;${own}")
  install(TARGETS s2vlm ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  s2_install_package(s2vlm)

  install(TARGETS s2prune_program s2prune_verify RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # The bundled model and benchmark: what `run` and `eval` use when nothing is given.
  install(DIRECTORY models/s2prune-tiny DESTINATION ${CMAKE_INSTALL_DATADIR}/s2prune/models)
  install(DIRECTORY data DESTINATION ${CMAKE_INSTALL_DATADIR}/s2prune)
endif()
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
