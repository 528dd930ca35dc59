// A compiler's messages about an author's program: what stands in the author's files comes first,
// each mistake once, without the templates of coda's headers behind it.
#pragma once
#include <filesystem>
#include <span>
#include <string>

namespace coda::author {

// `output` is gcc's or clang's. A message in another file is shown at the author's line that led
// there. Where none of it leads to one of `files`, the output as it is.
std::string author_messages(const std::string& output,
                            std::span<const std::filesystem::path> files);

}  // namespace coda::author
