#include "coda/tools/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "coda/core/error.h"
#include "coda/tools/check_backend.h"
#include "coda/tools/check_call.h"
#include "coda/tools/error_rule.h"
#include "coda/tools/random.h"

namespace coda::tools {
namespace {

using catalogue::Operation;
using catalogue::Variant;
using reference::Arrays;

constexpr uint64_t kFreshInstance = 1000000;  // beyond those that yardsticks are drawn from

reference::Rounding unfused_rounding(const Variant& variant) {
  std::map<std::string, DType> types;
  for (const PortView& port : variant.program.ports) types[port.name] = port.dtype;
  return {variant.operand, types};
}

// What a case's outputs have to be, by name: a port's, or that of a member of its states.
class Expectations {
 public:
  Expectations(const Case& c, const Operation& operation, const Variant& variant, const Arrays& in);

  Finding mismatch(const Arrays& outputs) const;

 private:
  // Other draws of the inputs: of few elements the unfused errors say little.
  void add_draws(int64_t count, const Case& c, const Operation& operation, const Variant& variant);

  std::map<std::string, Expectation> outputs_;
};

Expectations::Expectations(const Case& c, const Operation& operation, const Variant& variant,
                           const Arrays& in) {
  const Arrays want = operation.reference(in, {});
  const Arrays unfused = operation.reference(in, unfused_rounding(variant));
  int64_t smallest = kEnoughElements;
  for (const auto& [name, array] : want) {
    const std::string port_name = name.substr(0, name.find('.'));
    const auto port = std::ranges::find(variant.program.ports, port_name, &PortView::name);
    if (port == variant.program.ports.end() || !c.given.contains(port_name)) continue;
    const bool exact =
        c.data == Data::kIntegers && std::ranges::count(operation.exact, port_name) > 0;
    Expectation& expectation =
        outputs_.try_emplace(name, array, port->dtype, c.problem.K(), exact).first->second;
    expectation.add_unfused(unfused.at(name));
    if (array.size() > 0 && !exact) smallest = std::min(smallest, array.size());
  }
  if (smallest < kEnoughElements) {
    const Problem& p = c.problem;
    const int64_t work = (p.M() + p.N()) * p.K() + p.M() * p.N() * (p.K() + 1) + 100;
    const int64_t draws = std::min((kEnoughElements + smallest - 1) / smallest, 3000000 / work + 4);
    add_draws(draws, c, operation, variant);
  }
}

void Expectations::add_draws(int64_t count, const Case& c, const Operation& operation,
                             const Variant& variant) {
  for (int64_t i = 1; i <= count; ++i) {
    const Arrays in = draw_inputs(c, variant, static_cast<uint64_t>(i));
    const Arrays want = operation.reference(in, {});
    const Arrays unfused = operation.reference(in, unfused_rounding(variant));
    for (auto& [name, expectation] : outputs_) {
      expectation.add_other_draw(unfused.at(name), want.at(name));
    }
  }
}

Finding Expectations::mismatch(const Arrays& outputs) const {
  for (const auto& [name, got] : outputs) {
    const auto expectation = outputs_.find(name);
    if (expectation == outputs_.end()) return {name + ": the formula lacks it"};
    Finding finding = expectation->second.mismatch(got);
    if (finding.text.empty()) continue;
    finding.text = name + finding.text;
    return finding;
  }
  return {};
}

// One draw of a case's inputs, laid out in memory, with what has to come out.
class Trial {
 public:
  Trial(const Case& c, const Operation& operation, const Variant& variant, uint64_t instance)
      : variant_(variant),
        in_(draw_inputs(c, variant, instance)),
        expectations_(c, operation, variant, in_),
        checked_(c, variant, in_) {}

  Finding run(const CheckBackend& backend, size_t configuration);

 private:
  Finding refuse(const CheckBackend& backend, const CheckRun& run);

