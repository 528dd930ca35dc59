// Names that the C++ of a program cannot have for a port or a value. Host only.
#pragma once
#include <string_view>

namespace coda::trace {

// A keyword, an operator's other name, or a macro that the standard headers of a program define.
bool is_word_of_cpp(std::string_view name);

// A word of C++, or what the C++ of a program uses itself.
bool is_taken(std::string_view name);

// Throw coda::Error for such a name; and for one that C++ keeps to itself (__LINE__, _LP64), or
// such as macros have (INT_MAX, CODA_HD).
void refuse_taken(std::string_view name);
void refuse_reserved(std::string_view name);

// Throws coda::Error for a port whose gradient's name, "d" and its own, is taken: "o".
void refuse_taken_gradient(std::string_view name);

}  // namespace coda::trace
