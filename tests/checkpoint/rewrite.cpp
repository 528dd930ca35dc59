// checkpoint_rewrite FROM TO: reads a model's folder, compares its tensors with its configuration,
// writes both to another folder and prints what it found as JSON. For the tests in Python.
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "coda/checkpoint/atomic.h"
#include "coda/checkpoint/model_config.h"
#include "coda/checkpoint/model_files.h"
#include "coda/checkpoint/parameter_names.h"

namespace {

using namespace coda::checkpoint;

nlohmann::json rewrite(const std::string& from, const std::string& to) {
  const ModelConfig config = read_model_config(from + "/config.json");
  const ModelFiles files = ModelFiles::open(from);
  files.check_against(parameter_names(config));
  nlohmann::json found = {{"inverse_frequencies", config.inverse_frequencies()}};
  std::vector<TensorRecord> tensors;
  for (const NamedShape& tensor : files.shapes()) {
    tensors.push_back(files.tensor(tensor.name));
    found["tensors"][tensor.name] = {{"dtype", coda::dtype_name(tensors.back().dtype)},
                                     {"shape", tensor.shape}};
  }
  write_folder_atomically(to, [&](const std::string& folder) {
    FileOutput output(folder + "/config.json");
    output.write(to_json(config));
    output.finish();
    write_safetensors(folder + "/model.safetensors", tensors);
  });
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: checkpoint_rewrite FROM TO\n", stderr);
    return 2;
  }
  try {
    std::puts(rewrite(argv[1], argv[2]).dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
