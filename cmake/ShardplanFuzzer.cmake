# libFuzzer targets: built by `cmake --build --preset fuzz --target fuzzers`, which needs clang.
# Without SHARDPLAN_FUZZERS declaring one does nothing, so a fuzzer stands beside its layer's tests.
add_custom_target(fuzzers)
if(SHARDPLAN_FUZZERS)
  set(SHARDPLAN_FUZZ_OPTIONS -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
                             -fno-omit-frame-pointer)
  target_compile_options(shardplan_options INTERFACE ${SHARDPLAN_FUZZ_OPTIONS})
  target_link_options(shardplan_options INTERFACE -fsanitize=address,undefined)
endif()

# shardplan_fuzzer(name SOURCES a_fuzz.cc ... DEPENDS layer ...): a program <build>/fuzzers/<name>
# whose seeds, if any, are in tests/fuzz/corpus/<name>/.
function(shardplan_fuzzer name)
  if(NOT SHARDPLAN_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE shardplan_options ${ARG_DEPENDS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzzers)
  add_dependencies(fuzzers ${name})
endfunction()
