#include "coda/tools/layer_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coda/core/error.h"
#include "coda/core/random.h"
#include "coda/tools/error_rule.h"
#include "coda/tools/layer_reference.h"
#if defined(CODA_HAS_CUDA)
#include "coda/tools/cuda_layer.h"
#endif

namespace coda::tools {
namespace {

using reference::Array;
using reference::Arrays;

// Tokens, hidden, ffn, heads, kv_heads, head_dim: ragged, one token, several tiles.
constexpr LayerSizes kSizes[] = {{77, 96, 136, 3, 1, 80},    {1, 64, 72, 4, 2, 64},
                                 {130, 256, 320, 2, 2, 128}, {200, 192, 264, 2, 1, 96},
                                 {65, 160, 448, 5, 5, 64},   {129, 320, 200, 1, 1, 256}};
// For the scatter of errors. All gradients of few tokens hang on the same few roundings: it shows
// only over many draws.
int other_draws(int64_t tokens) { return 2 + static_cast<int>(64 / tokens); }

Arrays unfused(const Arrays& in, DType type, const std::string& backend) {
  using reference::Accumulation;
  const Accumulation accumulation =
      backend == "cuda" ? Accumulation::kTensorCore : Accumulation::kFp32;
  return layer_reference(in, reference::Rounding(type, {}, accumulation));
}

// What the results of one set of inputs have to be.
std::map<std::string, Expectation> expectations(const LayerSizes& sizes, DType type,
                                                const std::string& backend, uint64_t seed) {
  const int64_t K = std::max({sizes.tokens, sizes.hidden, 2 * sizes.ffn});
  std::map<std::string, Expectation> result;
  for (int draw = 0; draw <= other_draws(sizes.tokens); ++draw) {
    const Arrays in = draw_layer(sizes, type, mix(seed, static_cast<uint64_t>(draw)));
    const Arrays want = layer_reference(in), rounded = unfused(in, type, backend);
    for (const auto& [name, array] : want) {
      if (draw == 0) {
        result.emplace(name, Expectation(array, type, K, false))
            .first->second.add_unfused(rounded.at(name));
      } else {
        result.at(name).add_other_draw(rounded.at(name), array);
      }
    }
  }
  return result;
}

void run_on_cpu(LayerCalls& layer, cpu::Isa isa) {
  cpu::Options options;
  options.isa = isa;
  for (const LayerCall& step : layer.calls()) step.variant->run_cpu(step.call, options);
}

void compare(const LayerCalls& layer, const std::map<std::string, Expectation>& expected,
             const std::string& what, CheckResult& result) {
  std::vector<std::string> findings;
  for (const auto& [name, expectation] : expected) {
    const Finding finding = expectation.mismatch(layer.result(name));
    if (!finding.text.empty()) findings.push_back(fmt::format("{} {}{}", what, name, finding.text));
  }
  const std::string damage = layer.damage();
  if (!damage.empty()) findings.push_back(fmt::format("{} {}", what, damage));
  ++(findings.empty() ? result.passed : result.failed);
  result.failures.insert(result.failures.end(), findings.begin(), findings.end());
}

}  // namespace

Arrays draw_layer(const LayerSizes& sizes, DType type, uint64_t seed) {
  Random random(seed);
  Arrays in;
  const auto normal = [&](const char* name, int64_t rows, int64_t columns, double mean,
                          double deviation) {
    in[name] = map(Array(rows, columns), [&](double) {
      return reference::round_to(type, mean + deviation * random.normal());
    });
  };
  const auto weight = [&](const char* name, int64_t rows, int64_t columns) {
    normal(name, rows, columns, 0, 1 / std::sqrt(static_cast<double>(columns)));
  };
  const int64_t M = sizes.tokens, h = sizes.hidden, attended = sizes.heads * sizes.head_dim,
                kv = sizes.kv_heads * sizes.head_dim;
  normal("y", M, attended, 0, 1);
  normal("x", M, h, 0, 1);
  weight("wo", h, attended);
  weight("wg", sizes.ffn, h);
  weight("wu", sizes.ffn, h);
  weight("wd", h, sizes.ffn);
  weight("wq", attended, h);
  weight("wk", kv, h);
  weight("wv", kv, h);
  normal("gamma1", 1, h, 1, 0.25);
  normal("gamma2", 1, h, 1, 0.25);
  normal("dx2", M, h, 0, 1);
  normal("dq", M, attended, 0, 1);
  normal("dk", M, kv, 0, 1);
  normal("dv", M, kv, 0, 1);
  Array inv_freq(1, sizes.head_dim / 2), positions(1, M);
  for (int64_t i = 0; i < inv_freq.columns; ++i) {
    const double exponent = 2 * static_cast<double>(i) / static_cast<double>(sizes.head_dim);
    inv_freq(0, i) = reference::round_to(DType::kFp32, std::pow(10000.0, -exponent));
  }
  for (double& position : positions.values) {
    position = static_cast<double>(random.between(0, 100000));
  }
  in["inv_freq"] = inv_freq;
  in["positions"] = positions;
  return in;
}

CheckResult check_layer(const std::string& backend, uint64_t seed) {
  if (backend != "cpu" && backend != "cuda") {
    throw Error(fmt::format("--layer: expected --backend cpu or cuda, got {}", backend));
  }
#if !defined(CODA_HAS_CUDA)
  if (backend == "cuda") throw Error("--backend cuda: this coda was built without CUDA");
#endif
  std::vector<DType> types = {DType::kBf16};
  if (backend == "cpu") types.push_back(DType::kFp32);
  CheckResult result;
  for (const LayerSizes& sizes : kSizes) {
    for (const DType type : types) {
      const auto expected = expectations(sizes, type, backend, seed);
      const Arrays in = draw_layer(sizes, type, mix(seed, 0));
      for (const bool folded : {false, true}) {
        const std::string what = fmt::format(
            "coda check --layer --backend {} --seed {}: {} tokens, hidden {}, {} {}:", backend,
            seed, sizes.tokens, sizes.hidden, folded ? "folded" : "kept", dtype_name(type));
#if defined(CODA_HAS_CUDA)
        if (backend == "cuda") {
          LayerCalls layer(sizes, type, folded, in);
          run_layer_on_cuda(layer);
          compare(layer, expected, what, result);
          continue;
        }
#endif
        for (const cpu::Isa isa : cpu::available_isas()) {
          LayerCalls layer(sizes, type, folded, in);
          run_on_cpu(layer, isa);
          compare(layer, expected, fmt::format("{} {}", what, cpu::isa_name(isa)), result);
        }
      }
    }
  }
  return result;
}

}  // namespace coda::tools
