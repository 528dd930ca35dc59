#include "coda/checkpoint/model_files.h"

#include <fmt/format.h>

#include <algorithm>
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

ModelFiles ModelFiles::open(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    fail(folder, error ? error.message() : "it is not a folder");
  }
  ModelFiles files(folder);
  const fs::path single = fs::path(folder) / "model.safetensors";
  const fs::path list = fs::path(folder) / "model.safetensors.index.json";
  if (fs::exists(single, error)) {
    files.add(SafetensorsFile(single.string()));
    return files;
  }
  if (!fs::exists(list, error)) {
    fail(folder,
         "it has neither model.safetensors nor model.safetensors.index.json; other formats are "
         "converted by `save_pretrained` of transformers");
  }
  const std::map<std::string, std::string> index = read_index(list);
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
    const auto found = files.shard_of_.find(name);
    const std::string expected = (fs::path(folder) / file).string();
    if (found == files.shard_of_.end() || files.shards_[found->second].path() != expected) {
      fail(folder, fmt::format("model.safetensors.index.json has tensor '{}' in '{}', which does "
                               "not hold it",
                               name, file));
    }
  }
  return files;
}

void ModelFiles::add(SafetensorsFile file) {
  for (const NamedShape& tensor : file.shapes()) {
    const auto [at, is_first] = shard_of_.emplace(tensor.name, shards_.size());
    if (!is_first) {
      fail(folder_, fmt::format("tensor '{}' is in two shards, '{}' and '{}'", tensor.name,
                                shards_[at->second].path(), file.path()));
    }
  }
  shards_.push_back(std::move(file));
}

std::vector<NamedShape> ModelFiles::shapes() const {
  std::vector<NamedShape> shapes;
  for (const SafetensorsFile& file : shards_) {
    for (NamedShape& tensor : file.shapes()) shapes.push_back(std::move(tensor));
  }
  std::ranges::sort(shapes, {}, &NamedShape::name);
  return shapes;
}

TensorRecord ModelFiles::tensor(const std::string& name) const {
  const auto found = shard_of_.find(name);
  if (found == shard_of_.end()) fail(folder_, fmt::format("it has no tensor '{}'", name));
  return shards_[found->second].tensor(name);
}

void ModelFiles::check_against(std::span<const NamedShape> expected) const {
  check_shapes(fmt::format("model folder '{}'", folder_), shapes(), expected);
}

}  // namespace coda::checkpoint
