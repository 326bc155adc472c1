# The vocabulary in which every target of the project is described:
#
#   metis_library(metis_core SOURCES archive.cc ... DEPENDS xxhash ...)
#   metis_program(metis-simulate SOURCES simulate.cc DEPENDS metis_sim ...)
#   metis_test(federation_test LABELS unit SOURCES community_test.cc ... DEPENDS metis_policy)
#
# Compile options are those of `metis_options`: C++20, warnings as errors, and no contraction of
# a*b+c into a fused multiply-add, so that every compiler and every CPU computes the same bits.

find_package(GTest REQUIRED)
find_package(Threads REQUIRED)

set(METIS_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined or thread")

add_library(metis_options INTERFACE)
target_compile_features(metis_options INTERFACE cxx_std_20)
target_compile_options(
  metis_options
  INTERFACE -Wall
            -Wextra
            -Wconversion
            -Werror
            -ffp-contract=off
            -fno-math-errno)
# GCC 12 sees overlapping copies within the standard library's <string> where there are none (its bug 105329).
target_compile_options(metis_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# For every source, because gRPC's users have it: sources with other flags cannot share a precompiled header.
target_compile_options(metis_options INTERFACE -pthread)
target_include_directories(metis_options INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
target_link_libraries(metis_options INTERFACE Threads::Threads)
if(METIS_SANITIZE)
  target_compile_options(metis_options INTERFACE -fsanitize=${METIS_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(metis_options INTERFACE -fsanitize=${METIS_SANITIZE})
  # With sanitizers GCC 12 sees uninitialised values and impossible sizes inside the standard library's
  # <regex>, <functional> and <string>.
  target_compile_options(
    metis_options
    INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-stringop-overflow;-Wno-array-bounds>)
endif()

option(METIS_JOIN_SOURCES "Compile several sources of a target as one" ON)

# Sets `joined` to the sources of a target, up to eight of them included by one that is made here: what they include is
# read once, and what they instantiate is compiled once: more than a third less time from nothing. So names in anonymous
# namespaces are unique within a directory. With -DMETIS_JOIN_SOURCES=OFF every source is compiled by itself, which
# shows that it includes what it uses (scripts/nightly.sh does so with clang) and is quicker where one source is changed
# again and again. Not CMake's UNITY_BUILD, which names files by their absolute path: no other checkout could use the
# result.
#
# By itself remains what has flags of its own (SKIP_PRECOMPILE_HEADERS) or asks for it (SKIP_UNITY_BUILD_INCLUSION), and
# what tests/simulation compiles once more to plant bugs in it: it replaces single objects of a library.
function(metis_join joined target)
  set(batch)
  set(batches 0)
  set(sources)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE from_root)
    get_source_file_property(flags ${source} SKIP_PRECOMPILE_HEADERS)
    get_source_file_property(skip ${source} SKIP_UNITY_BUILD_INCLUSION)
    file(STRINGS "${path}" planted REGEX "Planted\\(" LIMIT_COUNT 1)
    if(flags OR skip OR planted OR NOT METIS_JOIN_SOURCES)
      list(APPEND sources ${source})
      continue()
    endif()
    set(source_of_batch ${source})
    list(APPEND batch "#include \"${from_root}\"\n")
    list(LENGTH batch length)
    if(length EQUAL 8)
      metis_write_batch(sources ${target} ${batches} "${batch}")
      math(EXPR batches "${batches} + 1")
      set(batch)
    endif()
  endforeach()
  list(LENGTH batch length)
  if(length EQUAL 1)
    list(APPEND sources ${source_of_batch})
  elseif(batch)
    metis_write_batch(sources ${target} ${batches} "${batch}")
  endif()
  set(${joined} "${sources}" PARENT_SCOPE)
endfunction()

function(metis_write_batch list target number batch)
  list(JOIN batch "" text)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_joined_${number}.cc")
  file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
  set(${list} ${${list}} "${file}" PARENT_SCOPE)
endfunction()

function(metis_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(ARG_SOURCES)
    metis_join(sources ${name} ${ARG_SOURCES})
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC metis_options ${ARG_DEPENDS})
    metis_precompile(${name} ${METIS_PRECOMPILED})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE metis_options ${ARG_DEPENDS})
  endif()
endfunction()

add_custom_target(programs) # all of them, without tests and benchmarks

function(metis_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  metis_join(sources ${name} ${ARG_SOURCES})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE metis_options ${ARG_DEPENDS})
  metis_precompile(${name} ${METIS_PRECOMPILED})
  # All programs side by side, as installed: the front finds its siblings beside itself.
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  add_dependencies(programs ${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# What every compiler and every sanitizer can build and run: not what links libtorch, nor what judges the laws of the
# simulation (label teeth) and compiles the same code once more for it.
add_custom_target(portable_tests)

# One executable is one ctest entry; LABELS names its ring (unit, laws, simulation, e2e) and whether it links
# libtorch (torch), ARGUMENTS are what ctest passes to it.
function(metis_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS;ARGUMENTS" ${ARGN})
  if(NOT ARG_LABELS)
    message(FATAL_ERROR "metis_test(${name}): LABELS is missing (unit, laws, simulation, loopback, soak or e2e)")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 1800) # ends a hang; a sanitizer on a busy machine stays far below
  endif()
  metis_join(sources ${name} ${ARG_SOURCES})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE metis_options ${ARG_DEPENDS} GTest::gtest_main GTest::gmock)
  metis_precompile(${name} ${METIS_PRECOMPILED_TESTS})
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if(NOT torch IN_LIST ARG_LABELS AND NOT teeth IN_LIST ARG_LABELS)
    add_dependencies(portable_tests ${name})
  endif()
endfunction()
