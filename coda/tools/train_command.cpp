// coda train.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <optional>

#include "coda/core/error.h"
#include "coda/terminal/progress.h"
#include "coda/tools/command_line.h"
#include "coda/train/corpus.h"
#include "coda/train/data_notes.h"
#include "coda/train/presets.h"
#include "coda/train/trainer.h"

namespace coda::tools {
namespace {

std::atomic<bool> interrupted{false};

// The first Ctrl-C (or SIGTERM, as machines that go down send it, or SIGHUP, as terminals that
// close) ends the run after its step; the second one at once, but SIGHUP, which comes twice: from
// the shell and from the system. What was ignored, as under nohup, stays ignored. And so are
// readers of the output that go away, as `tee` does at Ctrl-C: the run is still to be saved.
class InterruptHandler {
 public:
  InterruptHandler() : pipe_before_(std::signal(SIGPIPE, SIG_IGN)) {
    interrupted = false;
    for (size_t i = 0; i < std::size(kSignals); ++i) {
      before_[i] = std::signal(kSignals[i], SIG_IGN);
      if (before_[i] == SIG_IGN) continue;
      std::signal(kSignals[i], [](int signal) {
        interrupted = true;
        std::signal(signal, signal == SIGHUP ? SIG_IGN : SIG_DFL);
      });
    }
  }
  ~InterruptHandler() {
    for (size_t i = 0; i < std::size(kSignals); ++i) std::signal(kSignals[i], before_[i]);
    std::signal(SIGPIPE, pipe_before_);
  }
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  void (*before_[std::size(kSignals)])(int);
  void (*pipe_before_)(int);
};

// Where nobody reads any more, which is no failure of the run.
void print_to_reader(const std::string& text) {
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!written && errno == EPIPE) std::clearerr(stdout);
}

struct TrainArguments {
  train::RunOptions run = {.read_every = 0};
  std::string device = "cpu", out = "runs/train";
  std::optional<std::string> resume;
  int threads = 0;
  bool plan = false;
};

// Stock GPT-2 checkpoints ask for dropout; nobody shall believe that it happened.
std::string dropout_note(const checkpoint::ModelConfig& config) {
  const checkpoint::Dropout& dropout = config.dropout;
  if (dropout == checkpoint::Dropout()) return "";
  return fmt::format(
      "config.json asks for dropout (embd_pdrop {}, resid_pdrop {}, attn_pdrop {}); coda trains "
      "without it\n",
      dropout.embedding, dropout.residual, dropout.attention);
}

std::string weights_text(train::Trainer& trainer) {
  const std::string& folder = trainer.weights_from();
  if (folder.empty()) {
    return fmt::format("begins with random weights (seed {})\n", trainer.options().seed);
  }
  const std::string text = fmt::format("weights read from {}\n", folder);
  return text + train::byte_tokens_note(trainer.corpus(), trainer.model().config().vocab_size,
                                        train::find_run_state(folder));
}

int train_model(const TrainArguments& arguments) {
  const auto device = block::make_device(arguments.device, arguments.threads);
  const bool resumes = arguments.resume.has_value();
  train::RunOptions run = arguments.run;
  if (run.data.empty() && !resumes) {
    for (const auto& path : train::default_corpus_paths(".")) run.data.push_back(path.string());
  }
  if (run.read_every == 0) run.read_every = device->name() == "cpu" ? 1 : 10;
  const std::string& folder = resumes ? *arguments.resume : arguments.out;
  const auto trainer =
      resumes ? train::Trainer::resume(folder, *device)
              : train::Trainer::begin(run, folder, *device, arguments.threads, arguments.plan);
  const block::Model& model = trainer->model();
  if (arguments.plan) {
    fmt::print("{}\n{}", model.memory().describe(), model.memory().summary());
    return kSuccess;
  }
  fmt::print("{}{}{} parameters on {}; memory planned:\n{}", dropout_note(model.config()),
             weights_text(*trainer),
             train::count_text(static_cast<double>(model.parameters().count())), device->name(),
             model.memory().summary());
  std::fflush(stdout);
  const InterruptHandler handler;
  train::RunSummary summary;
  {
    terminal::Progress progress("train", trainer->options().steps, {trainer->step(), true});
    trainer->on_step = [&](const train::StepMetrics& step) {
      progress.show(step.step, fmt::format("loss {:.3f}, {} tokens/s", step.loss,
                                           train::count_text(step.tokens_per_second)));
    };
    summary = trainer->run(interrupted);
  }
  print_to_reader(fmt::format("\n{}", train::summary_text(summary)));
  return summary.resume_command.empty() ? kSuccess : kInterrupted;
}

// A run that goes on has the options it began with.
void check_none_given(const std::vector<CLI::Option*>& fixed) {
  std::vector<std::string> given;
  for (const CLI::Option* option : fixed) {
    if (option->count() > 0) given.push_back(option->get_name());
  }
  if (given.empty()) return;
  throw Error(fmt::format(
      "--resume: goes on with the options that the run began with; leave out {}, or begin another "
      "run without --resume",
      fmt::join(given, ", ")));
}

}  // namespace

