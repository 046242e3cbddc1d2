#!/usr/bin/env bash
# Installs what building and testing need and this machine lacks (Debian 12 packages).
#   tools/setup.sh            what the build and its tests cannot do without
#   tools/setup.sh --extras   and what makes optional tests run, and builds faster
#   tools/setup.sh --list     print both lists and install nothing
# CUDA, NCCL and cuDNN are never installed: CMake reports whether they are there.
set -euo pipefail

needed=(
  "g++ compiler"
  "cmake build"
  "ninja-build build"
  "git version"
  "python3 checks"
  "python3-jsonschema schemas"
  "libfmt-dev formatting"
  "nlohmann-json3-dev JSON"
  "libcli11-dev flags"
  "libboost-graph-dev topology"
  "libeigen3-dev fits"
  "libtbb-dev threads"
  "libyaml-cpp-dev YAML"
  "libjs-chart.js charts"
  "catch2 tests"
  "librapidcheck-dev properties"
  "libbenchmark-dev benchmarks"
)
extras=(
  "ccache rebuilds"
  "clang-16 fuzzing"
  "libclang-rt-16-dev fuzzing"
  "llvm-16 symbols"
  "libopenmpi-dev clusters"
  "openmpi-bin clusters"
  "chromium reports"
  "fonts-dejavu-core reports"
)

# The packages among the "name reason" arguments that are not installed.
missing_of() {
  local names=("${@%% *}") installed name
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${names[@]}" 2>/dev/null || true)
  for name in "${names[@]}"; do
    grep -qxF "$name installed" <<<"$installed" || echo "$name"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@" </dev/null >/dev/null
}

with_extras=false
case "${1:-}" in
  "") ;;
  --extras) with_extras=true ;;
  --list)
    for entry in "${needed[@]}" "${extras[@]}"; do printf '%-22s %s\n' "${entry%% *}" "${entry#* }"; done
    exit 0
    ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "set-up: no apt-get here; install the equivalents of:" "${needed[@]%% *}" >&2
  exit 3
fi
mapfile -t missing < <(missing_of "${needed[@]}")
mapfile -t wanted < <($with_extras && missing_of "${extras[@]}")
if [ $((${#missing[@]} + ${#wanted[@]})) = 0 ]; then
  echo "set-up: all packages are installed"
  exit 0
fi
if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
  echo "set-up: neither root nor sudo; as root run: apt-get install ${missing[*]} ${wanted[*]}" >&2
  if [ ${#missing[@]} = 0 ]; then exit 0; else exit 3; fi
fi

echo "set-up: installing ${missing[*]} ${wanted[*]}"
as_root apt-get update -qq -o Acquire::Retries=3 </dev/null || echo "set-up: the package lists could not be refreshed" >&2
if [ ${#missing[@]} != 0 ] && ! install "${missing[@]}"; then
  echo "set-up: apt-get could not install: ${missing[*]}" >&2
  exit 3
fi
if [ ${#wanted[@]} != 0 ] && ! install "${wanted[@]}"; then
  for package in "${wanted[@]}"; do
    install "$package" || echo "set-up: going on without $package" >&2
  done
fi
