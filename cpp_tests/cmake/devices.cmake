# The device half: suites on the simulated driver and without any.

# add_device_suite(NAME GENERATION SOURCE…): tests on the simulated driver, linked with the shared library; for the newest generation also
# with the static one, and with only the functions of a real driver.
function(add_device_suite name generation)
  compile_suite(${name}.O2 O2 ${generation} ${ARGN})
  link_suite(${name}.O2.shared ${name}.O2 syncedmem::syncedmem ${CMAKE_DL_LIBS})
  run_simulated(${name}.O2.shared device ${name}.O2.shared)
  if(generation IN_LIST watched AND SYNCEDMEM_TESTS_VALGRIND)
    # These tests allocate in C++, as memcheck does.
    run_under_valgrind(${name} ${name}.O2.shared "--gtest_filter=-BlobFailures.*")
    on_the_simulated_driver(valgrind.${name})
    set_tests_properties(valgrind.${name} PROPERTIES COST 100)
  endif()
  if(NOT generation STREQUAL bvlc_master)
    return()
  endif()
  run_simulated(${name}.as_on_a_real_driver device ${name}.O2.shared)
  set_property(TEST ${name}.as_on_a_real_driver APPEND PROPERTY ENVIRONMENT SYNCEDMEM_TESTS_AS_ON_A_REAL_DRIVER=1)
  link_suite(${name}.O2.static ${name}.O2 syncedmem::static ${CMAKE_DL_LIBS})
  run_simulated(${name}.O2.static device ${name}.O2.static)
  # The tests count blocks, and cannot trim the cache of a program that exports nothing.
  set_property(TEST ${name}.O2.static APPEND PROPERTY ENVIRONMENT SYNCEDMEM_POOL_BUDGET=0)
  if(SYNCEDMEM_TESTS_ASAN)
    compile_suite(${name}.asan asan ${generation} ${ARGN})
    link_suite(${name}.asan.shared ${name}.asan syncedmem::syncedmem -fsanitize=address ${CMAKE_DL_LIBS})
    run_simulated(${name}.asan.shared asan ${name}.asan.shared)
  endif()
endfunction()

# The states and layout of each generation.
foreach(generation IN LISTS generations)
  add_device_suite(device.${generation} ${generation} device_layout_test.cpp)
endforeach()
# Page-locked memory and the wrapper. tests/object, tests/cuda and tests/copy test threads, contexts and copies in flight.
add_device_suite(device_use bvlc_master device_wrapper_test.cpp pinned_test.cpp)

# Programs that abort on purpose.
compile_suite(device_fatal.O2 O2 bvlc_master device_fatal_test.cpp)
link_suite(device_fatal.O2.shared device_fatal.O2 syncedmem::syncedmem ${CMAKE_DL_LIBS})
run_simulated(device_fatal.O2.shared device device_fatal.O2.shared)

# The host suites, with a driver in the process.
foreach(generation IN LISTS generations)
  run_simulated(memory.${generation}.with.driver suite memory.${generation}.O2.shared)
endforeach()
run_simulated(abis.with.driver suite abis.O2.shared)

# Exit of processes.
add_executable(exits processes/exits.cpp)
add_library(plugin MODULE processes/plugin.cpp)
add_library(plugin_static MODULE processes/plugin.cpp)
target_link_libraries(plugin_static PRIVATE syncedmem::static Threads::Threads)
add_executable(opens_plugin processes/opens_plugin.cpp)
foreach(program exits plugin)
  target_link_libraries(${program} PRIVATE syncedmem::syncedmem Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
target_link_libraries(opens_plugin PRIVATE ${CMAKE_DL_LIBS})
add_executable(processes processes_test.cpp)
target_link_libraries(processes PRIVATE GTest::gtest_main Threads::Threads)
tell(processes exits opens_plugin plugin plugin_static)
run_simulated(processes.simulated processes processes)
run_test(processes.no_driver processes processes)
