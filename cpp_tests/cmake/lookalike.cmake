# A stand-in for libcaffe in three bindings, with its own syncedmem.cpp and with the library in that file's place.

# add_driver(NAME [linked library or option…])
function(add_driver name)
  add_executable(${name} lookalike/driver.cpp)
  target_include_directories(${name} PRIVATE lookalike)
  target_link_libraries(${name} PRIVATE ${ARGN})
endfunction()

# add_lookalike(NAME KIND SOURCE…)
function(add_lookalike name kind)
  add_library(${name} ${kind} ${ARGN})
  target_include_directories(${name} PRIVATE lookalike)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

set(with_its_own lookalike/blob.cpp lookalike/syncedmem.cpp)
add_lookalike(caffe_plain SHARED ${with_its_own})
add_lookalike(caffe_symbolic SHARED ${with_its_own})
target_link_options(caffe_symbolic PRIVATE -Wl,-Bsymbolic-functions)
add_lookalike(caffe_static STATIC ${with_its_own})
add_driver(driver.plain caffe_plain)
add_driver(driver.symbolic caffe_symbolic)
add_driver(driver.static caffe_static)

# Without that file, linked against the library.
add_lookalike(caffe_against_shared SHARED lookalike/blob.cpp)
target_link_libraries(caffe_against_shared PUBLIC syncedmem::syncedmem)
add_lookalike(caffe_symbolic_against_shared SHARED lookalike/blob.cpp)
target_link_libraries(caffe_symbolic_against_shared PUBLIC syncedmem::syncedmem)
target_link_options(caffe_symbolic_against_shared PRIVATE -Wl,-Bsymbolic-functions)
add_lookalike(caffe_against_static STATIC lookalike/blob.cpp)
target_link_libraries(caffe_against_static PUBLIC syncedmem::static)
add_driver(driver.against_shared caffe_against_shared)
add_driver(driver.symbolic_against_shared caffe_symbolic_against_shared)
add_driver(driver.against_static caffe_against_static Threads::Threads)

add_executable(replacement replacement_test.cpp)
target_link_libraries(replacement PRIVATE GTest::gtest_main Threads::Threads)
target_compile_definitions(replacement PRIVATE SYNCEDMEM_LIBRARY="$<TARGET_FILE:syncedmem::syncedmem>")
tell(replacement driver.plain driver.symbolic driver.static driver.against_shared driver.symbolic_against_shared
  driver.against_static)
run_test(replacement replacement replacement)

# Blocks that one side allocates and the other frees: valgrind finds each wrong free.
if(SYNCEDMEM_TESTS_VALGRIND)
  foreach(driver symbolic against_shared)
    run_under_valgrind(driver.${driver} driver.${driver} across)
    set_property(TEST valgrind.driver.${driver} APPEND PROPERTY ENVIRONMENT
      "LD_PRELOAD=$<TARGET_FILE:syncedmem::syncedmem>" "SYNCEDMEM_HOST_BLOCKS=malloc")
  endforeach()
endif()
