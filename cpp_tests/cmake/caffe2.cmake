# Caffe2's storage: syncedmem/caffe2.hpp.

add_device_suite(caffe2 bvlc_master caffe2/type_test.cpp caffe2/logging_test.cpp caffe2/context_test.cpp caffe2/tensor_test.cpp
  caffe2/blob_test.cpp caffe2/workspace_test.cpp caffe2/device_test.cpp)
run_test(caffe2.no_driver suite caffe2.O2.shared "--gtest_filter=-*GPU*:CUDA*")

# The header alone, and as code written for Caffe2 includes it, in two translation units.
add_header_program(caffe2.cxx11 -std=c++11 header/caffe2_alone.cpp)
add_header_program(caffe2.cxx20 -std=c++20 header/caffe2_alone.cpp)
add_header_program(caffe2.units -std=c++11 header/caffe2_compat.cpp header/unit.cpp)

# With the classes of protoc, where Caffe2's programs have them.
if(SYNCEDMEM_TESTS_PROTOBUF)
  find_package(Protobuf REQUIRED)
  set(proto caffe2/proto/caffe2)
  add_custom_command(OUTPUT ${proto}.pb.cc ${proto}.pb.h
    COMMAND protobuf::protoc --cpp_out=${CMAKE_CURRENT_BINARY_DIR} ${proto}.proto
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/caffe2/messages DEPENDS caffe2/messages/${proto}.proto)
  set_source_files_properties(${proto}.pb.cc PROPERTIES COMPILE_OPTIONS -w)
  add_executable(caffe2.protobuf caffe2/protobuf_test.cpp ${proto}.pb.cc)
  target_include_directories(caffe2.protobuf SYSTEM PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(caffe2.protobuf PRIVATE syncedmem::syncedmem protobuf::libprotobuf GTest::gtest_main Threads::Threads)
  run_test(caffe2.protobuf suite caffe2.protobuf)
endif()
