// Catch2 2 returns the number of failures, which would be ctest's "skipped" when it is 4: any failure is 1.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
int main(int argc, char* argv[]) { return Catch::Session().run(argc, argv); }
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
int main(int argc, char* argv[]) { return Catch::Session().run(argc, argv) == 0 ? 0 : 1; }
#endif
