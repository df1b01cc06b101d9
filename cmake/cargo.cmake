# Runs cargo, and makes the two targets that users link.

find_program(SYNCEDMEM_CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin" DOC "The cargo to build with")
set(get_rust "Get it with rustup (rustup.rs), or on Debian with apt-get install cargo (Debian 13 or later) or \
cargo-web (Debian 12), or name yours with -DSYNCEDMEM_CARGO=/path/to/cargo")
if(NOT SYNCEDMEM_CARGO)
  message(FATAL_ERROR "cargo was not found, and Rust ${rust_version} or later is needed to build libsyncedmem. ${get_rust}")
endif()
# An older cargo does not know the edition, and its error does not name the version that does. A wrapper, such as cargo-zigbuild, prints
# another version.
execute_process(COMMAND "${SYNCEDMEM_CARGO}" --version OUTPUT_VARIABLE found)
if(found MATCHES "^cargo ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_LESS rust_version)
  message(FATAL_ERROR "Rust ${rust_version} or later is needed to build libsyncedmem, and ${SYNCEDMEM_CARGO} is \
${CMAKE_MATCH_1}. ${get_rust}")
endif()

# Cargo's output folder: the profile "dev" goes to debug/, and the glibc version after a target's name (for cargo-zigbuild) is not in the
# folder's name.
set(folder "${SYNCEDMEM_PROFILE}")
if(folder STREQUAL "dev")
  set(folder debug)
endif()
string(REGEX REPLACE "\\.[0-9.]+$" "" triple "${SYNCEDMEM_TARGET}")
set(built "${SYNCEDMEM_CARGO_DIR}/${folder}")
if(triple)
  set(built "${SYNCEDMEM_CARGO_DIR}/${triple}/${folder}")
endif()

# --locked: Cargo.lock is only read. The command builds no Rust library, which would disable link-time optimisation. scripts/lib.sh,
# python/hatch_build.py and tests/support/as_shipped.rs have the same command line, so that cargo builds once for all.
set(cargo "${SYNCEDMEM_CARGO}" rustc --locked --package syncedmem --lib --crate-type cdylib,staticlib
  --profile "${SYNCEDMEM_PROFILE}"
  --manifest-path "${CMAKE_CURRENT_SOURCE_DIR}/Cargo.toml" --target-dir "${SYNCEDMEM_CARGO_DIR}")
if(SYNCEDMEM_TARGET)
  list(APPEND cargo --target "${SYNCEDMEM_TARGET}")
endif()
if(SYNCEDMEM_FEATURES)
  string(REPLACE ";" "," features "${SYNCEDMEM_FEATURES}")
  list(APPEND cargo --features "${features}")
endif()

# A program with the static library needs the system libraries of Rust's standard library: rustc prints them for an empty library.
if(NOT SYNCEDMEM_SYSTEM_LIBRARIES)
  get_filename_component(cargo_bin "${SYNCEDMEM_CARGO}" DIRECTORY)
  find_program(SYNCEDMEM_RUSTC rustc HINTS "${cargo_bin}" "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin" DOC "The rustc of cargo")
  set(nothing "${CMAKE_CURRENT_BINARY_DIR}/nothing")
  file(WRITE "${nothing}.rs" "")
  set(rustc "${SYNCEDMEM_RUSTC}" --crate-type staticlib --print "native-static-libs=${nothing}.libraries" -o "${nothing}.a" "${nothing}.rs")
  if(triple)
    list(APPEND rustc --target "${triple}")
  endif()
  execute_process(COMMAND ${rustc} RESULT_VARIABLE status ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "rustc does not say which system libraries the static library needs (${status}): ${said}")
  endif()
  file(READ "${nothing}.libraries" found)
  file(REMOVE "${nothing}.rs" "${nothing}.libraries" "${nothing}.a")
  separate_arguments(found UNIX_COMMAND "${found}")
  set(SYNCEDMEM_SYSTEM_LIBRARIES "${found}" CACHE STRING "What to link with the static library")
  mark_as_advanced(SYNCEDMEM_RUSTC SYNCEDMEM_SYSTEM_LIBRARIES)
endif()

# Copy the files to the names that the loader and linkers look for; dates change only with the contents.
set(library_dir "${CMAKE_CURRENT_BINARY_DIR}/lib")
set(shared_file "libsyncedmem.so.${PROJECT_VERSION}")
set(shared_links "${soname}" libsyncedmem.so)
set(static_file libsyncedmem.a)
set(link_commands "")
foreach(link IN LISTS shared_links)
  list(APPEND link_commands COMMAND "${CMAKE_COMMAND}" -E create_symlink "${shared_file}" "${library_dir}/${link}")
endforeach()
file(MAKE_DIRECTORY "${library_dir}")
add_custom_target(syncedmem_build ALL
  COMMAND ${cargo}
  COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${built}/libsyncedmem.so" "${library_dir}/${shared_file}"
  COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${built}/libsyncedmem.a" "${library_dir}/${static_file}"
  ${link_commands}
  BYPRODUCTS "${library_dir}/${shared_file}" "${library_dir}/${static_file}"
  COMMENT "Building libsyncedmem with cargo"
  USES_TERMINAL VERBATIM)

add_library(syncedmem::syncedmem SHARED IMPORTED GLOBAL)
set_target_properties(syncedmem::syncedmem PROPERTIES
  IMPORTED_LOCATION "${library_dir}/${shared_file}"
  IMPORTED_SONAME "${soname}")
add_library(syncedmem::static STATIC IMPORTED GLOBAL)
set_target_properties(syncedmem::static PROPERTIES
  IMPORTED_LOCATION "${library_dir}/${static_file}"
  INTERFACE_LINK_LIBRARIES "${SYNCEDMEM_SYSTEM_LIBRARIES}")
foreach(library syncedmem::syncedmem syncedmem::static)
  set_target_properties(${library} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_SOURCE_DIR}/include")
  add_dependencies(${library} syncedmem_build)
endforeach()
