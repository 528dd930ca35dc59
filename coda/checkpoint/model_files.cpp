#include "coda/checkpoint/model_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <utility>

#include "coda/checkpoint/json_text.h"
#include "coda/core/error.h"

namespace coda::checkpoint {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& folder, const std::string& reason) {
  throw Error(fmt::format("model folder '{}': {}", folder, reason));
}

// Tensor name -> file name.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const std::string where = fmt::format("'{}'", path.string());
  const nlohmann::json json = parse_json(read_text(path.string()), where);
  const JsonFields weight_map = JsonFields(json, where).object("weight_map");
  std::map<std::string, std::string> index;
  for (const auto& [name, unused] : json["weight_map"].items()) {
    const std::string file = weight_map.text(name);
    if (file.empty() || file.find_first_of(std::string("/\0", 2)) != std::string::npos) {
      weight_map.fail(name, "expected the name of a file beside the index");
    }
    index.emplace(name, file);
  }
  return index;
}

}  // namespace

bool ModelFiles::are_in(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / kSingle, ignored) ||
         fs::exists(fs::path(folder) / kIndex, ignored);
}

ModelFiles ModelFiles::open(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    fail(folder, error ? error.message() : "it is not a folder");
  }
  ModelFiles files(folder);
  if (!are_in(folder)) {
    fail(folder, fmt::format("it has neither {} nor {}; other formats are converted by "
                             "`save_pretrained` of transformers",
                             kSingle, kIndex));
  }
  const fs::path single = fs::path(folder) / kSingle;
  if (fs::exists(single, error)) {
    files.add(SafetensorsFile(single.string()));
    return files;
  }
  const std::map<std::string, std::string> index = read_index(fs::path(folder) / kIndex);
  std::set<std::string> shards;
  for (const auto& [name, file] : index) shards.insert(file);
  for (const std::string& file : shards) {
    const fs::path shard = fs::path(folder) / file;
    if (!fs::exists(shard, error)) {
      fail(folder,
           fmt::format("the shard '{}' that model.safetensors.index.json lists is missing", file));
    }
    files.add(SafetensorsFile(shard.string()));
  }
  for (const auto& [name, file] : index) {
    const auto found = files.places_.find(name);
    const std::string expected = (fs::path(folder) / file).string();
    if (found == files.places_.end() || files.shards_[found->second.shard].path() != expected) {
      fail(folder, fmt::format("model.safetensors.index.json has tensor '{}' in '{}', which does "
                               "not hold it",
                               name, file));
    }
  }
  return files;
}

void ModelFiles::add(SafetensorsFile file) {
  for (NamedShape& tensor : file.shapes()) {
    const auto [at, is_first] =
        places_.emplace(tensor.name, Place{shards_.size(), tensor.name, std::move(tensor.shape)});
    if (!is_first) {
      fail(folder_, fmt::format("tensor '{}' is in two shards, '{}' and '{}'", tensor.name,
                                shards_[at->second.shard].path(), file.path()));
    }
  }
  shards_.push_back(std::move(file));
}

void ModelFiles::complete_names(const std::string& prefix, const std::string& name) {
  if (contains(name) || !contains(name.substr(prefix.size()))) return;
  std::map<std::string, Place> completed;
  for (auto& [there, place] : places_) {
    completed.emplace(there == "lm_head.weight" ? there : prefix + there, std::move(place));
  }
  places_ = std::move(completed);
}

std::vector<NamedShape> ModelFiles::shapes() const {
  std::vector<NamedShape> shapes;
  for (const auto& [name, place] : places_) shapes.push_back({name, place.shape});
  return shapes;
}

TensorRecord ModelFiles::tensor(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) fail(folder_, fmt::format("it has no tensor '{}'", name));
  TensorRecord record = shards_[found->second.shard].tensor(found->second.name);
  record.name = name;
  return record;
}

void ModelFiles::check_against(std::span<const NamedShape> expected) const {
  check_shapes(fmt::format("model folder '{}'", folder_), shapes(), expected);
}

}  // namespace coda::checkpoint
