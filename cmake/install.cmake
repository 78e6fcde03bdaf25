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

# s2vlm: the engine with the rooms below it and the ggml that was built for it, static and shared. Both
# show the functions of the public headers and nothing else. A system ggml, and one with backends that
# want libraries of their own, stays outside the archive: its package says what to link. Builds for a
# sanitizer or a fuzzer have neither: their run-time libraries come with the program.
if(S2_TOOLS AND NOT S2_SANITIZE AND NOT S2_SANITIZE_THREADS AND NOT S2_FUZZ)
  set(rooms s2_engine s2_kernels s2_constrain s2_text s2_gguf s2_image s2_base)
  set_target_properties(${rooms} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set(archives "")
  foreach(room ${rooms} s2prune)
    list(APPEND archives $<TARGET_FILE:${room}>)
  endforeach()
  set(S2VLM_REQUIRES libutf8proc spng libwebp libjpeg)
  set(S2VLM_LIBRARIES utf8proc spng webp jpeg)
  set(names ${PROJECT_BINARY_DIR}/s2vlm.names)
  set(headers ${PROJECT_SOURCE_DIR}/include/s2prune.h ${PROJECT_SOURCE_DIR}/include/s2vlm.h)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
  execute_process(COMMAND ${CMAKE_COMMAND} "-DHEADERS=${headers}" -DOUT=${names}
    -P ${PROJECT_SOURCE_DIR}/cmake/public_names.cmake)
  # The linker starts from these names: what none of them needs stays out.
  file(READ ${names} roots)
  string(REGEX REPLACE "([^\n]+)\n" "-u \\1\n" roots "${roots}")
  file(WRITE ${PROJECT_BINARY_DIR}/s2vlm.roots "${roots}")

  # The shared library: hidden visibility leaves our public functions, the version script hides ggml.
  file(WRITE ${PROJECT_BINARY_DIR}/empty.c "/* CMake wants a source. */\ntypedef int s2vlm_empty;\n")
  add_library(s2vlm_shared SHARED ${PROJECT_BINARY_DIR}/empty.c)
  target_link_libraries(s2vlm_shared PRIVATE ${rooms} s2prune)
  set_target_properties(s2vlm_shared PROPERTIES OUTPUT_NAME s2vlm LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  if(NOT APPLE)
    file(WRITE ${PROJECT_BINARY_DIR}/s2vlm.map "{ global: s2v_*; s2p_*; local: *; };\n")
    target_link_options(s2vlm_shared PRIVATE -Wl,@${PROJECT_BINARY_DIR}/s2vlm.roots
      -Wl,--version-script=${PROJECT_BINARY_DIR}/s2vlm.map -Wl,--no-undefined -Wl,--as-needed)
  endif()

  # The archive: one object, in which every other name is local.
  set(own_backends ${GGML_AVAILABLE_BACKENDS})
  list(REMOVE_ITEM own_backends ggml-cpu ggml-rpc)
  set(inside "")
  if(S2_GGML_PREFIX AND NOT own_backends AND NOT APPLE)
    set(S2VLM_GGML "") # inside
    file(GLOB inside ${S2_GGML_PREFIX}/lib/libggml*.a)
    if(GGML_OPENMP_ENABLED)
      list(APPEND S2VLM_LIBRARIES ${OpenMP_C_LIB_NAMES})
    endif()
    list(APPEND S2VLM_LIBRARIES ${S2_CXX_LIBRARIES} ${CMAKE_DL_LIBS} m)
  else()
    set(S2VLM_GGML ggml)
    list(APPEND S2VLM_REQUIRES ggml)
    list(APPEND S2VLM_LIBRARIES ggml::ggml ${S2_CXX_LIBRARIES} ${CMAKE_DL_LIBS} m)
  endif()
  find_program(S2_GNU_LD NAMES ld.bfd) # clang may come with lld, which keeps groups of sections
  if(NOT APPLE AND CMAKE_OBJCOPY AND S2_GNU_LD)
    # Groups are dissolved: a local copy of a C++ template must not be merged with somebody else's.
    add_custom_command(OUTPUT libs2vlm.a DEPENDS ${rooms} s2prune ${inside} ${headers} VERBATIM
      WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
      COMMAND ${S2_GNU_LD} -r --force-group-allocation -o s2vlm.part.o @s2vlm.roots
        --start-group ${archives} ${inside} --end-group
      COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${names} s2vlm.part.o
      COMMAND ${CMAKE_COMMAND} -E remove libs2vlm.a
      COMMAND ${CMAKE_AR} rcs libs2vlm.a s2vlm.part.o
      COMMAND ${CMAKE_COMMAND} -E remove s2vlm.part.o)
    add_custom_target(s2vlm ALL DEPENDS ${PROJECT_BINARY_DIR}/libs2vlm.a)
  else()
    add_library(s2vlm STATIC ${PROJECT_BINARY_DIR}/empty.c)
    foreach(room ${rooms} s2prune_objects)
      target_sources(s2vlm PRIVATE $<TARGET_OBJECTS:${room}>)
    endforeach()
    set_target_properties(s2vlm PROPERTIES LINKER_LANGUAGE C ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    # Nothing is left out here, the decoders of pictures neither.
    if(TIFF_FOUND)
      list(APPEND S2VLM_LIBRARIES tiff)
    endif()
    if(HEIF_FOUND)
      list(APPEND S2VLM_LIBRARIES heif)
    endif()
  endif()
  list(REMOVE_DUPLICATES S2VLM_LIBRARIES)
  # pkg-config takes the libraries of other packages from them.
  set(own ${S2VLM_LIBRARIES})
  list(REMOVE_ITEM own utf8proc spng webp jpeg ggml::ggml)
  string(REPLACE ";" " " S2VLM_PC_REQUIRES "${S2VLM_REQUIRES}")
  string(REPLACE ";" " -l" S2VLM_PC_LIBS "s2vlm;${own}")
  install(FILES ${PROJECT_BINARY_DIR}/libs2vlm.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS s2vlm_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  s2_install_package(s2vlm)

  install(TARGETS s2prune_program s2prune_verify RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Manual pages and completions, printed by the program itself; a cross build needs an emulator for them.
  if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    set(manuals ${PROJECT_BINARY_DIR}/manuals)
    add_custom_command(OUTPUT ${manuals}/man1/s2prune.1 DEPENDS s2prune_program cmake/manuals.cmake VERBATIM
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
      COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:s2prune_program>"
        -DOUTPUT=${manuals} -P cmake/manuals.cmake)
    add_custom_target(s2_manuals ALL DEPENDS ${manuals}/man1/s2prune.1)
    install(DIRECTORY ${manuals}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
    install(FILES ${manuals}/bash/s2prune DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${manuals}/zsh/_s2prune DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${manuals}/fish/s2prune.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
  # The bundled model and benchmark: what `run` and `eval` use when nothing is given.
  install(DIRECTORY models/s2prune-tiny DESTINATION ${CMAKE_INSTALL_DATADIR}/s2prune/models)
  install(DIRECTORY data DESTINATION ${CMAKE_INSTALL_DATADIR}/s2prune)
endif()
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
