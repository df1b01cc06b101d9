# Read as cpp_tests' project begins, when tests/gpu/build.sh builds its suites for any machine: the library is there.
find_package(syncedmem REQUIRED CONFIG)
