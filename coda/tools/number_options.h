// Options that are numbers: decimal ones, where CLI11 takes others too.
#pragma once
#include <CLI/CLI.hpp>

namespace coda::tools {

// Of a command, those that their type's name says to be numbers: INT, UINT, FLOAT, and N from 0 on.
void check_numbers(CLI::App& command);

}  // namespace coda::tools