  const Variant& variant_;
  const Arrays in_;
  const Expectations expectations_;
  CheckedCall checked_;
};

// A call that the backend has no kernel for.
Finding Trial::refuse(const CheckBackend& backend, const CheckRun& run) {
  checked_.reset();
  const std::vector<std::byte> before = checked_.output_bytes();
  try {
    backend.run(run);
  } catch (const Error&) {
    if (checked_.output_bytes() == before) return {};
    return {"outputs were written although the call was refused"};
  }
  return {"expected an error: there is no kernel for it"};
}

Finding Trial::run(const CheckBackend& backend, size_t configuration) {
  std::vector<std::byte> first;
  const auto memory = checked_.memory();
  CheckRun run{variant_, checked_.call(), memory, configuration, 0};
  if (backend.refuses && backend.refuses(run)) return refuse(backend, run);
  const int repetitions = backend.repetitions(run);
  for (run.repetition = 0; run.repetition < repetitions; ++run.repetition) {
    checked_.reset();
    std::string special;
    try {
      special = backend.run(run);
    } catch (const Error& error) {
      return {fmt::format("refused: {}", error.what())};
    }
    const std::string name = fmt::format("run {} ({})", run.repetition + 1, special);
    std::string damage = checked_.damage();
    if (!damage.empty()) return {fmt::format("{}: {}", name, damage)};
    if (run.repetition > 0) {
      if (checked_.output_bytes() == first) continue;
      return {fmt::format("{} differs in bits from run 1", name)};
    }
    first = checked_.output_bytes();
    Finding finding = expectations_.mismatch(checked_.outputs());
    if (!finding.text.empty()) return finding;
  }
  return {};
}

std::vector<std::string> check_case(const CheckBackend& backend, const Operation& operation,
                                    const Variant& variant, uint64_t number) {
  const Case c = make_case(number, variant, backend.rules);
  Trial trial(c, operation, variant, 0);
  std::vector<std::string> failures;
  for (size_t i = 0; i < backend.configurations.size(); ++i) {
    const Finding finding = trial.run(backend, i);
    if (finding.text.empty()) continue;
    // The largest of many rounding errors is beyond twice that of others in one of 10^4 cases, by
    // chance. Then it is not with other values.
    const auto fine = [&](uint64_t instance) {
      return Trial(c, operation, variant, instance).run(backend, i).text.empty();
    };
    if (finding.doubtful && fine(kFreshInstance) && fine(kFreshInstance + 1)) continue;
    failures.push_back(fmt::format("coda check {} --variant {} {} --case {}   {}; {}",
                                   operation.name, variant.name, backend.configurations[i], number,
                                   finding.text, c.text()));
  }
  return failures;
}

std::vector<const Variant*> chosen_variants(const Operation& operation, const std::string& name,
                                            const CheckBackend& backend) {
  std::vector<const Variant*> result;
  for (const Variant& variant : operation.variants) {
    if (backend.has && !backend.has(variant)) continue;
    if (name.empty() || variant.name == name) result.push_back(&variant);
  }
  return result;
}

struct Task {
  const Operation* operation;
  const Variant* variant;
  uint64_t number;
};

std::vector<Task> plan(std::span<const Operation* const> operations, const CheckOptions& options,
                       const CheckBackend& backend) {
  std::vector<Task> tasks;
  for (const Operation* operation : operations) {
    const std::vector<const Variant*> variants =
        chosen_variants(*operation, options.variant, backend);
    if (options.only_case) {
      for (const Variant* variant : variants) {
        tasks.push_back({operation, variant, *options.only_case});
      }
      continue;
    }
    for (int i = 0; i < options.cases && !variants.empty(); ++i) {
      const uint64_t number = mix(options.seed, static_cast<uint64_t>(i)) % 1000000000;
      tasks.push_back({operation, variants[static_cast<size_t>(i) % variants.size()], number});
    }
  }
  if (tasks.empty() && !operations.empty()) {
    if (!options.variant.empty()) find_variant(*operations[0], options.variant);  // throws
    throw Error(fmt::format("check: backend {} has no such variant", options.backend));
  }
  return tasks;
}

}  // namespace

CheckResult check(std::span<const Operation* const> operations, const CheckOptions& options,
                  const std::function<void(const CheckProgress&)>& progress) {
  const CheckBackend backend = make_backend(options);
  const std::vector<Task> tasks = plan(operations, options, backend);
  CheckResult result;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const auto [operation, variant, number] = tasks[i];
    const auto failures = check_case(backend, *operation, *variant, number);
    ++(failures.empty() ? result.passed : result.failed);
    result.failures.insert(result.failures.end(), failures.begin(), failures.end());
    if (progress) {
      progress({operation, static_cast<int>(i) + 1, static_cast<int>(tasks.size()), result.failed});
    }
  }
  return result;
}

}  // namespace coda::tools
