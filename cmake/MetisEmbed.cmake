# Links a file into a program or library, as text that a function returns:
#
#   metis_embed(metis-report FILE "${PROJECT_BINARY_DIR}/web/report.html" TARGET web_report_page
#               HEADER apps/embedded_page.h FUNCTION metis::apps::ReportPage)
#
# HEADER declares `std::string_view ReportPage()` in namespace metis::apps. TARGET makes the file, if something does.
# The text is compiled anew whenever the file changes. It becomes a string literal with every byte escaped, which any
# compiler takes in a fraction of a second a megabyte.
function(metis_embed name)
  cmake_parse_arguments(ARG "" "FILE;TARGET;HEADER;FUNCTION" "" ${ARGN})
  string(REPLACE "::" "_" id "${ARG_FUNCTION}")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}_${id}.cc")
  set(script "${PROJECT_SOURCE_DIR}/cmake/embed_file.cmake")
  add_custom_command(
    OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" -D "FILE=${ARG_FILE}" -D "HEADER=${ARG_HEADER}" -D "FUNCTION=${ARG_FUNCTION}" -D
            "SOURCE=${source}" -P "${script}"
    DEPENDS "${ARG_FILE}" "${script}"
    COMMENT "Embedding ${ARG_FILE}"
    VERBATIM)
  target_sources(${name} PRIVATE "${source}")
  if(ARG_TARGET)
    add_dependencies(${name} ${ARG_TARGET})
  endif()
endfunction()
