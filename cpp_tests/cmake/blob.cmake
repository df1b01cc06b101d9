# Caffe's Blob: syncedmem/blob.hpp.

# compile_blob(BUILD)
function(compile_blob build)
  compile_suite(blob.${build} ${build} bvlc_master blob/math_test.cpp blob/rules_test.cpp blob/unlike_caffe_test.cpp
    blob/messages_test.cpp blob/device_test.cpp)
endfunction()
compile_blob(O2)
link_suite(blob.O2.shared blob.O2 syncedmem::syncedmem ${CMAKE_DL_LIBS})
run_simulated(blob.O2.shared device blob.O2.shared)
link_suite(blob.O2.static blob.O2 syncedmem::static ${CMAKE_DL_LIBS})
run_simulated(blob.O2.static device blob.O2.static)
run_simulated(blob.as_on_a_real_driver device blob.O2.shared)
set_property(TEST blob.as_on_a_real_driver APPEND PROPERTY ENVIRONMENT SYNCEDMEM_TESTS_AS_ON_A_REAL_DRIVER=1)
run_test(blob.no_driver device blob.O2.shared "--gtest_filter=-*GPU*:BlobOnTheDevice.*")
run_under_valgrind(blob blob.O2.shared "--gtest_filter=-BlobFailures.*")
# Without optimization.
if(SYNCEDMEM_TESTS_ASAN)
  compile_blob(asan)
  link_suite(blob.asan.shared blob.asan syncedmem::syncedmem -fsanitize=address ${CMAKE_DL_LIBS})
  run_simulated(blob.asan.shared asan blob.asan.shared)
endif()
if(SYNCEDMEM_TESTS_VALGRIND)
  on_the_simulated_driver(valgrind.blob)
endif()
# The tests on the device count blocks and calls of the driver.
foreach(test blob.O2.shared blob.O2.static blob.asan.shared valgrind.blob)
  if(TEST ${test})
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT SYNCEDMEM_POOL_BUDGET=0)
  endif()
endforeach()

# With the classes of protoc. Its own sources are compiled without the warnings of this project.
if(SYNCEDMEM_TESTS_PROTOBUF)
  find_package(Protobuf REQUIRED)
  protobuf_generate_cpp(message_sources message_headers blob/messages.proto)
  set_source_files_properties(${message_sources} PROPERTIES COMPILE_OPTIONS -w)
  add_executable(blob.protobuf blob/protobuf_test.cpp ${message_sources} ${message_headers})
  target_include_directories(blob.protobuf SYSTEM PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(blob.protobuf PRIVATE syncedmem::syncedmem protobuf::libprotobuf GTest::gtest_main Threads::Threads)
  run_test(blob.protobuf suite blob.protobuf)
endif()

# The header alone, in two translation units, and as code written for Caffe includes it.
add_header_program(blob.cxx11 -std=c++11 header/blob_alone.cpp)
add_header_program(blob.cxx20 -std=c++20 header/blob_alone.cpp)
add_header_program(blob.units "" header/blob_units.cpp header/blob_unit.cpp)
add_header_program(blob.compat -std=c++11 header/blob_compat.cpp)
