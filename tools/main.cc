#include "tools/cli/program.h"

int main(int argc, char** argv) { return shardplan::run_program(shardplan::Words(argv + 1, argv + argc)); }
