# Programs and libraries that catch exceptions, with each C++ runtime, linked in each way.

if(SYNCEDMEM_TESTS_LIBCXX)
  find_path(LIBCXX_INCLUDE __config PATH_SUFFIXES c++/v1)
  find_library(LIBCXX c++)
  find_library(LIBCXXABI c++abi)
  if(NOT LIBCXX_INCLUDE OR NOT LIBCXX OR NOT LIBCXXABI)
    message(FATAL_ERROR "libc++ was not found: install it (Debian packages libc++-dev and libc++abi-dev), or configure \
with -DSYNCEDMEM_TESTS_LIBCXX=OFF")
  endif()
  # libc++'s headers replace the compiler's.
  add_library(libcxx INTERFACE)
  target_compile_options(libcxx INTERFACE -nostdinc++ -isystem "${LIBCXX_INCLUDE}")
  target_link_libraries(libcxx INTERFACE -nodefaultlibs "${LIBCXX}" "${LIBCXXABI}" m c gcc_s gcc c)
  # The runtime is linked in whole, with LLVM's unwinder; the library uses GCC's.
  get_filename_component(libcxx_dir "${LIBCXX}" REALPATH)
  get_filename_component(libcxx_dir "${libcxx_dir}" DIRECTORY)
  add_library(libcxx_static INTERFACE)
  target_compile_options(libcxx_static INTERFACE -nostdinc++ -isystem "${LIBCXX_INCLUDE}")
  target_link_libraries(libcxx_static INTERFACE -nodefaultlibs -Wl,--exclude-libs,ALL "${libcxx_dir}/libc++.a"
    "${libcxx_dir}/libc++abi.a" "${libcxx_dir}/libunwind.a" m c gcc c)
endif()

add_executable(runtimes runtimes_test.cpp)
target_link_libraries(runtimes PRIVATE GTest::gtest_main Threads::Threads)
target_compile_definitions(runtimes PRIVATE SYNCEDMEM_LIBRARY="$<TARGET_FILE:syncedmem::syncedmem>")

# add_catches(NAME LIBRARY [linked library or option…])
function(add_catches name library)
  add_executable(catches.${name} runtimes/catches.cpp)
  # The library comes first, so that its dependencies do not decide which runtime is linked.
  target_link_libraries(catches.${name} PRIVATE ${library} Threads::Threads ${CMAKE_DL_LIBS} ${ARGN})
  tell(runtimes catches.${name})
endfunction()

# add_plugin(NAME [linked library or option…])
function(add_plugin name)
  add_library(plugin.${name} MODULE runtimes/catches.cpp)
  target_compile_definitions(plugin.${name} PRIVATE PLUGIN)
  target_link_libraries(plugin.${name} PRIVATE syncedmem::syncedmem ${ARGN})
  tell(runtimes plugin.${name})
endfunction()

# add_wraps(NAME [linked library or option…])
function(add_wraps name)
  add_library(wraps.${name} SHARED runtimes/wraps.cpp)
  # Keep libraries that wraps.cpp does not refer to.
  target_link_options(wraps.${name} PRIVATE -Wl,--no-as-needed)
  target_link_libraries(wraps.${name} PRIVATE syncedmem::syncedmem ${ARGN})
  tell(runtimes wraps.${name})
endfunction()

add_catches(shared syncedmem::syncedmem)
add_catches(linked_in syncedmem::static)
set(at_a_fixed_address -no-pie -Wl,-z,lazy)
add_catches(fixed syncedmem::syncedmem ${at_a_fixed_address})
target_compile_options(catches.fixed PRIVATE -fno-pie)
add_catches(hidden syncedmem::syncedmem -static-libstdc++)
add_catches(exported syncedmem::syncedmem -static-libstdc++ -rdynamic)
add_plugin(shared)
add_plugin(hidden -static-libstdc++ -Wl,--exclude-libs,ALL)
add_wraps(shared)
add_wraps(indirect -nodefaultlibs wraps.shared c)
add_wraps(nothing -nodefaultlibs c)
# The program has a hidden runtime; a library that it needs has another.
add_catches(hidden_beside_shared syncedmem::syncedmem -static-libstdc++ -Wl,--exclude-libs,ALL
  -Wl,--no-as-needed wraps.shared)
if(SYNCEDMEM_TESTS_LIBCXX)
  add_catches(libcxx syncedmem::syncedmem libcxx)
  add_catches(libcxx_linked_in syncedmem::static libcxx)
  add_catches(libcxx_fixed syncedmem::syncedmem libcxx ${at_a_fixed_address})
  target_compile_options(catches.libcxx_fixed PRIVATE -fno-pie)
  add_catches(libcxx_hidden syncedmem::syncedmem libcxx_static)
  add_plugin(libcxx libcxx)
  add_wraps(libcxx libcxx)
endif()
add_executable(opens runtimes/opens.c)
target_link_libraries(opens PRIVATE ${CMAKE_DL_LIBS})
tell(runtimes opens)

run_test(runtimes replacement runtimes)
