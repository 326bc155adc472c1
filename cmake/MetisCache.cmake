# Compiles through ccache where it is installed, unless CMAKE_CXX_COMPILER_LAUNCHER names something else (empty: nothing).
# Checkouts share what they compile: paths are relative to the checkout, and the build's own directory does not count.
# The dependencies that the compiler writes tell what a source includes, so that a first build takes no longer for it.
find_program(METIS_CCACHE ccache DOC "Keeps what was compiled, for all checkouts")
mark_as_advanced(METIS_CCACHE)
if(METIS_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
      CCACHE_DEPEND=1
      CCACHE_NOHASHDIR=1
      # A checkout is as new as its files, and a precompiled header is made of files that did not change.
      CCACHE_SLOPPINESS=include_file_ctime,include_file_mtime,pch_defines,time_macros
      "${METIS_CCACHE}")
endif()
# An object of another checkout, and this one's, name a source by its path from the root.
add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
# Without this ccache passes over sources with a precompiled header, unless it goes by dependencies alone.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
