# cmake -D FILE=... -D HEADER=... -D FUNCTION=a::b::C -D SOURCE=out.cc -P embed_file.cmake: see MetisEmbed.cmake.
file(READ "${FILE}" hex HEX)
file(SIZE "${FILE}" size)
if(size EQUAL 0)
  message(FATAL_ERROR "${FILE} is empty: nothing to embed")
endif()
# 64 bytes a line; a literal of each line, which the compiler joins.
string(REPEAT "[0-9a-f][0-9a-f]" 64 line)
string(REGEX REPLACE "(${line})" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${hex}")
string(REGEX REPLACE "([^\n]+)" "    \"\\1\"" text "${text}")
file(WRITE "${SOURCE}" "// Made from ${FILE}.
#include \"${HEADER}\"

namespace {
constexpr char kText[] =
${text};
}  // namespace

std::string_view ${FUNCTION}() { return {kText, sizeof kText - 1}; }
")
