# Every third-party library, in one place. All are Debian 12 packages: see tools/setup.sh.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)        # headers only: Boost.Graph
find_package(TBB REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)   # products of the host backend, fits
find_package(yaml-cpp REQUIRED)
if(SHARDPLAN_TESTS)
  find_package(Catch2 REQUIRED)
endif()

# Optional: reported, and not needed to plan.
find_package(CUDAToolkit QUIET)
find_path(SHARDPLAN_NCCL_INCLUDE nccl.h PATHS ${CUDAToolkit_INCLUDE_DIRS})
find_library(SHARDPLAN_NCCL_LIBRARY nccl PATHS ${CUDAToolkit_LIBRARY_DIR})
# The CUDA backend needs all of them, and g++ beside nvcc; sanitizers and clang builds go without.
set(SHARDPLAN_CUDA OFF)
if(CUDAToolkit_FOUND AND SHARDPLAN_NCCL_INCLUDE AND SHARDPLAN_NCCL_LIBRARY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT SHARDPLAN_SANITIZE)
  set(SHARDPLAN_CUDA ON)
endif()
find_package(MPI QUIET COMPONENTS CXX)

function(shardplan_report what found detail)
  if(found)
    message(STATUS "shardplan: ${what} found ${detail}")
  else()
    message(STATUS "shardplan: ${what} not found; planning does not need it")
  endif()
endfunction()
shardplan_report("CUDA toolkit" "${CUDAToolkit_FOUND}" "${CUDAToolkit_VERSION}")
shardplan_report("NCCL" "${SHARDPLAN_NCCL_INCLUDE}" "${SHARDPLAN_NCCL_INCLUDE}")
shardplan_report("MPI" "${MPI_CXX_FOUND}" "${MPI_CXX_VERSION}")
