# Caffe's Blob: syncedmem/blob.hpp.

add_device_suite(blob bvlc_master blob/rules_test.cpp blob/device_test.cpp)
run_test(blob.no_driver device blob.O2.shared "--gtest_filter=-BlobOnTheDevice.*")

# add_protobuf_program(NAME SOURCE FOLDER PROTO): a program with protoc's classes of FOLDER/PROTO.proto, which are compiled without this
# project's warnings.
function(add_protobuf_program name source folder proto)
  find_package(Protobuf REQUIRED)
  add_custom_command(OUTPUT ${proto}.pb.cc ${proto}.pb.h
    COMMAND protobuf::protoc --cpp_out=${CMAKE_CURRENT_BINARY_DIR} ${proto}.proto
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${folder} DEPENDS ${folder}/${proto}.proto)
  set_source_files_properties(${proto}.pb.cc PROPERTIES COMPILE_OPTIONS -w)
  add_executable(${name} ${source} ${proto}.pb.cc)
  target_include_directories(${name} SYSTEM PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE syncedmem::syncedmem protobuf::libprotobuf GTest::gtest_main Threads::Threads)
  run_test(${name} suite ${name})
  run_under_valgrind(${name} ${name})
endfunction()

if(SYNCEDMEM_TESTS_PROTOBUF)
  add_protobuf_program(blob.protobuf blob/messages_test.cpp blob messages)
endif()

# The header alone, and in code written for Caffe.
add_header_program(blob.cxx11 -std=c++11 header/blob_alone.cpp)
add_header_program(blob.cxx20 -std=c++20 header/blob_alone.cpp)
add_header_program(blob.compat -std=c++11 header/blob_compat.cpp)
