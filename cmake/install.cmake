# The installed files, and their CMake package and pkg-config file. Both have relative paths, so an installed tree may be moved.
include(CMakePackageConfigHelpers)

set(shared_paths "")
foreach(name IN ITEMS ${shared_file} LISTS shared_links)
  list(APPEND shared_paths "${library_dir}/${name}")
endforeach()
install(DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES ${shared_paths} "${library_dir}/${static_file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/syncedmem")
configure_package_config_file(cmake/syncedmemConfig.cmake.in syncedmemConfig.cmake
  INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Later versions of the C API with the same major version only add.
write_basic_package_version_file(syncedmemConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/syncedmemConfig.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/syncedmemConfigVersion.cmake" DESTINATION "${package_dir}")

set(pkgconfig_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH pc_prefix "${pkgconfig_dir}" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
file(RELATIVE_PATH pc_includedir "${pkgconfig_dir}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
string(REPLACE ";" " " pc_system_libraries "${SYNCEDMEM_SYSTEM_LIBRARIES}")
configure_file(cmake/syncedmem.pc.in syncedmem.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/syncedmem.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
