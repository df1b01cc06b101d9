# Programs in C.

# add_bad_input(VARIANT LIBRARY). With a library that has the feature `checked`: tests/project/features.
function(add_bad_input variant library)
  set(name bad_input.${variant})
  add_executable(${name} bad_input.c)
  target_compile_options(${name} PRIVATE -O2)
  target_link_libraries(${name} PRIVATE ${library} Threads::Threads)
  run_test(${name} c ${name})
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
