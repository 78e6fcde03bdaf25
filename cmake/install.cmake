# What `make install` puts where: the library for engine authors, the program for everyone.
include(CMakePackageConfigHelpers)

install(TARGETS s2prune s2prune_shared EXPORT s2prune-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/s2prune.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT s2prune-targets NAMESPACE s2prune:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/s2prune)
configure_package_config_file(cmake/s2pruneConfig.cmake.in ${PROJECT_BINARY_DIR}/s2pruneConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/s2prune)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/s2pruneConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/s2pruneConfig.cmake ${PROJECT_BINARY_DIR}/s2pruneConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/s2prune)
configure_file(cmake/s2prune.pc.in ${PROJECT_BINARY_DIR}/s2prune.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/s2prune.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(S2_TOOLS)
  install(TARGETS s2prune_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # The bundled model and benchmark: what `run` and `eval` use when nothing is given.
  install(DIRECTORY models/s2prune-tiny DESTINATION ${CMAKE_INSTALL_DATADIR}/s2prune/models)
  install(DIRECTORY data DESTINATION ${CMAKE_INSTALL_DATADIR}/s2prune)
endif()
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
