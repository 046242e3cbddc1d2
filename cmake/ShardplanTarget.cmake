# What every target of this project is compiled with, and how a layer is declared.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(SHARDPLAN_CCACHE ccache)
if(SHARDPLAN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SHARDPLAN_CCACHE})
endif()

# Sanitizer builds are for finding faults, not for timing: light optimisation and line numbers
# only keep them half the size and quick to link; the library checks its own bounds too.
if(SHARDPLAN_SANITIZE OR SHARDPLAN_FUZZERS)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -D_GLIBCXX_ASSERTIONS")
endif()

add_library(shardplan_options INTERFACE)
target_include_directories(shardplan_options INTERFACE ${PROJECT_SOURCE_DIR})
# Results are the same bits on every machine: no fused multiply-add behind our back.
target_compile_options(shardplan_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers -ffp-contract=off)
# g++ 12 sees overlapping copies in std::string operations of optimised code (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(shardplan_options INTERFACE -Wno-restrict)
endif()
if(SHARDPLAN_WERROR)
  target_compile_options(shardplan_options INTERFACE -Werror)
endif()
if(SHARDPLAN_SANITIZE)  # undefined behaviour ends the program, so that a test cannot pass over it
  target_compile_options(shardplan_options INTERFACE
    -fsanitize=${SHARDPLAN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(shardplan_options INTERFACE -fsanitize=${SHARDPLAN_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # g++ guesses wrong about code that a sanitizer rewrote
    target_compile_options(shardplan_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

include(ShardplanHeaderCheck)
include(ShardplanFuzzer)

# shardplan_layer(name SOURCES a.cc ... DEPENDS lower-layer ... LIBRARIES private third-party ...)
function(shardplan_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC shardplan_options ${ARG_DEPENDS} PRIVATE ${ARG_LIBRARIES})
  shardplan_header_check(${name})
endfunction()
