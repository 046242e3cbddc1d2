#!/usr/bin/env bash
# The second command: installs what is missing, builds, and runs every test, stage by stage.
#   tools/test.sh           everything: layers, release, schemas, headers, sanitizers, fuzzers
#   tools/test.sh --quick   the release build and its tests only
# The first stage that fails ends it. SHARDPLAN_FUZZ_SECONDS: time for each fuzzer (5);
# SHARDPLAN_FUZZ_SEED: where its draws start (1: each run tries the same inputs; 0: others each time).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

skipped_status=4
fuzz_seconds=${SHARDPLAN_FUZZ_SECONDS:-5}
fuzz_seed=${SHARDPLAN_FUZZ_SEED:-1}
jobs=$(nproc)
# Cached objects serve a clone in another folder too.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=true CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-3G}
# MPI's own libraries keep memory until the process ends; that is no leak of ours.
export LSAN_OPTIONS=suppressions=$root/cmake/lsan_suppressions.txt:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1
# Machines that build and test are often containers, where the user is root and cores are few.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

setup_all() { tools/setup.sh --extras; }
setup_needed() { tools/setup.sh; }

layer_check() {
  python3 -B tests/layers/check_layers_test.py
  python3 -B tests/layers/check_layers.py
}

# build PRESET [TARGET ...]
build() {
  cmake --preset "$1" >"build/$1.configure.log" 2>&1 || { cat "build/$1.configure.log"; return 1; }
  grep '^-- shardplan:' "build/$1.configure.log" || true
  cmake --build --preset "$1" "${@:2}"
}

# run_tests PRESET CTEST-ARGUMENT ...
run_tests() { ctest --preset "$1" --no-tests=error --parallel "$jobs" --timeout 600 "${@:2}" </dev/null; }

release_build() { build release; }
release_tests() { run_tests release --label-exclude '^(layers|schemas)$'; }
release_tests_all() { run_tests release; }
schema_checks() { run_tests release --label-regex '^schemas$'; }
header_check() { build release --target header_check; }
sanitizer_build() { build asan; }
# Not MPI's: its plug-ins leak past any suppression; the same ranks run here as threads.
sanitizer_tests() { run_tests asan --label-exclude '^(layers|accuracy|mpi)$'; }

fuzz_smoke() {
  if ! command -v clang++-16 >/dev/null; then
    echo "skipped: no clang++-16"
    return $skipped_status
  fi
  build fuzz --target fuzzers
  local fuzzer name scratch ran=0
  scratch=$(mktemp -d)
  # shellcheck disable=SC2064  # the name is local: it is put in now
  trap "rm -rf '$scratch'" EXIT
  for fuzzer in build/fuzz/fuzzers/*; do
    name=$(basename "$fuzzer")
    mkdir -p "$scratch/$name"
    echo "fuzzing $name for $fuzz_seconds s"
    run_fuzzer "$fuzzer" "$scratch/$name" "tests/fuzz/corpus/$name"
    ran=$((ran + 1))
  done
  echo "$ran fuzzers, no fault found"
}

# run_fuzzer PROGRAM NEW-INPUTS SEEDS: quiet unless it finds a fault; the input is kept in build/fuzz/.
run_fuzzer() {
  local inputs=("$2")
  if [ -d "$3" ]; then inputs+=("$3"); fi
  if ! "$1" -seed="$fuzz_seed" -max_total_time="$fuzz_seconds" -timeout=20 -rss_limit_mb=3000 -print_final_stats=0 \
      -artifact_prefix=build/fuzz/ "${inputs[@]}" >"$2.log" 2>&1; then
    tail -n 60 "$2.log"
    return 1
  fi
}

passed=() failed=() skipped=()

# The closing lines; the last one is the count of stages.
summary() {
  printf '\n%s\n' "Stages:"
  if [ ${#passed[@]} != 0 ]; then printf '  passed   %s\n' "${passed[@]}"; fi
  if [ ${#skipped[@]} != 0 ]; then printf '  skipped  %s\n' "${skipped[@]}"; fi
  if [ ${#failed[@]} != 0 ]; then printf '  FAILED   %s\n' "${failed[@]}"; fi
  local line="${#passed[@]} passed, ${#failed[@]} failed"
  if [ ${#skipped[@]} != 0 ]; then line+=", ${#skipped[@]} skipped"; fi
  echo "$line"
}

# stage TITLE FUNCTION
stage() {
  printf '\n=== %s\n' "$1"
  local start=$SECONDS status=0 entry
  set +e
  (set -e; "$2")
  status=$?
  set -e
  entry="$1 ($((SECONDS - start)) s)"
  echo "=== $entry"
  case $status in
    0) passed+=("$entry") ;;
    "$skipped_status") skipped+=("$entry") ;;
    *) failed+=("$entry"); summary; exit 1 ;;
  esac
}

mkdir -p build
case "${1:-}" in
  "")
    stage "set-up" setup_all
    stage "layer check" layer_check
    stage "release build" release_build
    stage "release tests" release_tests
    stage "schema checks" schema_checks
    stage "headers alone" header_check
    stage "sanitizer build" sanitizer_build
    stage "sanitizer tests" sanitizer_tests
    stage "fuzz smoke" fuzz_smoke
    ;;
  --quick)
    stage "set-up" setup_needed
    stage "release build" release_build
    stage "release tests" release_tests_all
    ;;
  *)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
summary
