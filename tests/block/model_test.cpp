// Parts and recomputing change nothing about gradients but where their memory goes.
#include "coda/block/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "coda/train/initial_weights.h"
#include "tests/block/small_model.h"

namespace coda::block {
namespace {

using Values = std::vector<float>;

struct Gradients {
  float loss = 0;
  int64_t planned = 0;
  std::vector<std::string> names;  // of each parameter's first stock tensor
  std::vector<Values> values;
};

// Of one batch of 4 sequences, in parts.
Gradients gradients_of(const checkpoint::ModelConfig& config, ModelOptions options) {
  const int64_t sequences = options.batch;
  options.batch /= options.parts;
  const auto device = make_cpu_device(2);
  Model model(config, options, *device);
  train::set_initial_weights(model, 5);
  const std::vector<int64_t> tokens = draw_tokens(sequences * options.sequence, 1);
  const std::vector<int64_t> targets = draw_tokens(sequences * options.sequence, 2);
  const auto count = static_cast<size_t>(model.sizes().tokens());
  for (int64_t part = 0; part < options.parts; ++part) {
    const size_t first = static_cast<size_t>(part) * count;
    model.forward_backward(part, std::span(tokens).subspan(first, count),
                           std::span(targets).subspan(first, count));
  }
  Gradients result{model.loss(), model.memory().bytes(), {}, {}};
  for (const Parameter& parameter : model.parameters().all()) {
    const auto* from = static_cast<const float*>(parameter.gradient.data);
    result.names.push_back(parameter.stock[0].name);
    result.values.emplace_back(from, from + parameter.rows * parameter.columns);
  }
  return result;
}

double relative_difference(const Values& a, const Values& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    size += std::pow(static_cast<double>(a[i]), 2);
  }
  return std::sqrt(difference / size);
}

struct Kind {
  checkpoint::Family family;
  Fold fold;
};
constexpr Kind kKinds[] = {
    {checkpoint::Family::kLlama, Fold::kKept},   {checkpoint::Family::kQwen2, Fold::kKept},
    {checkpoint::Family::kQwen3, Fold::kKept},   {checkpoint::Family::kLlama, Fold::kFolded},
    {checkpoint::Family::kQwen2, Fold::kFolded}, {checkpoint::Family::kQwen3, Fold::kFolded},
    {checkpoint::Family::kGpt2, Fold::kKept},
};

// Whether a matrix's gradient reads what Recompute::kActivation makes again.
bool reads_again(const std::string& name, Fold fold) {
  const bool scaled = name.ends_with("q_proj.weight") || name.ends_with("gate_proj.weight");
  return (scaled && fold == Fold::kKept) || name.ends_with("down_proj.weight") ||
         name.ends_with("mlp.c_proj.weight");
}

// A block that is run again does the same again. SwiGLU's output and x⊙γ are made again from
// tensors that were rounded, where the forward had what the accumulator held: the gradients of the
// matrices that read them differ by roundings, the others not at all.
TEST(Model, RecomputingChangesNothingButRoundings) {
  for (const DType type : {DType::kFp32, DType::kBf16}) {
    for (const auto& [family, fold] : kKinds) {
      SCOPED_TRACE(std::string(model_type(family)) + " " + dtype_name(type));
      ModelOptions options = small_options();
      options.type = type;
      options.fold = fold;
      options.recompute = Recompute::kNothing;
      const Gradients saved = gradients_of(small_config(family), options);
      options.recompute = Recompute::kActivation;
      const Gradients activation = gradients_of(small_config(family), options);
      options.recompute = Recompute::kBlock;
      const Gradients block = gradients_of(small_config(family), options);
      EXPECT_EQ(activation.loss, saved.loss);
      EXPECT_EQ(block.loss, saved.loss);
      EXPECT_TRUE(block.values == saved.values);
      EXPECT_LT(activation.planned, saved.planned);
      EXPECT_LT(block.planned, activation.planned);
      const double rounding = type == DType::kFp32 ? 0x1p-22 : 0x1p-7;
      for (size_t i = 0; i < saved.values.size(); ++i) {
        const std::string& name = saved.names[i];
        if (reads_again(name, fold)) {
          EXPECT_LE(relative_difference(saved.values[i], activation.values[i]), rounding) << name;
        } else {
          EXPECT_TRUE(activation.values[i] == saved.values[i]) << name;
        }
      }
    }
  }
}

// fp32: the sums of the parts are rounded elsewhere, by about 2⁻²⁴ of what is added up.
TEST(Model, PartsGiveTheSameGradients) {
  for (const auto family : {checkpoint::Family::kLlama, checkpoint::Family::kGpt2}) {
    ModelOptions options = small_options();
    options.fold = Fold::kKept;
    const Gradients whole = gradients_of(small_config(family), options);
    for (const int64_t parts : {2, 4}) {
      options.parts = parts;
      const Gradients split = gradients_of(small_config(family), options);
      EXPECT_NEAR(split.loss, whole.loss, 1e-6 * static_cast<double>(whole.loss));
      for (size_t i = 0; i < whole.values.size(); ++i) {
        const double off = relative_difference(whole.values[i], split.values[i]);
        EXPECT_LE(off, 0x1p-20) << whole.names[i] << ", parts " << parts;
      }
    }
  }
}

}  // namespace
}  // namespace coda::block
