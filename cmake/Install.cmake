# SPDX-License-Identifier: Apache-2.0
# Headers, both libraries, the tool, the documentation, and the files of find_package() and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS davit_shared davit_static EXPORT davitTargets)
install(TARGETS davit_offload davit_monoid EXPORT davitOffloadTargets)
if(DAVIT_TOOL)
  install(TARGETS davit_tool)
endif()
install(DIRECTORY include/davit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY offload/kernel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/davit)
install(DIRECTORY share/ DESTINATION ${CMAKE_INSTALL_DATADIR}/davit)
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg"
        PATTERN demo EXCLUDE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/davit)
install(EXPORT davitTargets NAMESPACE davit:: DESTINATION ${package_dir})
install(EXPORT davitOffloadTargets NAMESPACE davit:: DESTINATION ${package_dir})
string(REGEX MATCH "^[0-9]+" DAVIT_CLANG_VERSION ${CMAKE_C_COMPILER_VERSION})
configure_package_config_file(cmake/davitConfig.cmake.in davitConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(davitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/davitConfig.cmake ${PROJECT_BINARY_DIR}/davitConfigVersion.cmake
        DESTINATION ${package_dir})

# Paths in davit.pc are relative to the file, so that `cmake --install --prefix` may choose another place.
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
set(pc_libraries ${DAVIT_LIBRARIES})
foreach(dir IN LISTS DAVIT_OFFLOAD_LIBRARY_DIRS)
  list(APPEND pc_libraries -Wl,-rpath,${dir})
endforeach()
list(JOIN pc_libraries " " pc_libraries)
configure_file(cmake/davit.pc.in davit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/davit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
