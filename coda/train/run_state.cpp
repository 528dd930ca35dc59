#include "coda/train/run_state.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "coda/checkpoint/atomic.h"
#include "coda/checkpoint/json_text.h"
#include "coda/core/error.h"
#include "coda/train/text_files.h"

namespace coda::train {
namespace {

std::string state_file(const std::string& checkpoint) { return checkpoint + "/run.json"; }

}  // namespace

bool has_run_state(const std::string& checkpoint) {
  std::error_code ignored;
  return std::filesystem::exists(state_file(checkpoint), ignored);
}

RunState read_run_state(const std::string& checkpoint) {
  const std::string path = state_file(checkpoint);
  const std::string text = read_file(path);
  RunState state;
  try {
    const auto json = nlohmann::json::parse(text);
    const auto step = checkpoint::integer_in(json.at("step"));
    if (!step) {
      throw Error(fmt::format("{}: 'step': expected a whole number, got {}", path,
                              checkpoint::json_text(json.at("step"))));
    }
    state.step = *step;
    state.held_out_before = json.at("held_out_before").get<double>();
    state.data = json.at("data").get<uint64_t>();
    state.options = parse_run_options(json.at("options").dump(), path);
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("{}: not the state of a run: {}", path, error.what()));
  }
  validate(state.options);
  if (state.step < 0 || state.step > state.options.steps) {
    throw Error(
        fmt::format("{}: 'step': expected 0 to {}, got {}", path, state.options.steps, state.step));
  }
  return state;
}

std::optional<RunState> find_run_state(const std::string& folder) {
  if (!has_run_state(folder)) return {};
  try {
    return read_run_state(folder);
  } catch (const Error&) {
    return {};
  }
}

void write_run_state(const std::string& checkpoint, const RunState& state) {
  nlohmann::json json;
  json["step"] = state.step;
  json["held_out_before"] = state.held_out_before;
  json["data"] = state.data;
  json["options"] = nlohmann::json::parse(to_json(state.options));
  checkpoint::FileOutput file(state_file(checkpoint));
  file.write(json.dump(2) + "\n");
  file.finish();
}

}  // namespace coda::train
