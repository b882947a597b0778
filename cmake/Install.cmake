# SPDX-License-Identifier: Apache-2.0
# Headers, both libraries, the tool, the documentation, and the files of find_package() and pkg-config.
include(CMakePackageConfigHelpers)

# Components are the packages of cmake/Package.cmake.
install(TARGETS davit_shared EXPORT davitTargets LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS davit_static EXPORT davitTargets ARCHIVE COMPONENT development)
install(TARGETS davit_offload davit_monoid EXPORT davitOffloadTargets)
if(DAVIT_FALLBACK_FOLDER)
  install(TARGETS davit_fallback LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${DAVIT_FALLBACK_FOLDER} COMPONENT runtime
          NAMELINK_SKIP)
endif()
if(DAVIT_TOOL)
  install(TARGETS davit_tool COMPONENT tool)
  install(FILES ${DAVIT_REPORT_SOURCES} DESTINATION ${CMAKE_INSTALL_DATADIR}/davit COMPONENT tool)
  if(NOT DAVIT_SANITIZE)
    install(DIRECTORY ${DAVIT_SHARE}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tool)
    install(FILES ${DAVIT_SHARE}/davit.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME davit
            COMPONENT tool)
    install(FILES ${DAVIT_SHARE}/_davit DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT tool)
  endif()
endif()
if(TARGET davit_blas)
  install(TARGETS davit_blas davit_blas64 EXPORT davitTargets LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
  # A folder of its own, because they have the names of the system's libraries.
  install(TARGETS davit_blas_alternative LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/davit COMPONENT blas
          NAMELINK_COMPONENT development)
  install(TARGETS davit_blas64_alternative LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/davit COMPONENT blas64
          NAMELINK_COMPONENT development)
endif()
install(DIRECTORY include/davit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")
install(DIRECTORY offload/kernel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/davit COMPONENT development)
install(DIRECTORY docs/python docs/fortran DESTINATION ${CMAKE_INSTALL_DATADIR}/davit COMPONENT development
        FILES_MATCHING PATTERN "*.py" PATTERN "*.f90")
install(DIRECTORY cmake/suppressions/ DESTINATION ${CMAKE_INSTALL_DATADIR}/davit COMPONENT development)
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT documentation)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation FILES_MATCHING PATTERN "*.md" PATTERN "*.html"
        PATTERN "*.svg" PATTERN demo EXCLUDE PATTERN doxygen EXCLUDE PATTERN python EXCLUDE PATTERN fortran EXCLUDE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/davit)
install(EXPORT davitTargets NAMESPACE davit:: DESTINATION ${package_dir} COMPONENT development)
install(EXPORT davitOffloadTargets NAMESPACE davit:: DESTINATION ${package_dir} COMPONENT development)
string(REGEX MATCH "^[0-9]+" DAVIT_CLANG_VERSION ${CMAKE_C_COMPILER_VERSION})
configure_package_config_file(cmake/davitConfig.cmake.in davitConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(davitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/davitConfig.cmake ${PROJECT_BINARY_DIR}/davitConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)

# Paths in davit.pc are relative to the file, so that `cmake --install --prefix` may choose another place.
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
set(pc_libraries ${DAVIT_LIBRARIES})
# Linkers search the folder of this architecture by themselves, and a file outside of it may not name it.
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(TRANSFORM pc_libraries REPLACE "^/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/lib([^/]+)\\.so$" "-l\\1")
endif()
foreach(dir IN LISTS DAVIT_OFFLOAD_LIBRARY_DIRS)
  list(APPEND pc_libraries -Wl,-rpath,${dir})
endforeach()
list(JOIN pc_libraries " " pc_libraries)
configure_file(cmake/davit.pc.in davit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/davit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
if(TARGET davit_blas)
  configure_file(cmake/davit_blas.pc.in davit_blas.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/davit_blas.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()
if(TARGET davit_mpi)
  install(TARGETS davit_mpi EXPORT davitMpiTargets LIBRARY COMPONENT mpi NAMELINK_COMPONENT mpi_development)
  if(TARGET davit_ranks)
    install(TARGETS davit_ranks LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mpi)
  endif()
  install(EXPORT davitMpiTargets NAMESPACE davit:: DESTINATION ${package_dir} COMPONENT mpi_development)
  install(FILES include/davit_mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT mpi_development)
  configure_file(cmake/davit_mpi.pc.in davit_mpi.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/davit_mpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT mpi_development)
endif()

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -P ${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake
                    COMMENT "Removing what was installed" VERBATIM USES_TERMINAL)
  # The reference of the interface, in reference/html.
  find_program(DAVIT_DOXYGEN doxygen)
  mark_as_advanced(DAVIT_DOXYGEN)
  if(DAVIT_DOXYGEN)
    file(READ docs/doxygen/Doxyfile doxyfile)
    file(WRITE ${PROJECT_BINARY_DIR}/Doxyfile "${doxyfile}OUTPUT_DIRECTORY = \"${PROJECT_BINARY_DIR}/reference\"\n"
         "PROJECT_NUMBER = ${PROJECT_VERSION}\n")
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/reference)
    add_custom_target(reference COMMAND ${DAVIT_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                      COMMENT "Writing the reference of the interface" VERBATIM)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/reference/html DESTINATION ${CMAKE_INSTALL_DOCDIR}/reference COMPONENT documentation
            OPTIONAL)
  endif()
endif()
