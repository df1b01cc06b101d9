# A C program.

add_executable(two_copies two_copies.c)
target_link_libraries(two_copies PRIVATE syncedmem::static ${CMAKE_DL_LIBS})
run_test(two_copies c two_copies "$<TARGET_FILE:syncedmem::syncedmem>")
