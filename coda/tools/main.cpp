#include "coda/tools/command_line.h"

int main(int argc, char** argv) { return coda::tools::run_command_line(argc, argv); }
