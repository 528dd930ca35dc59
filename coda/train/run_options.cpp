#include "coda/train/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "coda/checkpoint/json_text.h"

namespace coda::train {

// Not in the namespace below: nlohmann finds it by its argument.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunOptions, data, model, steps, batch, parts, sequence,
                                   learning_rate, warmup_steps, decay, max_norm, seed,
                                   evaluate_every, held_out_batches, save_every, keep, read_every,
                                   type, recompute, fold)

namespace {

constexpr std::array kTypes = {"bf16", "fp32"};
constexpr std::array kRecompute = {"nothing", "activation", "block"};
constexpr std::array kFold = {"rule", "kept", "folded"};

[[noreturn]] void fail(const char* option, const std::string& expected, const std::string& got) {
  fail_argument("train", option, expected, got);
}

void at_least(const char* option, int64_t value, int64_t least) {
  if (value < least) fail(option, fmt::format("at least {}", least), std::to_string(value));
}

template <size_t kCount>
size_t index_of(const char* option, const std::array<const char*, kCount>& known,
                const std::string& name) {
  for (size_t i = 0; i < kCount; ++i) {
    if (name == known[i]) return i;
  }
  fail(option, fmt::format("one of {}", fmt::join(known, ", ")), "'" + name + "'");
}

}  // namespace

void validate(const RunOptions& options) {
  at_least("steps", options.steps, 0);
  at_least("batch", options.batch, 1);
  at_least("parts", options.parts, 1);
  at_least("seq", options.sequence, 1);
  at_least("warmup", options.warmup_steps, 0);
  at_least("evaluate-every", options.evaluate_every, 0);
  at_least("held-out-batches", options.held_out_batches, 1);
  at_least("save-every", options.save_every, 0);
  at_least("keep", options.keep, 1);
  at_least("read-every", options.read_every, 1);
  if (options.batch % options.parts != 0) {
    fail("parts", fmt::format("a divisor of the batch, {}", options.batch),
         std::to_string(options.parts));
  }
  if (!(options.learning_rate > 0 && options.learning_rate <= 1)) {
    fail("lr", "above 0, at most 1", fmt::format("{}", options.learning_rate));
  }
  if (!(options.decay >= 0 && options.decay <= 1)) {
    fail("decay", "from 0 to 1", fmt::format("{}", options.decay));
  }
  if (!(options.max_norm >= 0 && std::isfinite(options.max_norm))) {
    fail("max-norm", "0 (no clipping) or more", fmt::format("{}", options.max_norm));
  }
  index_of("dtype", kTypes, options.type);
  index_of("recompute", kRecompute, options.recompute);
  index_of("fold", kFold, options.fold);
  try {
    to_json(options);
  } catch (const nlohmann::json::exception&) {  // better now than at the first checkpoint
    throw Error("train: expected paths in UTF-8 for --data and --model, got other bytes");
  }
}

block::ModelOptions model_options(const RunOptions& options) {
  block::ModelOptions result;
  result.batch = options.batch / options.parts;
  result.sequence = options.sequence;
  result.parts = options.parts;
  result.type = options.type == "fp32" ? DType::kFp32 : DType::kBf16;
  result.recompute =
      static_cast<block::Recompute>(index_of("recompute", kRecompute, options.recompute));
  result.fold = static_cast<block::Fold>(index_of("fold", kFold, options.fold));
  result.decay = options.decay;
  result.max_norm = options.max_norm;
  return result;
}

std::string to_json(const RunOptions& options) { return nlohmann::json(options).dump(); }

RunOptions parse_run_options(const std::string& json, const std::string& where) {
  try {
    const auto fields = nlohmann::json::parse(json), usual_ones = nlohmann::json(RunOptions{});
    for (const auto& [name, usual] : usual_ones.items()) {
      const auto& got = fields.at(name);
      const bool natural = usual.is_number_unsigned();
      if (!usual.is_number_integer()) continue;
      if (natural ? got.is_number_unsigned() : checkpoint::integer_in(got).has_value()) continue;
      throw Error(
          fmt::format("{}: not the options of a run: '{}': expected a whole number{}, got {}",
                      where, name, natural ? " from 0 on" : "", checkpoint::json_text(got)));
    }
    return fields.get<RunOptions>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("{}: not the options of a run: {}", where, error.what()));
  }
}

}  // namespace coda::train
