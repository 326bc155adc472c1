# Makes a library of generated code: messages and gRPC services of proto/.
#
#   metis_proto(metis_proto FILES proto/metis/v1/federation.proto ...)      messages
#   metis_proto(metis_proto_grpc FILES ... GRPC DEPENDS metis_proto)        services
#
# Generated code is not ours: it is compiled without our warnings and included as a system header.
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)

function(metis_proto name)
  cmake_parse_arguments(ARG "GRPC" "" "FILES;DEPENDS" ${ARGN})
  set(root "${PROJECT_BINARY_DIR}/generated")
  file(MAKE_DIRECTORY "${root}")
  if(ARG_GRPC)
    set(kind .grpc.pb)
    set(options "--grpc_out=${root}" "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>")
    set(libraries gRPC::grpc++)
  else()
    set(kind .pb)
    set(options "--cpp_out=${root}")
    set(libraries protobuf::libprotobuf)
  endif()
  set(generated)
  foreach(file IN LISTS ARG_FILES)
    get_filename_component(directory "${file}" DIRECTORY)
    get_filename_component(stem "${file}" NAME_WE)
    set(outputs "${root}/${directory}/${stem}${kind}.cc" "${root}/${directory}/${stem}${kind}.h")
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND protobuf::protoc "--proto_path=${PROJECT_SOURCE_DIR}" ${options} "${PROJECT_SOURCE_DIR}/${file}"
      DEPENDS "${PROJECT_SOURCE_DIR}/${file}"
      COMMENT "Generating ${name} from ${file}"
      VERBATIM)
    list(APPEND generated ${outputs})
  endforeach()
  add_library(${name} STATIC ${generated})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} SYSTEM PUBLIC "${root}")
  target_link_libraries(${name} PUBLIC ${libraries} ${ARG_DEPENDS})
endfunction()