void add_train(CLI::App& app, int& status) {
  auto arguments = std::make_shared<TrainArguments>();
  train::RunOptions& run = arguments->run;
  CLI::App* command = app.add_subcommand(
      "train",
      "Train a model of the LLaMA or GPT-2 family: every GEMM outside attention a fused program");
  const std::vector<CLI::Option*> fixed = {
      command->add_option("--data", run.data,
                          "Text files, folders of them (bytes as tokens), or one token file "
                          "(.u16.bin, .u32.bin); else the sources of the tree one is in"),
      command->add_option("--model", run.model,
                          fmt::format("{}, a folder with config.json and, maybe, weights, or "
                                      "that of a run",
                                      fmt::join(train::preset_names(), ", "))),
      command->add_option("--steps", run.steps, "Weight updates"),
      command->add_option("--batch", run.batch, "Sequences per weight update"),
      command->add_option("--parts", run.parts, "Of the batch, one after another: less memory"),
      command->add_option("--seq", run.sequence, "Tokens of a sequence"),
      command->add_option("--lr", run.learning_rate, "Highest learning rate"),
      command->add_option("--warmup", run.warmup_steps, "Steps to reach it"),
      command->add_option("--decay", run.decay, "Weight decay of matrices"),
      command->add_option("--max-norm", run.max_norm, "Of the gradients; 0: no clipping"),
      command->add_option("--seed", run.seed, "Of the initial weights and the order of the data"),
      command->add_option("--evaluate-every", run.evaluate_every, "Steps; 0: at both ends only"),
      command->add_option("--held-out-batches", run.held_out_batches, "At most, per evaluation"),
      command->add_option("--save-every", run.save_every, "Steps; 0: at the end only"),
      command->add_option("--keep", run.keep, "Checkpoints"),
      command->add_option("--read-every", run.read_every,
                          "Steps between two looks at the loss; 0: 1, on a GPU 10"),
      command->add_option("--dtype", run.type, "bf16, or fp32 on the CPU"),
      command->add_option("--recompute", run.recompute, "In backward: nothing, activation, block"),
      command->add_option("--fold", run.fold,
                          "The norms' weights: kept, folded, or the cheaper by a rule"),
      command->add_option("--out", arguments->out, "The run's folder"),
  };
  for (CLI::Option* option : fixed) option->capture_default_str();
  command->add_option("--device", arguments->device, "cpu, cuda, or auto: a GPU where there is one")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "Of the CPU; 0: all");
  command->add_flag("--plan", arguments->plan, "Only say where every byte of memory goes");
  const CLI::Option* resume = command->add_option(
      "--resume", arguments->resume, "Go on with the run in this folder, with its own options");
  command->footer(
      "Ctrl-C saves after the step under way, says how to go on, and ends with status 130; so do "
      "SIGTERM and SIGHUP.");
  command->callback([arguments, fixed, resume, &status] {
    if (resume->count() > 0) check_none_given(fixed);
    status = train_model(*arguments);
  });
}

}  // namespace coda::tools
