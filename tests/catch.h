// Catch2 under one name: version 2 (Debian 12) and version 3 differ in their header.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Matchers::Contains;
#else
#include <catch2/catch.hpp>
#endif
