#include "coda/author/scratch_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "coda/core/error.h"

namespace coda::author {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "coda-author-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(fmt::format("{}: cannot make a folder for compiled programs",
                            fs::temp_directory_path().string()));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace coda::author
