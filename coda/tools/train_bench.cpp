// coda bench-train: times of a training step, round by round.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "coda/core/random.h"
#include "coda/tools/command_line.h"
#include "coda/train/initial_weights.h"
#include "coda/train/model_folder.h"
#include "coda/train/profile.h"
#include "coda/train/run_options.h"
#include "coda/version.h"

namespace coda::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchArguments {
  train::RunOptions run;
  std::string device = "cpu";
  int64_t rounds = 20, steps = 1;
  int threads = 0;
  bool on_request = false;
};

double milliseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class TrainBench {
 public:
  TrainBench(const BenchArguments& arguments, block::Device& device)
      : arguments_(arguments),
        device_(device),
        model_(train::config_of(arguments.run.model), train::model_options(arguments.run), device) {
    train::set_initial_weights(model_, arguments.run.seed, arguments.threads);
    Random random(arguments.run.seed);
    tokens_.resize(static_cast<size_t>(model_.sizes().tokens()));
    for (int64_t& token : tokens_) token = random.between(0, model_.sizes().vocab - 1);
  }

  nlohmann::json round() {
    device_.wait();
    auto begin = Clock::now();
    for (int64_t i = 0; i < arguments_.steps; ++i) forward_backward();
    const auto steps = static_cast<double>(arguments_.steps);
    const double issue_ms = milliseconds(begin) / steps;  // the host's part
    device_.wait();
    const double forward_backward_ms = milliseconds(begin) / steps;
    begin = Clock::now();
    model_.update(1e-4, ++updates_);
    device_.wait();
    return {{"forward_backward_ms", forward_backward_ms},
            {"issue_ms", issue_ms},
            {"update_ms", milliseconds(begin)}};
  }

  nlohmann::json facts() {
    nlohmann::json memory;
    for (const block::Use use : block::kUses) {
      memory[block::use_name(use)] = model_.memory().bytes(use);
    }
    nlohmann::json operations;
    {
      const train::Profile profile(model_);
      forward_backward();
      for (const train::OperationTime& time : profile.times()) {
        operations[time.name] = time.seconds * 1e3;
      }
    }
    return {{"commit", kCommit},
            {"model", arguments_.run.model},
            {"device", device_.name()},
            {"parameters", model_.parameters().count()},
            {"tokens", model_.sizes().tokens() * arguments_.run.parts},
            {"folded", block::folds(model_.sizes(), model_.options())},
            {"recompute", arguments_.run.recompute},
            {"loss", model_.loss()},
            {"planned_bytes", memory},
            {"peak_bytes", device_.peak_bytes()},
            {"operations_ms", operations}};
  }

 private:
  void forward_backward() {
    for (int64_t part = 0; part < arguments_.run.parts; ++part) {
      model_.forward_backward(part, tokens_, tokens_);
    }
  }

  const BenchArguments& arguments_;
  block::Device& device_;
  block::Model model_;
  std::vector<int64_t> tokens_;
  int64_t updates_ = 0;
};

void print_line(const nlohmann::json& json) {
  fmt::print("{}\n", json.dump());
  std::fflush(stdout);
}

void bench(const BenchArguments& arguments) {
  train::validate(arguments.run);
  const auto device = block::make_device(arguments.device, arguments.threads);
  TrainBench bench(arguments, *device);
  bench.round();  // to touch all memory
  if (!arguments.on_request) {
    for (int64_t i = 0; i < arguments.rounds; ++i) print_line(bench.round());
    print_line(bench.facts());
    return;
  }
  print_line({{"ready", true}});
  for (std::string line; std::getline(std::cin, line) && line == "round";) {
    print_line(bench.round());
  }
  print_line(bench.facts());
}

}  // namespace

void add_bench_train(CLI::App& app, int&) {
  auto arguments = std::make_shared<BenchArguments>();
  train::RunOptions& run = arguments->run;
  CLI::App* command = app.add_subcommand(
      "bench-train", "Time training steps on random tokens; one line of JSON for every round");
  for (CLI::Option* option :
       {command->add_option("--model", run.model, "A preset, or a folder with config.json"),
        command->add_option("--batch", run.batch, "Sequences per weight update"),
        command->add_option("--parts", run.parts, "Of the batch, one after another"),
        command->add_option("--seq", run.sequence, "Tokens of a sequence"),
        command->add_option("--dtype", run.type, "bf16, or fp32 on the CPU"),
        command->add_option("--recompute", run.recompute, "nothing, activation, block"),
        command->add_option("--fold", run.fold, "kept, folded, rule"),
        command->add_option("--rounds", arguments->rounds, "How many"),
        command->add_option("--steps", arguments->steps, "Forward and backward, of each round")}) {
    option->capture_default_str();
  }
  for (const char* count : {"--rounds", "--steps"}) {
    command->get_option(count)->check(CLI::Range(1, 100000).description(""));
  }
  command->add_option("--device", arguments->device, "cpu, cuda, or auto: a GPU where there is one")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "Of the CPU; 0: all");
  command->add_flag("--on-request", arguments->on_request,
                    "A round for every line `round` on stdin, for one who races with others");
  command->callback([arguments] { bench(*arguments); });
}

}  // namespace coda::tools
