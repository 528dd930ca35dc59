// coda eval.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "coda/core/error.h"
#include "coda/terminal/progress.h"
#include "coda/tools/command_line.h"
#include "coda/train/data_notes.h"
#include "coda/train/held_out.h"
#include "coda/train/model_checkpoint.h"
#include "coda/train/model_folder.h"
#include "coda/train/run_state.h"

namespace coda::tools {
namespace {

struct EvalArguments {
  std::string model;
  std::vector<std::string> data;
  std::string device = "cpu", type;
  int64_t batch = 8;
  std::optional<int64_t> sequence;
  double share = 0.05;
  int threads = 0;
};

// On a GPU models are bf16, whatever the file is.
DType type_of(const std::string& asked, const checkpoint::ModelConfig& config,
              const block::Device& device) {
  if (!asked.empty()) return asked == "bf16" ? DType::kBf16 : DType::kFp32;
  const bool bf16 = config.dtype == DType::kBf16 || device.name() != "cpu";
  return bf16 ? DType::kBf16 : DType::kFp32;
}

void evaluate(const EvalArguments& arguments) {
  const std::string folder = train::resolve_model(arguments.model);
  const checkpoint::ModelConfig config = checkpoint::read_model_config(folder + "/config.json");
  // What it was trained on, where a run saved it. Somebody else's run.json matters where it would
  // say which data to take.
  const bool names_data = arguments.data.empty() && train::has_run_state(folder);
  const std::optional<train::RunState> state =
      names_data ? train::read_run_state(folder) : train::find_run_state(folder);
  const train::RunOptions run = state ? state->options : train::RunOptions();
  const std::vector<std::string>& data = arguments.data.empty() ? run.data : arguments.data;
  std::vector<std::filesystem::path> paths(data.begin(), data.end());
  if (paths.empty()) paths = train::default_corpus_paths(".");
  train::CorpusOptions corpus_options;
  corpus_options.sequence = arguments.sequence.value_or(run.sequence);
  corpus_options.vocab_size = config.vocab_size;
  corpus_options.held_out_share = arguments.share;
  const train::Corpus corpus(paths, corpus_options);
  const train::Batches batches(corpus, {arguments.batch, 1, 0});

  const auto device = block::make_device(arguments.device, arguments.threads);
  block::ModelOptions options;
  options.batch = arguments.batch;
  options.sequence = corpus_options.sequence;
  options.training = false;
  options.type = type_of(arguments.type, config, *device);
  block::Model model(config, options, *device);
  train::read_weights(model, folder);
  fmt::print("{}{}", train::byte_tokens_note(corpus, config.vocab_size, state),
             state ? train::held_out_note(corpus, *state, arguments.data.empty()) : "");
  std::fflush(stdout);
  terminal::Progress progress("eval", batches.held_out_batches(), {0, true});
  const train::HeldOutLoss loss = train::held_out_loss(model, batches, batches.held_out_batches(),
                                                       [&](int64_t done) { progress.show(done); });
  progress.clear();
  if (!std::isfinite(loss.mean)) {
    throw Error(fmt::format("{}: expected a finite loss, got {}: the weights give none", folder,
                            loss.mean));
  }
  fmt::print("{}: loss {:.4f}, perplexity {:.3f} on {} held-out tokens\n", folder, loss.mean,
             std::exp(loss.mean), loss.tokens);
}

}  // namespace

void add_eval(CLI::App& app, int&) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command =
      app.add_subcommand("eval", "Loss and perplexity of a checkpoint on held-out text");
  command->add_option("--model", arguments->model, "A checkpoint's folder, or a run's: its last")
      ->required();
  command->add_option("--data", arguments->data,
                      "As for coda train; else what the model was trained on");
  command->add_option("--held-out", arguments->share, "Share of the data, from its end")
      ->capture_default_str();
  command->add_option("--batch", arguments->batch, "Sequences at a time")->capture_default_str();
  command->add_option("--seq", arguments->sequence, "Tokens of a sequence; else as it was trained");
  command->add_option("--device", arguments->device, "cpu, cuda, or auto: a GPU where there is one")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  command
      ->add_option("--dtype", arguments->type,
                   "bf16, or on the CPU fp32; else bf16 for weights in bf16 and on a GPU")
      ->check(CLI::IsMember({"bf16", "fp32"}));
  command->add_option("--threads", arguments->threads, "Of the CPU; 0: all");
  command->callback([arguments] { evaluate(*arguments); });
}

}  // namespace coda::tools
