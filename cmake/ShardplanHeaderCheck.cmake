# Every header must compile alone. `cmake --build <dir> --target header_check` compiles, for each
# header of a layer, one file that includes nothing else (twice: the guard counts too). Not part
# of the ordinary build: tools/test.sh runs it as a stage of its own.
add_custom_target(header_check)

# shardplan_header_check(layer): one object library, <layer>_header_check, over the headers of
# the current folder, less those of a folder below that is a target itself. What needs CUDA or MPI is left to the builds that have them.
function(shardplan_header_check layer)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  list(FILTER headers EXCLUDE REGEX "/(cuda|mpi)/")
  list(FILTER headers EXCLUDE REGEX "_mpi\\.h$|/mpi_[^/]*\\.h$")
  set(sources "")
  foreach(header IN LISTS headers)
    cmake_path(GET header PARENT_PATH folder)
    set(folder ${PROJECT_SOURCE_DIR}/${folder})
    if(EXISTS ${folder}/CMakeLists.txt AND NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
      continue()
    endif()
    string(REGEX REPLACE "[^A-Za-z0-9]" "_" stem ${header})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/header_check/${stem}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
    list(APPEND sources ${source})
  endforeach()
  if(sources)
    add_library(${layer}_header_check OBJECT EXCLUDE_FROM_ALL ${sources})
    target_link_libraries(${layer}_header_check PRIVATE ${layer})
    target_compile_options(${layer}_header_check PRIVATE -O0)
    add_dependencies(header_check ${layer}_header_check)
  endif()
endfunction()
