# Makes a library of generated code: messages and gRPC services of proto/.
#
#   metis_proto(metis_proto FILE proto/metis/v1/federation.proto)         messages
#   metis_proto(metis_proto_grpc FILE ... GRPC DEPENDS metis_proto)       services
#
# Generated code is not ours: it is compiled without our warnings and included as a system header.
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)

function(metis_proto name)
  cmake_parse_arguments(ARG "GRPC" "FILE" "DEPENDS" ${ARGN})
  get_filename_component(directory "${ARG_FILE}" DIRECTORY)
  get_filename_component(stem "${ARG_FILE}" NAME_WE)
  set(root "${PROJECT_BINARY_DIR}/generated")
  if(ARG_GRPC)
    set(outputs "${root}/${directory}/${stem}.grpc.pb.cc" "${root}/${directory}/${stem}.grpc.pb.h")
    set(options "--grpc_out=${root}" "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>")
    set(libraries gRPC::grpc++)
  else()
    set(outputs "${root}/${directory}/${stem}.pb.cc" "${root}/${directory}/${stem}.pb.h")
    set(options "--cpp_out=${root}")
    set(libraries protobuf::libprotobuf)
  endif()
  file(MAKE_DIRECTORY "${root}")
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND protobuf::protoc "--proto_path=${PROJECT_SOURCE_DIR}" ${options} "${PROJECT_SOURCE_DIR}/${ARG_FILE}"
    DEPENDS "${PROJECT_SOURCE_DIR}/${ARG_FILE}"
    COMMENT "Generating ${name} from ${ARG_FILE}"
    VERBATIM)
  add_library(${name} STATIC ${outputs})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} SYSTEM PUBLIC "${root}")
  target_link_libraries(${name} PUBLIC ${libraries} ${ARG_DEPENDS})
endfunction()
