// A line on stderr that says how much is done and how long the rest will take: on a terminal a bar
// that is gone when the work is done, elsewhere nothing, or a plain line now and then.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace coda::terminal {

struct ProgressOptions {
  int64_t first = 0;         // what was done before, as by the run that this one resumes
  bool plain_lines = false;  // where stderr is no terminal: a line every ten seconds, else none
};

class Progress {
 public:
  Progress(std::string what, int64_t total, const ProgressOptions& options = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap: a terminal's line is written at most ten times a second. The note stands at its end.
  void show(int64_t done, std::string_view note = {});
  void clear();  // before something else is printed

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  int64_t total_;
  ProgressOptions options_;
  bool terminal_;
  bool on_screen_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_;
};

struct ProgressState {
  int64_t done = 0, total = 0, first = 0;
  double seconds = 0;  // for what was done since `first`
};

// "check  120/900  13 %, 42 s left"; with a note: "..., loss 3.21"
std::string progress_text(const std::string& what, const ProgressState& state,
                          std::string_view note = {});

// "━━━━━╌╌╌╌╌": `width` characters.
std::string progress_bar(int64_t done, int64_t total, int width);

}  // namespace coda::terminal
