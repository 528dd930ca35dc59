// How far a mistyped name is from one that exists. Host only.
#pragma once
#include <cstddef>
#include <string>

namespace coda {

// Letters to insert, drop or replace on the way from one word to the other.
size_t edit_distance(const std::string& from, const std::string& to);

}  // namespace coda
