# The GoogleTest suites. A suite is compiled for each generation of Caffe's class, because all generations have the same name: as users build
# it, and with AddressSanitizer.

set(generations bvlc_master bvlc_rc3 bvlc_rc2 bvlc_v0_9 nvidia_0_12 nvidia_0_15 faster_rcnn caffe_on_spark yjxiong)
# AddressSanitizer and valgrind check these generations: the newest, and one with an inline constructor.
set(watched bvlc_master bvlc_rc2)
set(builds O2)
set(options_O2 -O2)
if(SYNCEDMEM_TESTS_ASAN)
  list(APPEND builds asan)
  # Without optimization every access of the source is checked, and no constructor is inlined.
  set(options_asan -O0 -g1 -fsanitize=address)
endif()

# GoogleTest's header takes half of a suite's compilation: precompile it once for each build.
file(GENERATE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/gtest_header.cpp" CONTENT "// Only the header is wanted.\n")
foreach(build IN LISTS builds)
  add_library(gtest_header.${build} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/gtest_header.cpp")
  target_compile_options(gtest_header.${build} PRIVATE ${options_${build}})
  target_link_libraries(gtest_header.${build} PRIVATE GTest::gtest)
  target_precompile_headers(gtest_header.${build} PRIVATE <gtest/gtest.h>)
endforeach()

# compile_suite(NAME BUILD GENERATION SOURCE…): objects that are compiled once and linked several times.
function(compile_suite name build generation)
  add_library(${name} OBJECT ${ARGN})
  target_compile_definitions(${name} PRIVATE GENERATION="generations/${generation}.hpp")
  target_compile_options(${name} PRIVATE ${options_${build}})
  target_link_libraries(${name} PRIVATE syncedmem::syncedmem GTest::gtest)
  target_precompile_headers(${name} REUSE_FROM gtest_header.${build})
endfunction()

# link_suite(NAME OBJECTS LIBRARY [linker option…])
function(link_suite name objects library)
  add_executable(${name} $<TARGET_OBJECTS:${objects}>)
  target_link_libraries(${name} PRIVATE ${library} GTest::gtest_main Threads::Threads ${ARGN})
endfunction()

# add_suite(NAME GENERATION SOURCE…): tests of each build, linked with the shared library, and for the newest generation with the static one.
function(add_suite name generation)
  compile_suite(${name}.O2 O2 ${generation} ${ARGN})
  link_suite(${name}.O2.shared ${name}.O2 syncedmem::syncedmem)
  run_test(${name}.O2.shared suite ${name}.O2.shared)
  if(generation STREQUAL bvlc_master)
    link_suite(${name}.O2.static ${name}.O2 syncedmem::static)
    run_test(${name}.O2.static suite ${name}.O2.static)
  endif()
  if(asan IN_LIST builds AND generation IN_LIST watched)
    compile_suite(${name}.asan asan ${generation} ${ARGN})
    link_suite(${name}.asan.shared ${name}.asan syncedmem::syncedmem -fsanitize=address)
    run_test(${name}.asan.shared asan ${name}.asan.shared)
    set_tests_properties(${name}.asan.shared PROPERTIES ENVIRONMENT
      "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/support/leaks.lsan")
  endif()
endfunction()

foreach(generation IN LISTS generations)
  add_suite(memory.${generation} ${generation} layout_test.cpp)
  if(generation IN_LIST watched)
    run_under_valgrind(memory.${generation} memory.${generation}.O2.shared)
  endif()
endforeach()

add_suite(abis bvlc_master two_abis_test.cpp wrapper_test.cpp)
run_under_valgrind(abis abis.O2.shared)

# Programs that abort on purpose, without valgrind.
add_suite(fatal bvlc_master fatal_test.cpp)
add_suite(fatal.nvidia_0_15 nvidia_0_15 fatal_test.cpp)

add_suite(throwing bvlc_master throwing_test.cpp)
run_under_valgrind(throwing throwing.O2.shared)
get_property(tests DIRECTORY PROPERTY TESTS)
foreach(test IN LISTS tests)
  if(test MATCHES "^(valgrind\\.)?throwing")
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "SYNCEDMEM_ON_ERROR=throw")
  endif()
endforeach()

# The host tests with other settings of host blocks.
foreach(choice SYNCEDMEM_HOST_BLOCKS=malloc)
  string(REGEX REPLACE "SYNCEDMEM_|=.*" "" name ${choice})
  run_test(memory.with.${name} suite memory.bvlc_master.O2.shared)
  run_test(abis.with.${name} suite abis.O2.shared)
  set_tests_properties(memory.with.${name} abis.with.${name} PROPERTIES ENVIRONMENT "${choice}")
endforeach()
