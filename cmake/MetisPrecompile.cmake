# Precompiled headers, one for each family of sources, compiled once and shared by its targets:
#
#   standard       the standard library: every target that asks for nothing else
#   json           and JSON: programs, and what writes and reads records
#   network        and gRPC, protobuf and the messages of proto/
#   tests          and GoogleTest: every test that asks for nothing else
#   network_tests  and GoogleTest, gRPC, protobuf and the messages of proto/
#
# A directory chooses for its libraries and programs, and for its tests:
#
#   set(METIS_PRECOMPILED json)
#   set(METIS_PRECOMPILED_TESTS network_tests)
#
# Only others' headers are in them: a change of ours compiles what includes it and nothing else. Every source still
# includes what it uses, and builds with -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON (scripts/nightly.sh does). A source with
# instruction-set flags of its own cannot share them: SKIP_PRECOMPILE_HEADERS. CLI11 is not among them: its global objects
# are compiled into every source that sees it, used or not, for 4 s each.
find_package(nlohmann_json REQUIRED)

set(METIS_PRECOMPILED standard)
set(METIS_PRECOMPILED_TESTS tests)

# The family compiles nothing but its header: its only source is empty. QUICK: the preset dev takes -O1 for these
# sources, which are compiled more often than they are run.
function(metis_precompiled_family name)
  cmake_parse_arguments(ARG "QUICK" "" "HEADERS;DEPENDS" ${ARGN})
  set(source "${PROJECT_BINARY_DIR}/precompiled/${name}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Empty: the target is its precompiled header.\n")
  add_library(metis_precompiled_${name} OBJECT "${source}")
  target_link_libraries(metis_precompiled_${name} PRIVATE metis_options ${ARG_DEPENDS})
  if(ARG_QUICK)
    target_compile_options(metis_precompiled_${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endif()
  target_precompile_headers(
    metis_precompiled_${name}
    PRIVATE
    <algorithm>
    <array>
    <atomic>
    <charconv>
    <chrono>
    <cmath>
    <condition_variable>
    <cstdint>
    <cstring>
    <deque>
    <filesystem>
    <fstream>
    <functional>
    <iostream>
    <limits>
    <map>
    <memory>
    <mutex>
    <numeric>
    <optional>
    <set>
    <span>
    <sstream>
    <string>
    <string_view>
    <system_error>
    <thread>
    <utility>
    <variant>
    <vector>
    ${ARG_HEADERS})
endfunction()

# libstdc++ silences these warnings where GCC gives false ones; a precompiled header forgets it.
set(METIS_FALSE_WARNINGS -Wno-array-bounds -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread
                         -Wno-use-after-free)
# With its default GCC 12 collects garbage again and again, a precompiled header's pages among it: a tenth of the time.
set(METIS_HEAP --param=ggc-min-heapsize=524288)

# Options come along: a precompiled header is for sources with the same ones.
function(metis_precompile target family)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  get_target_property(options metis_precompiled_${family} COMPILE_OPTIONS)
  if(options)
    target_compile_options(${target} PRIVATE ${options})
  endif()
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:${METIS_FALSE_WARNINGS};${METIS_HEAP}>)
  target_precompile_headers(${target} REUSE_FROM metis_precompiled_${family})
endfunction()

set(METIS_NETWORK_HEADERS <google/protobuf/message.h> <grpcpp/grpcpp.h>
                          <proto/metis/v1/federation.grpc.pb.h>)
set(METIS_TEST_HEADERS <gmock/gmock.h> <gtest/gtest.h>)

metis_precompiled_family(standard)
metis_precompiled_family(json QUICK HEADERS <nlohmann/json.hpp> DEPENDS nlohmann_json::nlohmann_json)
metis_precompiled_family(network HEADERS ${METIS_NETWORK_HEADERS} DEPENDS metis_proto_grpc)
metis_precompiled_family(tests QUICK HEADERS ${METIS_TEST_HEADERS} DEPENDS GTest::gmock)
metis_precompiled_family(network_tests QUICK HEADERS ${METIS_TEST_HEADERS} ${METIS_NETWORK_HEADERS} DEPENDS GTest::gmock
                         metis_proto_grpc)
