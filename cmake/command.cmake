# The syncedmem command, libsyncedmem_net.so that it preloads (libsyncedmem_net.so), and its manual pages and completions. Running the
# command makes these, so a build for another machine omits them: `syncedmem share DIR` writes them there.

set(command_target "")
if(SYNCEDMEM_TARGET)
  set(command_target --target "${SYNCEDMEM_TARGET}")
endif()
set(share_dir "${CMAKE_CURRENT_BINARY_DIR}/share")

set(share_commands "")
string(REGEX REPLACE "-.*$" "" command_machine "${SYNCEDMEM_TARGET}")
if(NOT command_machine OR command_machine STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(share_commands COMMAND "${CMAKE_CURRENT_BINARY_DIR}/bin/syncedmem" share "${share_dir}")
else()
  message(STATUS "Manual pages and completions of the command are not made: it does not run on this machine")
endif()

# Link-time optimisation is only for the library.
file(MAKE_DIRECTORY "${share_dir}")
set(command_cargo "${CMAKE_COMMAND}" -E env CARGO_PROFILE_RELEASE_LTO=off
  CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 "${SYNCEDMEM_CARGO}" rustc --locked --profile "${SYNCEDMEM_PROFILE}"
  --manifest-path "${CMAKE_CURRENT_SOURCE_DIR}/Cargo.toml" --target-dir "${SYNCEDMEM_CARGO_DIR}" ${command_target})
add_custom_target(syncedmem_command ALL
  COMMAND ${command_cargo} --package syncedmem-command --bin syncedmem
  COMMAND ${command_cargo} --package syncedmem-net --lib
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/bin"
  COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${built}/syncedmem" "${CMAKE_CURRENT_BINARY_DIR}/bin/syncedmem"
  COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${built}/libsyncedmem_net.so" "${library_dir}/libsyncedmem_net.so"
  ${share_commands}
  BYPRODUCTS "${CMAKE_CURRENT_BINARY_DIR}/bin/syncedmem" "${library_dir}/libsyncedmem_net.so"
  COMMENT "Building the syncedmem command with cargo"
  USES_TERMINAL VERBATIM)
add_dependencies(syncedmem_command syncedmem_build)

install(PROGRAMS "${CMAKE_CURRENT_BINARY_DIR}/bin/syncedmem" DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES "${library_dir}/libsyncedmem_net.so" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${share_dir}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}" OPTIONAL)
foreach(shell IN ITEMS bash-completion zsh fish)
  install(DIRECTORY "${share_dir}/${shell}" DESTINATION "${CMAKE_INSTALL_DATADIR}" OPTIONAL)
endforeach()
