// A line on stderr that says how much is done and how long the rest will take. Shown on a terminal
// only, and gone when the work is done.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace coda::tools {

class Progress {
 public:
  Progress(std::string what, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(int64_t done);  // cheap: the line is written at most ten times a second
  void clear();             // before something else is printed

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  int64_t total_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_{};
};

// "check  120/900  13 %, 42 s left"
std::string progress_text(const std::string& what, int64_t done, int64_t total, double seconds);

}  // namespace coda::tools
