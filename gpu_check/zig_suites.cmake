# Read as cpp_tests' project begins, when gpu_check/build.sh builds its suites for any machine: the library is there.
find_package(syncedmem REQUIRED CONFIG)
