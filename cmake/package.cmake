# What find_package(opdump) of other projects and pkg-config find, and the licence.
include(CMakePackageConfigHelpers)
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/opdump)
install(EXPORT opdump NAMESPACE opdump:: FILE opdumpTargets.cmake DESTINATION ${package_directory})
configure_package_config_file(cmake/opdumpConfig.cmake.in ${CMAKE_BINARY_DIR}/generated/opdumpConfig.cmake
  INSTALL_DESTINATION ${package_directory} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/opdumpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/opdumpConfig.cmake ${CMAKE_BINARY_DIR}/generated/opdumpConfigVersion.cmake
  DESTINATION ${package_directory})
file(RELATIVE_PATH OPDUMP_PKGCONFIG_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/opdump.pc.in ${CMAKE_BINARY_DIR}/generated/opdump.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/opdump.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/licenses/opdump)
