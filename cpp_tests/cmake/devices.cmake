# The device half: suites on the simulated driver and without any.

# A generation's states and layout, compiled with -O2 as users do; for BVLC's master every build.
foreach(generation IN LISTS generations)
  set(name device.${generation})
  set(device_builds O2)
  if(generation STREQUAL bvlc_master)
    set(device_builds ${builds})
  endif()
  foreach(build IN LISTS device_builds)
    compile_suite(${name}.${build} ${build} ${generation} device_layout_test.cpp)
    if(build STREQUAL asan)
      link_suite(${name}.asan.shared ${name}.asan syncedmem::syncedmem -fsanitize=address ${CMAKE_DL_LIBS})
      run_simulated(${name}.asan.shared asan ${name}.asan.shared)
    else()
      link_suite(${name}.${build}.shared ${name}.${build} syncedmem::syncedmem ${CMAKE_DL_LIBS})
      run_simulated(${name}.${build}.shared device ${name}.${build}.shared)
    endif()
  endforeach()
endforeach()
link_suite(device.bvlc_master.O2.static device.bvlc_master.O2 syncedmem::static ${CMAKE_DL_LIBS})
run_simulated(device.bvlc_master.O2.static device device.bvlc_master.O2.static)
run_under_valgrind(device device.bvlc_master.O2.shared)
run_under_valgrind(device.bvlc_rc2 device.bvlc_rc2.O2.shared)

# Page-locked memory and the wrapper. Threads, contexts and copies in flight: tests/object, tests/cuda, tests/copy.
foreach(build IN LISTS builds)
  compile_suite(device_use.${build} ${build} bvlc_master device_wrapper_test.cpp pinned_test.cpp)
endforeach()
link_suite(device_use.O2.shared device_use.O2 syncedmem::syncedmem ${CMAKE_DL_LIBS})
run_simulated(device_use.O2.shared device device_use.O2.shared)
run_under_valgrind(device_use device_use.O2.shared)
# These suites run on a GPU too, with the driver's own functions only.
foreach(suite device.bvlc_master device_use)
  run_simulated(${suite}.as_on_a_real_driver device ${suite}.O2.shared)
  set_property(TEST ${suite}.as_on_a_real_driver APPEND PROPERTY ENVIRONMENT SYNCEDMEM_TESTS_AS_ON_A_REAL_DRIVER=1)
endforeach()
if(SYNCEDMEM_TESTS_ASAN)
  link_suite(device_use.asan.shared device_use.asan syncedmem::syncedmem -fsanitize=address ${CMAKE_DL_LIBS})
  run_simulated(device_use.asan.shared asan device_use.asan.shared)
endif()
if(SYNCEDMEM_TESTS_VALGRIND)
  on_the_simulated_driver(valgrind.device valgrind.device.bvlc_rc2 valgrind.device_use)
  set_tests_properties(valgrind.device valgrind.device.bvlc_rc2 valgrind.device_use PROPERTIES COST 100)
endif()

# These tests count each call of the driver. A test cannot trim the cache of a program that exports nothing.
foreach(test device.bvlc_master.O2.static device_use.O2.shared device_use.asan.shared valgrind.device_use)
  if(TEST ${test})
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT SYNCEDMEM_POOL_BUDGET=0)
  endif()
endforeach()

# Programs that die on purpose.
compile_suite(device_fatal.O2 O2 bvlc_master device_fatal_test.cpp)
link_suite(device_fatal.O2.shared device_fatal.O2 syncedmem::syncedmem ${CMAKE_DL_LIBS})
run_simulated(device_fatal.O2.shared device device_fatal.O2.shared)

# The suites of the host half, with a driver at hand.
foreach(generation IN LISTS generations)
  run_simulated(memory.${generation}.with.driver suite memory.${generation}.O2.shared)
endforeach()
run_simulated(abis.with.driver suite abis.O2.shared)

# Processes that end and that fork.
add_executable(exits processes/exits.cpp)
add_executable(forks processes/forks.cpp)
add_library(plugin MODULE processes/plugin.cpp)
add_library(plugin_static MODULE processes/plugin.cpp)
target_link_libraries(plugin_static PRIVATE syncedmem::static Threads::Threads)
add_executable(opens_plugin processes/opens_plugin.cpp)
foreach(program exits forks plugin)
  target_link_libraries(${program} PRIVATE syncedmem::syncedmem Threads::Threads ${CMAKE_DL_LIBS})
endforeach()
target_link_libraries(opens_plugin PRIVATE ${CMAKE_DL_LIBS})
add_executable(processes processes_test.cpp)
target_link_libraries(processes PRIVATE GTest::gtest_main Threads::Threads)
target_compile_definitions(processes PRIVATE EXITS="$<TARGET_FILE:exits>" FORKS="$<TARGET_FILE:forks>"
  OPENS_PLUGIN="$<TARGET_FILE:opens_plugin>" PLUGIN="$<TARGET_FILE:plugin>"
  PLUGIN_STATIC="$<TARGET_FILE:plugin_static>"
  SYNCEDMEM_LIBRARY="$<TARGET_FILE:syncedmem::syncedmem>")
add_dependencies(processes exits forks opens_plugin plugin plugin_static)
find_program(SYNCEDMEM_TESTS_PYTHON python3 DOC "The Python whose end is tested; without one it is not")
if(SYNCEDMEM_TESTS_PYTHON)
  target_compile_definitions(processes PRIVATE PYTHON="${SYNCEDMEM_TESTS_PYTHON}"
    FINALISES="${CMAKE_CURRENT_SOURCE_DIR}/processes/finalises.py")
endif()
run_simulated(processes.simulated processes processes)
run_test(processes.no_driver processes processes)
