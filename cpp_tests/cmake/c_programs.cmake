# Programs in C.

# add_bad_input(VARIANT LIBRARY [argument…])
function(add_bad_input variant library)
  set(name bad_input.${variant})
  add_executable(${name} bad_input.c)
  target_compile_options(${name} PRIVATE -O2)
  target_link_libraries(${name} PRIVATE ${library} Threads::Threads)
  run_test(${name} c ${name} ${ARGN})
endfunction()

add_bad_input(shared syncedmem::syncedmem)
add_bad_input(static syncedmem::static)
run_under_valgrind(bad_input.shared bad_input.shared)

add_executable(no_libstdcxx no_libstdcxx.c)
target_link_libraries(no_libstdcxx PRIVATE syncedmem::syncedmem)
run_test(no_libstdcxx c no_libstdcxx)
set_tests_properties(no_libstdcxx PROPERTIES
  PASS_REGULAR_EXPRESSION "the program, which called, shows no C\\+\\+ runtime to throw with: .*; aborting"
  FAIL_REGULAR_EXPRESSION "the child ended")

add_executable(two_copies two_copies.c)
target_link_libraries(two_copies PRIVATE syncedmem::static ${CMAKE_DL_LIBS})
run_test(two_copies c two_copies "$<TARGET_FILE:syncedmem::syncedmem>")

if(SYNCEDMEM_TESTS_CHECKED)
  # A second library from the same source, in a folder of its own, without optimization.
  set(checked_dir "${CMAKE_CURRENT_BINARY_DIR}/checked")
  set(checked_library "${checked_dir}/debug/libsyncedmem.so")
  find_program(SYNCEDMEM_CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin" DOC "The cargo to build with")
  if(NOT SYNCEDMEM_CARGO)
    message(FATAL_ERROR "cargo was not found: it builds the checked library. Name it with -DSYNCEDMEM_CARGO=…, \
or configure with -DSYNCEDMEM_TESTS_CHECKED=OFF")
  endif()
  add_custom_target(syncedmem_checked
    COMMAND "${SYNCEDMEM_CARGO}" build --locked --package syncedmem --lib --features checked --target-dir "${checked_dir}"
      --manifest-path "${CMAKE_CURRENT_SOURCE_DIR}/../Cargo.toml"
    COMMAND "${CMAKE_COMMAND}" -E create_symlink libsyncedmem.so "${checked_dir}/debug/libsyncedmem.so.0"
    BYPRODUCTS "${checked_library}"
    COMMENT "Building libsyncedmem with the feature `checked`"
    USES_TERMINAL VERBATIM)
  add_library(syncedmem_with_checks SHARED IMPORTED)
  set_target_properties(syncedmem_with_checks PROPERTIES IMPORTED_LOCATION "${checked_library}"
    IMPORTED_SONAME libsyncedmem.so.0
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_SOURCE_DIR}/../include")
  add_dependencies(syncedmem_with_checks syncedmem_checked)
  # Such a library never frees a handle: a leak on purpose.
  set(memcheck_too --leak-check=no)
  add_bad_input(checked syncedmem_with_checks checked)
  run_under_valgrind(bad_input.checked bad_input.checked checked)
  unset(memcheck_too)
endif()
