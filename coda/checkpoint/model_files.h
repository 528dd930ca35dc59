// The weights in a model's folder: model.safetensors, or the shards that
// model.safetensors.index.json lists.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "coda/checkpoint/named_shape.h"
#include "coda/checkpoint/safetensors.h"

namespace coda::checkpoint {

class ModelFiles {
 public:
  static constexpr const char* kSingle = "model.safetensors";
  static constexpr const char* kIndex = "model.safetensors.index.json";

  // Whether open() would find one of them.
  static bool are_in(const std::string& folder);
  // Throws coda::Error with folder and reason: no weights, a missing or damaged shard, a tensor in
  // two shards, or one that the index promises and the shard lacks.
  static ModelFiles open(const std::string& folder);

  // Names as the model with its head has them: where `name` ("transformer.wte.weight") is there
  // without `prefix`, all but lm_head.weight get it.
  void complete_names(const std::string& prefix, const std::string& name);

  std::vector<NamedShape> shapes() const;  // of all tensors, by name
  bool contains(const std::string& name) const { return places_.contains(name); }
  TensorRecord tensor(const std::string& name) const;  // good as long as this object lives

  // check_shapes with what the files hold.
  void check_against(std::span<const NamedShape> expected) const;

 private:
  explicit ModelFiles(std::string folder) : folder_(std::move(folder)) {}
  void add(SafetensorsFile file);

  struct Place {
    size_t shard = 0;
    std::string name;  // there
    std::vector<int64_t> shape;
  };
  std::string folder_;
  std::vector<SafetensorsFile> shards_;
  std::map<std::string, Place> places_;
};

}  // namespace coda::checkpoint
