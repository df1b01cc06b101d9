# Programs in C.

add_executable(no_libstdcxx no_libstdcxx.c)
target_link_libraries(no_libstdcxx PRIVATE syncedmem::syncedmem)
run_test(no_libstdcxx c no_libstdcxx)
set_tests_properties(no_libstdcxx PROPERTIES
  PASS_REGULAR_EXPRESSION "the program, which called, shows no C\\+\\+ runtime to throw with: .*; aborting"
  FAIL_REGULAR_EXPRESSION "the child ended")

add_executable(two_copies two_copies.c)
target_link_libraries(two_copies PRIVATE syncedmem::static ${CMAKE_DL_LIBS})
run_test(two_copies c two_copies "$<TARGET_FILE:syncedmem::syncedmem>")
